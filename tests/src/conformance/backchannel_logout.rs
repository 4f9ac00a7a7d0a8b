//! `oidcc-backchannel-rp-initiated-logout-certification-test-plan`.

use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::verify;
use serde_json::json;
use url::form_urlencoded;

use super::{ISSUER, header_of, metadata, text};
use crate::oauth::{
    app,
    driver::{Relying, parameter, person, verifier},
    encode,
    site::Site,
};

#[tokio::test]
async fn oidcc_backchannel_logout_discovery_endpoint_verification() {
    let app = app().await;
    let document = metadata(&app).await;
    assert_eq!(document["backchannel_logout_supported"], true);
    assert_eq!(document["backchannel_logout_session_supported"], true);
    assert!(document["end_session_endpoint"].is_string());
}

#[tokio::test]
async fn oidcc_backchannel_rp_initiated_logout() {
    let site = Site::start().await;
    site.answer("/backchannel_logout", crate::fetch::http("200 OK", "", ""));
    let app = site.app().await;
    let mut browser = person(&app).await;
    let after = "https://app.example.test/bye";
    let metadata = json!({"backchannel_logout_uri": site.url("/backchannel_logout"),
                          "post_logout_redirect_uris": [after]});
    let client = Relying::with(&app, Trust::Verified, metadata).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let keys = super::keys(&app).await;
    let id = verify(text(&tokens, "id_token"), &keys).unwrap();
    let pairs = [("id_token_hint", text(&tokens, "id_token")), ("post_logout_redirect_uri", after)];
    let answer = browser.get(&format!("/connect/logout?{}", encode(&pairs))).await;
    assert_eq!(answer.header("location"), after);
    porteiro_service::jobs::run_due(&app.app).await.unwrap();

    let heard = site.heard();
    assert_eq!(heard.len(), 1, "{heard:?}");
    let (head, body) = heard[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /backchannel_logout "), "{head}");
    assert!(head.to_ascii_lowercase().contains("content-type: application/x-www-form-urlencoded"), "{head}");
    let form: Vec<(String, String)> = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    assert_eq!(form.len(), 1);
    assert_eq!(form[0].0, "logout_token");
    assert_ne!(header_of(&form[0].1)["alg"], "none");
    let claims = verify(&form[0].1, &keys).unwrap();
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!(ISSUER), &json!(client.id)));
    assert_eq!((&claims["sub"], &claims["sid"]), (&id["sub"], &id["sid"]));
    assert!(claims["iat"].is_i64() && claims["jti"].is_string() && claims.get("nonce").is_none());
    assert_eq!(claims["events"]["http://schemas.openid.net/event/backchannel-logout"], json!({}));
    let none = client.ask(&mut browser, &verifier(), &[("prompt", "none")]).await.json();
    assert_eq!(parameter(&none, "error").as_deref(), Some("login_required"), "{none}");
}
