//! The engine itself: who owns a flow, what is stale, what a random walk can and cannot reach.

use std::sync::Arc;

use axum::body::Body;
use http::{Method, Request};
use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::{Value, json};

use super::{app, register};

/// Keycloak CVE-2026-7507: a flow made by an attacker, opened in the victim's browser.
#[tokio::test]
async fn cve_2026_7507_a_flow_does_not_exist_for_another_browser() {
    let app = app().await;
    let (mut attacker, mut victim) = (Browser::new(&app), Browser::new(&app));
    let flow = attacker.open(json!({"kind": "sign_in"})).await;
    victim.open(json!({"kind": "sign_in"})).await;
    let path = format!("/v1/flows/{}", flow.id());
    let foreign = victim.get(&path).await;
    let unknown = victim.get("/v1/flows/00000000-0000-7000-8000-000000000000").await;
    assert_eq!((foreign.status.as_u16(), unknown.status.as_u16()), (404, 404));
    let mask = |mut body: Value| {
        body["instance"] = json!("masked");
        body
    };
    assert_eq!(mask(foreign.json()), mask(unknown.json()));
    assert_eq!(victim.delete(&path).await.status, 404);
    let mut bare = Browser::new(&app);
    assert_eq!(bare.get(&path).await.status, 404);
}

#[tokio::test]
async fn a_stale_step_changes_nothing_and_shows_the_current_one() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let first = flow.now["step"].clone();
    flow.act(&mut browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let second = flow.now["step"].clone();
    assert!(second.as_i64() > first.as_i64());
    let answer = flow.attempt(&mut browser, "flow/back", json!({"step": first})).await;
    assert_eq!(answer.status, 409);
    assert_eq!(answer.json()["flow"]["step"], second);
    for bad in [json!(null), json!("2"), json!(99)] {
        assert_eq!(flow.attempt(&mut browser, "flow/back", json!({"step": bad})).await.status, 409);
    }
}

#[tokio::test]
async fn of_many_identical_calls_one_is_taken() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "register"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let code = app.mailed_code("ana@example.test").await;
    app.forget_limits().await;
    app.sql("UPDATE challenge SET max_attempts = 100").await;
    let mut racing = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let (mut flow, mut twin) = (flow.clone(), Browser::new(&app));
        twin.cookies.clone_from(&browser.cookies);
        let code = code.clone();
        racing.spawn(async move {
            flow.attempt(&mut twin, "email_code/check", json!({"code": code})).await.status.as_u16()
        });
    }
    let statuses = racing.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 400 | 409 | 422 | 429)), "{statuses:?}");
}

#[tokio::test]
async fn another_sites_page_cannot_speak_for_the_browser() {
    let app = app().await;
    for (name, value) in
        [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site"), ("x-none", "1")]
    {
        let mut request =
            Request::post("/v1/flows").header("content-type", "application/json").header(name, value);
        if name == "sec-fetch-site" {
            request = request.header("origin", porteiro_testkit::ORIGIN);
        }
        let answer = app.send(request.body(Body::from(r#"{"kind":"sign_in"}"#)).unwrap()).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["code"].as_str()),
            (403, Some("origin_refused")),
            "{name}"
        );
    }
    let form = Request::post("/v1/flows")
        .header("content-type", "text/plain")
        .header("origin", porteiro_testkit::ORIGIN)
        .body(Body::from(r#"{"kind":"sign_in"}"#))
        .unwrap();
    assert_eq!(app.send(form).await.status, 415);
}

async fn api_call(
    app: &TestApp,
    path: &str,
    token: Option<&str>,
    body: &Value,
    browser_like: bool,
) -> (u16, Value) {
    let mut request =
        Request::builder().method(Method::POST).uri(path).header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", format!("Flow {token}"));
    }
    if browser_like {
        request = request.header("cookie", "a=b");
    }
    let answer = app.send(request.body(Body::from(body.to_string())).unwrap()).await;
    (answer.status.as_u16(), answer.json())
}

#[tokio::test]
async fn an_apps_token_changes_at_every_step_and_a_browser_cannot_use_it() {
    let app =
        Arc::new(TestApp::builder().people().settings(|settings| settings.api_flows = true).start().await);
    let open = json!({"kind": "register", "transport": "api"});
    let (status, flow) = api_call(&app, "/v1/flows", None, &open, false).await;
    assert_eq!(status, 201, "{flow}");
    assert_eq!(api_call(&app, "/v1/flows", None, &open, true).await.0, 400, "a browser is refused");
    let first = flow["auth_session"].as_str().unwrap().to_owned();
    let id = flow["id"].as_str().unwrap();
    let send = format!("/v1/flows/{id}/email_code/send");
    let body = json!({"step": 1, "identifier": "ana@example.test"});
    assert_eq!(api_call(&app, &send, Some(&first), &body, true).await.0, 400);
    let (status, flow) = api_call(&app, &send, Some(&first), &body, false).await;
    assert_eq!(status, 200, "{flow}");
    let second = flow["auth_session"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    let code = app.mailed_code("ana@example.test").await;
    let check = format!("/v1/flows/{id}/email_code/check");
    let body = json!({"step": flow["step"], "code": code});
    assert_eq!(api_call(&app, &check, Some(&first), &body, false).await.0, 404, "the old token is dead");
    let (status, flow) = api_call(&app, &check, Some(&second), &body, false).await;
    assert_eq!(status, 200, "{flow}");
    let token = flow["auth_session"].as_str().unwrap().to_owned();
    let body = json!({"step": flow["step"], "display_name": "Ana"});
    let (_, flow) = api_call(&app, &format!("/v1/flows/{id}/profile/set"), Some(&token), &body, false).await;
    let token = flow["auth_session"].as_str().unwrap().to_owned();
    let body = json!({"step": flow["step"]});
    let (_, done) = api_call(&app, &format!("/v1/flows/{id}/enrol/skip"), Some(&token), &body, false).await;
    let session = done["continue"]["session_token"].as_str().unwrap();
    let request = Request::get("/v1/account").header("authorization", format!("Session {session}"));
    assert_eq!(app.send(request.body(Body::empty()).unwrap()).await.status, 200);
}

#[tokio::test]
async fn api_flows_are_closed_unless_switched_on() {
    let app = app().await;
    let open = json!({"kind": "sign_in", "transport": "api"});
    assert_eq!(api_call(&app, "/v1/flows", None, &open, false).await.0, 403);
}

#[tokio::test]
async fn a_cancelled_flow_is_over() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let answer = browser.delete(&format!("/v1/flows/{}", flow.id())).await;
    assert_eq!((answer.status.as_u16(), answer.json()["stage"].as_str()), (200, Some("cancelled")));
    assert_eq!(flow.attempt(&mut browser, "flow/back", nothing()).await.status, 410);
}

#[tokio::test]
async fn for_a_minute_the_owner_may_ask_again_what_came_of_it() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    let mut flow = super::register_to_enrolment(&app, &mut browser, "ana@example.test").await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    let id = flow.id().to_owned();
    let again = browser.get(&format!("/v1/flows/{id}")).await;
    assert_eq!((again.status.as_u16(), again.json()["stage"].as_str()), (200, Some("complete")));
    assert!(!again.text().contains("pt_ses_"), "and never a token twice");
    app.sql("UPDATE flow SET finished_at = now() - interval '61 seconds'").await;
    assert_eq!(browser.get(&format!("/v1/flows/{id}")).await.status, 410);
}

/// Zitadel 2026-08: a code in the answer to whoever asked for it.
#[tokio::test]
async fn no_answer_contains_the_code_it_mailed() {
    let app = app().await;
    register(&app, "ana@example.test").await;
    app.forget_limits().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let answer =
        flow.attempt(&mut browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let code = app.mailed_code("ana@example.test").await;
    assert!(!answer.text().contains(&code));
    assert!(!flow.show(&mut browser).await.text().contains(&code));
}

/// CVE-2024-4540: cookies hold only opaque values.
#[tokio::test]
async fn cve_2024_4540_cookies_are_opaque() {
    let app = app().await;
    let browser = register(&app, "ana@example.test").await;
    assert_eq!(
        browser.cookies.keys().collect::<Vec<_>>(),
        ["__Host-bind", "__Host-device", "__Host-session"]
    );
    for (name, value) in &browser.cookies {
        assert!(
            value.len() >= 43 && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)),
            "{name}"
        );
        assert!(!value.contains("ana"), "{name}");
    }
}
