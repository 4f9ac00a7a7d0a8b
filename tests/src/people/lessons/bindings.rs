//! Whose flow, whose session, whose token.

use axum::body::Body;
use http::Request;
use porteiro_testkit::{Browser, nothing};
use serde_json::json;

use super::{
    super::{app, register, register_to_enrolment, sign_in::link_token},
    ANA, mailbox_proved, signed_in,
};

/// Keycloak CVE-2026-4282: one kind of one-time artefact redeemed as another.
#[tokio::test]
async fn cve_2026_4282_no_token_opens_what_it_was_not_made_for() {
    let app = app().await;
    let browser = register(&app, ANA).await;
    for (name, value) in &browser.cookies {
        let mut thief = Browser::new(&app);
        thief.cookies.insert("__Host-session".into(), value.clone());
        let expected = if name == "__Host-session" { 200 } else { 401 };
        assert_eq!(thief.get("/v1/account").await.status, expected, "{name} as a session");
        for scheme in ["Session", "Flow", "Bearer"] {
            let request = Request::get("/v1/account").header("authorization", format!("{scheme} {value}"));
            let status = app.send(request.body(Body::empty()).unwrap()).await.status;
            let expected = if (name.as_str(), scheme) == ("__Host-session", "Session") { 200 } else { 401 };
            assert_eq!(status, expected, "{name} as {scheme}");
        }
    }
}

/// Keycloak CVE-2026-7507, ASVS 7.2.4: a session cookie that somebody else put there.
#[tokio::test]
async fn cve_2026_7507_a_planted_session_cookie_is_never_continued() {
    let app = app().await;
    register(&app, ANA).await;
    register(&app, "mallory@example.test").await;
    let mallory = signed_in(&app, "mallory@example.test").await.session().unwrap().clone();
    for planted in [mallory.clone(), "pt_ses_chosen-by-an-attacker".to_owned()] {
        app.forget_limits().await;
        let mut victim = Browser::new(&app);
        victim.cookies.insert("__Host-session".into(), planted.clone());
        let mut flow = mailbox_proved(&app, &mut victim, "sign_in", ANA).await;
        flow.act(&mut victim, "enrol/skip", nothing()).await;
        assert_ne!(victim.session().unwrap(), &planted);
        let mut attacker = Browser::new(&app);
        attacker.cookies.insert("__Host-session".into(), planted);
        assert_eq!(attacker.get("/v1/account").await.status, 401, "the planted one leads nowhere");
    }
}

/// Zitadel GHSA-2wmj-46rj-qm2w: links built from what the request says about its host.
#[tokio::test]
async fn ghsa_2wmj_46rj_qm2w_links_come_from_the_base_address_alone() {
    let app = app().await;
    register(&app, ANA).await;
    for (name, value) in [
        ("host", "evil.example"),
        ("x-forwarded-host", "evil.example"),
        ("forwarded", "host=evil.example;proto=http"),
        ("x-original-host", "evil.example"),
        ("x-zitadel-public-host", "evil.example"),
    ] {
        app.forget_limits().await;
        let mut browser = Browser::new(&app);
        browser.headers.push((name, value.into()));
        let mut flow = browser.open(json!({"kind": "sign_in"})).await;
        flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
        let (subject, text) = app.mail(ANA).await;
        assert!(!subject.contains("evil") && !text.contains("evil"), "{name}");
        assert!(text.contains("https://id.example.test/ui/link#"), "{name}: {text}");
    }
}

/// Dex CVE-2022-39222 and Hydra 2018: whoever knew the request's id could take its result.
#[tokio::test]
async fn cve_2022_39222_only_the_browser_that_began_gets_the_result() {
    let app = app().await;
    let (mut owner, mut other) = (Browser::new(&app), Browser::new(&app));
    let mut flow = register_to_enrolment(&app, &mut owner, ANA).await;
    other.open(json!({"kind": "register"})).await;
    let (path, last) = (format!("/v1/flows/{}", flow.id()), json!({"step": flow.now["step"]}));
    assert_eq!(other.post(&format!("{path}/enrol/skip"), &last).await.status, 404);
    assert!(other.session().is_none());
    flow.act(&mut owner, "enrol/skip", nothing()).await;
    assert_eq!(owner.get(&path).await.status, 200);
    assert_eq!(other.get(&path).await.status, 404, "the result is the owner's, too");
}

/// authentik CVE-2023-26481, CVE-2022-23555 and Keycloak CVE-2026-16072: a token that fitted any flow or person.
#[tokio::test]
async fn cve_2023_26481_a_recovery_fits_only_its_own_flow_and_person() {
    let app = app().await;
    register(&app, ANA).await;
    register(&app, "mallory@example.test").await;
    app.forget_limits().await;
    let (mut victim, mut mallory) = (Browser::new(&app), Browser::new(&app));
    let mut hers = victim.open(json!({"kind": "recover"})).await;
    hers.act(&mut victim, "email_code/send", json!({"identifier": ANA})).await;
    let mut his = mallory.open(json!({"kind": "recover"})).await;
    his.act(&mut mallory, "email_code/send", json!({"identifier": "mallory@example.test"})).await;
    let code = app.mailed_code("mallory@example.test").await;
    let token = link_token(&app.mail("mallory@example.test").await.1);
    if code != app.mailed_code(ANA).await {
        let answer = hers.attempt(&mut victim, "email_code/check", json!({"code": code})).await;
        assert_eq!(answer.status, 422, "his code in her flow");
    }
    let answer = hers.attempt(&mut victim, "email_link/redeem", json!({"token": token})).await;
    assert_eq!(answer.status, 422, "his link in her flow");
    // What names somebody else in the body changes nobody.
    let input = json!({"code": code, "identifier": ANA, "account": ANA, "user": ANA});
    his.act(&mut mallory, "email_code/check", input).await;
    his.act(&mut mallory, "password/set", json!({"new_password": "a brand new password"})).await;
    assert_eq!(his.stage(), "complete");
    let address = "SELECT count(*) FROM credential p JOIN credential m USING (account_id)
                   WHERE p.kind = 'password' AND m.kind = 'email' AND m.body->>'address' LIKE 'mallory%'";
    assert_eq!(app.count(address).await, 1);
    assert_eq!(app.count("SELECT count(*) FROM credential WHERE kind = 'password'").await, 1);
}

/// authentik CVE-2025-29928: sessions were deleted, and went on.
#[tokio::test]
async fn cve_2025_29928_an_ended_session_opens_nothing() {
    let app = app().await;
    register(&app, ANA).await;
    let (mut first, mut second) = (signed_in(&app, ANA).await, signed_in(&app, ANA).await);
    assert_eq!(first.get("/v1/account").await.status, 200);
    assert_eq!(second.delete("/v1/account/sessions").await.status, 200);
    for path in ["/v1/account", "/v1/account/credentials", "/v1/account/sessions", "/v1/account/activity"] {
        assert_eq!(first.get(path).await.status, 401, "{path}");
    }
    for open in [json!({"kind": "reauthenticate"}), json!({"kind": "enrol", "enrol": "passkey"})] {
        assert_eq!(first.post("/v1/flows", &open).await.status, 401, "{open}");
    }
    assert_eq!(first.delete("/v1/account/sessions").await.status, 401);
    assert_eq!(second.get("/v1/account").await.status, 200);
}
