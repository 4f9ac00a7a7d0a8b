//! Web Push: a browser is told that something waits, and never what.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{
    jose::{Algorithm, verify_compact},
    time::Clock,
};
use porteiro_service::jobs;
use porteiro_testkit::Browser;
use serde_json::{Value, json};

use super::driver::{Scene, proved};
use crate::{fetch::http, oauth::site::Site, organizations::driver::payroll};

const PATH: &str = "/v1/account/push-subscriptions";

/// Ana, an agent that may ask her, and a push service.
async fn scene(site: &Site) -> Scene {
    let app = Arc::new(site.builder().start().await);
    payroll(&app).await;
    Scene::asking_on(app, json!({})).await
}

fn answers(site: &Site, path: &str, status: &str) {
    site.answer(path, http(status, "", ""));
}

async fn subscribe(scene: &mut Scene, endpoint: &str) -> Value {
    let answer = scene.browser.post(PATH, &json!({"endpoint": endpoint})).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()
}

async fn subscribed(browser: &mut Browser) -> usize {
    browser.get(PATH).await.json()["items"].as_array().unwrap().len()
}

async fn run(scene: &Scene) {
    jobs::run_due(&scene.app.app).await.unwrap();
}

fn headers(request: &str) -> BTreeMap<String, String> {
    let header =
        |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    request.lines().filter_map(header).collect()
}

#[tokio::test]
async fn a_browser_gets_an_empty_message_that_our_key_signed() {
    let site = Site::start().await;
    let mut scene = scene(&site).await;
    answers(&site, "/push/1", "201 Created");
    let made = subscribe(&mut scene, &site.url("/push/1")).await;
    assert_eq!((&made["host"], &made["current"]), (&json!("localhost"), &json!(true)), "{made}");
    let listed = scene.browser.get(PATH).await.json();
    let public = listed["public_key"].as_str().unwrap();
    assert_eq!(listed["items"][0]["id"], made["id"]);
    assert!(!listed.to_string().contains("/push/1"), "the address is kept: {listed}");
    scene.asked(&[("binding_message", "Order 7")]).await;
    scene.asked(&[]).await;
    run(&scene).await;
    let heard = site.heard();
    assert_eq!(heard.len(), 1, "what waits is announced once: {heard:?}");
    let (head, body) = heard[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /push/1 HTTP/1.1") && body.is_empty(), "{heard:?}");
    let said = headers(head);
    assert_eq!((said["content-length"].as_str(), said["urgency"].as_str()), ("0", "high"));
    assert!((1..=300).contains(&said["ttl"].parse::<i64>().unwrap()), "{said:?}");
    let (token, key) = said["authorization"].strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
    assert_eq!(key, public);
    let point = URL_SAFE_NO_PAD.decode(key).unwrap();
    let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..]));
    let jwk = json!({"kty": "EC", "crv": "P-256", "x": x, "y": y});
    let claims = verify_compact(token, &[jwk], &[Algorithm::Es256]).unwrap().payload;
    assert_eq!((&claims["aud"], &claims["sub"]), (&json!(site.url("")), &json!("https://id.example.test")));
    let left = claims["exp"].as_i64().unwrap() - scene.app.clock.now().unix_timestamp();
    assert!((1..=86_400).contains(&left), "{claims}");
}

#[tokio::test]
async fn an_address_that_is_gone_is_removed_and_one_that_fails_is_tried_again() {
    let site = Site::start().await;
    let mut scene = scene(&site).await;
    for (path, status) in
        [("/gone", "410 Gone"), ("/unknown", "404 Not Found"), ("/busy", "503 Service Unavailable")]
    {
        answers(&site, path, status);
        subscribe(&mut scene, &site.url(path)).await;
    }
    scene.asked(&[]).await;
    for _ in 0..2 {
        run(&scene).await;
        scene.app.sql("UPDATE job SET run_at = now() WHERE kind = 'web_push.send'").await;
    }
    let told = |path: &str| site.heard().iter().filter(|one| one.contains(&format!("POST {path} "))).count();
    assert_eq!((told("/gone"), told("/unknown"), told("/busy")), (1, 1, 2));
    assert_eq!(subscribed(&mut scene.browser).await, 1);
    // Nobody need be told any more.
    scene.app.clock.advance(porteiro_protocol::time::Duration::seconds(301));
    run(&scene).await;
    assert_eq!(told("/busy"), 2);
    assert_eq!(scene.app.count("SELECT count(*) FROM job WHERE kind = 'web_push.send'").await, 0);
}

#[tokio::test]
async fn a_person_has_ten_browsers_at_most_and_only_at_public_addresses() {
    let site = Site::start().await;
    let mut scene = scene(&site).await;
    for number in 0..10 {
        subscribe(&mut scene, &format!("https://push.example/{number}")).await;
    }
    subscribe(&mut scene, "https://push.example/3").await;
    assert_eq!(subscribed(&mut scene.browser).await, 10, "the same one is no other");
    let more = scene.browser.post(PATH, &json!({"endpoint": "https://push.example/10"})).await;
    assert_eq!(more.json()["code"], "quota", "{}", more.text());
    for bad in [
        "http://push.example/",
        "https://10.0.0.1/",
        "https://localhost:1/",
        "https://a@push.example/",
        "push",
        "",
    ] {
        let answer = scene.browser.post(PATH, &json!({"endpoint": bad})).await;
        assert_eq!(answer.json()["code"], "field_invalid", "{bad}: {}", answer.text());
    }
    let id = scene.browser.get(PATH).await.json()["items"][0]["id"].as_str().unwrap().to_owned();
    let mut other = proved(&scene.app, "bo@example.test").await;
    assert_eq!(other.delete(&format!("{PATH}/{id}")).await.status, 404);
    assert_eq!(scene.browser.delete(&format!("{PATH}/{id}")).await.status, 204);
    assert_eq!(subscribed(&mut scene.browser).await, 9);
}

#[tokio::test]
async fn who_signs_out_is_not_told_there_any_more() {
    let site = Site::start().await;
    let mut scene = scene(&site).await;
    subscribe(&mut scene, &site.url("/push/1")).await;
    let sessions = scene.browser.get("/v1/account/sessions").await.json();
    let own = sessions["items"].as_array().unwrap().iter().find(|one| one["current"] == true).unwrap();
    let path = format!("/v1/account/sessions/{}", own["id"].as_str().unwrap());
    assert_eq!(scene.browser.delete(&path).await.status, 204);
    assert_eq!(scene.app.count("SELECT count(*) FROM push_subscription").await, 0);
}

#[tokio::test]
async fn a_push_service_that_is_slow_delays_no_other() {
    let site = Site::start().await;
    // It takes connections and says nothing.
    let slow = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = slow.local_addr().unwrap().port();
    let app =
        site.builder().settings(|settings| settings.outbound_client_hosts.push(format!("localhost:{port}")));
    let app = Arc::new(app.start().await);
    payroll(&app).await;
    let mut scene = Scene::asking_on(app, json!({})).await;
    answers(&site, "/push/1", "201 Created");
    for number in 0..5 {
        subscribe(&mut scene, &format!("https://localhost:{port}/{number}")).await;
    }
    subscribe(&mut scene, &site.url("/push/1")).await;
    let request = scene.asked(&[]).await;
    let running = tokio::spawn({
        let app = Arc::clone(&scene.app.app);
        async move { jobs::run_due(&app).await }
    });
    let told = async {
        while site.heard().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), told).await.unwrap();
    scene.approve(&request).await;
    assert_eq!(scene.poll(&request).await.status, 200);
    running.abort();
}

#[tokio::test]
async fn where_it_is_switched_off_nobody_subscribes_and_nothing_is_sent() {
    let site = Site::start().await;
    let app = Arc::new(site.builder().settings(|settings| settings.web_push = false).start().await);
    payroll(&app).await;
    let mut scene = Scene::asking_on(app, json!({})).await;
    assert_eq!(scene.browser.get(PATH).await.json()["public_key"], Value::Null);
    let answer = scene.browser.post(PATH, &json!({"endpoint": site.url("/push/1")})).await;
    assert_eq!(answer.status, 404, "{}", answer.text());
    scene
        .app
        .sql(&format!(
            "INSERT INTO push_subscription (account_id, subscription_id, endpoint, session_id, user_agent)
             VALUES ('{}', gen_random_uuid(), '{}', gen_random_uuid(), '')",
            scene.account,
            site.url("/push/1")
        ))
        .await;
    scene.asked(&[]).await;
    run(&scene).await;
    assert!(site.heard().is_empty());
}
