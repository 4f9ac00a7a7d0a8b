//! OpenID Connect Discovery 1.0, RFC 8414, RFC 9728: what we say about ourselves.

use axum::body::Body;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{Method, Request, StatusCode};
use porteiro_protocol::jose::Algorithm;
use porteiro_service::oauth::keys::{self, Rotation};
use porteiro_testkit::{TestApp, verify};
use serde_json::{Value, json};

const DOCUMENTS: &[&str] = &[
    "/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource",
    "/.well-known/jwks.json",
];

#[tokio::test]
async fn the_issuer_is_byte_identical_everywhere() {
    let app = TestApp::new().await;
    for path in &DOCUMENTS[..2] {
        let document = app.get(path).await.json();
        assert_eq!(document["issuer"], "https://id.example.test");
        assert_eq!(document["jwks_uri"], "https://id.example.test/.well-known/jwks.json");
    }
    let resource = app.get(DOCUMENTS[2]).await.json();
    assert_eq!(resource["resource"], "https://id.example.test");
    assert_eq!(resource["authorization_servers"], json!(["https://id.example.test"]));
}

/// RFC 8414 §3.2 and RFC 9728 §3.2: parameters without a value are omitted.
#[tokio::test]
async fn absent_members_are_absent() {
    fn search(value: &Value, path: &str) {
        match value {
            Value::Null => panic!("{path} is null"),
            Value::Object(members) => {
                members.iter().for_each(|(name, member)| search(member, &format!("{path}.{name}")));
            }
            Value::Array(items) => items.iter().for_each(|item| search(item, path)),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let app = TestApp::new().await;
    for path in DOCUMENTS {
        search(&app.get(path).await.json(), path);
    }
}

#[tokio::test]
async fn only_what_is_served_is_announced() {
    let app = TestApp::new().await;
    let document = app.get(DOCUMENTS[0]).await.json();
    let announced = document.as_object().unwrap();
    for (name, value) in announced.iter().filter(|(name, _)| name.ends_with("_endpoint")) {
        let path = value.as_str().unwrap().strip_prefix("https://id.example.test").unwrap();
        assert!(porteiro_service::table().iter().any(|route| route.path == path), "{name} is not served");
    }
    for forbidden in ["implicit", "password"] {
        assert!(
            !announced["grant_types_supported"].as_array().unwrap().iter().any(|grant| grant == forbidden)
        );
    }
}

#[tokio::test]
async fn the_signed_document_says_the_same_and_verifies_with_a_strangers_library() {
    let app = TestApp::new().await;
    let jwks = app.get("/.well-known/jwks.json").await.json();
    for path in &DOCUMENTS[..3] {
        let mut document = app.get(path).await.json();
        let token = document.as_object_mut().unwrap().remove("signed_metadata").unwrap();
        let mut claims = verify(token.as_str().unwrap(), &jwks).unwrap();
        assert_eq!(claims.as_object_mut().unwrap().remove("iss").unwrap(), "https://id.example.test");
        assert_eq!(claims, document);
    }
}

/// Written once for the keys there are: the same bytes until another key signs, and then at once that key's.
#[tokio::test]
async fn a_document_stays_the_same_until_another_key_signs_it() {
    fn kid(document: &Value) -> String {
        let token = document["signed_metadata"].as_str().unwrap();
        let header = URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
        serde_json::from_slice::<Value>(&header).unwrap()["kid"].as_str().unwrap().to_owned()
    }
    let app = TestApp::new().await;
    let mut before = Vec::new();
    for path in DOCUMENTS {
        let (first, second) = (app.get(path).await, app.get(path).await);
        assert!(first.body == second.body && first.header("etag") == second.header("etag"), "{path}");
        before.push(first);
    }
    // Another look at keys that are the same.
    app.app.keys.reload(&app.app.store).await.unwrap();
    for (path, before) in DOCUMENTS.iter().zip(&before) {
        assert_eq!(app.get(path).await.body, before.body, "{path}");
    }
    let (store, settings) = (&app.app.store, &app.app.checked.settings);
    let (old, rotate) = (before[3].json(), Rotation::Now);
    keys::rotate(store, app.app.keys.master(), settings, Algorithm::EdDsa, rotate).await.unwrap();
    app.app.keys.reload(store).await.unwrap();
    let new = app.get(DOCUMENTS[3]).await;
    assert_ne!(new.header("etag"), before[3].header("etag"), "the key after the next is published");
    for (path, before) in DOCUMENTS[..3].iter().zip(&before) {
        // Who has the old one is not told that it is the same.
        let asked = Request::get(*path).header("if-none-match", before.header("etag"));
        let after = app.send(asked.body(Body::empty()).unwrap()).await;
        assert_eq!(after.status, StatusCode::OK, "{path}");
        let (before, after) = (before.json(), after.json());
        assert_ne!(kid(&before), kid(&after), "{path}");
        // The key that signs now was published before it did, and the one that did still is.
        for (document, keys) in
            [(&before, &old), (&before, &new.json()), (&after, &old), (&after, &new.json())]
        {
            verify(document["signed_metadata"].as_str().unwrap(), keys).unwrap();
        }
    }
}

#[tokio::test]
async fn the_key_set_holds_public_keys_of_every_algorithm_and_nothing_private() {
    let app = TestApp::new().await;
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let keys = jwks["keys"].as_array().unwrap();
    for algorithm in ["ES256", "EdDSA", "RS256", "PS256"] {
        assert_eq!(
            keys.iter().filter(|key| key["alg"] == algorithm).count(),
            2,
            "{algorithm}: active and next"
        );
    }
    for key in keys {
        for private in ["d", "p", "q", "dp", "dq", "qi", "k", "oth"] {
            assert!(key.get(private).is_none(), "{private} is published");
        }
        assert_eq!(key["use"], "sig");
    }
}

#[tokio::test]
async fn documents_are_cacheable_and_open_to_every_origin() {
    let app = TestApp::new().await;
    for path in DOCUMENTS {
        let answer = app.get(path).await;
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        assert!(answer.header("cache-control").starts_with("public, max-age="));
        let again =
            Request::get(*path).header("if-none-match", answer.header("etag")).body(Body::empty()).unwrap();
        let again = app.send(again).await;
        assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0));
        assert_eq!(app.get(path).await.body, answer.body, "{path} is not the same twice");

        let preflight = app.method(Method::OPTIONS, path).await;
        assert_eq!(preflight.status, StatusCode::NO_CONTENT);
        assert_eq!(preflight.header("access-control-allow-origin"), "*");
        assert_eq!(preflight.header("access-control-allow-headers"), "*");
    }
}

#[tokio::test]
async fn other_well_known_paths_are_not_found() {
    let app = TestApp::new().await;
    for path in [
        "/.well-known/change-password",
        "/.well-known/openid-configuration/",
        "/.well-known/oauth-authorization-server/tenant",
        "/tenant/.well-known/openid-configuration",
        "/.well-known/webfinger",
    ] {
        let answer = app.get(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), "");
    }
}
