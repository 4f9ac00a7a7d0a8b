//! Only the person exports, deletes and renames: no agent, no administrator who impersonates, no key, no directory.

use http::Method;
use porteiro_service::{api_keys::KeyKind, oauth::clients::Trust};
use porteiro_testkit::{Answer, TestApp};
use serde_json::json;

use super::prove;
use crate::{
    agents::driver::{Scene, exchanged},
    oauth::driver::Relying,
    organizations::{
        driver::{call, key, platform_key},
        impersonation,
    },
};

async fn attempts(app: &TestApp, bearer: &str) -> Vec<Answer> {
    let name = json!({"display_name": "Mallory"});
    vec![
        call(app, Method::POST, "/v1/account/export", bearer, None, &[]).await,
        call(app, Method::DELETE, "/v1/account", bearer, None, &[]).await,
        call(app, Method::DELETE, "/v1/account/deletion", bearer, None, &[]).await,
        call(app, Method::PATCH, "/v1/account", bearer, Some(&name), &[]).await,
    ]
}

async fn refused(app: &TestApp, bearer: &str, what: &str) {
    for answer in attempts(app, bearer).await {
        assert!(matches!(answer.status.as_u16(), 401 | 403), "{what}: {} {}", answer.status, answer.text());
        assert!(!answer.text().contains("@example.test"), "{what}: {}", answer.text());
    }
    let touched = "SELECT count(*) FROM account WHERE deletion_at IS NOT NULL OR display_name = 'Mallory'";
    assert_eq!(app.count(touched).await, 0, "{what}");
    assert_eq!(
        app.count("SELECT count(*) FROM security_log WHERE kind = 'account.exported'").await,
        0,
        "{what}"
    );
}

#[tokio::test]
async fn an_agent_a_key_and_a_token_of_an_organization_are_refused() {
    let mut scene = Scene::new().await;
    let app = std::sync::Arc::clone(&scene.app);
    let own = scene.token("salaries:read", Some("here")).await;
    refused(&app, &own, "a token of the organization").await;
    scene.delegated("salaries:read", Some("here")).await;
    let agents = exchanged(&app, &scene.agent, &own, &[("scope", "salaries:read")]).await;
    refused(&app, &agents, "an agent").await;
    let person = scene.token("openid", None).await;
    refused(&app, &person, "a third party's token").await;
    let personal =
        key(&app, KeyKind::Personal, Some(scene.here), Some(scene.membership), &["reports:read"]).await;
    refused(&app, &personal, "a personal key").await;
    let platform = platform_key(&app, &["platform.accounts:*", "organizations:administer"]).await;
    refused(&app, &platform, "a key of the platform").await;
}

#[tokio::test]
async fn an_administrator_who_impersonates_is_refused() {
    let scene = impersonation::Scene::new().await;
    let acting = scene.started("members:read", None).await;
    let token = acting["access_token"].as_str().unwrap();
    refused(&scene.app, token, "an impersonation").await;
}

#[tokio::test]
async fn a_first_party_app_acts_for_the_person_after_a_recent_proof_only() {
    let mut scene = Scene::new().await;
    let app = std::sync::Arc::clone(&scene.app);
    let console = Relying::with(&app, Trust::FirstParty, json!({})).await;
    let tokens = console.tokens(&mut scene.browser, &app, &[("scope", "account")]).await;
    let token = tokens["access_token"].as_str().unwrap();
    let exported = call(&app, Method::POST, "/v1/account/export", token, None, &[]).await;
    assert_eq!(exported.status, 200, "{}", exported.text());
    let older = "UPDATE session SET proofs = (
        SELECT jsonb_agg(jsonb_set(p, '{at}', to_jsonb((p->>'at')::bigint - 3600))) FROM jsonb_array_elements(proofs) p)";
    app.sql(older).await;
    for (method, path) in [(Method::POST, "/v1/account/export"), (Method::DELETE, "/v1/account")] {
        let answer = call(&app, method, path, token, None, &[]).await;
        assert_eq!(answer.status, 401, "{path}: {}", answer.text());
        assert!(answer.header("www-authenticate").contains("insufficient_user_authentication"), "{path}");
    }
    // What the person proves in a browser afterwards is not the app's. Tokens say the second.
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    prove(&app, &mut scene.browser).await;
    for (method, path) in [(Method::POST, "/v1/account/export"), (Method::DELETE, "/v1/account")] {
        assert_eq!(call(&app, method, path, token, None, &[]).await.status, 401, "{path}");
    }
    let newer = console.tokens(&mut scene.browser, &app, &[("scope", "account")]).await;
    let token = newer["access_token"].as_str().unwrap();
    assert_eq!(call(&app, Method::POST, "/v1/account/export", token, None, &[]).await.status, 200);
}
