//! How requests travel, and what they may ask of the person: RFC 9126, RFC 9101, JARM, form_post, OpenID Connect Core
//! §3.1.2.1.

use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Browser, Flow, TestApp, nothing, verify};
use serde_json::{Value, json};

use super::{
    app,
    driver::{CALLBACK, Relying, agree, challenge, get_json, parameter, person, verifier},
    encode,
    signing::ClientKey,
};
use crate::people::PASSWORD;

fn pairs<'a>(
    client: &'a Relying,
    challenge: &'a str,
    more: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let mut pairs = vec![
        ("redirect_uri", client.redirect_uri.as_str()),
        ("response_type", "code"),
        ("scope", "openid"),
        ("state", "s-2"),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256"),
    ];
    pairs.extend_from_slice(more);
    pairs
}

async fn push(app: &TestApp, client: &Relying, verifier: &str, more: &[(&str, &str)]) -> String {
    let challenge = challenge(verifier);
    let answer = client.call(app, "/connect/par", &pairs(client, &challenge, more)).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(answer.json()["expires_in"], 90);
    answer.json()["request_uri"].as_str().unwrap().to_owned()
}

fn use_pushed(client: &Relying, uri: &str, more: &[(&str, &str)]) -> String {
    let pairs = [&[("client_id", client.id.as_str()), ("request_uri", uri)], more].concat();
    format!("/connect/authorize?{}", encode(&pairs))
}

#[tokio::test]
async fn a_pushed_request_is_its_clients_and_good_for_one_authorization() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, other) = (Relying::web(&app).await, Relying::web(&app).await);
    let verifier = verifier();
    let uri = push(&app, &client, &verifier, &[]).await;
    assert_eq!(
        get_json(&mut browser, &use_pushed(&other, &uri, &[])).await.json()["error"],
        "invalid_request_uri"
    );
    // What stands beside it counts for nothing.
    let beside = [("scope", "openid email"), ("redirect_uri", "https://evil.example.test/"), ("state", "x")];
    let first = get_json(&mut browser, &use_pushed(&client, &uri, &beside)).await.json();
    let again = get_json(&mut browser, &use_pushed(&client, &uri, &[])).await.json();
    assert_eq!(
        (&first["stage"], &again["stage"]),
        (&json!("consent"), &json!("consent")),
        "a reload does no harm"
    );
    let done = agree(&mut browser, first).await;
    assert!(done["continue"]["uri"].as_str().unwrap().starts_with(CALLBACK));
    assert_eq!(parameter(&done, "state").as_deref(), Some("s-2"));
    let tokens = client.redeem(&app, &parameter(&done, "code").unwrap(), &verifier).await.json();
    assert_eq!(tokens["scope"], "openid");
    let late = agree(&mut browser, again).await;
    assert_eq!(parameter(&late, "error").as_deref(), Some("invalid_request_uri"));
    let used = get_json(&mut browser, &use_pushed(&client, &uri, &[])).await;
    assert_eq!((used.status.as_u16(), &used.json()["error"]), (400, &json!("invalid_request_uri")));
}

#[tokio::test]
async fn pushing_is_checked_like_asking_and_requests_expire() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let challenge = challenge(&verifier());
    for (more, error) in [
        (vec![("request_uri", "urn:ietf:params:oauth:request_uri:x")], "invalid_request"),
        (vec![("resource", "https://nowhere.example.test")], "invalid_target"),
        (vec![("acr_values", "urn:unheard-of")], "unmet_authentication_requirements"),
        (vec![("response_mode", "fragment")], "invalid_request"),
        (vec![("response_mode", "query.jwt")], "invalid_request"),
    ] {
        let answer = client.call(&app, "/connect/par", &pairs(&client, &challenge, &more)).await;
        assert_eq!((answer.status.as_u16(), answer.json()["error"].as_str()), (400, Some(error)), "{more:?}");
    }
    let plain = [("response_type", "code"), ("redirect_uri", CALLBACK), ("scope", "openid")];
    assert_eq!(client.call(&app, "/connect/par", &plain).await.json()["error"], "invalid_request");
    let bad = [("response_type", "code"), ("redirect_uri", "https://x.example.test/")];
    assert_eq!(client.call(&app, "/connect/par", &bad).await.json()["error"], "invalid_request");
    let uri = push(&app, &client, &verifier(), &[]).await;
    app.sql("UPDATE pushed_request SET expires_at = now()").await;
    assert_eq!(get_json(&mut browser, &use_pushed(&client, &uri, &[])).await.status, 400);
}

#[tokio::test]
async fn a_client_that_must_push_or_sign_cannot_do_without() {
    let app = app().await;
    let mut browser = person(&app).await;
    let pushing =
        Relying::with(&app, Trust::Verified, json!({"require_pushed_authorization_requests": true})).await;
    let refused = pushing.ask(&mut browser, &verifier(), &[]).await.json();
    assert_eq!(parameter(&refused, "error").as_deref(), Some("invalid_request"));
    let key = ClientKey::new();
    let metadata = json!({"require_signed_request_object": true, "jwks": key.jwks()});
    let signing = Relying::with(&app, Trust::Verified, metadata).await;
    let refused = signing.ask(&mut browser, &verifier(), &[]).await.json();
    assert_eq!(parameter(&refused, "error").as_deref(), Some("invalid_request"));
}

fn object(app: &TestApp, client: &Relying, verifier: &str) -> Value {
    let now = app.app.clock.now().unix_timestamp();
    json!({
        "iss": client.id, "aud": "https://id.example.test", "iat": now, "nbf": now, "exp": now + 300,
        "client_id": client.id, "redirect_uri": CALLBACK, "response_type": "code", "scope": "openid",
        "state": "inside", "code_challenge": challenge(verifier), "code_challenge_method": "S256",
    })
}

#[tokio::test]
async fn a_signed_request_is_its_clients_word_and_nobody_elses() {
    let app = app().await;
    let mut browser = person(&app).await;
    let key = ClientKey::new();
    let client = Relying::with(&app, Trust::Verified, json!({"jwks": key.jwks()})).await;
    let verifier = verifier();
    let good = object(&app, &client, &verifier);
    let path = |text: &str| {
        format!(
            "/connect/authorize?{}",
            encode(&[
                ("client_id", &client.id),
                ("request", text),
                ("response_type", "code"),
                ("state", "outside")
            ])
        )
    };
    for (what, change) in [
        ("expired", json!({"exp": 1})),
        ("for somebody else", json!({"aud": "https://other.example.test"})),
        ("by somebody else", json!({"iss": "other"})),
        ("from the future", json!({"nbf": app.app.clock.now().unix_timestamp() + 62})),
        ("for another client", json!({"client_id": "other"})),
        ("within another", json!({"request": "x"})),
    ] {
        let mut claims = good.clone();
        for (name, value) in change.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let answer = get_json(&mut browser, &path(&key.request_object(&claims))).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["error"]),
            (400, &json!("invalid_request_object")),
            "{what}"
        );
    }
    let foreign = ClientKey::new().request_object(&good);
    assert_eq!(get_json(&mut browser, &path(&foreign)).await.json()["error"], "invalid_request_object");
    let none = "eyJhbGciOiJub25lIn0.e30.";
    assert_eq!(get_json(&mut browser, &path(none)).await.json()["error"], "invalid_request_object");
    let asked = get_json(&mut browser, &path(&key.request_object(&good))).await.json();
    let done = agree(&mut browser, asked).await;
    assert_eq!(parameter(&done, "state").as_deref(), Some("inside"));
    assert_eq!(client.redeem(&app, &parameter(&done, "code").unwrap(), &verifier).await.status, 200);
}

#[tokio::test]
async fn answers_travel_posted_or_signed_where_the_client_asked_for_it() {
    let app = app().await;
    let mut browser = person(&app).await;
    let metadata = json!({"authorization_signed_response_alg": "ES256"});
    let client = Relying::with(&app, Trust::Verified, metadata).await;
    let posted = client.ask(&mut browser, &verifier(), &[("response_mode", "form_post")]).await.json();
    let posted = agree(&mut browser, posted).await;
    assert_eq!(
        (&posted["continue"]["type"], &posted["continue"]["action"]),
        (&json!("form_post"), &json!(CALLBACK))
    );
    assert_eq!(parameter(&posted, "iss").as_deref(), Some("https://id.example.test"));
    let hostile = "\"><script>alert(1)</script>";
    let more = [("response_mode", "form_post"), ("state", hostile)];
    let page = browser.get(&client.path(&verifier(), &more)).await;
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").starts_with("text/html"));
    assert!(page.header("content-security-policy").contains("frame-ancestors 'none'"));
    assert!(!page.text().contains(hostile) && page.text().contains("&lt;script&gt;"), "{}", page.text());

    let jwks = app.get("/.well-known/jwks.json").await.json();
    let signed = client.ask(&mut browser, &verifier(), &[("response_mode", "jwt")]).await.json();
    let claims = verify(&parameter(&signed, "response").unwrap(), &jwks).unwrap();
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!("https://id.example.test"), &json!(client.id)));
    assert!(claims["code"].is_string() && claims["state"] == "s-1" && parameter(&signed, "code").is_none());
    let more = [("response_mode", "jwt"), ("prompt", "none"), ("max_age", "0")];
    let refused = client.ask(&mut browser, &verifier(), &more).await.json();
    let claims = verify(&parameter(&refused, "response").unwrap(), &jwks).unwrap();
    assert_eq!(claims["error"], "login_required");
}

#[tokio::test]
async fn consent_is_remembered_for_what_was_allowed_and_asked_again_for_more() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    client.tokens(&mut browser, &app, &[("scope", "openid email")]).await;
    let silent =
        client.ask(&mut browser, &verifier(), &[("scope", "openid"), ("prompt", "none")]).await.json();
    assert!(parameter(&silent, "code").is_some(), "{silent}");
    let more = client.ask(&mut browser, &verifier(), &[("scope", "openid profile")]).await.json();
    assert_eq!(more["stage"], "consent");
    let none = [("scope", "openid profile"), ("prompt", "none")];
    let refused = client.ask(&mut browser, &verifier(), &none).await.json();
    assert_eq!(parameter(&refused, "error").as_deref(), Some("consent_required"));
    let again = client.ask(&mut browser, &verifier(), &[("prompt", "consent")]).await.json();
    assert_eq!(again["stage"], "consent");
    // Taking it back forgets it.
    let gone = browser.delete(&format!("/v1/account/grants/{}", client.id)).await;
    assert_eq!(gone.status, 204);
    assert_eq!(client.ask(&mut browser, &verifier(), &[]).await.json()["stage"], "consent");
}

#[tokio::test]
async fn a_person_may_say_no_or_walk_away() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let mut flow = Flow::new(client.ask(&mut browser, &verifier(), &[]).await.json());
    flow.act(&mut browser, "consent/deny", nothing()).await;
    assert_eq!(flow.stage(), "denied");
    assert_eq!(parameter(&flow.now, "error").as_deref(), Some("access_denied"));
    assert_eq!(parameter(&flow.now, "iss").as_deref(), Some("https://id.example.test"));
    let after = flow.attempt(&mut browser, "consent/allow", nothing()).await;
    assert_eq!(after.status, 410, "{}", after.text());
    let flow = client.ask(&mut browser, &verifier(), &[]).await.json();
    let left = browser.delete(&format!("/v1/flows/{}", flow["id"].as_str().unwrap())).await.json();
    assert_eq!(parameter(&left, "error").as_deref(), Some("access_denied"));
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant").await, 0);
    assert_eq!(app.count("SELECT count(*) FROM consent").await, 0);
}

#[tokio::test]
async fn a_fresh_proof_is_asked_for_where_the_client_wants_one() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    client.tokens(&mut browser, &app, &[]).await;
    let session = browser.session().unwrap().clone();
    app.sql("UPDATE session SET proofs = jsonb_set(proofs, '{0,at}', to_jsonb(extract(epoch FROM now())::bigint - 100))").await;
    for more in [("prompt", "login"), ("max_age", "50")] {
        let verifier = verifier();
        let mut flow = Flow::new(client.ask(&mut browser, &verifier, &[more]).await.json());
        assert_eq!((flow.stage(), &flow.now["kind"]), ("raise", &json!("reauthenticate")), "{more:?}");
        // On a computer several people use: whose password it is that is asked for.
        assert_eq!(flow.now["account"]["display_name"], "Ana", "{}", flow.now);
        flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
        assert_eq!(flow.stage(), "complete", "{}", flow.now);
        let tokens = client.redeem(&app, &parameter(&flow.now, "code").unwrap(), &verifier).await.json();
        let jwks = app.get("/.well-known/jwks.json").await.json();
        let id = verify(tokens["id_token"].as_str().unwrap(), &jwks).unwrap();
        assert!(id["iat"].as_i64().unwrap() - id["auth_time"].as_i64().unwrap() < 50, "{id}");
        assert_eq!(id["acr"], "http://idmanagement.gov/ns/assurance/aal/1");
        app.sql("UPDATE session SET proofs = (SELECT jsonb_agg(jsonb_set(p, '{at}', to_jsonb((p->>'at')::bigint - 100))) FROM jsonb_array_elements(proofs) p)").await;
    }
    assert_ne!(&session, browser.session().unwrap(), "a new proof, a new token");
    let fine = client.ask(&mut browser, &verifier(), &[("max_age", "1000")]).await.json();
    assert!(parameter(&fine, "code").is_some());
    let none = client.ask(&mut browser, &verifier(), &[("max_age", "50"), ("prompt", "none")]).await.json();
    assert_eq!(parameter(&none, "error").as_deref(), Some("login_required"));
}

#[tokio::test]
async fn levels_are_binding() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    // A mailbox is all this session rests on; a password raises it to AAL1, and AAL2 takes something new.
    let mut flow = Flow::new(client.ask(&mut browser, &verifier(), &[("acr_values", "aal1")]).await.json());
    assert_eq!(flow.stage(), "raise", "{}", flow.now);
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(flow.stage(), "consent", "{}", flow.now);
    flow.act(&mut browser, "consent/allow", nothing()).await;
    let two = client.ask(&mut browser, &verifier(), &[("acr_values", "aal2")]).await.json();
    assert_eq!(two["stage"], "enrol", "{two}");
    let silent = [("acr_values", "aal2"), ("prompt", "none")];
    let silent = client.ask(&mut browser, &verifier(), &silent).await.json();
    assert_eq!(parameter(&silent, "error").as_deref(), Some("interaction_required"), "{silent}");
    let either = client.ask(&mut browser, &verifier(), &[("acr_values", "aal2 aal1")]).await.json();
    assert!(parameter(&either, "code").is_some(), "{either}");
    let claims = r#"{"id_token":{"acr":{"essential":true,"value":"aal2"}}}"#;
    let essential = client.ask(&mut browser, &verifier(), &[("claims", claims)]).await.json();
    assert_eq!(essential["stage"], "enrol", "{essential}");
}

#[tokio::test]
async fn the_right_person_or_nobody() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let hint = tokens["id_token"].as_str().unwrap();
    let silent =
        client.ask(&mut browser, &verifier(), &[("id_token_hint", hint), ("prompt", "none")]).await.json();
    assert!(parameter(&silent, "code").is_some(), "{silent}");
    let mut other = crate::people::register_with_password(&app, "bea@example.test").await;
    let none =
        client.ask(&mut other, &verifier(), &[("id_token_hint", hint), ("prompt", "none")]).await.json();
    assert_eq!(parameter(&none, "error").as_deref(), Some("login_required"));
    let mut flow = Flow::new(client.ask(&mut other, &verifier(), &[("id_token_hint", hint)]).await.json());
    assert_eq!(flow.stage(), "authenticate");
    let body = json!({"identifier": "bea@example.test", "password": PASSWORD});
    flow.act(&mut other, "password/check", body).await;
    assert_eq!(flow.stage(), "denied");
    assert_eq!(parameter(&flow.now, "error").as_deref(), Some("login_required"));
    let foreign =
        Relying::web(&app).await.ask(&mut browser, &verifier(), &[("id_token_hint", hint)]).await.json();
    assert_eq!(parameter(&foreign, "error").as_deref(), Some("invalid_request"));
}

#[tokio::test]
async fn a_person_chooses_the_account() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    client.tokens(&mut browser, &app, &[]).await;
    crate::people::register_with_password(&app, "bea@example.test").await;
    let none = [("prompt", "select_account")];
    let mut flow = Flow::new(client.ask(&mut browser, &verifier(), &none).await.json());
    assert_eq!(flow.stage(), "confirm");
    flow.act(&mut browser, "account/confirm", nothing()).await;
    assert_eq!(flow.stage(), "complete");
    let before = browser.session().unwrap().clone();
    let verifier = verifier();
    let mut flow = Flow::new(client.ask(&mut browser, &verifier, &none).await.json());
    flow.act(&mut browser, "account/switch", nothing()).await;
    assert_eq!(flow.stage(), "authenticate");
    let body = json!({"identifier": "bea@example.test", "password": PASSWORD});
    flow.act(&mut browser, "password/check", body).await;
    if flow.stage() == "enrol" {
        flow.act(&mut browser, "enrol/skip", nothing()).await;
    }
    assert_eq!(flow.stage(), "consent", "{}", flow.now);
    flow.act(&mut browser, "consent/allow", nothing()).await;
    assert!(parameter(&flow.now, "code").is_some());
    assert_ne!(&before, browser.session().unwrap());
    let mut old = Browser::new(&app);
    old.cookies.insert("__Host-session".into(), before);
    assert_eq!(old.get("/v1/account").await.status, 401, "whoever sat there before is signed out");
}
