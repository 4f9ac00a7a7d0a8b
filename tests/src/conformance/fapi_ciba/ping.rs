//! Notifications (CIBA Core §10.2): what the client is told, and what its answer changes.

use super::*;
use crate::oauth::site::Site;

/// Each client is told once of its decision and fetches its tokens, whatever it answers.
async fn is_told_once(answer: &str) {
    let site = Site::start().await;
    site.answer("/ping", format!("HTTP/1.1 {answer}"));
    let more = json!({"backchannel_token_delivery_mode": "ping",
        "backchannel_client_notification_endpoint": site.url("/ping")});
    let Stage { app, mut browser, pairs } = Stage::on(site.builder(), &more).await;
    for (number, (one, _)) in pairs.iter().enumerate() {
        let asked = one.asked(&app, &json!({})).await;
        approve(&mut browser, &asked).await;
        for _ in 0..2 {
            porteiro_service::jobs::run_due(&app.app).await.unwrap();
            app.sql("UPDATE job SET run_at = now()").await;
        }
        let heard = site.heard();
        assert_eq!(heard.len(), number + 1, "{heard:?}");
        let (head, body) = heard[number].split_once("\r\n\r\n").unwrap();
        let head = head.to_lowercase();
        assert!(head.starts_with("post /ping ") && head.contains("content-type: application/json"), "{head}");
        assert!(head.contains("authorization: bearer bearer-of-the-client"), "{head}");
        let told: Value = serde_json::from_str(body).unwrap();
        assert_eq!(told, json!({"auth_req_id": asked.handle}), "nothing else");
        assert_eq!(one.poll(&app, &asked).await.status, 200);
    }
}

const NO_BODY: &str = "content-length: 0\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_response_has_body() {
    is_told_once("200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbody")
        .await;
    is_told_once(&format!("204 No Content\r\n{NO_BODY}")).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_response_401() {
    is_told_once(&format!("401 Unauthorized\r\n{NO_BODY}")).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_response_403() {
    is_told_once(&format!("403 Forbidden\r\n{NO_BODY}")).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_return_redirect_request() {
    is_told_once(&format!("301 Moved Permanently\r\nlocation: /elsewhere\r\n{NO_BODY}")).await;
}
