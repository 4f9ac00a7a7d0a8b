use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::json;
use time::macros::datetime;

use super::*;
use crate::jose::{SigningKey, generate_pkcs8};

const NOW: OffsetDateTime = datetime!(2026-03-01 12:00 UTC);
const URI: &str = "https://login.example.com/connect/token";
const TOKEN: &str = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU";

static KEYS: LazyLock<Vec<SigningKey>> = LazyLock::new(|| {
    let make = |algorithm: &Algorithm| {
        SigningKey::from_pkcs8(*algorithm, &generate_pkcs8(*algorithm).unwrap()).unwrap()
    };
    ALGORITHMS.iter().map(make).collect()
});

fn expected() -> Expected<'static> {
    Expected { method: "POST", uri: URI, now: NOW, access_token: None }
}
fn key() -> &'static SigningKey {
    &KEYS[0]
}
fn header(key: &SigningKey) -> Value {
    json!({"typ": "dpop+jwt", "alg": key.algorithm(), "jwk": key.public()})
}
fn claims() -> Value {
    json!({"jti": "-BwC3ESc6acc2lTc", "htm": "POST", "htu": URI, "iat": NOW.unix_timestamp()})
}
fn sign(key: &SigningKey, header: &Value, claims: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let input = format!("{}.{}", encode(header), encode(claims));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(input.as_bytes()).unwrap());
    format!("{input}.{signature}")
}
/// A valid DPoP proof with one claim replaced; `null` removes it.
fn with_claim(name: &str, value: &Value) -> Result<Proof, DpopError> {
    let mut claims = claims();
    claims[name] = value.clone();
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(name);
    }
    Proof::verify(&sign(key(), &header(key()), &claims), &expected())
}
fn with_header(change: impl FnOnce(&mut Value)) -> Result<Proof, DpopError> {
    let mut header = header(key());
    change(&mut header);
    Proof::verify(&sign(key(), &header, &claims()), &expected())
}

#[test]
fn a_proof_of_each_algorithm_holds_and_names_its_key() {
    for key in KEYS.iter() {
        let proof = Proof::verify(&sign(key, &header(key), &claims()), &expected()).unwrap();
        assert_eq!(URL_SAFE_NO_PAD.encode(proof.jkt), key.public().kid);
        assert_eq!((proof.jti.as_str(), proof.iat, proof.nonce), ("-BwC3ESc6acc2lTc", NOW, None));
    }
}

/// RFC 9449 §§4.1 and 7.1, with its own key, token and times.
#[test]
fn rfc9449_examples() {
    let token_request = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg";
    let expected = Expected {
        uri: "https://server.example.com/token",
        now: OffsetDateTime::from_unix_timestamp(1_562_262_616).unwrap(),
        ..expected()
    };
    let proof = Proof::verify(token_request, &expected).unwrap();
    assert_eq!(URL_SAFE_NO_PAD.encode(proof.jkt), "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I");
    assert!(is_hash_of(Some("fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"), TOKEN));
}

#[test]
fn only_this_type_with_an_open_key_of_the_senders_own() {
    for typ in [json!("JWT"), json!("dpop"), json!("application/dpop+jwt "), json!(1), json!(null)] {
        assert_eq!(with_header(|header| header["typ"] = typ), Err(DpopError::Type));
    }
    let jws = |error| Err(DpopError::Jws(error));
    let other = serde_json::to_value(
        SigningKey::from_pkcs8(Algorithm::Es256, &generate_pkcs8(Algorithm::Es256).unwrap())
            .unwrap()
            .public(),
    );
    assert_eq!(with_header(|header| header["jwk"] = other.unwrap()), jws(VerifyError::Signature));
    for jwk in [json!(null), json!("x"), json!({}), json!(KEYS[1].public()), json!([key().public()])] {
        assert_eq!(with_header(|header| header["jwk"] = jwk), jws(VerifyError::EmbeddedKey));
    }
    for private in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
        let refused = with_header(|header| header["jwk"][private] = json!("AQAB"));
        assert_eq!(refused, jws(VerifyError::PrivateKey), "{private}");
    }
    for alg in ["none", "HS256", "ES384", "es256", ""] {
        assert_eq!(with_header(|header| header["alg"] = json!(alg)), jws(VerifyError::Algorithm));
    }
    assert_eq!(with_header(|header| header["crit"] = json!(["b64"])), jws(VerifyError::Critical));
    // A `kid` beside the key is ignored.
    assert!(with_header(|header| header["kid"] = json!("anything")).is_ok());
}

#[test]
fn for_this_request_only() {
    for method in [json!("GET"), json!("post"), json!("POST "), json!(null), json!(["POST"])] {
        assert_eq!(with_claim("htm", &method), Err(DpopError::Method));
    }
    for uri in [json!("https://login.example.com/connect/tokens"), json!(null), json!([URI])] {
        assert_eq!(with_claim("htu", &uri), Err(DpopError::Uri));
    }
    assert!(with_claim("htu", &json!("HTTPS://login.example.com:443/connect/token?x")).is_ok());
}

#[test]
fn within_a_short_time() {
    let now = NOW.unix_timestamp();
    for (iat, answer) in [
        (json!(now - 300), None),
        (json!(now - 301), Some(DpopError::TooOld)),
        (json!(now + 10), None),
        (json!(now + 11), Some(DpopError::TooNew)),
        (json!(1_772_366_400.5), None),
        (json!(null), Some(DpopError::IssuedAt)),
        (json!(now.to_string()), Some(DpopError::IssuedAt)),
        (json!(i64::MAX), Some(DpopError::IssuedAt)),
        (json!(u64::MAX), Some(DpopError::IssuedAt)),
        (json!(1e300), Some(DpopError::IssuedAt)),
        (json!(0), Some(DpopError::TooOld)),
    ] {
        assert_eq!(with_claim("iat", &iat).err(), answer, "{iat}");
    }
}

#[test]
fn identified_and_with_a_nonce_that_is_text() {
    for jti in [json!(""), json!("a".repeat(257)), json!(null), json!(7), json!("a\u{1}")] {
        assert_eq!(with_claim("jti", &jti), Err(DpopError::Jti));
    }
    assert!(with_claim("jti", &json!("a".repeat(256))).is_ok());
    assert_eq!(with_claim("nonce", &json!("n-1")).unwrap().nonce.as_deref(), Some("n-1"));
    for nonce in [json!(1), json!("a".repeat(257))] {
        assert_eq!(with_claim("nonce", &nonce), Err(DpopError::Nonce));
    }
}

#[test]
fn beside_its_access_token() {
    let ath = |value: Value| {
        let mut claims = claims();
        claims["ath"] = value;
        let expected = Expected { access_token: Some(TOKEN), ..expected() };
        Proof::verify(&sign(key(), &header(key()), &claims), &expected)
    };
    assert!(ath(json!("fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")).is_ok());
    for wrong in [json!("fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEp"), json!(TOKEN), json!(null), json!("")]
    {
        assert_eq!(ath(wrong), Err(DpopError::AccessToken));
    }
    assert!(with_claim("ath", &json!("of no token here")).is_ok());
    assert!(!format!("{:?}", Expected { access_token: Some(TOKEN), ..expected() }).contains(TOKEN));
}

proptest! {
    #[test]
    fn no_text_that_nobody_signed_is_a_proof(text in "[A-Za-z0-9_.-]{0,80}") {
        prop_assert!(Proof::verify(&text, &expected()).is_err());
    }

    #[test]
    fn no_byte_of_a_proof_may_change(at in 0_usize..400, to in prop::char::range('A', 'Z')) {
        let good = sign(key(), &header(key()), &claims());
        let mut bad: Vec<char> = good.chars().collect();
        let at = at % bad.len();
        prop_assume!(bad[at] != to && bad[at] != '.');
        bad[at] = to;
        prop_assert!(Proof::verify(&bad.iter().collect::<String>(), &expected()).is_err());
    }
}
