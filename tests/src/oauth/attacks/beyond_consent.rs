//! What nobody allowed, and what was allowed for something else.

use axum::body::Body;
use http::{Method, Request, header};
use porteiro_service::oauth::{
    apis,
    clients::{self, Trust},
};
use porteiro_testkit::{Browser, Flow, nothing};
use serde_json::{Value, json};

use super::super::{
    LEDGER, app,
    driver::{Relying, agree, challenge, get_json, parameter, person, userinfo, verifier},
    encode, ledger,
    signing::ClientKey,
};
use crate::people::{self, PASSWORD};

use super::{object, send_json, stranger, text};

/// `claims` releases e-mail and phone beyond the scope, beyond the client's ceiling, and the person is not told:
/// the consent screen lists scopes alone. Once `openid` is remembered, it happens without any screen.
#[tokio::test]
async fn the_claims_parameter_tells_what_nobody_allowed() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, _) = stranger(&app, json!({"scope": "openid"})).await;
    let verifier = verifier();
    let claims = r#"{"userinfo":{"email":null,"name":null,"phone_number":null}}"#;
    let asked = client.ask(&mut browser, &verifier, &[("claims", claims)]).await.json();
    assert_eq!(asked["stage"], "consent");
    let shown = asked["request"].to_string();
    let done = agree(&mut browser, asked).await;
    let tokens = client.redeem(&app, &parameter(&done, "code").unwrap(), &verifier).await.json();
    assert_eq!(tokens["scope"], "openid");
    let told = userinfo(&app, text(&tokens, "access_token")).await.json();
    assert!(told["email"].is_null() || shown.contains("mail"), "shown {shown}, told {told}");
}

/// What the person says yes to is not what they were shown: a request that leaves scope (and redirect URI) to the
/// registration follows a PUT made while the consent screen is open.
#[tokio::test]
async fn consent_is_given_to_what_was_shown() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, held) = stranger(&app, json!({"scope": "openid"})).await;
    let verifier = verifier();
    let asked = client.ask(&mut browser, &verifier, &[("scope", ""), ("redirect_uri", "")]).await.json();
    assert_eq!(asked["stage"], "consent", "{asked}");
    assert_eq!(asked["request"]["scopes"].as_array().unwrap().len(), 1);
    assert_eq!(asked["request"]["redirect_host"], "app.example.test");
    let mut metadata = held["metadata"].clone();
    metadata["scope"] = json!("openid email phone profile offline_access");
    metadata["redirect_uris"] = json!(["https://evil.example.test/"]);
    metadata["client_name"] = json!("Something else");
    let auth = format!("Bearer {}", text(&held, "token"));
    send_json(&app, Method::PUT, &format!("/connect/register/{}", client.id), &auth, &metadata).await;
    let mut flow = Flow::new(asked);
    let answer = flow.attempt(&mut browser, "consent/allow", nothing()).await;
    let scope = match parameter(&flow.now, "code") {
        Some(code) => {
            let form = [("code", code.as_str()), ("code_verifier", verifier.as_str())];
            client.token(&app, "authorization_code", &form).await.json()["scope"].clone()
        }
        None => Value::Null,
    };
    assert!(
        parameter(&flow.now, "code").is_none(),
        "granted {scope} at {}: {}",
        flow.now["continue"],
        answer.status
    );
}

/// A thief of the password takes an offline grant and signs out. The owner changes the password: every *living*
/// session that rested on it ends with its offline grants, but the thief's ended session is not looked at.
#[tokio::test]
async fn a_changed_password_ends_the_offline_grants_made_with_it() {
    let app = app().await;
    let mut owner = person(&app).await;
    let client = Relying::web(&app).await;
    let mut thief = Browser::new(&app);
    let mut flow = thief.open(json!({"kind": "sign_in"})).await;
    let input = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(&mut thief, "password/check", input).await;
    flow.act(&mut thief, "enrol/skip", nothing()).await;
    let stolen = client.tokens(&mut thief, &app, &[("scope", "openid offline_access")]).await;
    let hint = text(&stolen, "id_token");
    let out = get_json(&mut thief, &format!("/connect/logout?{}", encode(&[("id_token_hint", hint)]))).await;
    assert_eq!(out.json()["stage"], "complete");

    let mut flow = people::enrol(&mut owner, "password").await;
    flow.act(&mut owner, "password/check", json!({"password": PASSWORD})).await;
    let change = json!({"new_password": "another long password", "current_password": PASSWORD});
    flow.act(&mut owner, "password/set", change).await;
    assert_eq!(owner.delete("/v1/account/sessions").await.status, 200);

    let refresh = client.refresh(&app, text(&stolen, "refresh_token"), &[]).await;
    assert_eq!(refresh.status, 400, "the thief goes on for a month: {}", refresh.text());
}

/// "What does not outlive the session" outlives it: a session that lapses (7 days unused, or 30 days old) ends
/// nothing, and refreshing does not ask for it.
#[tokio::test]
async fn a_lapsed_session_takes_its_grants_along() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    app.sql(
        "UPDATE session SET seen_at = now() - interval '8 days';
         UPDATE oauth_grant SET expires_at = expires_at - interval '8 days'",
    )
    .await;
    assert_eq!(browser.get("/v1/account").await.status, 401, "the session is over");
    let refresh = client.refresh(&app, text(&tokens, "refresh_token"), &[]).await;
    let info = userinfo(&app, text(&tokens, "access_token")).await.status.as_u16();
    assert_eq!((refresh.status.as_u16(), info), (400, 401), "{}", refresh.text());
}

/// Trust taken from a client leaves its grants as they were: a client that is no longer of the house goes on minting
/// tokens for the account API, and a stranger scopes that are closed to strangers.
#[tokio::test]
async fn trust_that_is_taken_back_is_gone_from_refreshed_tokens() {
    let app = app().await;
    let mut browser = person(&app).await;
    let house = Relying::with(&app, Trust::FirstParty, json!({})).await;
    let tokens = house.tokens(&mut browser, &app, &[("scope", "openid account")]).await;
    assert!(clients::set_trust(&app.app.store, &house.id, Trust::Unverified).await.unwrap());
    app.app.directory.forget(&house.id);
    let refresh = house.refresh(&app, text(&tokens, "refresh_token"), &[]).await;
    let new = refresh.json();
    let token = new["access_token"].as_str().unwrap_or(text(&tokens, "access_token"));
    let request =
        Request::get("/v1/account/sessions").header(header::AUTHORIZATION, format!("Bearer {token}"));
    let account = app.send(request.body(Body::empty()).unwrap()).await;
    assert_ne!(account.status, 200, "refresh said {}, account said {}", new["scope"], account.text());
}

/// The same for an API that closed or dropped a scope: the grant keeps minting it. A token is measured against
/// the API as it is now (docs/decisions/0074).
#[tokio::test]
async fn a_scope_the_api_no_longer_has_is_not_in_new_tokens() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let more = [("scope", "openid invoices:read invoices:write"), ("resource", LEDGER)];
    let tokens = client.tokens(&mut browser, &app, &more).await;
    let mut api = ledger();
    api.scopes.retain(|scope| scope.name != "invoices:write");
    apis::register(&app.app.store, &api).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let new = client.refresh(&app, text(&tokens, "refresh_token"), &[]).await.json();
    assert!(!new["scope"].as_str().unwrap_or_default().contains("invoices:write"), "{}", new["scope"]);
}

/// `/connect/challenge` hands the app a whole session beside the code: authority that no scope names (it asked for
/// `openid`), that survives the grant being taken back, and although `api_flows` is off (the default). Any public
/// first-party client id will do, and those are no secret.
#[tokio::test]
async fn the_challenge_endpoint_gives_a_code_and_no_session() {
    let app = app().await;
    let mut owner = person(&app).await;
    let house = Relying::with(&app, Trust::FirstParty, json!({"token_endpoint_auth_method": "none"})).await;
    let verifier = verifier();
    let hash = challenge(&verifier);
    let form = [("scope", "openid"), ("code_challenge", hash.as_str()), ("code_challenge_method", "S256")];
    let begun = house.call(&app, "/connect/challenge", &form).await.json();
    let mut flow = begun["flow"].clone();
    let mut token = text(&begun, "auth_session").to_owned();
    for (action, mut input) in [
        ("password/check", json!({"identifier": "ana@example.test", "password": PASSWORD})),
        ("enrol/skip", json!({})),
    ] {
        input["step"] = flow["step"].clone();
        let path = format!("/v1/flows/{}/{action}", text(&flow, "id"));
        flow = send_json(&app, Method::POST, &path, &format!("Flow {token}"), &input).await;
        token = flow["auth_session"].as_str().unwrap_or_default().to_owned();
    }
    let session = flow["continue"]["session_token"].as_str().unwrap_or_default().to_owned();
    assert_eq!(owner.delete(&format!("/v1/account/grants/{}", house.id)).await.status, 204);
    let request =
        Request::get("/v1/account/sessions").header(header::AUTHORIZATION, format!("Session {session}"));
    let account = app.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(account.status, 401, "an app of the scope openid, withdrawn, reads {}", account.text());
}

/// `id_token_hint` names Ana; whoever registers on the way is answered for instead (OpenID Connect Core §3.1.2.1,
/// §3.1.2.2: MUST NOT be another person). `standing` does not look at a hint while there is no account.
#[tokio::test]
async fn a_hinted_request_is_not_answered_for_a_new_account() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let hint = text(&tokens, "id_token");
    let mut other = Browser::new(&app);
    let asked = client.ask(&mut other, &verifier(), &[("id_token_hint", hint)]).await;
    let mut flow = Flow::new(asked.json());
    flow.act(&mut other, "email_code/send", json!({"identifier": "eve@example.test"})).await;
    let code = app.mailed_code("eve@example.test").await;
    flow.act(&mut other, "email_code/check", json!({"code": code})).await;
    if flow.stage() == "profile" {
        flow.act(&mut other, "profile/set", json!({"display_name": "Eve"})).await;
        flow.act(&mut other, "enrol/skip", nothing()).await;
        if flow.stage() == "consent" {
            flow.act(&mut other, "consent/allow", nothing()).await;
        }
    }
    assert!(parameter(&flow.now, "code").is_none(), "{}", flow.now["continue"]);
}

/// An open redirector: a stranger registers a client, signs in once itself, and its own ID token (of any age) sends
/// anybody who is not signed in wherever the stranger registered (RFC 9700 §4.11).
#[tokio::test]
async fn signing_out_sends_nobody_to_a_strangers_address() {
    let app = app().await;
    let mut attacker = person(&app).await;
    let evil = "https://evil.example.test/phish";
    let (client, _) = stranger(&app, json!({"post_logout_redirect_uris": [evil]})).await;
    let tokens = client.tokens(&mut attacker, &app, &[]).await;
    let pairs = [("id_token_hint", text(&tokens, "id_token")), ("post_logout_redirect_uri", evil)];
    let mut victim = Browser::new(&app);
    let answer = victim.get(&format!("/connect/logout?{}", encode(&pairs))).await;
    assert_ne!((answer.status.as_u16(), answer.header("location")), (303, evil));
}

/// Strangers and people who are signed in: a broken request redirects at once, and `prompt=none` with
/// `claims.id_token.sub` tells a site nobody ever allowed anything whether the visitor is a certain person. Neither
/// happens for an unverified client (docs/decisions/0022).
#[tokio::test]
async fn a_stranger_learns_nothing_and_redirects_nobody_without_consent() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, _) = stranger(&app, json!({})).await;
    let broken = browser.get(&client.path(&verifier(), &[("scope", "no:such")])).await;
    let ana =
        app.database.client().await.query_one("SELECT account_id::text FROM account", &[]).await.unwrap();
    let mut said = Vec::new();
    for sub in [ana.get::<_, String>(0), "0190a5a0-0000-7000-8000-000000000000".to_owned()] {
        let claims = json!({"id_token": {"sub": {"value": sub}}}).to_string();
        let answer = browser.get(&client.path(&verifier(), &[("prompt", "none"), ("claims", &claims)])).await;
        said.push(answer.header("location").split("error=").nth(1).unwrap_or_default().to_owned());
    }
    assert!(broken.status != 303 && said[0] == said[1], "{} {said:?}", broken.header("location"));
}

/// The same behind a sign-in: of a request that nobody can satisfy, only a client somebody checked is told. What the
/// person says themselves, a stranger hears, too.
#[tokio::test]
async fn a_request_nobody_can_satisfy_sends_nobody_to_a_stranger() {
    let app = app().await;
    person(&app).await;
    // What is worn out bars the level, and nobody may add to it.
    app.sql(
        "INSERT INTO credential (account_id, credential_id, kind, label, body, state)
         SELECT account_id, gen_random_uuid(), 'recovery_codes', 'Recovery codes', '{}', 'exhausted' FROM account",
    )
    .await;
    let checked = Relying::web(&app).await;
    let (client, _) = stranger(&app, json!({})).await;
    let nobody = json!({"id_token": {"sub": {"value": "0190a5a0-0000-7000-8000-000000000000"}}}).to_string();
    let demands = [("claims", nobody.as_str()), ("organization", "elsewhere"), ("acr_values", "aal2")];
    for demand in demands {
        for (asking, told) in [(&checked, true), (&client, false)] {
            let mut browser = Browser::new(&app);
            let mut flow = Flow::new(asking.ask(&mut browser, &verifier(), &[demand]).await.json());
            let input = json!({"identifier": "ana@example.test", "password": PASSWORD});
            flow.act(&mut browser, "password/check", input).await;
            assert_eq!(flow.stage(), "denied", "{demand:?}: {}", flow.now);
            assert_eq!(parameter(&flow.now, "error").is_some(), told, "{demand:?}: {}", flow.now["continue"]);
            assert_eq!(flow.now["continue"].is_null(), !told);
            let again = browser.get(&format!("/v1/flows/{}", flow.id())).await.json();
            assert_eq!(again["continue"], flow.now["continue"]);
        }
        app.forget_limits().await;
    }
    let mut browser = Browser::new(&app);
    let mut flow = Flow::new(client.ask(&mut browser, &verifier(), &[]).await.json());
    let input = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(&mut browser, "password/check", input).await;
    if flow.stage() == "enrol" {
        flow.act(&mut browser, "enrol/skip", nothing()).await;
    }
    flow.act(&mut browser, "consent/deny", nothing()).await;
    assert_eq!(parameter(&flow.now, "error").as_deref(), Some("access_denied"), "{}", flow.now);
}

/// RFC 9449 §10.1: a request pushed with a DPoP proof binds the code to that key. Where the request is signed and
/// must be, the key is lost with the parameters around the object; and an object that names *another* key is believed.
#[tokio::test]
async fn a_signed_request_pushed_with_a_proof_is_bound_to_its_key() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (key, proving, other) = (ClientKey::new(), ClientKey::new(), ClientKey::new());
    let metadata = json!({"require_signed_request_object": true, "jwks": key.jwks()});
    let client = Relying::with(&app, Trust::Verified, metadata).await;
    let push = async |object: &Value| {
        let now = app.app.clock.now().unix_timestamp();
        let nonce = json!({"nonce": app.app.secrets.nonce(now)});
        let proof = proving.proof("POST", "https://id.example.test/connect/par", now, &nonce);
        let request = key.request_object(object);
        let form = [
            ("client_id", client.id.as_str()),
            ("client_secret", client.secret.as_deref().unwrap()),
            ("request", &request),
        ];
        let request = Request::post("/connect/par")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("dpop", proof)
            .body(Body::from(encode(&form)));
        app.send(request.unwrap()).await
    };
    let mut wrong = object(&app, &client, &verifier());
    wrong["dpop_jkt"] = json!(other.thumbprint());
    let mismatch = push(&wrong).await.status.as_u16();
    let verifier = verifier();
    let pushed = push(&object(&app, &client, &verifier)).await;
    assert_eq!(pushed.status, 201, "{}", pushed.text());
    let pushed = pushed.json();
    let pairs = [("client_id", client.id.as_str()), ("request_uri", text(&pushed, "request_uri"))];
    let asked = get_json(&mut browser, &format!("/connect/authorize?{}", encode(&pairs))).await.json();
    let done = agree(&mut browser, asked).await;
    let redeemed = client.redeem(&app, &parameter(&done, "code").unwrap(), &verifier).await;
    assert_eq!((mismatch, redeemed.status.as_u16()), (400, 400), "{}", redeemed.json()["token_type"]);
}

/// ASVS 10.4.15: details of a confidential client must not pass through a browser unprotected. Beside a signed
/// object that has none they do: `signed` speaks for parameters nobody signed.
#[tokio::test]
async fn details_beside_a_signed_request_are_not_signed() {
    let app = app().await;
    let mut api = serde_json::to_value(ledger()).unwrap();
    api["details"] = json!([{
        "name": "payment",
        "schema": {"type": "object", "properties": {"to": {"type": "string", "maxLength": 40}},
                   "required": ["to"], "additionalProperties": false},
        "display": {"en": "Pay {to}", "pt": "Pagar {to}"},
    }]);
    apis::register(&app.app.store, &serde_json::from_value(api).unwrap()).await.unwrap();
    let mut browser = person(&app).await;
    let key = ClientKey::new();
    let types = json!({"jwks": key.jwks(), "authorization_details_types": ["payment"]});
    let client = Relying::with(&app, Trust::Verified, types).await;
    let mut inside = object(&app, &client, &verifier());
    inside["resource"] = json!(LEDGER);
    inside["scope"] = json!("invoices:read");
    let request = key.request_object(&inside);
    let details = r#"[{"type":"payment","to":"Mallory"}]"#;
    let pairs =
        [("client_id", client.id.as_str()), ("request", &request), ("authorization_details", details)];
    let asked = get_json(&mut browser, &format!("/connect/authorize?{}", encode(&pairs))).await.json();
    assert!(
        asked["request"]["details"].as_array().is_none_or(Vec::is_empty),
        "{}",
        asked["request"]["details"]
    );
}
