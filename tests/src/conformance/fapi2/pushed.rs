//! The life of a pushed request.

use super::*;

#[tokio::test]
async fn fapi2_par_without_duplicate_parameters() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let verifier = verifier();
        let uri = one.pushed(&app, &verifier, &[]).await;
        // `visit` sends client_id and request_uri and nothing else.
        let callback = one.visit(&app, &mut browser, &uri, &[]).await;
        one.redeem(&app, &callback, &verifier).await;
    }
}

#[tokio::test]
async fn fapi2_par_ensure_reused_request_uri_prior_to_auth_completion_succeeds() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let verifier = verifier();
        let uri = one.pushed(&app, &verifier, &[]).await;
        assert_eq!(get_json(&mut browser, &one.path(&uri, &[])).await.json()["stage"], "consent");
        let callback = one.visit(&app, &mut browser, &uri, &[]).await;
        one.redeem(&app, &callback, &verifier).await;
    }
}

/// A page says so; no client is told anything.
async fn is_gone(browser: &mut Browser, path: &str) {
    let page = browser.get(path).await;
    assert_eq!((page.status.as_u16(), page.header("location")), (400, ""), "{}", page.text());
    assert_eq!(page.json()["error"], "invalid_request_uri");
}

#[tokio::test]
async fn fapi2_par_attempt_reuse_request_uri() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let uri = one.pushed(&app, &verifier(), &[]).await;
        assert!(one.visit(&app, &mut browser, &uri, &[]).await.contains_key("code"));
        is_gone(&mut browser, &one.path(&uri, &[])).await;
    }
}

/// The suite waits for it; we make it older.
#[tokio::test]
async fn fapi2_par_attempt_to_use_expired_request_uri() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let uri = one.pushed(&app, &verifier(), &[]).await;
        app.sql("UPDATE pushed_request SET expires_at = expires_at - interval '90 seconds'").await;
        is_gone(&mut browser, &one.path(&uri, &[])).await;
    }
}

#[tokio::test]
async fn fapi2_par_attempt_to_use_request_uri_for_different_client() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, two) in &pairs {
        let uri = one.pushed(&app, &verifier(), &[]).await;
        is_gone(&mut browser, &two.path(&uri, &[])).await;
    }
}

#[tokio::test]
async fn fapi2_par_authorization_request_containing_request_uri_form_param() {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, _) in &pairs {
        let uri = one.pushed(&app, &verifier(), &[]).await;
        let answer = one.push_form(&app, &[("request_uri", &uri), ("client_id", &one.id)]).await;
        refused(&answer, &["invalid_request"], "request_uri");
    }
}

#[tokio::test]
async fn fapi2_par_attempt_invalid_http_method() {
    let Stage { app, pairs, .. } = Stage::new().await;
    for (one, _) in &pairs {
        let assertion = one.assertion(&app, &json!({}));
        let challenge = challenge(&verifier());
        let form = encode(&[
            ("client_assertion_type", ASSERTION),
            ("client_assertion", &assertion),
            ("response_type", "code"),
            ("code_challenge", &challenge),
        ]);
        let request = Request::put("/connect/par")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(form));
        assert_eq!(app.send(request.unwrap()).await.status, 405);
    }
}
