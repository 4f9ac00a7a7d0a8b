//! Who proves what (RFC 9700 §2.5; OAuth 2.1 §2.4, §4.2, §8.1).

use porteiro_protocol::time::Clock;
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::verify;
use serde_json::json;

use super::super::{
    LEDGER, app,
    codes::refused,
    driver::{Relying, person, userinfo},
    encode, service,
    signing::ClientKey,
};

/// Each endpoint at which clients prove themselves, with nobody's, somebody else's and a wrong proof.
#[tokio::test]
async fn confidential_clients_prove_themselves_at_every_back_channel_endpoint() {
    let app = app().await;
    let (client, other) = (Relying::web(&app).await, Relying::web(&app).await);
    let wrong = [
        Relying { secret: None, ..client.clone() },
        Relying { secret: Some("wrong".into()), ..client.clone() },
        Relying { secret: other.secret.clone(), ..client.clone() },
        Relying { secret: client.secret.as_ref().map(|it| it[..it.len() - 1].to_owned()), ..client.clone() },
        Relying { id: "nobody".into(), ..client.clone() },
    ];
    for path in
        ["/connect/token", "/connect/par", "/connect/device", "/connect/revoke", "/connect/introspect"]
    {
        for (index, client) in wrong.iter().enumerate() {
            let form = [("token", "x"), ("grant_type", "authorization_code"), ("code", "x")];
            let answer = client.call(&app, path, &form).await;
            assert_eq!(
                (answer.status.as_u16(), &answer.json()["error"]),
                (401, &json!("invalid_client")),
                "{path} {index}"
            );
        }
    }
    // A public client is nobody where tokens are told about.
    let public = Relying::public(&app, Trust::Verified).await;
    assert_eq!(public.call(&app, "/connect/introspect", &[("token", "x")]).await.status, 401);
}

/// OAuth 2.1 §2.4.1: guessing secrets is hopeless, and it is made slow too.
#[tokio::test]
async fn wrong_secrets_are_slowed_down_and_the_right_one_still_works() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let guess = Relying { secret: Some("wrong".into()), ..client.clone() };
    let paths =
        ["/connect/token", "/connect/par", "/connect/device", "/connect/revoke", "/connect/introspect"];
    let mut statuses = Vec::new();
    for round in 0..40 {
        statuses.push(guess.call(&app, paths[round % 4], &[("token", "x")]).await.status.as_u16());
    }
    assert!(statuses.contains(&429), "{statuses:?}");
    assert!(statuses.iter().filter(|status| **status == 401).count() <= 31, "{statuses:?}");
    client.tokens(&mut browser, &app, &[]).await;
}

#[tokio::test]
async fn an_assertion_is_for_us_alone_and_says_so_in_one_string() {
    let app = app().await;
    let signer = ClientKey::new();
    let client = service(&app, "private_key_jwt", json!({"jwks": signer.jwks()})).await;
    let id = client["client_id"].as_str().unwrap();
    let now = app.clock.now().unix_timestamp();
    let mut number = 0;
    for (audience, taken) in [
        (json!("https://id.example.test"), true),
        (json!("https://id.example.test/connect/token"), true),
        (json!(["https://id.example.test"]), false),
        (json!(["https://id.example.test", "https://evil.example"]), false),
        (json!("https://id.example.test/"), false),
        (json!("https://id.example.test/connect/par"), false),
        (json!("https://id.example.test/connect/authorize"), false),
        (json!("https://ID.example.test"), false),
        (json!("http://id.example.test"), false),
        (json!("https://evil.example"), false),
        (json!(id), false),
        (json!(""), false),
        (json!(null), false),
    ] {
        number += 1;
        let claims = json!({"iss": id, "sub": id, "aud": audience, "iat": now, "exp": now + 60, "jti": format!("j{number}")});
        let form = encode(&[
            ("grant_type", "client_credentials"),
            ("scope", "invoices:read"),
            ("resource", LEDGER),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", &signer.typed("JWT", &claims)),
        ]);
        let answer = app.form("/connect/token", form).await;
        assert_eq!(answer.status == 200, taken, "{audience}: {}", answer.text());
    }
}

#[tokio::test]
async fn client_credentials_are_for_clients_that_prove_themselves() {
    let app = app().await;
    let public = Relying::public(&app, Trust::FirstParty).await;
    let answer =
        public.token(&app, "client_credentials", &[("scope", "invoices:read"), ("resource", LEDGER)]).await;
    refused(&answer, "unauthorized_client");
    let mut metadata = json!({"grant_types": ["client_credentials"], "token_endpoint_auth_method": "none"});
    let made = |metadata: serde_json::Value| {
        let app = app.clone();
        async move {
            porteiro_service::oauth::clients::create(
                &app.app.store,
                &*app.app.entropy,
                &metadata,
                Trust::FirstParty,
            )
            .await
        }
    };
    assert!(made(metadata.clone()).await.is_err());
    metadata["token_endpoint_auth_method"] = json!("client_secret_basic");
    assert!(made(metadata).await.is_ok());
}

#[tokio::test]
async fn there_is_no_password_grant() {
    let app = app().await;
    person(&app).await;
    let client = Relying::web(&app).await;
    let login =
        [("username", "ana@example.test"), ("password", crate::people::PASSWORD), ("scope", "openid")];
    for grant in ["password", "Password", "implicit", "http://auth0.com/oauth/grant-type/password-realm"] {
        refused(&client.token(&app, grant, &login).await, "unsupported_grant_type");
    }
    let metadata = app.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(metadata["grant_types_supported"], json!(porteiro_service::oauth::grant_types::NAMES));
    assert!(!porteiro_service::oauth::grant_types::NAMES.contains(&"password"));
}

/// RFC 9700 §4.15: a client is never taken for a person, and chooses neither its own name nor anybody's.
#[tokio::test]
async fn a_client_cannot_pass_for_a_person() {
    let app = app().await;
    let mut browser = person(&app).await;
    let me = browser.get("/v1/account").await.json()["id"].as_str().unwrap().to_owned();
    let body = json!({"client_id": me, "sub": me, "client_name": "X", "redirect_uris": ["https://x.example/cb"],
                      "client_secret": "chosen", "token_endpoint_auth_method": "client_secret_basic"});
    let registered = app.json("/connect/register", &body).await;
    assert_eq!(registered.status, 201, "{}", registered.text());
    assert_ne!(registered.json()["client_id"], me.as_str());
    assert_ne!(registered.json()["client_secret"], "chosen");

    let robot = service(&app, "client_secret_post", json!({})).await;
    let form = encode(&[
        ("grant_type", "client_credentials"),
        ("client_id", robot["client_id"].as_str().unwrap()),
        ("client_secret", robot["client_secret"].as_str().unwrap()),
        ("scope", "invoices:read"),
        ("sub", &me),
    ]);
    let own = app.form("/connect/token", form).await.json();
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let claims = verify(own["access_token"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!((&claims["sub"], &claims["client_id"]), (&robot["client_id"], &robot["client_id"]));
    assert_eq!(userinfo(&app, own["access_token"].as_str().unwrap()).await.status, 401);
    let client = Relying::web(&app).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let claims = verify(tokens["access_token"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!(
        (claims["sub"].as_str(), claims["client_id"].as_str()),
        (Some(me.as_str()), Some(client.id.as_str()))
    );
}

/// OAuth 2.1 §8.1: what is in every copy of an app proves nothing; the client's kind is recorded, and it stays public.
#[tokio::test]
async fn a_public_client_has_no_secret_and_none_helps_it() {
    let app = app().await;
    let mut browser = person(&app).await;
    let public = Relying::public(&app, Trust::Verified).await;
    assert!(public.secret.is_none());
    let (code, right) = public.code(&mut browser, &[]).await;
    let claimed = Relying { secret: Some("pt_cs_invented".into()), ..public.clone() };
    assert_eq!(claimed.redeem(&app, &code, &right).await.status, 401, "a secret it never registered");
    assert_eq!(public.redeem(&app, &code, &right).await.status, 200);
    assert_eq!(app.count("SELECT count(*) FROM client WHERE secret_hash IS NOT NULL").await, 0);
}
