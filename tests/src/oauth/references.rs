//! Request objects by reference (docs/decisions/0037): only what the client has registered, signed, asked for each time.

use std::time::Duration;

use porteiro_protocol::{jose::Algorithm, time::Clock};
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};

use super::{
    app,
    driver::{CALLBACK, Relying, agree, challenge, get_json, parameter, person, verifier},
    encode,
    signing::ClientKey,
    site::Site,
};
use crate::fetch::http;

const JWT: &str = "application/oauth-authz-req+jwt";

fn object(app: &TestApp, client: &Relying) -> Value {
    let now = app.clock.now().unix_timestamp();
    json!({"iss": client.id, "aud": "https://id.example.test", "iat": now, "exp": now + 300,
           "client_id": client.id, "redirect_uri": CALLBACK, "response_type": "code", "scope": "openid",
           "state": "inside", "nonce": "n-inside"})
}

/// A client that publishes its requests, and the key it signs them with.
async fn publisher(app: &TestApp, uri: &str, more: Value) -> (Relying, ClientKey) {
    let key = ClientKey::of(Algorithm::Rs256);
    let mut metadata = json!({"jwks": key.jwks(), "request_uris": [uri]});
    for (name, value) in more.as_object().into_iter().flatten() {
        metadata[name] = value.clone();
    }
    (Relying::with(app, Trust::Verified, metadata).await, key)
}

/// As OpenID Connect Core §6.2 has it: what OAuth needs, the reference, and PKCE beside it.
fn query(client: &Relying, uri: &str, verifier: &str, more: &[(&str, &str)]) -> String {
    let challenge = challenge(verifier);
    let mut pairs = vec![
        ("client_id", client.id.as_str()),
        ("response_type", "code"),
        ("scope", "openid"),
        ("request_uri", uri),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ];
    pairs.extend_from_slice(more);
    format!("/connect/authorize?{}", encode(&pairs))
}

async fn ask(browser: &mut Browser, client: &Relying, uri: &str) -> Answer {
    get_json(browser, &query(client, uri, &verifier(), &[])).await
}

fn refused(answer: &Answer, error: &str, what: &str) {
    assert_eq!((answer.status.as_u16(), answer.json()["error"].as_str()), (400, Some(error)), "{what}");
}

#[tokio::test]
async fn a_registered_reference_is_fetched_each_time_and_completed_by_what_stands_beside_it() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let uri = site.url("/request?x=1");
    let (client, key) = publisher(&app, &format!("{uri}#one"), json!({})).await;
    site.serve("/request?x=1", JWT, &key.request_object(&object(&app, &client)));
    let verifier = verifier();
    let beside = [("state", "beside"), ("nonce", "n-beside"), ("login_hint", "ana@example.test")];
    let path = query(&client, &format!("{uri}#two"), &verifier, &beside);
    let done = get_json(&mut browser, &path).await.json();
    let done = agree(&mut browser, done).await;
    assert_eq!(parameter(&done, "state").as_deref(), Some("inside"), "what is signed wins");
    let code = parameter(&done, "code").unwrap();
    assert_eq!(client.redeem(&app, &code, &verifier).await.status, 200, "PKCE from beside it");

    // Nothing is kept: what the site says now counts.
    let mut other = object(&app, &client);
    other["state"] = json!("later");
    site.serve("/request?x=1", "application/jwt", &format!("{}\n", key.request_object(&other)));
    let later = get_json(&mut browser, &query(&client, &uri, &super::driver::verifier(), &[])).await.json();
    assert_eq!(parameter(&later, "state").as_deref(), Some("later"));
    assert_eq!(site.heard().len(), 2);
    assert!(site.heard().iter().all(|request| request.starts_with("GET /request?x=1 HTTP/1.1")));
}

/// Keycloak CVE-2020-10770, MITREid CVE-2021-26715: a `request_uri` in an address made the server call whatever it named.
#[tokio::test]
async fn cve_2020_10770_a_request_uri_nobody_registered_is_never_fetched() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let uri = site.url("/request");
    let (client, key) = publisher(&app, &uri, json!({})).await;
    let (other, _) = publisher(&app, &site.url("/other"), json!({})).await;
    for path in ["/request", "/request/", "/Request", "/request?x=1", "/other", "/"] {
        site.serve(path, JWT, &key.request_object(&object(&app, &client)));
    }
    for path in ["/request/", "/Request", "/request?x=1", "/other", "/", "/%72equest", "/a/../request"] {
        refused(&ask(&mut browser, &client, &site.url(path)).await, "invalid_request_uri", path);
    }
    refused(&ask(&mut browser, &other, &uri).await, "invalid_request_uri", "of another client");
    let plain = uri.replace("https://", "http://");
    refused(&ask(&mut browser, &client, &plain).await, "invalid_request_uri", "without TLS");
    let user = uri.replace("https://", "https://a@");
    refused(&ask(&mut browser, &client, &user).await, "invalid_request_uri", "with a user name");
    assert!(site.heard().is_empty(), "{:?}", site.heard());
}

/// Registered by a stranger, and in our own network: refused at connecting, whatever it is called.
#[tokio::test]
async fn cve_2020_10770_a_registered_request_uri_never_reaches_a_private_host() {
    let app = app().await;
    let mut browser = person(&app).await;
    let recorder = crate::fetch::Recorder::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let uri = format!("https://{host}:{}/request", recorder.port);
        let (client, _) = publisher(&app, &uri, json!({})).await;
        refused(&ask(&mut browser, &client, &uri).await, "invalid_request_uri", host);
    }
    assert!(recorder.heard().is_empty(), "{:?}", recorder.heard());
}

#[tokio::test]
async fn who_must_push_or_has_no_key_causes_no_fetch() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let uri = site.url("/request");
    let (pushing, key) = publisher(&app, &uri, json!({"require_pushed_authorization_requests": true})).await;
    site.serve("/request", JWT, &key.request_object(&object(&app, &pushing)));
    refused(&ask(&mut browser, &pushing, &uri).await, "invalid_request", "must push");
    let (careful, _) = publisher(&app, &uri, json!({})).await;
    app.sql(&format!("UPDATE client SET profile = 'fapi2' WHERE client_id = '{}'", careful.id)).await;
    refused(&ask(&mut browser, &careful, &uri).await, "invalid_request", "fapi2");
    let keyless = Relying::with(&app, Trust::Verified, json!({"request_uris": [uri]})).await;
    refused(&ask(&mut browser, &keyless, &uri).await, "invalid_request_uri", "no key");
    // Neither is one fetched for who sends it from behind.
    let form = [("request_uri", uri.as_str()), ("response_type", "code"), ("scope", "openid")];
    let pushed = keyless.call(&app, "/connect/par", &form).await;
    refused(&pushed, "invalid_request", "pushed");
    assert!(site.heard().is_empty(), "{:?}", site.heard());
}

#[tokio::test]
async fn what_is_there_must_be_a_request_the_client_signed() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let uri = site.url("/request");
    let (client, key) = publisher(&app, &uri, json!({})).await;
    let good = key.request_object(&object(&app, &client));
    let jwt = |body: &str| http("200 OK", &format!("content-type: {JWT}\r\n"), body);
    let mut expired = object(&app, &client);
    expired["exp"] = json!(1);
    let payload = good.split('.').nth(1).unwrap();
    for (what, answer, error) in [
        ("unsigned", jwt(&format!("eyJhbGciOiJub25lIn0.{payload}.")), "invalid_request_object"),
        (
            "by another",
            jwt(&ClientKey::new().request_object(&object(&app, &client))),
            "invalid_request_object",
        ),
        ("expired", jwt(&key.request_object(&expired)), "invalid_request_object"),
        ("another type", http("200 OK", "content-type: text/html\r\n", &good), "invalid_request_uri"),
        (
            "not there",
            http("404 Not Found", &format!("content-type: {JWT}\r\n"), &good),
            "invalid_request_uri",
        ),
        (
            "elsewhere",
            http("302 Found", &format!("location: {}\r\n", site.url("/elsewhere")), ""),
            "invalid_request_uri",
        ),
        ("too much", jwt(&"a".repeat(65 * 1024)), "invalid_request_uri"),
    ] {
        site.serve("/elsewhere", JWT, &good);
        site.answer("/request", answer);
        refused(&ask(&mut browser, &client, &uri).await, error, what);
    }
    assert!(!site.heard().iter().any(|request| request.contains("/elsewhere")));
    site.serve("/request", JWT, &good);
    assert_eq!(ask(&mut browser, &client, &uri).await.json()["stage"], "consent");
}

#[tokio::test]
async fn what_stands_beside_a_request_object_never_adds_what_must_be_signed() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let uri = site.url("/request");
    let (client, key) = publisher(&app, &uri, json!({})).await;
    site.serve("/request", JWT, &key.request_object(&object(&app, &client)));
    // Not by value of the parameter: the request is answered as if it were not there.
    let more = [("authorization_details", r#"[{"type":"payment"}]"#)];
    let fine = get_json(&mut browser, &query(&client, &uri, &verifier(), &more)).await.json();
    assert_eq!(fine["stage"], "consent", "{fine}");
    // Not an OpenID request: RFC 9101 alone, and PKCE beside it does not count.
    let challenge = challenge(&verifier());
    let pairs = [
        ("client_id", client.id.as_str()),
        ("response_type", "code"),
        ("request_uri", &uri),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ];
    let plain = get_json(&mut browser, &format!("/connect/authorize?{}", encode(&pairs))).await.json();
    assert_eq!(parameter(&plain, "error").as_deref(), Some("invalid_request"), "{plain}");
    // A client that signs everything is not completed.
    let (strict, key) = publisher(&app, &uri, json!({"require_signed_request_object": true})).await;
    site.serve("/request", JWT, &key.request_object(&object(&app, &strict)));
    let refused = ask(&mut browser, &strict, &uri).await.json();
    assert_eq!(parameter(&refused, "error").as_deref(), Some("invalid_request"), "{refused}");
}

#[tokio::test]
async fn fetching_is_limited_by_address_and_nobody_uses_up_anothers() {
    let site = Site::start().await;
    let app = site.app().await;
    let uri = site.url("/request");
    let (client, key) = publisher(&app, &uri, json!({})).await;
    site.serve("/request", JWT, &key.request_object(&object(&app, &client)));
    let path = query(&client, &uri, &verifier(), &[]);
    let ask = async |app: &TestApp| {
        let request = http::Request::get(&path).header("accept", "application/json");
        app.send(request.body(axum::body::Body::empty()).unwrap()).await.status.as_u16()
    };
    let mut asked = 0;
    while ask(&app).await == 200 {
        asked += 1;
        assert!(asked < 50, "no limit");
    }
    assert_eq!(asked, site.heard().len(), "what is refused is not fetched");
    assert!((20..=30).contains(&asked), "{asked}");
    assert_eq!(ask(&app).await, 429);
    assert_eq!(ask(&app.from_address([198, 51, 100, 9])).await, 200, "another address has its own");
}

#[tokio::test]
async fn no_connection_to_the_database_is_held_meanwhile() {
    let site = Site::start().await;
    let app = site.app_with(1).await;
    let uri = site.url("/request");
    let (client, key) = publisher(&app, &uri, json!({})).await;
    site.serve("/request", JWT, &key.request_object(&object(&app, &client)));
    site.hesitate(Duration::from_secs(10));
    let path = query(&client, &uri, &verifier(), &[]);
    let slow = {
        let app = app.clone();
        tokio::spawn(async move { app.get(&path).await })
    };
    while site.heard().is_empty() && !slow.is_finished() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    app.catch_up().await;
    assert_eq!(app.get("/readyz").await.status, 200);
    assert!(app.count("SELECT count(*) FROM client").await > 0);
    assert!(!slow.is_finished(), "the site has not answered yet");
    slow.await.unwrap();
}

/// The key came after the set was fetched, as when a client changes keys.
#[tokio::test]
async fn a_request_object_signed_with_a_new_key_has_the_key_fetched() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let uri = site.url("/request");
    let (old, new) = (ClientKey::new(), ClientKey::new());
    site.serve_keys("/jwks", &old.jwks());
    let metadata = json!({"jwks_uri": site.url("/jwks"), "request_uris": [uri]});
    let client = Relying::with(&app, Trust::Verified, metadata).await;
    for (key, known) in [(&old, &old), (&new, &new)] {
        site.serve_keys("/jwks", &known.jwks());
        site.serve("/request", JWT, &key.request_object(&object(&app, &client)));
        let asked = ask(&mut browser, &client, &uri).await;
        assert_eq!(asked.json()["stage"], "consent", "{}", asked.text());
        app.clock.advance(porteiro_protocol::time::Duration::seconds(31));
    }
}
