//! For how long a document is believed, and what becomes of clients that nobody uses.

use porteiro_service::oauth::client_documents;
use porteiro_testkit::TestApp;
use serde_json::json;

use super::{PATH, document, documents, make_stale, page, publish, tool};
use crate::{
    fetch::http,
    oauth::{
        driver::{person, verifier},
        site::Site,
    },
};

/// How many seconds are left.
async fn validity(app: &TestApp) -> f64 {
    let client = app.database.client().await;
    let sql = "SELECT extract(epoch FROM document_until - now())::float8 FROM client WHERE document_until IS NOT NULL";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_document_is_valid_as_long_as_its_answer_says_within_bounds() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let body = document(&site, &json!({})).to_string();
    let serve = |headers: &str| {
        site.answer(PATH, http("200 OK", &format!("content-type: application/json\r\n{headers}"), &body));
    };
    let mut fetched = 0;
    for (headers, seconds) in [
        ("cache-control: max-age=3600\r\n", 3_600.0),
        ("", 300.0),
        ("cache-control: no-store\r\n", 300.0),
        ("cache-control: max-age=1\r\n", 300.0),
        ("cache-control: public, max-age=31536000\r\n", 86_400.0),
        ("cache-control: max-age=3600\r\nage: 3000\r\n", 600.0),
    ] {
        serve(headers);
        for _ in 0..2 {
            let answer = tool(&site).ask(&mut browser, &verifier(), &[]).await;
            assert_eq!(answer.json()["stage"], "consent", "{headers}: {}", answer.text());
        }
        fetched += 1;
        assert_eq!(site.heard().len(), fetched, "{headers}: once, and then kept");
        let left = validity(&app).await;
        assert!((seconds - 30.0..=seconds).contains(&left), "{headers}: {left}");
        make_stale(&app).await;
    }
    let changed = app.count("SELECT count(*) FROM security_log WHERE kind = 'client.changed'").await;
    assert_eq!(changed, 0, "the same document changes nothing");
}

#[tokio::test]
async fn a_failure_is_not_remembered_and_does_not_prolong_anything() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let mut ask = async || tool(&site).ask(&mut browser, &verifier(), &[]).await;
    assert_eq!(page(&ask().await), (400, "invalid_request".into()), "404");
    publish(&site, &json!({}));
    assert_eq!(ask().await.json()["stage"], "consent");
    make_stale(&app).await;
    site.answer(PATH, http("503 Service Unavailable", "", ""));
    assert_eq!(page(&ask().await), (400, "invalid_request".into()), "what was believed before is too old");
    site.answer(PATH, http("404 Not Found", "", ""));
    assert_eq!(page(&ask().await), (400, "invalid_request".into()));
    publish(&site, &json!({}));
    assert_eq!(ask().await.json()["stage"], "consent");
    assert_eq!(site.heard().len(), 5);
}

#[tokio::test]
async fn unused_clients_leave_and_disabled_ones_do_not_come_back() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    publish(&site, &json!({}));
    let client = tool(&site);
    let read = async |browser: &mut _| client.ask(browser, &verifier(), &[]).await;
    let expired = async || client_documents::expire(&app.app).await.unwrap();

    read(&mut browser).await;
    assert_eq!(expired().await, 0, "not yet");
    app.sql("UPDATE client SET created_at = now() - interval '25 hours'").await;
    assert_eq!((expired().await, documents(&app).await), (1, 0), "never used");
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    app.sql("UPDATE client SET created_at = now() - interval '89 days', last_used_at = now() - interval '89 days'").await;
    assert_eq!(expired().await, 0, "used within 90 days");
    let next = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(next.status, 200, "{}", next.text());

    app.sql("UPDATE client SET last_used_at = now() - interval '91 days', trust = 'verified'").await;
    assert_eq!(expired().await, 0, "an administrator has verified it");
    app.sql("UPDATE client SET trust = 'unverified', disabled_at = now(), changed_at = clock_timestamp()")
        .await;
    assert_eq!(expired().await, 0, "an administrator has disabled it");
    porteiro_service::oauth::registration::expire(&app.app).await.unwrap();
    app.sql("UPDATE client SET disabled_at = now() - interval '1 year', document_until = now()").await;
    porteiro_service::oauth::registration::expire(&app.app).await.unwrap();
    assert_eq!(documents(&app).await, 1, "and it stays disabled");
    let before = site.heard().len();
    assert_eq!(page(&read(&mut browser).await), (400, "invalid_request".into()));
    assert_eq!(site.heard().len(), before, "nor is it asked about");
}
