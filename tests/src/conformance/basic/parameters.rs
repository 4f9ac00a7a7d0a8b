//! Requests as they may come, and what must not matter.

use porteiro_testkit::Flow;
use serde_json::json;

use super::{
    super::{id_token, is_error, list, metadata},
    MODES, Visit, succeeds_with,
};
use crate::{
    oauth::{
        driver::{agree, verifier},
        rfc9700::{location, post, stays},
    },
    people::PASSWORD,
};

#[tokio::test]
async fn oidcc_response_type_missing() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        let (callback, _) = visit.silently(mode, &[("response_type", "")]).await;
        is_error(&callback, &["invalid_request", "unsupported_response_type"], Some("s-1"));
    }
}

/// With PKCE, which the suite's request lacks (docs/decisions/0021).
#[tokio::test]
async fn oidcc_ensure_request_without_nonce_succeeds_for_code_flow() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        let tokens = visit.tokens(mode, &[("nonce", "")]).await;
        id_token(&visit.app, &tokens, &visit.client.id, None).await;
    }
}

#[tokio::test]
async fn oidcc_display_page() {
    succeeds_with(&[("display", "page")]).await;
}

#[tokio::test]
async fn oidcc_display_popup() {
    succeeds_with(&[("display", "popup")]).await;
}

#[tokio::test]
async fn oidcc_ensure_request_with_unknown_parameter_succeeds() {
    succeeds_with(&[("extra", "foobar")]).await;
}

#[tokio::test]
async fn oidcc_login_hint() {
    succeeds_with(&[("login_hint", "buffy@id.example.test")]).await;
    succeeds_with(&[("login_hint", "ana@example.test")]).await;
}

#[tokio::test]
async fn oidcc_ui_locales() {
    succeeds_with(&[("ui_locales", "se")]).await;
    succeeds_with(&[("ui_locales", "pt en")]).await;
}

#[tokio::test]
async fn oidcc_claims_locales() {
    succeeds_with(&[("claims_locales", "se")]).await;
}

#[tokio::test]
async fn oidcc_ensure_request_with_acr_values_succeeds() {
    let mut visit = Visit::new().await;
    let document = metadata(&visit.app).await;
    let known = list(&document, "acr_values_supported");
    for mode in MODES {
        let (mut body, verifier) = visit.ask(mode, &[("acr_values", &known.join(" "))]).await;
        if body["stage"] == "raise" {
            let mut flow = Flow::new(body);
            flow.act(&mut visit.browser, "password/check", json!({"password": PASSWORD})).await;
            body = flow.now;
        }
        let body = agree(&mut visit.browser, body).await;
        let callback = super::arrived(&visit.client.redirect_uri, mode, &body);
        let tokens = visit.redeem(&callback, &verifier).await;
        let id = visit.id(&tokens).await;
        assert!(known.contains(&id["acr"].as_str().unwrap()), "{id}");
    }
}

#[tokio::test]
async fn oidcc_ensure_registered_redirect_uri() {
    let mut visit = Visit::new().await;
    for mode in MODES {
        for uri in ["https://app.example.test/other", "https://evil.example.test/callback"] {
            let more = [("redirect_uri", uri), ("response_mode", mode)];
            let page = visit.browser.get(&visit.client.path(&verifier(), &more)).await;
            stays(&page, uri);
        }
    }
}

#[tokio::test]
async fn oidcc_ensure_post_request_succeeds() {
    let mut visit = Visit::new().await;
    // Allowed once, so that the form is answered at once.
    visit.tokens("", &[]).await;
    let verifier = verifier();
    let form = visit.client.query(&verifier, &[]);
    let url = location(&post(&visit.app, &visit.browser, "/connect/authorize", form).await);
    let callback = url.query_pairs().into_owned().collect();
    let tokens = visit.redeem(&callback, &verifier).await;
    visit.id(&tokens).await;
    let form = visit.client.query(&crate::oauth::driver::verifier(), &[("response_mode", "form_post")]);
    let page = post(&visit.app, &visit.browser, "/connect/authorize", form).await;
    assert_eq!((page.status.as_u16(), page.header("location")), (200, ""));
    let text = page.text();
    assert!(text.contains("method=\"post\"") && text.contains("name=\"code\""), "{text}");
    assert!(text.contains(&format!("action=\"{}\"", visit.client.redirect_uri)), "{text}");
}
