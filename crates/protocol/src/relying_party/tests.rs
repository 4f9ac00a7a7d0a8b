use serde_json::json;

use super::*;

const ISSUER: &str = "https://login.example.test";
const NOW: i64 = 1_800_000_000;

fn document() -> Value {
    json!({
        "issuer": ISSUER,
        "authorization_endpoint": "https://login.example.test/authorize",
        "token_endpoint": "https://login.example.test/token",
        "jwks_uri": "https://keys.example.test/jwks",
        "response_types_supported": ["code"],
        "id_token_signing_alg_values_supported": ["RS256", "ES256"],
    })
}

fn with(mut value: Value, name: &str, other: Value) -> Value {
    value[name] = other;
    value
}

#[test]
fn metadata_must_be_of_the_configured_issuer_and_fit_what_is_pinned() {
    let parse = |document: &Value| Provider::parse(document, ISSUER, Algorithm::Rs256);
    assert!(!parse(&document()).unwrap().sends_iss);
    for (name, value, error) in [
        ("issuer", json!("https://login.example.test/"), MetadataError::Issuer),
        ("issuer", json!(null), MetadataError::Issuer),
        (
            "token_endpoint",
            json!("http://login.example.test/token"),
            MetadataError::Endpoint("token_endpoint"),
        ),
        ("jwks_uri", json!("/jwks"), MetadataError::Endpoint("jwks_uri")),
        (
            "authorization_endpoint",
            json!("javascript:alert(1)"),
            MetadataError::Endpoint("authorization_endpoint"),
        ),
        (
            "id_token_signing_alg_values_supported",
            json!(["none", "HS256"]),
            MetadataError::Algorithm(Algorithm::Rs256),
        ),
        ("response_types_supported", json!(["id_token"]), MetadataError::ResponseType),
        ("code_challenge_methods_supported", json!(["plain"]), MetadataError::Pkce),
    ] {
        assert_eq!(parse(&with(document(), name, value)), Err(error), "{name}");
    }
}

#[test]
fn an_answer_that_names_another_issuer_or_none_where_it_should_is_refused() {
    let parse = |document: &Value| Provider::parse(document, ISSUER, Algorithm::Rs256).unwrap();
    let silent = parse(&document());
    let names = parse(&with(document(), "authorization_response_iss_parameter_supported", json!(true)));
    assert!(silent.accepts_iss(None, ISSUER) && silent.accepts_iss(Some(ISSUER), ISSUER));
    assert!(!silent.accepts_iss(Some("https://other.example.test"), ISSUER));
    assert!(names.accepts_iss(Some(ISSUER), ISSUER));
    assert!(!names.accepts_iss(None, ISSUER) && !names.accepts_iss(Some(""), ISSUER));
}

fn claims() -> Value {
    json!({"iss": ISSUER, "sub": "248289761001", "aud": "porteiro", "nonce": "n-1", "iat": NOW, "exp": NOW + 600})
}

fn check(claims: &Value) -> Result<Asserted, IdTokenError> {
    let now = OffsetDateTime::from_unix_timestamp(NOW).unwrap();
    check_id_token(claims, &Expected { issuer: ISSUER, client_id: "porteiro", nonce: "n-1", now })
}

#[test]
fn an_id_token_is_accepted_for_exactly_this_request() {
    assert_eq!(
        check(&claims()).unwrap(),
        Asserted { subject: "248289761001".into(), sid: None, auth_time: None }
    );
    for good in [json!(["porteiro"]), json!("porteiro")] {
        assert!(check(&with(claims(), "aud", good)).is_ok());
    }
    assert!(check(&with(claims(), "azp", json!("porteiro"))).is_ok());
    for (name, value, error) in [
        ("iss", json!("https://login.example.test/"), IdTokenError::Issuer),
        ("iss", json!(null), IdTokenError::Issuer),
        ("aud", json!("other"), IdTokenError::Audience),
        ("aud", json!(["porteiro", "other"]), IdTokenError::Audience),
        ("aud", json!([]), IdTokenError::Audience),
        ("aud", json!(null), IdTokenError::Audience),
        ("azp", json!("other"), IdTokenError::Audience),
        ("exp", json!(NOW - 30), IdTokenError::Expired),
        ("exp", json!("soon"), IdTokenError::Expired),
        ("exp", json!(null), IdTokenError::Expired),
        ("iat", json!(NOW - 301), IdTokenError::Expired),
        ("iat", json!(null), IdTokenError::Expired),
        ("iat", json!(NOW + 31), IdTokenError::Early),
        ("nonce", json!("n-2"), IdTokenError::Nonce),
        ("nonce", json!(null), IdTokenError::Nonce),
        ("sub", json!(""), IdTokenError::Subject),
        ("sub", json!("a b"), IdTokenError::Subject),
        ("sub", json!("a".repeat(256)), IdTokenError::Subject),
        ("sub", json!(7), IdTokenError::Subject),
    ] {
        assert_eq!(check(&with(claims(), name, value.clone())), Err(error), "{name} {value}");
        assert_eq!(error.as_str(), error.to_string());
    }
}

#[test]
fn a_time_of_authentication_is_never_in_the_future() {
    let at = |seconds| OffsetDateTime::from_unix_timestamp(NOW + seconds).ok();
    for (said, believed) in [(-60, at(-60)), (60, at(0))] {
        assert_eq!(check(&with(claims(), "auth_time", json!(NOW + said))).unwrap().auth_time, believed);
    }
}
