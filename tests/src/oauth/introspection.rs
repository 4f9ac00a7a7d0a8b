//! Introspection (RFC 7662) and revocation (RFC 7009): told to whom it concerns, ended by whom it belongs to.

use std::sync::atomic::Ordering;

use porteiro_service::oauth::{apis, clients::Trust};
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

use super::{
    LEDGER, app,
    driver::{Relying, person, userinfo},
    ledger,
};

async fn introspect(app: &TestApp, caller: &Relying, token: &str) -> Value {
    let answer = caller.call(app, "/connect/introspect", &[("token", token)]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("cache-control"), "no-store");
    answer.json()
}

/// CVE-2026-37979, CVE-2024-47077: introspection without asking whose business a token is.
#[tokio::test]
async fn cve_2026_37979_a_token_is_told_only_to_its_client_and_its_api() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, server, stranger) =
        (Relying::web(&app).await, Relying::web(&app).await, Relying::web(&app).await);
    let mut api = ledger();
    api.introspected_by = vec![server.id.clone()];
    apis::register(&app.app.store, &api).await.unwrap();
    let tokens =
        client.tokens(&mut browser, &app, &[("scope", "openid invoices:read"), ("resource", LEDGER)]).await;
    let access = tokens["access_token"].as_str().unwrap();
    let refresh = tokens["refresh_token"].as_str().unwrap();
    for caller in [&client, &server] {
        let told = introspect(&app, caller, access).await;
        assert_eq!((&told["active"], &told["aud"]), (&json!(true), &json!(LEDGER)));
        assert_eq!((&told["client_id"], &told["scope"]), (&json!(client.id), &json!("openid invoices:read")));
        assert!(told["exp"].is_i64() && told["sub"].is_string());
    }
    let nothing = json!({"active": false});
    assert_eq!(introspect(&app, &stranger, access).await, nothing);
    assert_eq!(introspect(&app, &client, refresh).await["token_type"], "refresh_token");
    for caller in [&server, &stranger] {
        assert_eq!(introspect(&app, caller, refresh).await, nothing);
    }
    for junk in ["", "x", "pt_rt_AAAA", "a.b.c", tokens["id_token"].as_str().unwrap()] {
        let answer = client.call(&app, "/connect/introspect", &[("token", junk)]).await;
        if junk.is_empty() {
            assert_eq!(answer.json()["error"], "invalid_request");
        } else {
            assert_eq!(answer.json(), nothing, "{junk}");
        }
    }
    let public = Relying::public(&app, Trust::Verified).await;
    assert_eq!(public.call(&app, "/connect/introspect", &[("token", access)]).await.status, 401);
}

#[tokio::test]
async fn what_is_dead_is_inactive_in_the_same_second() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let ends: [(&str, &str); 3] = [
        ("the account is disabled", "UPDATE account SET state = 'disabled'"),
        ("the grant is revoked", "UPDATE oauth_grant SET revoked_at = now()"),
        ("the grant has ended", "UPDATE oauth_grant SET expires_at = now()"),
    ];
    for (what, statement) in ends {
        let tokens = client.tokens(&mut browser, &app, &[]).await;
        for name in ["access_token", "refresh_token"] {
            assert_eq!(introspect(&app, &client, tokens[name].as_str().unwrap()).await["active"], true);
        }
        app.sql(statement).await;
        for name in ["access_token", "refresh_token"] {
            let told = introspect(&app, &client, tokens[name].as_str().unwrap()).await;
            assert_eq!(told, json!({"active": false}), "{what}");
        }
        assert_eq!(userinfo(&app, tokens["access_token"].as_str().unwrap()).await.status, 401, "{what}");
        app.sql("UPDATE account SET state = 'active'").await;
    }
}

#[tokio::test]
async fn a_client_ends_its_own_grants_and_nobody_elses() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, other) = (Relying::web(&app).await, Relying::web(&app).await);
    for name in ["access_token", "refresh_token"] {
        let tokens = client.tokens(&mut browser, &app, &[]).await;
        let token = tokens[name].as_str().unwrap();
        let foreign = other.call(&app, "/connect/revoke", &[("token", token)]).await;
        assert_eq!(foreign.status, 200);
        assert_eq!(introspect(&app, &client, token).await["active"], true, "{name}");
        // A wrong hint misleads nobody.
        let hint = [("token", token), ("token_type_hint", "pigeon")];
        assert_eq!(client.call(&app, "/connect/revoke", &hint).await.status, 200);
        for dead in ["access_token", "refresh_token"] {
            assert_eq!(introspect(&app, &client, tokens[dead].as_str().unwrap()).await["active"], false);
        }
        let refresh = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
        assert_eq!(refresh.json()["error"], "invalid_grant");
        assert_eq!(client.call(&app, "/connect/revoke", &[("token", token)]).await.status, 200);
    }
    assert_eq!(client.call(&app, "/connect/revoke", &[("token", "junk")]).await.status, 200);
    assert_eq!(app.form("/connect/revoke", "token=junk").await.status, 401);
    let revoked = "SELECT count(*) FROM security_log WHERE kind = 'grant.revoked'";
    assert_eq!(app.count(revoked).await, 2);
}

/// CVE-2020-15223: a revocation that could not be stored was answered as done.
#[tokio::test]
async fn cve_2020_15223_no_success_without_the_database() {
    let app = std::sync::Arc::new(TestApp::builder().people().proxied().start().await);
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let token = tokens["refresh_token"].as_str().unwrap();
    let faults = &app.proxy.as_ref().unwrap().faults;
    faults.random_per_mille.store(1000, Ordering::Relaxed);
    let answer = client.call(&app, "/connect/revoke", &[("token", token)]).await;
    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, "1"));
    faults.random_per_mille.store(0, Ordering::Relaxed);
    assert_eq!(client.refresh(&app, token, &[]).await.status, 200);
}
