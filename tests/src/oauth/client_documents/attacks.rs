//! What strangers would have us fetch, believe or keep.

use std::time::{Duration, Instant};

use porteiro_testkit::{Browser, TestApp};
use serde_json::json;
use tokio::task::JoinSet;

use super::{PATH, document, documents, page, publish, tool, window};
use crate::{
    fetch::{Recorder, http},
    oauth::{
        driver::{Relying, get_json, person, verifier},
        encode,
        site::Site,
    },
    people::long,
};

const JSON: &str = "content-type: application/json\r\n";

/// So many URLs that a stranger names: none is fetched, none becomes a client.
#[tokio::test]
async fn a_stranger_who_names_many_urls_has_nothing_fetched_and_no_client_written() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = Browser::new(&app);
    for number in 0..if long() { 10_000 } else { 150 } {
        let path = format!("/{number}/client.json");
        let client = Relying { id: site.url(&path), ..tool(&site) };
        match number % 5 {
            0..=2 => {
                let answer = client.ask(&mut browser, &verifier(), &[]).await;
                let waits = answer.status == 429 || answer.json()["stage"] == "authenticate";
                assert!(waits, "{number}: {}", answer.text());
            }
            3 => {
                let pushed = client.call(&app, "/connect/par", &[("response_type", "code")]).await;
                assert!(matches!(pushed.status.as_u16(), 401 | 429), "{number}: {}", pushed.text());
            }
            _ => {
                let answer = client.token(&app, "refresh_token", &[("refresh_token", "x")]).await;
                assert!(matches!(answer.status.as_u16(), 401 | 429), "{number}: {}", answer.text());
            }
        }
    }
    assert!(site.heard().is_empty());
    assert_eq!(documents(&app).await, 0);
    assert_eq!(app.count("SELECT count(*) FROM security_log").await, 0);
}

#[tokio::test]
async fn an_id_that_two_parsers_could_read_differently_is_refused_before_anything_is_fetched() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let port = site.port;
    for id in [
        site.url(&format!("{PATH}?x=1")),
        site.url(&format!("{PATH}?")),
        site.url(&format!("{PATH}#top")),
        site.url(&format!("/a/..{PATH}")),
        site.url(&format!("/.{PATH}")),
        site.url(&format!("/%2e%2e{PATH}")),
        format!("https://ana@localhost:{port}{PATH}"),
        format!("https://ana:pw@localhost:{port}{PATH}"),
        format!("https://@localhost:{port}{PATH}"),
        format!("https://LOCALHOST:{port}{PATH}"),
        format!("https://localhost:0{port}{PATH}"),
        format!("https://localhost:{port}"),
        format!("https://localhost\\{PATH}"),
        format!("https://localhost:{port}/{}", "a".repeat(512)),
        // Not https: a client id like any other, which nobody has.
        format!("http://localhost:{port}{PATH}"),
        format!("HTTPS://localhost:{port}{PATH}"),
    ] {
        let client = Relying { id: id.clone(), ..tool(&site) };
        let answer = client.ask(&mut browser, &verifier(), &[]).await;
        assert_eq!(page(&answer), (400, "invalid_request".into()), "{id}: {}", answer.text());
    }
    assert!(site.heard().is_empty(), "{:?}", site.heard());
    assert_eq!(documents(&app).await, 0);
}

#[tokio::test]
async fn private_hosts_and_the_ports_of_other_services_are_never_reached() {
    let app = crate::oauth::app_with(4).await;
    let browser = person(&app).await;
    let recorder = Recorder::answering(&http("200 OK", JSON, "{}")).await;
    let port = recorder.port;
    let mut tries = JoinSet::new();
    for id in [
        format!("https://127.0.0.1:{port}/client.json"),
        format!("https://localhost:{port}/client.json"),
        format!("https://[::1]:{port}/client.json"),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://metadata/computeMetadata".to_owned(),
        "https://10.0.0.1/client.json".to_owned(),
        "https://app.example.test:25/client.json".to_owned(),
    ] {
        let mut window = window(&app, &browser);
        tries.spawn(async move {
            let client = Relying { id: id.clone(), secret: None, redirect_uri: super::LOOPBACK.to_owned() };
            let answer = client.ask(&mut window, &verifier(), &[]).await;
            (id, page(&answer), answer.text())
        });
    }
    while let Some(answer) = tries.join_next().await {
        let (id, answer, text) = answer.unwrap();
        assert_eq!(answer, (400, "invalid_request".into()), "{id}: {text}");
        assert!(text.contains("could not be fetched"), "{id}: {text}");
    }
    assert!(recorder.heard().is_empty());
    assert_eq!(documents(&app).await, 0);
}

#[tokio::test]
async fn what_is_no_document_of_this_client_is_refused_and_not_kept() {
    let site = Site::start().await;
    let app = site.app_with(4).await;
    let browser = person(&app).await;
    let good = document(&site, &json!({})).to_string();
    publish(&site, &json!({}));
    let twice = good.replacen('{', "{\"client_id\":\"https://evil.example/\",", 1);
    let moved = format!("{JSON}location: {}\r\n", site.url(PATH));
    let large = document(&site, &json!({"contacts": ["x".repeat(5_000)]})).to_string();
    let mut tries = JoinSet::new();
    for (number, (what, answer)) in [
        ("a redirect to the right one", http("302 Found", &moved, "")),
        ("a permanent one", http("308 Permanent Redirect", &moved, "")),
        ("created", http("201 Created", JSON, &good)),
        ("a page", http("200 OK", "content-type: text/html\r\n", &good)),
        ("no type", http("200 OK", "", &good)),
        ("compressed", http("200 OK", &format!("{JSON}content-encoding: gzip\r\n"), &good)),
        ("too large", http("200 OK", JSON, &large)),
        ("a list", http("200 OK", JSON, &format!("[{good}]"))),
        ("half of it", http("200 OK", JSON, &good[..good.len() / 2])),
        ("two ids", http("200 OK", JSON, &twice)),
        ("another client's", http("200 OK", JSON, &good)),
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("/{number}/client.json");
        site.answer(&path, answer);
        let client = Relying { id: site.url(&path), ..tool(&site) };
        let mut window = window(&app, &browser);
        tries.spawn(async move { (what, client.ask(&mut window, &verifier(), &[]).await) });
    }
    while let Some(answer) = tries.join_next().await {
        let (what, answer) = answer.unwrap();
        assert_eq!(page(&answer), (400, "invalid_request".into()), "{what}: {}", answer.text());
    }
    assert_eq!(documents(&app).await, 0);
    assert_eq!(site.heard().len(), 11, "one request each: no redirect is followed");
}

#[tokio::test]
async fn a_document_with_secrets_private_keys_or_our_name_is_refused() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    for (what, more) in [
        ("a secret", json!({"client_secret": "x"})),
        ("a secret's expiry", json!({"client_secret_expires_at": 0})),
        ("a shared method", json!({"token_endpoint_auth_method": "client_secret_basic"})),
        ("a shared key", json!({"jwks": {"keys": [{"kty": "oct", "k": "AA"}]}})),
        ("a private key", json!({"jwks": {"keys": [{"kty": "EC", "crv": "P-256", "d": "AA"}]}})),
        ("a key that is not there", json!({"token_endpoint_auth_method": "private_key_jwt"})),
        ("a certificate nobody asks for", json!({"token_endpoint_auth_method": "tls_client_auth"})),
        ("our name", json!({"client_name": "P0rteiro Security"})),
        ("a hidden name", json!({"client_name": "Good\u{202e}dooG"})),
        ("another host's address", json!({"redirect_uris": ["https://app.example.test/callback"]})),
        ("an address that runs", json!({"redirect_uris": ["javascript:alert(1)"]})),
        ("no address", json!({"redirect_uris": null})),
        ("only grants of the trusted", json!({"grant_types": ["client_credentials"]})),
    ] {
        publish(&site, &more);
        let answer = tool(&site).ask(&mut browser, &verifier(), &[]).await;
        assert_eq!(page(&answer), (400, "invalid_request".into()), "{what}: {}", answer.text());
        assert!(answer.text().contains("metadata document is not usable"), "{what}: {}", answer.text());
    }
    assert_eq!(documents(&app).await, 0);
}

/// Three seconds in all, whatever the host does; meanwhile others are served.
#[tokio::test]
async fn a_slow_host_costs_its_own_request_three_seconds() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    publish(&site, &json!({}));
    site.hesitate(Duration::from_secs(8));
    let begun = Instant::now();
    let answer = tool(&site).ask(&mut browser, &verifier(), &[]).await;
    assert_eq!(page(&answer), (400, "invalid_request".into()), "{}", answer.text());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// Signing in is no licence: so many documents for one account.
#[tokio::test]
async fn one_account_has_so_many_documents_fetched() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let mut limited = 0;
    for number in 0..25 {
        let path = format!("/{number}/client.json");
        let body = document(&site, &json!({"client_id": site.url(&path)})).to_string();
        site.serve(&path, "application/json", &body);
        let client = Relying { id: site.url(&path), ..tool(&site) };
        let answer = client.ask(&mut browser, &verifier(), &[]).await;
        match answer.status.as_u16() {
            429 => limited += 1,
            status => assert_eq!(status, 200, "{}", answer.text()),
        }
    }
    assert_eq!((limited, site.heard().len()), (5, 20));
    assert_eq!(documents(&app).await, 20);
}

/// Where there is a crowd of unused clients, documents add no more than registrations would.
#[tokio::test]
async fn documents_share_the_room_of_self_registered_clients() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    crowd(&app).await;
    for (number, expected) in [(0, 200), (1, 200), (2, 400)] {
        let path = format!("/{number}/client.json");
        let body = document(&site, &json!({"client_id": site.url(&path)})).to_string();
        site.serve(&path, "application/json", &body);
        let client = Relying { id: site.url(&path), ..tool(&site) };
        let answer = client.ask(&mut browser, &verifier(), &[]).await;
        assert_eq!(answer.status.as_u16(), expected, "{number}: {}", answer.text());
    }
}

async fn crowd(app: &TestApp) {
    app.sql(
        "INSERT INTO client (client_id, trust, profile, metadata, registered_from)
         SELECT 'crowd-' || number, 'unverified', 'default', '{}', '\\x00' FROM generate_series(1, 5000) number",
    )
    .await;
}

/// A signed request names its client outside as well: that one is looked at, and the object cannot name another.
#[tokio::test]
async fn a_request_object_cannot_bring_in_a_url_from_inside() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    publish(&site, &json!({}));
    let web = Relying::web(&app).await;
    let path = format!(
        "/connect/authorize?{}",
        encode(&[("client_id", web.id.as_str()), ("request_uri", site.url("/object").as_str())])
    );
    let answer = get_json(&mut browser, &path).await;
    assert_eq!(page(&answer).0, 400, "{}", answer.text());
    let naming = web.ask(&mut browser, &verifier(), &[("client_id", &site.url("/nothing.json"))]).await;
    assert_eq!(page(&naming), (400, "invalid_request".into()));
    assert_eq!(documents(&app).await, 0);
}
