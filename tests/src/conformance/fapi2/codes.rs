//! From the code to the token, and who may.

use super::*;
use crate::conformance::text;

#[tokio::test]
async fn fapi2_ensure_client_id_in_token_endpoint() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, two) in &pairs {
        let (callback, verifier) = one.authorize(&app, &mut browser, &[]).await;
        let mut form = one.code_form(&callback["code"], &verifier);
        form.push(("client_id", &two.id));
        refused(
            &one.token(&app, &form).await,
            &["invalid_client", "invalid_request", "invalid_grant"],
            "client_id",
        );
        one.redeem(&app, &callback, &verifier).await;
    }
}

/// Without a certificate or proof there is no token. What the listener does with TLS is tested at the listener.
#[tokio::test]
async fn fapi2_ensure_holder_of_key_required() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let (callback, verifier) = one.authorize(&app, &mut browser, &[]).await;
        let form = one.code_form(&callback["code"], &verifier);
        let assertion = one.assertion(&app, &json!({}));
        let answer = one.post(&app, "/connect/token", &form, Some(&assertion), None).await;
        refused(&answer, &["invalid_request", "invalid_dpop_proof", "invalid_grant"], "no proof");
        let tokens = one.redeem(&app, &callback, &verifier).await;
        assert_eq!(one.resource(&app, text(&tokens, "access_token"), one.scheme(), None).await, 401);
    }
}

#[tokio::test]
async fn fapi2_ensure_authorization_code_is_bound_to_client() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, two) in &pairs {
        let (callback, verifier) = one.authorize(&app, &mut browser, &[]).await;
        let form = one.code_form(&callback["code"], &verifier);
        refused(&two.token(&app, &form).await, &["invalid_grant"], "another client");
        one.redeem(&app, &callback, &verifier).await;
    }
}

#[tokio::test]
async fn fapi2_attempt_reuse_authorization_code_after_one_second() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let (callback, verifier) = one.authorize(&app, &mut browser, &[]).await;
        let tokens = one.redeem(&app, &callback, &verifier).await;
        app.clock.advance(porteiro_protocol::time::Duration::seconds(1));
        let again = one.token(&app, &one.code_form(&callback["code"], &verifier)).await;
        refused(&again, &["invalid_grant"], "again");
        let token = text(&tokens, "access_token");
        assert_eq!(
            one.resource(&app, token, one.scheme(), Some(&one.holder)).await,
            401,
            "and the token dies"
        );
    }
}

/// The suite waits 62 seconds; we make the code older.
#[tokio::test]
async fn fapi2_ensure_token_endpoint_fails_with_expired_auth_code() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let (callback, verifier) = one.authorize(&app, &mut browser, &[]).await;
        app.sql("UPDATE oauth_grant SET expires_at = expires_at - interval '60 seconds'").await;
        let late = one.token(&app, &one.code_form(&callback["code"], &verifier)).await;
        refused(&late, &["invalid_grant"], "late");
    }
}

#[tokio::test]
async fn fapi2_ensure_pkce_code_verifier_required() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let (callback, verifier) = one.authorize(&app, &mut browser, &[]).await;
        let mut form = one.code_form(&callback["code"], &verifier);
        form.retain(|(name, _)| *name != "code_verifier");
        refused(&one.token(&app, &form).await, &["invalid_grant"], "no verifier");
    }
}

#[tokio::test]
async fn fapi2_incorrect_pkce_code_verifier_rejected() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let (callback, _) = one.authorize(&app, &mut browser, &[]).await;
        let other = verifier();
        let form = one.code_form(&callback["code"], &other);
        refused(&one.token(&app, &form).await, &["invalid_grant"], "another verifier");
    }
}

/// None is given out (docs/decisions/0020), so there is nothing to be retried: the suite skips it.
#[tokio::test]
async fn fapi2_refresh_token() {
    let Stage { app, mut browser, pairs } = Stage::new().await;
    for (one, _) in &pairs {
        let tokens = one.tokens(&app, &mut browser, &[]).await;
        assert!(tokens.get("refresh_token").is_none(), "{tokens}");
        let answer = one.push(&app, &verifier(), &[("scope", "openid offline_access")]).await;
        refused(&answer, &["invalid_scope"], "offline_access");
        let form = [("grant_type", "refresh_token"), ("refresh_token", text(&tokens, "access_token"))];
        refused(&one.token(&app, &form).await, &["unauthorized_client", "invalid_grant"], "the grant");
    }
}
