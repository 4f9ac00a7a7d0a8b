//! The modules of the OpenID conformance suite's plans, as tests of ours: each does what its namesake does, from outside.
//! `certification/modules.csv` says which test stands for which module; `cargo xtask tidy` sees that none is missing.

mod backchannel_logout;
mod basic;
mod config;
mod dynamic;
mod fapi2;
mod fapi_ciba;
mod rp_logout;

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_testkit::{TestApp, verify};
use serde_json::{Value, json};
use url::Url;

pub const ISSUER: &str = "https://id.example.test";

/// What came to the client's redirect URI.
pub type Callback = BTreeMap<String, String>;

/// As the answer reached the client: by address, or posted where it asked for that, and never both.
pub fn arrived(redirect_uri: &str, mode: &str, body: &Value) -> Callback {
    let way = &body["continue"];
    if mode == "form_post" {
        assert_eq!((&way["type"], &way["action"]), (&json!("form_post"), &json!(redirect_uri)), "{body}");
        let fields = way["fields"].as_object().unwrap().iter();
        return fields.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
    }
    assert_eq!(way["type"], "redirect", "{body}");
    let uri = Url::parse(way["uri"].as_str().unwrap()).unwrap();
    assert!(uri.as_str().starts_with(redirect_uri) && uri.fragment().is_none(), "{uri}");
    uri.query_pairs().into_owned().collect()
}

/// What an error may be told with (RFC 6749 §4.1.2.1, RFC 9207).
pub fn is_error(callback: &Callback, allowed: &[&str], state: Option<&str>) {
    let known = ["error", "error_description", "error_uri", "state", "iss"];
    assert!(callback.keys().all(|name| known.contains(&name.as_str())), "{callback:?}");
    assert!(callback.get("error").is_some_and(|error| allowed.contains(&error.as_str())), "{callback:?}");
    assert_eq!(callback.get("state").map(String::as_str), state, "{callback:?}");
    assert_eq!(callback.get("iss").map(String::as_str), Some(ISSUER), "{callback:?}");
}

pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

/// The part of a token in front of the first dot.
pub fn header_of(token: &str) -> Value {
    let part = token.split('.').next().unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

fn now(app: &TestApp) -> i64 {
    app.app.clock.now().unix_timestamp()
}

/// Replaces claims; null takes one away.
fn changed(mut claims: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

pub async fn keys(app: &TestApp) -> Value {
    app.get("/.well-known/jwks.json").await.json()
}

/// What a token of ours says, once it verifies.
pub async fn claims_of(app: &TestApp, token: &str) -> Value {
    verify(token, &keys(app).await).unwrap()
}

pub async fn metadata(app: &TestApp) -> Value {
    app.get("/.well-known/openid-configuration").await.json()
}

pub fn list<'a>(document: &'a Value, name: &str) -> Vec<&'a str> {
    let items = document[name].as_array().unwrap_or_else(|| panic!("no {name}"));
    items.iter().map(|item| item.as_str().unwrap()).collect()
}

/// An ID token as OpenID Connect Core §3.1.3.7 has a client read it.
pub async fn id_token(app: &TestApp, tokens: &Value, client_id: &str, nonce: Option<&str>) -> Value {
    let token = text(tokens, "id_token");
    assert!(header_of(token)["kid"].is_string());
    let claims = verify(token, &keys(app).await).unwrap();
    let now = app.app.clock.now().unix_timestamp();
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!(ISSUER), &json!(client_id)));
    assert!(claims["exp"].as_i64().unwrap() > now && (claims["iat"].as_i64().unwrap() - now).abs() < 60);
    assert!(claims["sub"].as_str().is_some_and(|sub| !sub.is_empty() && sub.len() < 256));
    assert_eq!(claims.get("nonce").and_then(Value::as_str), nonce, "{claims}");
    if let Some(hash) = claims.get("at_hash") {
        let digest =
            aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text(tokens, "access_token").as_bytes());
        assert_eq!(*hash, URL_SAFE_NO_PAD.encode(&digest.as_ref()[..16]));
    }
    let own = [
        "iss",
        "sub",
        "aud",
        "exp",
        "iat",
        "auth_time",
        "nonce",
        "acr",
        "amr",
        "azp",
        "at_hash",
        "c_hash",
        "s_hash",
        "nbf",
        "jti",
        "sid",
        "txn",
    ];
    for name in claims.as_object().unwrap().keys() {
        assert!(own.contains(&name.as_str()), "{name} was not asked for in the ID token");
    }
    claims
}

/// At least 128 bits, which 22 characters of base64url hold; and not the same twice, which the caller sees.
pub fn is_unguessable(text: &str) {
    assert!(text.len() >= 22, "{text} is short");
    let distinct: std::collections::BTreeSet<char> = text.chars().collect();
    assert!(distinct.len() >= 10, "{text} says little");
}
