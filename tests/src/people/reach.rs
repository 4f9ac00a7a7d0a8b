//! Proofs have a reach: what a directory of one organization vouches for is worth nothing elsewhere.

use http::Method;
use porteiro_service::http::Access;
use porteiro_testkit::{Browser, TestApp};
use serde_json::json;

use super::{app, register_with_password};
use crate::oauth::driver::{Relying, verifier};

const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

/// Every session has these proofs, where `p` is what it had.
async fn set_proofs(app: &TestApp, proofs: &str) {
    app.sql(&format!("UPDATE session SET proofs = (SELECT {proofs} FROM (SELECT proofs->0 AS p) AS first)"))
        .await;
}

/// The proof, made by the directory of an organization.
const BY_DIRECTORY: &str = "jsonb_build_object('organization', gen_random_uuid(), 'proof', p)";

/// Every route that a session opens, with any id in its path.
fn doors() -> Vec<(Method, String)> {
    let fill = |path: &str| {
        path.split('/')
            .map(|part| if part.starts_with('{') { NOBODY } else { part })
            .collect::<Vec<_>>()
            .join("/")
    };
    porteiro_service::table()
        .iter()
        .filter(|route| {
            matches!(
                route.access,
                Access::Session | Access::Organization(_) | Access::Platform(_) | Access::Provisioning(_)
            )
        })
        .map(|route| (route.method.clone(), fill(route.path)))
        .collect()
}

#[tokio::test]
async fn a_session_that_only_a_directory_vouches_for_opens_no_door() {
    let app = app().await;
    let mut browser = register_with_password(&app, "ana@example.test").await;
    assert_eq!(browser.get("/v1/account").await.status, 200);
    set_proofs(&app, &format!("jsonb_build_array({BY_DIRECTORY})")).await;
    let doors = doors();
    assert!(doors.len() > 60, "{}", doors.len());
    for (method, path) in doors {
        app.forget_limits().await;
        let body = (method != Method::GET && method != Method::DELETE).then(|| json!({}));
        let answer = browser.call(method.clone(), &path, body.as_ref()).await;
        assert_eq!(answer.status, 401, "{method} {path}: {}", answer.text());
    }
    for kind in ["reauthenticate", "enrol"] {
        let body = json!({"kind": kind, "enrol": "passkey"});
        assert_eq!(browser.post("/v1/flows", &body).await.status, 401, "{kind}");
    }
    let relying = Relying::web(&app).await;
    let asked = relying.ask(&mut browser, &verifier(), &[]).await.json();
    assert_eq!((&asked["stage"], &asked["account"]), (&json!("authenticate"), &json!(null)));
    let silent = relying.ask(&mut browser, &verifier(), &[("prompt", "none")]).await.text();
    assert!(silent.contains("login_required"), "{silent}");
}

#[tokio::test]
async fn a_token_of_a_session_that_became_confined_no_longer_opens_the_account() {
    let app = app().await;
    let mut browser = register_with_password(&app, "ana@example.test").await;
    let console = Relying::console(&app).await;
    let tokens = console.tokens(&mut browser, &app, &[("scope", "openid account")]).await;
    let mut client = Browser::new(&app);
    client.headers.push(("authorization", format!("Bearer {}", tokens["access_token"].as_str().unwrap())));
    assert_eq!(client.get("/v1/account").await.status, 200);
    set_proofs(&app, &format!("jsonb_build_array({BY_DIRECTORY})")).await;
    assert_eq!(client.get("/v1/account").await.status, 401);
}

#[tokio::test]
async fn a_session_that_only_a_directory_vouches_for_can_be_ended() {
    let app = app().await;
    let mut browser = register_with_password(&app, "ana@example.test").await;
    set_proofs(&app, &format!("jsonb_build_array({BY_DIRECTORY})")).await;
    browser.headers.push(("accept", "application/json".into()));
    let asked = browser.get("/connect/logout").await.json();
    assert_eq!(asked["stage"], "confirm");
    browser.get(&format!("/connect/logout?confirm={}", asked["confirm"].as_str().unwrap())).await;
    let open = "SELECT 1 FROM session WHERE ended_at IS NULL";
    assert!(app.database.client().await.query(open, &[]).await.unwrap().is_empty());
}

/// A session may hold both: the account's proofs count as before, and a new one does not drop the other.
#[tokio::test]
async fn proofs_of_both_reaches_live_in_one_session() {
    let app = app().await;
    let mut browser = register_with_password(&app, "ana@example.test").await;
    set_proofs(&app, &format!("jsonb_build_array(p, {BY_DIRECTORY})")).await;
    assert_eq!(browser.get("/v1/account").await.status, 200);
    let listed = browser.get("/v1/account/sessions").await.json();
    assert_eq!(listed["items"][0]["methods"].as_array().unwrap().len(), 1);
    app.forget_limits().await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut browser, "password/check", json!({"password": super::PASSWORD})).await;
    assert_eq!(flow.stage(), "complete");
    let kept = "SELECT 1 FROM session WHERE ended_at IS NULL AND proofs @? '$[*].organization'";
    assert_eq!(app.database.client().await.query(kept, &[]).await.unwrap().len(), 1);
}
