//! Tokens bound to a key (RFC 9449) or certificate (RFC 8705 §3): of no use to whoever copies them.

use std::{net::SocketAddr, sync::Arc};

use axum::body::Body;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{Request, header};
use porteiro_service::{http::Peer, oauth::clients::Trust};
use porteiro_testkit::{Answer, TestApp, verify};
use serde_json::{Value, json};

use super::{
    app,
    codes::refused,
    driver::{Relying, person, userinfo},
    encode,
    signing::{ClientKey, token_hash},
};

const TOKEN: &str = "https://id.example.test/connect/token";

fn now(app: &TestApp) -> i64 {
    app.app.clock.now().unix_timestamp()
}

async fn post(app: &TestApp, path: &str, form: &[(&str, &str)], proofs: &[&str]) -> Answer {
    let mut request = Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    for proof in proofs {
        request = request.header("dpop", *proof);
    }
    app.send(request.body(Body::from(encode(form))).unwrap()).await
}

fn client_form<'a>(client: &'a Relying, form: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut pairs = vec![("client_id", client.id.as_str())];
    if let Some(secret) = &client.secret {
        pairs.push(("client_secret", secret));
    }
    pairs.extend_from_slice(form);
    pairs
}

/// As stock clients do: once without the nonce, then with the one it was given.
async fn with_nonce(app: &TestApp, key: &ClientKey, form: &[(&str, &str)]) -> Answer {
    let first = post(app, "/connect/token", form, &[&key.proof("POST", TOKEN, now(app), &json!({}))]).await;
    refused(&first, "use_dpop_nonce");
    let nonce = first.header("dpop-nonce").to_owned();
    assert!(!nonce.is_empty());
    let proof = key.proof("POST", TOKEN, now(app), &json!({"nonce": nonce}));
    let answer = post(app, "/connect/token", form, &[&proof]).await;
    assert!(!answer.header("dpop-nonce").is_empty());
    answer
}

fn nonce(app: &TestApp) -> Value {
    json!({"nonce": app.app.secrets.nonce(now(app))})
}

async fn redeem(app: &Arc<TestApp>, client: &Relying, key: &ClientKey, more: &[(&str, &str)]) -> Value {
    let mut browser = person(app).await;
    let (code, verifier) = client.code(&mut browser, more).await;
    let form =
        [("grant_type", "authorization_code"), ("code", code.as_str()), ("code_verifier", verifier.as_str())];
    let answer = with_nonce(app, key, &client_form(client, &form)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

async fn userinfo_with(app: &TestApp, token: &str, scheme: &str, proofs: &[&str]) -> Answer {
    let mut request =
        Request::get("/connect/userinfo").header(header::AUTHORIZATION, format!("{scheme} {token}"));
    for proof in proofs {
        request = request.header("dpop", *proof);
    }
    app.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_token_bound_to_a_key_needs_a_proof_of_it_every_time() {
    let app = app().await;
    let client = Relying::public(&app, Trust::Verified).await;
    let key = ClientKey::new();
    let tokens = redeem(&app, &client, &key, &[]).await;
    assert_eq!(tokens["token_type"], "DPoP");
    let token = tokens["access_token"].as_str().unwrap();
    let jwks = app.get("/.well-known/jwks.json").await.json();
    assert_eq!(verify(token, &jwks).unwrap()["cnf"]["jkt"], key.thumbprint());

    let uri = "https://id.example.test/connect/userinfo";
    let mut claims = nonce(&app);
    claims["ath"] = json!(token_hash(token));
    let good = || key.proof("GET", uri, now(&app), &claims);
    let once = good();
    assert_eq!(userinfo_with(&app, token, "DPoP", &[&once]).await.status, 200);
    let other = ClientKey::new();
    for (what, scheme, proofs) in [
        ("no proof", "DPoP", vec![]),
        ("as a bearer token", "Bearer", vec![]),
        ("as a bearer token with a proof", "Bearer", vec![good()]),
        ("the same proof again", "DPoP", vec![once]),
        ("another key", "DPoP", vec![other.proof("GET", uri, now(&app), &claims)]),
        ("another method", "DPoP", vec![key.proof("POST", uri, now(&app), &claims)]),
        ("another address", "DPoP", vec![key.proof("GET", TOKEN, now(&app), &claims)]),
        ("for no token", "DPoP", vec![key.proof("GET", uri, now(&app), &nonce(&app))]),
        ("two proofs", "DPoP", vec![good(), good()]),
        ("too old", "DPoP", vec![key.proof("GET", uri, now(&app) - 400, &claims)]),
        ("from the future", "DPoP", vec![key.proof("GET", uri, now(&app) + 60, &claims)]),
    ] {
        let proofs: Vec<&str> = proofs.iter().map(String::as_str).collect();
        let answer = userinfo_with(&app, token, scheme, &proofs).await;
        assert!(matches!(answer.status.as_u16(), 400 | 401), "{what}: {} {}", answer.status, answer.text());
    }
}

#[tokio::test]
async fn a_public_clients_refresh_token_is_bound_too() {
    let app = app().await;
    let client = Relying::public(&app, Trust::Verified).await;
    let key = ClientKey::new();
    let tokens = redeem(&app, &client, &key, &[]).await;
    let form =
        [("grant_type", "refresh_token"), ("refresh_token", tokens["refresh_token"].as_str().unwrap())];
    let form = client_form(&client, &form);
    refused(&post(&app, "/connect/token", &form, &[]).await, "invalid_grant");
    let thief = ClientKey::new().proof("POST", TOKEN, now(&app), &nonce(&app));
    refused(&post(&app, "/connect/token", &form, &[&thief]).await, "invalid_grant");
    let mine = key.proof("POST", TOKEN, now(&app), &nonce(&app));
    let answer = post(&app, "/connect/token", &form, &[&mine]).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["token_type"]), (200, &json!("DPoP")));
}

/// RFC 9449 §10: the code is bound before it is issued.
#[tokio::test]
async fn a_code_may_be_bound_to_a_key_from_the_start() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let key = ClientKey::new();
    let (code, verifier) = client.code(&mut browser, &[("dpop_jkt", &key.thumbprint())]).await;
    let form =
        [("grant_type", "authorization_code"), ("code", code.as_str()), ("code_verifier", verifier.as_str())];
    let form = client_form(&client, &form);
    refused(&post(&app, "/connect/token", &form, &[]).await, "invalid_grant");
    let other = ClientKey::new().proof("POST", TOKEN, now(&app), &nonce(&app));
    refused(&post(&app, "/connect/token", &form, &[&other]).await, "invalid_grant");
    let mine = key.proof("POST", TOKEN, now(&app), &nonce(&app));
    assert_eq!(post(&app, "/connect/token", &form, &[&mine]).await.status, 200);
}

#[tokio::test]
async fn a_proof_is_good_once_on_every_node_and_only_with_a_nonce_of_ours() {
    let nodes = TestApp::builder().people().start_nodes(3).await;
    porteiro_service::oauth::apis::register(&nodes[0].app.store, &super::ledger()).await.unwrap();
    let client = Relying::with(
        &nodes[0],
        Trust::Verified,
        json!({"grant_types": ["client_credentials"], "redirect_uris": [], "dpop_bound_access_tokens": true}),
    )
    .await;
    let key = ClientKey::new();
    let form = client_form(&client, &[("grant_type", "client_credentials"), ("scope", "invoices:read")]);
    refused(&post(&nodes[0], "/connect/token", &form, &[]).await, "invalid_dpop_proof");
    let foreign = key.proof("POST", TOKEN, now(&nodes[0]), &json!({"nonce": "AAAA"}));
    refused(&post(&nodes[0], "/connect/token", &form, &[&foreign]).await, "use_dpop_nonce");
    let old = json!({"nonce": nodes[0].app.secrets.nonce(now(&nodes[0]) - 600)});
    let stale = key.proof("POST", TOKEN, now(&nodes[0]), &old);
    refused(&post(&nodes[0], "/connect/token", &form, &[&stale]).await, "use_dpop_nonce");
    let proof = key.proof("POST", TOKEN, now(&nodes[0]), &nonce(&nodes[0]));
    let mut good = 0;
    let mut asking = tokio::task::JoinSet::new();
    for index in 0..24 {
        let (node, proof) = (Arc::clone(&nodes[index % 3]), proof.clone());
        let form: Vec<(String, String)> =
            form.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        asking.spawn(async move {
            let form: Vec<(&str, &str)> = form.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            post(&node, "/connect/token", &form, &[&proof]).await
        });
    }
    while let Some(answer) = asking.join_next().await {
        good += usize::from(answer.unwrap().status == 200);
    }
    assert_eq!(good, 1);
}

/// RFC 8705 §3: `cnf` carries the certificate's hash, and the token is no use with another one.
#[tokio::test]
async fn a_token_bound_to_a_certificate_needs_it() {
    let app = app().await;
    let mut browser = person(&app).await;
    let metadata = json!({"tls_client_certificate_bound_access_tokens": true});
    let client = Relying::with(&app, Trust::Verified, metadata).await;
    let certificate = |name: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    };
    let (mine, other) = (certificate("a.example.test"), certificate("b.example.test"));
    let send = |request: Request<Body>, der: Option<&Vec<u8>>| {
        let mut request = request;
        let address = SocketAddr::from(([203, 0, 113, 7], 4242));
        request.extensions_mut().insert(Peer { address, certificate: der.cloned().map(Arc::new) });
        app.send(request)
    };
    let (code, verifier) = client.code(&mut browser, &[]).await;
    let form =
        [("grant_type", "authorization_code"), ("code", code.as_str()), ("code_verifier", verifier.as_str())];
    let body = encode(&client_form(&client, &form));
    let request = || {
        Request::post("/connect/token")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(body.clone()))
            .unwrap()
    };
    refused(&send(request(), None).await, "invalid_request");
    let tokens = send(request(), Some(&mine)).await.json();
    let token = tokens["access_token"].as_str().unwrap();
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &mine);
    assert_eq!(verify(token, &jwks).unwrap()["cnf"]["x5t#S256"], URL_SAFE_NO_PAD.encode(hash));
    let ask = || {
        Request::get("/connect/userinfo")
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .body(Body::empty())
            .unwrap()
    };
    assert_eq!(send(ask(), Some(&mine)).await.status, 200);
    assert_eq!(send(ask(), Some(&other)).await.status, 401);
    assert_eq!(send(ask(), None).await.status, 401);
    assert_eq!(userinfo(&app, token).await.status, 401);
}

#[tokio::test]
async fn a_bound_token_is_exchanged_for_a_bound_one_only() {
    let app = app().await;
    let client = Relying::public(&app, Trust::Verified).await;
    let tokens = redeem(&app, &client, &ClientKey::new(), &[("scope", "invoices:read")]).await;
    let agent = crate::agents::driver::agent(&app, json!({})).await;
    app.sql(&format!(
        "INSERT INTO delegation (owner_id, delegation_id, account_id, client_id, audience, scope, redelegable, source,
             expires_at)
         SELECT account_id, gen_random_uuid(), account_id, '{}', '{}', 'invoices:read', false, 'person',
             now() + interval '1 day' FROM account",
        agent.id,
        super::LEDGER
    ))
    .await;
    let token = tokens["access_token"].as_str().unwrap();
    let form = [
        ("grant_type", crate::agents::driver::EXCHANGE),
        ("subject_token", token),
        ("subject_token_type", crate::agents::driver::ACCESS_TOKEN),
    ];
    refused(&post(&app, "/connect/token", &client_form(&agent, &form), &[]).await, "invalid_request");
    let key = ClientKey::new();
    let answer = with_nonce(&app, &key, &client_form(&agent, &form)).await;
    assert_eq!(answer.json()["token_type"], "DPoP", "{}", answer.text());
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let claims = verify(answer.json()["access_token"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!(claims["cnf"]["jkt"], key.thumbprint(), "its own key, not the person's application's");
}
