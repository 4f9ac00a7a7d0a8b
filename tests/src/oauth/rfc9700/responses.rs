//! What goes back to the client: a code and nothing else, always with our name (RFC 9700 §2.1.2, §4.4; RFC 9207).

use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, Browser, Flow, nothing, verify};
use serde_json::json;

use super::{
    super::{
        LEDGER, app,
        driver::{CALLBACK, Relying, parameter, person, verifier},
    },
    ISSUER, error,
    hostile::fields,
    known, location, post, value,
};

/// The parameters of an answer, however it travelled.
fn parameters(answer: &Answer) -> Vec<(String, String)> {
    if answer.status == 303 {
        return location(answer).query_pairs().map(|(n, v)| (n.into_owned(), v.into_owned())).collect();
    }
    assert_eq!(answer.status, 200, "{}", answer.text());
    let (action, fields) = fields(&answer.text());
    assert_eq!(action, CALLBACK);
    fields
}

#[tokio::test]
async fn every_answer_good_or_bad_names_us() {
    let app = app().await;
    let mut browser = person(&app).await;
    let mut nobody = Browser::new(&app);
    let client = known(&app, &mut browser).await;
    let fresh = Relying::web(&app).await;
    let robot = Relying::with(
        &app,
        Trust::Verified,
        json!({"grant_types": ["client_credentials"], "response_types": []}),
    )
    .await;
    for mode in ["", "query", "form_post"] {
        let mut seen = Vec::new();
        for (what, client, signed_in, more) in [
            ("code", &client, true, vec![]),
            ("unsupported_response_type", &client, false, vec![("response_type", "id_token")]),
            ("invalid_request", &client, false, vec![("response_type", "")]),
            ("invalid_scope", &client, false, vec![("scope", "no:such")]),
            ("invalid_target", &client, false, vec![("resource", "https://nowhere.example")]),
            ("login_required", &client, false, vec![("prompt", "none")]),
            ("interaction_required", &client, false, vec![]),
            ("unmet_authentication_requirements", &client, false, vec![("acr_values", "urn:unheard:of")]),
            ("unauthorized_client", &robot, false, vec![]),
        ] {
            let more = [more.as_slice(), &[("response_mode", mode)]].concat();
            let agent = if signed_in { &mut browser } else { &mut nobody };
            let told = parameters(&agent.get(&client.path(&verifier(), &more)).await);
            let get = |name: &str| {
                let all: Vec<&str> =
                    told.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str()).collect();
                assert!(all.len() < 2, "{what} {mode}: {name} twice");
                all.first().copied()
            };
            assert_eq!(get("iss"), Some(ISSUER), "{what} {mode}");
            assert_eq!(get("state"), Some("s-1"), "{what} {mode}");
            match what {
                "code" => assert!(get("code").is_some() && get("error").is_none(), "{told:?}"),
                error => assert_eq!((get("error"), get("code")), (Some(error), None), "{mode} {told:?}"),
            }
            seen.push(what);
        }
        let answer =
            browser.get(&fresh.path(&verifier(), &[("prompt", "none"), ("response_mode", mode)])).await;
        assert!(parameters(&answer).contains(&("error".into(), "consent_required".into())));
        assert!(parameters(&answer).contains(&("iss".into(), ISSUER.into())));
        assert_eq!(seen.len(), 9);
    }
    let metadata = app.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(metadata["issuer"], ISSUER, "byte for byte what the answers say");
}

#[tokio::test]
async fn metadata_says_that_answers_name_us() {
    let app = app().await;
    for path in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"] {
        let metadata = app.get(path).await.json();
        assert_eq!(metadata["authorization_response_iss_parameter_supported"], json!(true), "{path}");
    }
}

/// In a signed answer the issuer is inside, where nobody can change it.
#[tokio::test]
async fn a_signed_answer_names_us_inside() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client =
        Relying::with(&app, Trust::FirstParty, json!({"authorization_signed_response_alg": "ES256"})).await;
    let jwks = app.get("/.well-known/jwks.json").await.json();
    for (more, holds) in [(vec![], "code"), (vec![("scope", "no:such")], "error")] {
        let more = [more.as_slice(), &[("response_mode", "jwt")]].concat();
        let url = location(&browser.get(&client.path(&verifier(), &more)).await);
        assert_eq!(url.query_pairs().count(), 1, "{url}");
        let claims = verify(&value(&url, "response").unwrap(), &jwks).unwrap();
        assert_eq!((&claims["iss"], &claims["aud"]), (&json!(ISSUER), &json!(client.id)));
        assert!(claims[holds].is_string() && claims["exp"].is_i64(), "{claims}");
    }
}

/// No implicit, no hybrid, by no spelling; and no token ever in an answer.
#[tokio::test]
async fn code_is_the_only_response_type() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    for kind in [
        "token",
        "id_token",
        "id_token token",
        "code token",
        "code id_token",
        "code id_token token",
        "none",
        "CODE",
        "code code",
        " code",
        "device_code",
    ] {
        let answer = browser.get(&client.path(&verifier(), &[("response_type", kind)])).await;
        assert_eq!(error(&answer), "unsupported_response_type", "{kind}");
        assert!(location(&answer).fragment().is_none());
    }
    let answer = browser.get(&client.path(&verifier(), &[])).await;
    for name in ["access_token", "id_token", "token_type", "expires_in", "refresh_token"] {
        assert_eq!(value(&location(&answer), name), None, "{name}");
    }
    let metadata = app.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["response_types_supported"], json!(["code"]));
    let grants = metadata["grant_types_supported"].as_array().unwrap();
    assert!(!grants.contains(&json!("implicit")) && !grants.contains(&json!("password")), "{grants:?}");
}

/// No postMessage, no fragment, and signed answers only for who reads them.
#[tokio::test]
async fn no_other_way_back_is_served() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    for mode in
        ["fragment", "web_message", "fragment.jwt", "jwt", "query.jwt", "form_post.jwt", "FORM_POST", "x"]
    {
        let answer = browser.get(&client.path(&verifier(), &[("response_mode", mode)])).await;
        assert_eq!(error(&answer), "invalid_request", "{mode}");
    }
    let metadata = app.get("/.well-known/openid-configuration").await.json();
    let modes = metadata["response_modes_supported"].to_string();
    assert!(!modes.contains("fragment") && !modes.contains("web_message"), "{modes}");
}

/// OAuth 2.1 §3.1: GET must work, and POST does.
#[tokio::test]
async fn a_posted_request_is_answered_like_one_by_query() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let secret = verifier();
    let answer = post(&app, &browser, "/connect/authorize", client.query(&secret, &[])).await;
    let code = value(&location(&answer), "code").unwrap();
    assert_eq!(client.redeem(&app, &code, &secret).await.status, 200);
    // What is in the query of a posted request counts for nothing.
    let path = format!("/connect/authorize?{}", client.query(&verifier(), &[]));
    assert_eq!(post(&app, &browser, &path, String::new()).await.status, 400);
    assert_eq!(app.json("/connect/authorize", &json!({"client_id": client.id})).await.status, 400);
    // Nobody gets a code without signing in.
    let nobody = Browser::new(&app);
    let answer = post(&app, &nobody, "/connect/authorize", client.query(&verifier(), &[])).await;
    assert_eq!(value(&location(&answer), "code"), None);
}

/// OAuth 2.1 §3.2.3 and §1.4.1: what was granted is said, and it is what was asked or nothing.
#[tokio::test]
async fn the_granted_scope_is_always_said_and_is_what_was_asked() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let jwks = app.get("/.well-known/jwks.json").await.json();
    for (asked, resource, audience) in [
        ("openid", "", ISSUER),
        ("openid email profile", "", ISSUER),
        ("invoices:read", "", LEDGER),
        ("openid invoices:write", LEDGER, LEDGER),
    ] {
        let tokens = client.tokens(&mut browser, &app, &[("scope", asked), ("resource", resource)]).await;
        assert_eq!(tokens["scope"], asked);
        let claims = verify(tokens["access_token"].as_str().unwrap(), &jwks).unwrap();
        assert_eq!((&claims["scope"], &claims["aud"]), (&json!(asked), &json!(audience)));
        assert_eq!(tokens["expires_in"], 300);
        let next = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await.json();
        assert_eq!(next["scope"], asked);
    }
    for (asked, resource) in
        [("", ""), ("openid no:such", ""), ("invoices:read", ISSUER), ("openid", "https://x.example")]
    {
        let answer =
            browser.get(&client.path(&verifier(), &[("scope", asked), ("resource", resource)])).await;
        assert!(matches!(error(&answer).as_str(), "invalid_scope" | "invalid_target"), "{asked} {resource}");
    }
}

/// The code of an answer that a person turned back from exists nowhere.
#[tokio::test]
async fn nothing_is_issued_before_the_person_is_done() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let asked = client.ask(&mut browser, &verifier(), &[]).await.json();
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant").await, 0);
    let mut flow = Flow::new(asked);
    flow.act(&mut browser, "consent/allow", nothing()).await;
    assert!(parameter(&flow.now, "code").is_some());
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant").await, 1);
    // Pressed twice, it is one grant.
    flow.attempt(&mut browser, "consent/allow", nothing()).await;
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant").await, 1);
}
