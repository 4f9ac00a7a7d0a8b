use std::sync::LazyLock;

use aws_lc_rs::hmac;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::jose::{Header, SigningKey, generate_pkcs8, signing_input};

/// One key per algorithm; generating RSA keys is slow.
static KEYS: LazyLock<Vec<SigningKey>> = LazyLock::new(|| {
    let make = |algorithm: &Algorithm| {
        SigningKey::from_pkcs8(*algorithm, &generate_pkcs8(*algorithm).unwrap()).unwrap()
    };
    Algorithm::ALL.iter().map(make).collect()
});

fn key(algorithm: Algorithm) -> &'static SigningKey {
    KEYS.iter().find(|key| key.algorithm() == algorithm).unwrap()
}
fn jwk(algorithm: Algorithm) -> Value {
    serde_json::to_value(key(algorithm).public()).unwrap()
}
fn encode(text: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(text)
}
/// Signs any header and payload.
fn sign_text(algorithm: Algorithm, header: &str, payload: &str) -> String {
    let input = format!("{}.{}", encode(header), encode(payload));
    let signature = key(algorithm).sign(input.as_bytes()).unwrap();
    format!("{input}.{}", encode(signature))
}
fn sign(algorithm: Algorithm, header: &Value) -> String {
    sign_text(algorithm, &header.to_string(), r#"{"sub":"a"}"#)
}
fn token(algorithm: Algorithm) -> String {
    let key = key(algorithm);
    let header = Header { typ: "JWT", alg: algorithm, kid: &key.public().kid };
    let input = signing_input(&header, &json!({"sub": "a", "n": 1})).unwrap();
    format!("{input}.{}", encode(key.sign(input.as_bytes()).unwrap()))
}
fn without(mut jwk: Value, members: &[&str]) -> Value {
    for member in members {
        jwk.as_object_mut().unwrap().remove(*member);
    }
    jwk
}
fn with(mut jwk: Value, member: &str, value: &Value) -> Value {
    jwk[member] = value.clone();
    jwk
}

#[test]
fn every_algorithm_verifies_with_its_own_key_only() {
    for signer in Algorithm::ALL {
        let token = token(*signer);
        let read = verify_compact(&token, &[jwk(*signer)], Algorithm::ALL).unwrap();
        assert_eq!((read.algorithm, &read.payload), (*signer, &json!({"sub": "a", "n": 1})));
        assert_eq!(read.header["typ"], "JWT");
        assert_eq!(peek_claims(&token).unwrap(), read.payload);
        for other in Algorithm::ALL.iter().filter(|other| *other != signer) {
            // A key with a copied `kid` and without `alg`.
            let pretender = with(without(jwk(*other), &["alg"]), "kid", &read.header["kid"]);
            assert!(verify_compact(&token, &[pretender], Algorithm::ALL).is_err(), "{signer} {other}");
            assert_eq!(verify_compact(&token, &[jwk(*signer)], &[*other]), Err(VerifyError::Algorithm));
        }
        assert_eq!(verify_compact(&token, &[jwk(*signer)], &[]), Err(VerifyError::Algorithm));
    }
}

/// RFC 9864 §2.2: another name for the same key and signature, accepted by the same list.
#[test]
fn ed25519_is_eddsa_by_its_full_name() {
    let token = sign(Algorithm::EdDsa, &json!({"alg": "Ed25519"}));
    let key = without(jwk(Algorithm::EdDsa), &["alg"]);
    let named = with(key.clone(), "alg", &json!("Ed25519"));
    for key in [key, named] {
        let read = verify_compact(&token, std::slice::from_ref(&key), &[Algorithm::EdDsa]).unwrap();
        assert_eq!(read.algorithm, Algorithm::EdDsa);
        assert_eq!(verify_compact(&token, &[key], &[Algorithm::Es256]), Err(VerifyError::Algorithm));
    }
    let other = with(without(jwk(Algorithm::Es256), &["alg"]), "alg", &json!("Ed25519"));
    assert_eq!(verify_compact(&token, &[other], Algorithm::ALL), Err(VerifyError::UnknownKey));
}

/// RFC 7515 appendix A.3 and RFC 8037 appendix A.4 (its payload is text, so only the signature is verified).
#[test]
fn published_vectors() {
    let es256 = json!({"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"});
    let token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    let read = verify_compact(token, &[es256], &[Algorithm::Es256]).unwrap();
    assert_eq!(read.payload["iss"], "joe");
    let ed = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
    let token = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    assert_eq!(verify_compact(token, &[ed], &[Algorithm::EdDsa]), Err(VerifyError::Malformed));
}

#[test]
fn kid_selects_and_is_needed_where_several_keys_fit() {
    let es = jwk(Algorithm::Es256);
    let stranger =
        SigningKey::from_pkcs8(Algorithm::Es256, &generate_pkcs8(Algorithm::Es256).unwrap()).unwrap();
    let other = serde_json::to_value(stranger.public()).unwrap();
    let all = [json!(null), json!({"kty": "RSA"}), jwk(Algorithm::EdDsa), other.clone(), es.clone()];
    let named = token(Algorithm::Es256);
    let unnamed = sign(Algorithm::Es256, &json!({"alg": "ES256"}));
    assert!(verify_compact(&named, &all, Algorithm::ALL).is_ok());
    assert_eq!(verify_compact(&unnamed, &all, Algorithm::ALL), Err(VerifyError::SeveralKeys));
    assert!(verify_compact(&unnamed, &[jwk(Algorithm::EdDsa), es.clone()], Algorithm::ALL).is_ok());
    // Two keys with one `kid` are ambiguous too.
    assert_eq!(
        verify_compact(&named, &[es.clone(), es.clone()], Algorithm::ALL),
        Err(VerifyError::SeveralKeys)
    );
    assert_eq!(
        verify_compact(&named, std::slice::from_ref(&other), Algorithm::ALL),
        Err(VerifyError::UnknownKey)
    );
    assert_eq!(
        verify_compact(&named, &[without(es.clone(), &["kid"])], Algorithm::ALL),
        Err(VerifyError::UnknownKey)
    );
    assert_eq!(
        verify_compact(&unnamed, std::slice::from_ref(&other), Algorithm::ALL),
        Err(VerifyError::Signature)
    );
    assert_eq!(verify_compact(&unnamed, &[], Algorithm::ALL), Err(VerifyError::UnknownKey));
    for (member, value) in [
        ("use", json!("enc")),
        ("alg", json!("RS256")),
        ("key_ops", json!(["sign"])),
        ("kty", json!("RSA")),
        ("crv", json!("P-384")),
        ("x", json!("AA")),
        ("y", json!(7)),
    ] {
        let unfit = with(es.clone(), member, &value);
        assert_eq!(
            verify_compact(&named, &[unfit], Algorithm::ALL),
            Err(VerifyError::UnknownKey),
            "{member}"
        );
    }
    assert!(verify_compact(&named, &[with(es, "key_ops", &json!(["verify"]))], Algorithm::ALL).is_ok());
}

#[test]
fn weak_and_oversized_rsa_keys_do_not_count() {
    let rsa = jwk(Algorithm::Rs256);
    let token = token(Algorithm::Rs256);
    for (member, value) in [
        ("e", encode([1])),
        ("e", encode([2])),
        ("e", encode([])),
        ("e", encode([0, 1, 0, 1])),
        ("e", encode([1; 5])),
        ("n", encode([0x7f; 256])),
        ("n", encode([0xff; 128])),
        ("n", encode([&[0], [0xff; 256].as_slice()].concat())),
        ("n", encode([0xff; 513])),
        ("n", encode([0xff; 1024])),
    ] {
        let weak = with(rsa.clone(), member, &json!(value));
        assert_eq!(
            verify_compact(&token, &[weak], Algorithm::ALL),
            Err(VerifyError::UnknownKey),
            "{member} {value}"
        );
    }
}

#[test]
fn only_rsa_is_slow_and_only_in_a_token() {
    for (algorithm, slow) in [(Algorithm::Es256, false), (Algorithm::EdDsa, false), (Algorithm::Ps256, true)]
    {
        assert_eq!(is_slow_to_verify(&token(algorithm)), slow, "{algorithm}");
    }
    for junk in ["", "RS256", "RS256.", "e30.e30.", &format!("{}.e30.", encode(r#"{"alg":7}"#))] {
        assert!(!is_slow_to_verify(junk), "{junk}");
    }
}

#[test]
fn the_header_cannot_choose_how_it_is_checked() {
    let es = jwk(Algorithm::Es256);
    let keys = [es.clone(), jwk(Algorithm::Rs256)];
    for alg in [
        json!("none"),
        json!("None"),
        json!("HS256"),
        json!("es256"),
        json!("ES384"),
        json!(""),
        json!(7),
        json!(null),
    ] {
        let token = sign(Algorithm::Es256, &json!({"alg": alg}));
        assert_eq!(verify_compact(&token, &keys, Algorithm::ALL), Err(VerifyError::Algorithm), "{alg}");
    }
    assert_eq!(
        verify_compact(&sign(Algorithm::Es256, &json!({})), &keys, Algorithm::ALL),
        Err(VerifyError::Algorithm)
    );
    // The public key as an HMAC secret, in the forms of known attacks, and as a symmetric JWK.
    let input = format!("{}.{}", encode(r#"{"alg":"HS256"}"#), encode(r#"{"sub":"a"}"#));
    for secret in [es.to_string(), es["x"].as_str().unwrap().to_owned(), String::new()] {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), input.as_bytes());
        let token = format!("{input}.{}", encode(tag.as_ref()));
        let oct = json!({"kty": "oct", "k": encode(&secret)});
        assert_eq!(verify_compact(&token, &[es.clone(), oct], Algorithm::ALL), Err(VerifyError::Algorithm));
    }
    let unsigned = format!("{}.{}.", encode(r#"{"alg":"none"}"#), encode(r#"{"sub":"a"}"#));
    assert_eq!(verify_compact(&unsigned, &keys, Algorithm::ALL), Err(VerifyError::Algorithm));
    // A key inside the token is not trusted.
    let own = sign(Algorithm::EdDsa, &json!({"alg": "EdDSA", "jwk": jwk(Algorithm::EdDsa)}));
    assert_eq!(verify_compact(&own, &keys, Algorithm::ALL), Err(VerifyError::UnknownKey));
    for header in [json!({"alg": "ES256", "crit": ["exp"], "exp": 1}), json!({"alg": "ES256", "crit": []})] {
        assert_eq!(
            verify_compact(&sign(Algorithm::Es256, &header), &keys, Algorithm::ALL),
            Err(VerifyError::Critical)
        );
    }
    let bad_kid = sign(Algorithm::Es256, &json!({"alg": "ES256", "kid": 1}));
    assert_eq!(verify_compact(&bad_kid, &keys, Algorithm::ALL), Err(VerifyError::Malformed));
}

#[test]
fn malformed_tokens_are_refused_whoever_signed_them() {
    let keys = [jwk(Algorithm::Es256)];
    let good = token(Algorithm::Es256);
    let (input, signature) = good.rsplit_once('.').unwrap();
    let long = format!(r#"{{"sub":"{}"}}"#, "a".repeat(MAX_COMPACT));
    let mut twin = good.clone();
    let last = twin.pop().unwrap();
    twin.push((last as u8 + 1) as char);
    for (token, error) in [
        (String::new(), VerifyError::Malformed),
        ("..".to_owned(), VerifyError::Malformed),
        (input.to_owned(), VerifyError::Malformed),
        (format!("{good}.{signature}"), VerifyError::Malformed),
        (format!("{good}."), VerifyError::Malformed),
        (format!("{good}="), VerifyError::Malformed),
        (format!("{good}\n"), VerifyError::Malformed),
        (format!(" {good}"), VerifyError::Malformed),
        (twin, VerifyError::Malformed),
        (format!("{input}."), VerifyError::Signature),
        (sign_text(Algorithm::Es256, r#"{"alg":"ES256","alg":"ES256"}"#, "{}"), VerifyError::Malformed),
        (sign_text(Algorithm::Es256, r#"["ES256"]"#, "{}"), VerifyError::Malformed),
        (
            sign_text(Algorithm::Es256, r#"{"alg":"ES256"}"#, r#"{"sub":"a","sub":"b"}"#),
            VerifyError::Malformed,
        ),
        (sign_text(Algorithm::Es256, r#"{"alg":"ES256"}"#, "[]"), VerifyError::Malformed),
        (sign_text(Algorithm::Es256, r#"{"alg":"ES256"}"#, "{} {}"), VerifyError::Malformed),
        (sign_text(Algorithm::Es256, r#"{"alg":"ES256"}"#, &"[".repeat(99)), VerifyError::Malformed),
        (sign_text(Algorithm::Es256, r#"{"alg":"ES256"}"#, &long), VerifyError::TooLong),
    ] {
        assert_eq!(verify_compact(&token, &keys, Algorithm::ALL), Err(error), "{token}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_altered_or_truncated_token_verifies(which in 0..Algorithm::ALL.len(), at in any::<prop::sample::Index>(), byte in "[A-Za-z0-9_.-]", cut in any::<bool>()) {
        let algorithm = Algorithm::ALL[which];
        let good = token(algorithm);
        let at = at.index(good.len());
        let bad = if cut { good[..at].to_owned() } else { format!("{}{byte}{}", &good[..at], &good[at + 1..]) };
        prop_assume!(bad != good);
        prop_assert!(verify_compact(&bad, &[jwk(algorithm)], Algorithm::ALL).is_err());
    }

    #[test]
    fn no_text_panics(token in "[A-Za-z0-9_=. -]{0,60}", header in ".{0,30}", payload in ".{0,30}") {
        let made = format!("{}.{}.AA", encode(header), encode(payload));
        for text in [token, made] {
            prop_assert!(verify_compact(&text, &[jwk(Algorithm::Es256)], Algorithm::ALL).is_err());
            let _ = peek_claims(&text);
        }
    }
}
