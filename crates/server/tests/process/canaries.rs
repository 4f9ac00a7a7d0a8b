//! I9: no secret is ever printed. Canaries are placed wherever a secret could appear, and the whole output of a run is
//! searched for them.

use std::{io::Write, net::TcpStream};

use crate::installation::Installation;

const CANARY: &str = "c4n4ry";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_run_prints_no_secret() {
    let installation = Installation::ready().await;
    let master = std::fs::read_to_string(installation.master_key_file()).unwrap();
    let url = installation.database.url().replacen("porteiro@", &format!("porteiro:{CANARY}-password@"), 1);
    let mut settings = installation.settings();
    settings[0] = format!("--database-url={url}");
    settings.push(format!("--smtp-url=smtp://user:{CANARY}-smtp@127.0.0.1:1"));
    settings.push("--log-filter=trace".into());
    settings.push("--metrics-listen=127.0.0.1:0".into());
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let mut node = porteiro_testkit::Node::start(crate::BINARY, &settings);

    for request in [
        format!("GET /connect/authorize?code={CANARY}-query HTTP/1.1\r\nhost: x\r\n\r\n"),
        format!("GET /{CANARY}-path HTTP/1.1\r\nhost: x\r\n\r\n"),
        format!(
            "GET /readyz HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {CANARY}-bearer\r\ncookie: s={CANARY}-cookie\r\n\r\n"
        ),
        format!("POST /readyz HTTP/1.1\r\nhost: x\r\ncontent-length: 20\r\n\r\npassword={CANARY}-body"),
        format!("{CANARY}-method /readyz HTTP/1.1\r\nhost: x\r\n\r\n"),
    ] {
        TcpStream::connect(node.address).unwrap().write_all(request.as_bytes()).unwrap();
    }
    let body = node.get("/readyz");
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    node.terminate();
    node.wait(std::time::Duration::from_secs(20));
    let output = node.output() + &body.body + &body.head;
    assert!(output.len() > 1_000, "the run printed too little to prove anything");
    let leaks: Vec<&str> = output.lines().filter(|line| line.contains(CANARY)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    assert!(!output.contains(master.trim()));
    for key in ["PRIVATE KEY", "BEGIN "] {
        assert!(!output.contains(key));
    }
}
