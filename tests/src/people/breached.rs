//! The optional look-up of breached passwords: by range, off by default, never in the way when it is down.

use std::sync::{Arc, Mutex};

use porteiro_testkit::{Browser, TestApp};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::register_to_enrolment;

/// SHA-1 of "a password from a breach", split as the range query splits it.
const PASSWORD: &str = "a password from a breach";

async fn collection() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let count = stream.read(&mut request).await.unwrap_or(0);
            let text = String::from_utf8_lossy(&request[..count]).into_owned();
            seen.lock().unwrap().push(text.lines().next().unwrap_or_default().to_owned());
            let body = format!("{}:3\r\n0000000000000000000000000000000000A:1\r\n", suffix());
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (address.to_string(), asked)
}

fn hash() -> String {
    let digest = porteiro_testkit::sha1(PASSWORD.as_bytes());
    digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().concat()
}

fn suffix() -> String {
    hash()[5..].to_owned()
}

async fn set(address: Option<&str>, password: &str) -> (u16, String) {
    let mut builder = TestApp::builder().people();
    if let Some(address) = address {
        let url = format!("http://{address}");
        builder = builder.private_hosts(vec![address.to_owned()]).settings(move |settings| {
            settings.breached_password_check = true;
            settings.breached_password_url = url;
        });
    }
    let app = Arc::new(builder.start().await);
    let mut browser = Browser::new(&app);
    let mut flow = register_to_enrolment(&app, &mut browser, "ana@example.test").await;
    let answer = flow.attempt(&mut browser, "password/set", json!({"new_password": password})).await;
    (answer.status.as_u16(), answer.text())
}

#[tokio::test]
async fn asvs_6_2_12_a_breached_password_is_refused_where_the_check_is_on() {
    let (address, asked) = collection().await;
    let (status, text) = set(Some(&address), PASSWORD).await;
    assert_eq!(status, 422);
    assert!(text.contains("data breach"), "{text}");
    assert_eq!(set(Some(&address), "nobody ever had this one").await.0, 200);
    for request in asked.lock().unwrap().iter() {
        let prefix = request.split("/range/").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        assert_eq!(prefix.len(), 5, "no more than five characters leave: {request}");
    }
}

#[tokio::test]
async fn it_is_off_by_default_and_an_outage_stops_nobody() {
    assert_eq!(set(None, PASSWORD).await.0, 200);
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    assert_eq!(set(Some(&closed), PASSWORD).await.0, 200);
}
