//! What a client registers as `scope` (decision record 0055): a default while nobody has checked it, then a ceiling.

use porteiro_service::oauth::clients::{self, Trust};
use serde_json::json;

use crate::oauth::{
    app,
    attacks::stranger,
    driver::{Relying, agree, parameter, person, verifier},
};

const WIDER: &[(&str, &str)] = &[("scope", "openid invoices:read")];

/// MCP libraries register with the scopes of the first challenge they get, and ask for more when a tool needs more.
#[tokio::test]
async fn a_stranger_may_ask_for_more_than_it_registered_and_the_person_is_asked() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, _) = stranger(&app, json!({"scope": "openid"})).await;
    let verifier = verifier();

    let asked = client.ask(&mut browser, &verifier, WIDER).await.json();
    assert_eq!(asked["stage"], "consent", "{asked}");
    assert_eq!(asked["request"]["scopes"].as_array().unwrap().len(), 2, "{asked}");
    let done = agree(&mut browser, asked).await;
    let tokens = client.redeem(&app, &parameter(&done, "code").unwrap(), &verifier).await.json();
    assert_eq!(tokens["scope"], "openid invoices:read");
    let fresh = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await.json();
    assert_eq!(fresh["scope"], "openid invoices:read");

    // Without a scope it gets what it registered.
    let least = client.ask(&mut browser, &verifier, &[("scope", "")]).await.json();
    assert_eq!(least["request"]["scopes"].as_array().unwrap().len(), 1, "{least}");
    // What an API keeps from strangers stays kept.
    let closed = client.ask(&mut browser, &verifier, &[("scope", "openid invoices:write")]).await;
    assert_eq!((closed.status.as_u16(), closed.json()["error"].as_str()), (400, Some("invalid_scope")));
}

/// Whoever vouched for it vouched for what it had registered.
#[tokio::test]
async fn what_a_checked_client_registered_is_a_ceiling_for_requests_and_for_what_it_holds() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, _) = stranger(&app, json!({"scope": "openid"})).await;
    let held = client.tokens(&mut browser, &app, WIDER).await;
    let held = held["refresh_token"].as_str().unwrap();

    for trust in [Trust::Verified, Trust::FirstParty] {
        clients::set_trust(&app.app.store, &client.id, trust).await.unwrap();
        app.app.directory.forget(&client.id);
        let refused = client.ask(&mut browser, &verifier(), WIDER).await;
        assert_eq!(
            parameter(&refused.json(), "error").as_deref(),
            Some("invalid_scope"),
            "{}",
            refused.text()
        );
    }
    let refused = client.refresh(&app, held, &[]).await;
    assert_eq!(refused.json()["error"], "invalid_scope");

    let made = Relying::with(&app, Trust::Verified, json!({"scope": "openid"})).await;
    let refused = made.ask(&mut browser, &verifier(), WIDER).await;
    assert_eq!(parameter(&refused.json(), "error").as_deref(), Some("invalid_scope"), "{}", refused.text());
}
