//! Text messages to providers that write down what they get.

use porteiro_service::{
    jobs::JobError,
    settings::{Mode, Sensitive, SmsProviderName, SmsSettings},
    sms::{Sms, SmsProvider},
};
use serde_json::json;

use crate::fetch::Recorder;

const NUMBER: &str = "+5511987654321";
const TEXT: &str = "123456 é seu código & mais.\n@id.example.org #123456";

fn provider(name: SmsProviderName, url: &str) -> SmsProvider {
    let settings = SmsSettings {
        provider: name,
        url: Some(url),
        account: Some("AC0123"),
        secret: Some(&Sensitive::new("s3cret")),
        from: Some("+15005550006"),
    };
    SmsProvider::open(&settings, Mode::Production, |_| {}).unwrap()
}

fn sms(to: &str) -> Sms {
    Sms { to: to.into(), text: TEXT.into(), not_after: None }
}

async fn answering(status: &str) -> Recorder {
    Recorder::answering(&format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")).await
}

async fn deliver(server: &Recorder, name: SmsProviderName) -> Result<(), JobError> {
    provider(name, &server.url("")).send(&server.fetcher(), &sms(NUMBER)).await
}

#[tokio::test]
async fn twilio_gets_a_form_with_a_login() {
    let server = answering("201 Created").await;
    deliver(&server, SmsProviderName::Twilio).await.unwrap();
    let heard = server.heard().concat();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /2010-04-01/Accounts/AC0123/Messages.json HTTP/1.1\r\n"), "{head}");
    // AC0123:s3cret
    assert!(head.contains("authorization: Basic QUMwMTIzOnMzY3JldA=="), "{head}");
    assert!(head.contains("content-type: application/x-www-form-urlencoded"));
    let text = "123456+%C3%A9+seu+c%C3%B3digo+%26+mais.%0A%40id.example.org+%23123456";
    assert_eq!(body, format!("To=%2B5511987654321&From=%2B15005550006&Body={text}"));
}

#[tokio::test]
async fn a_webhook_gets_json_with_a_bearer() {
    let server = answering("204 No Content").await;
    deliver(&server, SmsProviderName::Webhook).await.unwrap();
    let heard = server.heard().concat();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST / HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Bearer s3cret"));
    assert!(head.contains("content-type: application/json"));
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body, json!({ "to": NUMBER, "text": TEXT }));
}

#[tokio::test]
async fn refusals_for_good_end_it_others_are_tried_again_and_no_error_names_anybody() {
    for (status, hopeless) in [
        ("400 Bad Request", true),
        ("401 Unauthorized", true),
        ("404 Not Found", true),
        ("408 Request Timeout", false),
        ("429 Too Many Requests", false),
        ("500 Internal Server Error", false),
        ("503 Service Unavailable", false),
        ("302 Found", false),
    ] {
        for name in [SmsProviderName::Twilio, SmsProviderName::Webhook] {
            let server = answering(status).await;
            let error = deliver(&server, name).await.unwrap_err();
            assert_eq!(matches!(error, JobError::Hopeless(_)), hopeless, "{status}");
            assert_names_nobody(&error);
            assert!(error.to_string().contains(&status[..3]));
        }
    }
}

#[tokio::test]
async fn a_provider_that_is_not_there_or_not_allowed_is_tried_again() {
    let server = answering("200 OK").await;
    // Not on the operator's list: the fetcher refuses before anything is sent.
    let elsewhere = provider(SmsProviderName::Webhook, "http://127.0.0.1:1/");
    let error = elsewhere.send(&server.fetcher(), &sms(NUMBER)).await.unwrap_err();
    assert!(matches!(error, JobError::Failed(_)));
    assert_names_nobody(&error);
    let error = SmsProvider::Nowhere.send(&server.fetcher(), &sms(NUMBER)).await.unwrap_err();
    assert!(matches!(error, JobError::Failed(_)));
    assert_eq!(server.heard(), [""; 0]);
}

#[tokio::test]
async fn what_is_no_message_to_no_number_is_given_up() {
    let server = answering("200 OK").await;
    let provider = provider(SmsProviderName::Webhook, &server.url("/"));
    for to in ["", "ana", "+1&To=2"] {
        let error = provider.send(&server.fetcher(), &sms(to)).await.unwrap_err();
        assert!(matches!(error, JobError::Hopeless(_)));
    }
    assert_eq!(server.heard(), [""; 0]);
    assert_eq!(format!("{:?}", sms(NUMBER)), "<sms>");
}

fn assert_names_nobody(error: &JobError) {
    let words = format!("{error} {error:?}");
    for secret in [NUMBER, &NUMBER[1..], "123456", "s3cret", "AC0123"] {
        assert!(!words.contains(secret), "{words}");
    }
}
