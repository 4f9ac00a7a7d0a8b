//! `default_acr_values` is enforced.

use porteiro_service::oauth::clients::{self, Trust};
use porteiro_testkit::{Flow, nothing};
use serde_json::json;

use crate::{
    oauth::{
        app,
        device::{GRANT, asks, typed},
        driver::{Relying, parameter, person, verifier},
    },
    people::PASSWORD,
};

#[tokio::test]
async fn a_client_gets_the_level_it_registered_as_its_default() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::with(&app, Trust::Verified, json!({"default_acr_values": ["aal1"]})).await;
    // A mailbox is all this session rests on.
    let silent = client.ask(&mut browser, &verifier(), &[("prompt", "none")]).await.json();
    assert_eq!(parameter(&silent, "error").as_deref(), Some("login_required"), "{silent}");
    for more in [&[][..], &[("claims", r#"{"id_token":{"acr":{"values":["0"]}}}"#)]] {
        let flow = Flow::new(client.ask(&mut browser, &verifier(), more).await.json());
        assert_eq!(flow.stage(), "raise", "{more:?}: a voluntary claim demands nothing, and lifts nothing");
    }
    // What the request demands takes its place (OpenID Connect Registration §2).
    let none = porteiro_protocol::assurance::Level::None.acr();
    let named = client.ask(&mut browser, &verifier(), &[("acr_values", none)]).await.json();
    assert_eq!(named["stage"], "consent", "{named}");
    let mut flow = Flow::new(client.ask(&mut browser, &verifier(), &[]).await.json());
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    flow.act(&mut browser, "consent/allow", nothing()).await;
    let code = parameter(&flow.now, "code");
    assert!(code.is_some(), "{}", flow.now);
}

#[tokio::test]
async fn so_does_a_device() {
    let app = app().await;
    let more = json!({"redirect_uris": [], "grant_types": [GRANT], "default_acr_values": ["aal1"]});
    let device = Relying::with(&app, Trust::Verified, more).await;
    let mut ana = person(&app).await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    let flow = typed(&mut ana, &asked.user_code).await;
    assert_eq!(flow.stage(), "raise", "{}", flow.now);
}

#[tokio::test]
async fn a_default_nobody_can_reach_is_not_registered() {
    let app = app().await;
    let body = json!({"client_name": "Printer", "redirect_uris": ["https://printer.example/callback"],
                      "default_acr_values": ["urn:mace:incommon:iap:silver"]});
    let answer = app.json("/connect/register", &body).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["error"]), (400, &json!("invalid_client_metadata")));
    let made = clients::create(&app.app.store, &*app.app.entropy, &body, Trust::Verified).await;
    assert!(made.is_err());
}
