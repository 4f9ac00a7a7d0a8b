//! The operator's own app is told that something waits, and never what.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use aws_lc_rs::hmac;
use base64::{Engine, engine::general_purpose::STANDARD};
use porteiro_service::{jobs, settings::Sensitive};
use serde_json::{Value, json};

use super::driver::Scene;
use crate::{oauth::site::Site, organizations::driver::payroll};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// An installation that announces requests to a site, which gives this answer.
async fn announcing(site: &Site, answer: &str, more: Value) -> Scene {
    let app = site.builder().private_hosts(vec![format!("localhost:{}", site.port)]).settings(|settings| {
        settings.approval_webhook_url = Some(site.url("/hook"));
        settings.approval_webhook_secret = Some(Sensitive::new(SECRET));
    });
    let app = Arc::new(app.start().await);
    payroll(&app).await;
    for path in ["/hook", "/ping"] {
        let status = if path == "/hook" { answer } else { "204 No Content" };
        site.answer(path, format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"));
    }
    Scene::asking_on(app, more).await
}

async fn run(scene: &Scene) {
    jobs::run_due(&scene.app.app).await.unwrap();
}

/// The headers and the body of a request.
fn parts(request: &str) -> (BTreeMap<String, String>, String) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let header =
        |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    (head.lines().filter_map(header).collect(), body.to_owned())
}

#[tokio::test]
async fn a_new_request_is_announced_signed_and_without_details() {
    let site = Site::start().await;
    let scene = announcing(&site, "204 No Content", json!({})).await;
    scene.asked(&[("binding_message", "Order 7")]).await;
    run(&scene).await;
    let heard = site.heard();
    assert_eq!(heard.len(), 1, "{heard:?}");
    let (headers, body) = parts(&heard[0]);
    let signed = format!("{}.{}.{body}", headers["webhook-id"], headers["webhook-timestamp"]);
    let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(&SECRET["whsec_".len()..]).unwrap());
    let expected = STANDARD.encode(hmac::sign(&key, signed.as_bytes()));
    assert_eq!(headers["webhook-signature"], format!("v1,{expected}"));
    let told: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&told["type"], &told["data"]["client_id"]),
        (&json!("approval.requested"), &json!(scene.agent.id))
    );
    assert_eq!(told["data"]["account_id"], scene.account.to_string());
    assert_eq!(told["data"]["approval_id"], headers["webhook-id"]);
    for secret in ["Order 7", "10.00", "Bea", "payment", "invoices", "ana@example.test"] {
        assert!(!heard[0].contains(secret), "{secret}: {}", heard[0]);
    }
}

#[tokio::test]
async fn a_receiver_that_fails_is_tried_again_with_the_same_id_until_the_request_is_over() {
    let site = Site::start().await;
    let scene = announcing(&site, "503 Service Unavailable", json!({})).await;
    scene.asked(&[]).await;
    for _ in 0..2 {
        run(&scene).await;
        scene.app.sql("UPDATE job SET run_at = now()").await;
    }
    let heard = site.heard();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert_eq!(parts(&heard[0]).0["webhook-id"], parts(&heard[1]).0["webhook-id"]);
    scene.app.clock.advance(porteiro_protocol::time::Duration::seconds(301));
    run(&scene).await;
    assert_eq!(site.heard().len(), 2, "nobody waits for it any more");
    assert_eq!(scene.app.count("SELECT count(*) FROM job WHERE kind = 'approvals.announce'").await, 0);
}

#[tokio::test]
async fn a_receiver_that_is_slow_delays_neither_the_person_nor_other_messages() {
    let site = Site::start().await;
    // It takes connections and says nothing.
    let slow = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = slow.local_addr().unwrap().port();
    let more = json!({"backchannel_token_delivery_mode": "ping",
        "backchannel_client_notification_endpoint": site.url("/ping")});
    let app = site.builder().private_hosts(vec![format!("localhost:{port}")]).settings(|settings| {
        settings.approval_webhook_url = Some(format!("https://localhost:{port}/hook"));
        settings.approval_webhook_secret = Some(Sensitive::new(SECRET));
    });
    let app = Arc::new(app.start().await);
    payroll(&app).await;
    site.answer("/ping", "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".into());
    let mut scene = Scene::asking_on(app, more).await;
    let request = scene.asked(&[("client_notification_token", "token")]).await;
    scene.asked(&[("client_notification_token", "token")]).await;
    scene.decide("deny", &json!({})).await;
    scene.approve(&request).await;
    let running = tokio::spawn({
        let app = Arc::clone(&scene.app.app);
        async move { jobs::run_due(&app).await }
    });
    let told = async {
        while site.heard().len() < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), told).await.unwrap();
    assert_eq!(scene.poll(&request).await.status, 200);
    running.abort();
}
