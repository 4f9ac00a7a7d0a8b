//! The extensions' duties that are most often got wrong, as far as no other file shows them.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::time::Clock;
use porteiro_service::oauth::{apis, clients::Trust};
use porteiro_testkit::{TestApp, verify};
use serde_json::{Value, json};

use super::{
    super::{
        LEDGER, app,
        codes::refused,
        driver::{Relying, get_json, person, userinfo, verifier},
        encode, ledger,
        signing::ClientKey,
    },
    ISSUER, error, known, location, stays, value,
};

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

/// Pushes what the client would otherwise have sent through the browser.
async fn push(
    client: &Relying,
    app: &TestApp,
    secret: &str,
    more: &[(&str, &str)],
) -> porteiro_testkit::Answer {
    let mut body = client.query(secret, more);
    if let Some(secret) = &client.secret {
        body = format!("{body}&{}", encode(&[("client_secret", secret)]));
    }
    app.form("/connect/par", body).await
}

fn pushed(client: &Relying, uri: &str, more: &[(&str, &str)]) -> String {
    let pairs = [&[("client_id", client.id.as_str()), ("request_uri", uri)], more].concat();
    format!("/connect/authorize?{}", encode(&pairs))
}

#[tokio::test]
async fn rfc9126_a_pushed_request_is_good_once_for_its_client_and_nothing_beside_it_counts() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, other) = (known(&app, &mut browser).await, known(&app, &mut browser).await);
    let secret = verifier();
    let answer = push(&client, &app, &secret, &[("state", "pushed")]).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let body = answer.json();
    assert!((5..=600).contains(&body["expires_in"].as_i64().unwrap()));
    let uri = text(&body, "request_uri").to_owned();
    assert!(uri.rsplit(':').next().unwrap().len() >= 43, "{uri}");
    stays(&browser.get(&pushed(&other, &uri, &[])).await, "another client's");
    stays(&browser.get(&pushed(&client, &uri[..uri.len() - 1], &[])).await, "cut short");
    stays(
        &browser.get(&format!("/connect/authorize?{}", encode(&[("request_uri", &uri)]))).await,
        "no client",
    );
    let beside = [
        ("scope", "openid email"),
        ("state", "beside"),
        ("redirect_uri", "https://evil.example/"),
        ("prompt", "consent"),
    ];
    let answer = browser.get(&pushed(&client, &uri, &beside)).await;
    assert_eq!(value(&location(&answer), "state").as_deref(), Some("pushed"));
    let code = value(&location(&answer), "code").unwrap();
    let tokens = client.redeem(&app, &code, &secret).await.json();
    assert_eq!(tokens["scope"], "openid");
    stays(&browser.get(&pushed(&client, &uri, &[])).await, "used");

    let late = push(&client, &app, &verifier(), &[]).await.json();
    app.sql("UPDATE pushed_request SET expires_at = now()").await;
    stays(&browser.get(&pushed(&client, text(&late, "request_uri"), &[])).await, "expired");
}

#[tokio::test]
async fn rfc9126_what_would_be_refused_later_is_refused_when_it_is_pushed() {
    let app = app().await;
    let client = Relying::web(&app).await;
    for (more, error) in [
        (vec![("request_uri", "urn:ietf:params:oauth:request_uri:x")], "invalid_request"),
        (vec![("redirect_uri", "https://evil.example/")], "invalid_request"),
        (vec![("code_challenge", "")], "invalid_request"),
        (vec![("scope", "no:such")], "invalid_scope"),
        (vec![("resource", "https://nowhere.example")], "invalid_target"),
        (vec![("response_type", "token")], "unsupported_response_type"),
        (vec![("client_id", "somebody-else")], "invalid_client"),
    ] {
        let answer = push(&client, &app, &verifier(), &more).await;
        assert_eq!(answer.json()["error"], error, "{more:?}: {}", answer.text());
    }
    assert_eq!(app.count("SELECT count(*) FROM pushed_request").await, 0);
}

#[tokio::test]
async fn rfc9126_a_client_that_must_push_cannot_do_without() {
    let app = app().await;
    let mut browser = person(&app).await;
    let more = json!({"require_pushed_authorization_requests": true});
    let client = Relying::with(&app, Trust::FirstParty, more).await;
    assert_eq!(error(&browser.get(&client.path(&verifier(), &[])).await), "invalid_request");
    let body = push(&client, &app, &verifier(), &[]).await.json();
    let answer = browser.get(&pushed(&client, text(&body, "request_uri"), &[])).await;
    assert!(value(&location(&answer), "code").is_some());
}

/// Of many browsers with one pushed request, one gets a code.
#[tokio::test]
async fn rfc9126_a_pushed_request_used_many_times_at_once_is_used_once() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let body = push(&client, &app, &verifier(), &[]).await.json();
    let path = pushed(&client, text(&body, "request_uri"), &[]);
    let mut racing = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (app, cookies, path) = (app.clone(), browser.cookies.clone(), path.clone());
        racing.spawn(async move {
            let mut browser = porteiro_testkit::Browser::new(&app);
            browser.cookies = cookies;
            let answer = browser.get(&path).await;
            answer.status == 303 && value(&location(&answer), "code").is_some()
        });
    }
    assert_eq!(racing.join_all().await.into_iter().filter(|won| *won).count(), 1);
}

#[tokio::test]
async fn rfc9101_a_request_object_is_its_clients_and_cannot_be_talked_over() {
    let app = app().await;
    let mut browser = person(&app).await;
    let signer = ClientKey::new();
    let more = json!({"jwks": signer.jwks(), "require_signed_request_object": true});
    let client = Relying::with(&app, Trust::FirstParty, more).await;
    let now = app.clock.now().unix_timestamp();
    let claims = |secret: &str| {
        json!({"iss": client.id, "aud": ISSUER, "exp": now + 60, "client_id": client.id, "response_type": "code",
               "redirect_uri": client.redirect_uri, "scope": "openid", "state": "inside",
               "code_challenge": super::super::driver::challenge(secret), "code_challenge_method": "S256"})
    };
    let send = |object: &str| {
        format!(
            "{}&{}",
            client.path(&verifier(), &[("scope", "openid email")]),
            encode(&[("request", object)])
        )
    };
    let answer = browser.get(&send(&signer.typed("oauth-authz-req+jwt", &claims(&verifier())))).await;
    assert_eq!(value(&location(&answer), "state").as_deref(), Some("inside"));
    assert_eq!(error(&browser.get(&client.path(&verifier(), &[])).await), "invalid_request", "unsigned");
    let stranger = ClientKey::new();
    stays(
        &browser.get(&send(&stranger.typed("oauth-authz-req+jwt", &claims(&verifier())))).await,
        "another key",
    );
    stays(&browser.get(&send(&signer.typed("at+jwt", &claims(&verifier())))).await, "another type");
    for (member, wrong) in [
        ("iss", json!("somebody")),
        ("aud", json!("https://evil.example")),
        ("aud", json!(null)),
        ("exp", json!(now - 1)),
        ("nbf", json!(now + 600)),
        ("client_id", json!("somebody")),
        ("request_uri", json!("urn:x")),
        ("scope", json!(["openid"])),
    ] {
        let mut claims = claims(&verifier());
        claims[member] = wrong;
        stays(&browser.get(&send(&signer.typed("oauth-authz-req+jwt", &claims))).await, member);
    }
}

#[tokio::test]
async fn rfc8707_a_token_names_one_api_that_exists() {
    let app = app().await;
    let mut browser = person(&app).await;
    let mut archive = ledger();
    archive.identifier = "https://archive.example.test".into();
    archive.scopes.iter_mut().for_each(|scope| scope.name = scope.name.replace("invoices", "papers"));
    apis::register(&app.app.store, &archive).await.unwrap();
    let client = known(&app, &mut browser).await;
    for (resource, scope, wrong) in [
        ("https://nowhere.example", "openid", "invalid_target"),
        ("ledger.example.test", "openid", "invalid_target"),
        ("https://ledger.example.test#x", "openid", "invalid_target"),
        ("https://ledger.example.test//", "openid", "invalid_target"),
        (LEDGER, "papers:read", "invalid_scope"),
        ("", "invoices:read papers:read", "invalid_scope"),
    ] {
        let answer =
            browser.get(&client.path(&verifier(), &[("resource", resource), ("scope", scope)])).await;
        assert_eq!(error(&answer), wrong, "{resource} {scope}");
    }
    let two = format!(
        "{}&{}",
        client.path(&verifier(), &[("resource", LEDGER)]),
        encode(&[("resource", "https://archive.example.test")])
    );
    stays(&browser.get(&two).await, "two APIs at once");
    let (code, right) = client.code(&mut browser, &[("resource", LEDGER), ("scope", "invoices:read")]).await;
    let form =
        [("code", code.as_str()), ("code_verifier", &right), ("resource", "https://archive.example.test")];
    refused(&client.token(&app, "authorization_code", &form).await, "invalid_target");
    let tokens = client.redeem(&app, &code, &right).await.json();
    let jwks = app.get("/.well-known/jwks.json").await.json();
    assert_eq!(verify(text(&tokens, "access_token"), &jwks).unwrap()["aud"], LEDGER);
}

#[tokio::test]
async fn rfc9068_an_access_token_says_what_it_is() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let header = text(&tokens, "access_token").split('.').next().unwrap();
    let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
    assert_eq!(header["typ"], "at+jwt");
    for forbidden in ["jku", "x5u", "jwk", "zip"] {
        assert!(header.get(forbidden).is_none(), "{forbidden}");
    }
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let claims = verify(text(&tokens, "access_token"), &jwks).unwrap();
    for name in ["iss", "sub", "aud", "exp", "iat", "jti", "client_id", "scope", "auth_time", "acr"] {
        assert!(!claims[name].is_null(), "{name}");
    }
    assert!(claims["aud"].is_string(), "one audience, as a string");
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 300);
    let again = client.refresh(&app, text(&tokens, "refresh_token"), &[]).await.json();
    assert_ne!(verify(text(&again, "access_token"), &jwks).unwrap()["jti"], claims["jti"]);
}

#[tokio::test]
async fn rfc7662_a_token_is_told_about_only_to_those_it_concerns() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, other) = (Relying::web(&app).await, Relying::web(&app).await);
    let speaker = Relying::web(&app).await;
    let mut api = ledger();
    api.introspected_by = vec![speaker.id.clone()];
    apis::register(&app.app.store, &api).await.unwrap();
    let more = [("scope", "openid invoices:read"), ("resource", LEDGER)];
    let tokens = client.tokens(&mut browser, &app, &more).await;
    let own = client.tokens(&mut browser, &app, &[]).await;
    let look = async |who: &Relying, token: &str| {
        let answer = who.call(&app, "/connect/introspect", &[("token", token)]).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let nothing = json!({"active": false});
    let told = look(&client, text(&tokens, "access_token")).await;
    assert_eq!(
        (&told["active"], &told["aud"], &told["scope"]),
        (&json!(true), &json!(LEDGER), &json!("openid invoices:read"))
    );
    assert_eq!(look(&speaker, text(&tokens, "access_token")).await["active"], json!(true));
    assert_eq!(look(&client, text(&tokens, "refresh_token")).await["active"], json!(true));
    // An API learns nothing of tokens for another, and nothing of refresh tokens at all.
    assert_eq!(look(&speaker, text(&own, "access_token")).await, nothing);
    assert_eq!(look(&speaker, text(&tokens, "refresh_token")).await, nothing);
    for token in ["access_token", "refresh_token"] {
        assert_eq!(look(&other, text(&tokens, token)).await, nothing);
    }
    for junk in ["x", "a.b.c", "pt_rt_x"] {
        assert_eq!(look(&client, junk).await, nothing);
    }
    browser.delete(&format!("/v1/account/grants/{}", client.id)).await;
    for token in ["access_token", "refresh_token"] {
        assert_eq!(look(&client, text(&tokens, token)).await, nothing);
    }
    let tokens = client.tokens(&mut browser, &app, &more).await;
    assert_eq!(look(&client, text(&tokens, "access_token")).await["active"], json!(true));
    app.sql("UPDATE account SET state = 'disabled'").await;
    for token in ["access_token", "refresh_token"] {
        assert_eq!(look(&client, text(&tokens, token)).await, nothing);
    }
}

#[tokio::test]
async fn rfc7009_what_is_not_known_is_answered_as_if_it_had_been_ended() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    for token in ["x", "a.b.c", text(&tokens, "id_token"), browser.session().unwrap().as_str()] {
        for hint in ["", "access_token", "refresh_token", "nonsense"] {
            let answer =
                client.call(&app, "/connect/revoke", &[("token", token), ("token_type_hint", hint)]).await;
            assert_eq!((answer.status.as_u16(), answer.text().as_str()), (200, "{}"));
        }
    }
    refused(&client.call(&app, "/connect/revoke", &[]).await, "invalid_request");
    assert_eq!(
        userinfo(&app, text(&tokens, "access_token")).await.status,
        200,
        "nothing of that ended anything"
    );
    assert_eq!(browser.get("/v1/account").await.status, 200);
}

/// RFC 9396 §5: unknown types and fields are refused; what a browser could change is not taken from confidential clients.
#[tokio::test]
async fn rfc9396_details_nobody_registered_are_refused() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let public = Relying::public(&app, Trust::Verified).await;
    let details = json!([{"type": "payment", "amount": 1}]).to_string();
    let more = [("authorization_details", details.as_str()), ("resource", LEDGER), ("scope", "openid")];
    assert_eq!(error(&browser.get(&client.path(&verifier(), &more)).await), "invalid_request", "not pushed");
    assert_eq!(error(&browser.get(&public.path(&verifier(), &more)).await), "invalid_authorization_details");
    for wrong in [
        "x",
        "{}",
        "[]",
        "[1]",
        "[{}]",
        "[{\"type\":\"\"}]",
        "[{\"type\":\"a\",\"type\":\"b\"}]",
        &format!("{}1{}", "[".repeat(40), "]".repeat(40)),
    ] {
        let more = [("authorization_details", wrong), ("resource", LEDGER)];
        let answer = get_json(&mut browser, &public.path(&verifier(), &more)).await;
        assert!(answer.text().contains("invalid_authorization_details"), "{wrong}: {}", answer.text());
    }
    let pushed = push(&client, &app, &verifier(), &more).await;
    assert_eq!(pushed.json()["error"], "invalid_authorization_details");
}

/// RFC 9728 §5.1: the challenge names the metadata, and the document is at its place.
#[tokio::test]
async fn rfc9728_the_metadata_of_our_own_apis_names_us_and_nobody_else() {
    let app = app().await;
    let metadata = app.get("/.well-known/oauth-protected-resource").await.json();
    assert_eq!(
        (&metadata["resource"], &metadata["authorization_servers"]),
        (&json!(ISSUER), &json!([ISSUER]))
    );
    let answer = app.get("/connect/userinfo").await;
    assert_eq!(answer.status, 401);
    let named = format!("Bearer resource_metadata=\"{ISSUER}/.well-known/oauth-protected-resource\"");
    assert_eq!(answer.header("www-authenticate"), named);
}
