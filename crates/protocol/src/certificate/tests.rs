use proptest::prelude::*;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use serde_json::json;
use time::macros::datetime;

use super::*;
use crate::jose::{Algorithm, SigningKey, generate_pkcs8};

const START: OffsetDateTime = datetime!(2026-01-01 0:00 UTC);
const END: OffsetDateTime = datetime!(2026-12-31 23:59:59 UTC);

fn certificate_of(pair: &KeyPair) -> Certificate {
    let mut params = CertificateParams::default();
    (params.not_before, params.not_after) = (START, END);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CountryName, "BR");
    params.distinguished_name.push(DnType::OrganizationName, "Padaria, Pão & Cia");
    params.distinguished_name.push(DnType::CommonName, "client-1");
    params.subject_alt_names = vec![
        SanType::DnsName("Client.example.com".try_into().unwrap()),
        SanType::DnsName("*.wild.example".try_into().unwrap()),
        SanType::URI("spiffe://example.com/client".try_into().unwrap()),
        SanType::IpAddress("192.0.2.7".parse().unwrap()),
        SanType::IpAddress("2001:db8::7".parse().unwrap()),
        SanType::Rfc822Name("Ana@Example.com".try_into().unwrap()),
    ];
    Certificate::parse(params.self_signed(pair).unwrap().der()).unwrap()
}
fn certificate() -> Certificate {
    certificate_of(&KeyPair::generate().unwrap())
}
/// The same key for rcgen and as JWK.
fn key(algorithm: Algorithm) -> (KeyPair, Value) {
    let pkcs8 = generate_pkcs8(algorithm).unwrap();
    let jwk = serde_json::to_value(SigningKey::from_pkcs8(algorithm, &pkcs8).unwrap().public()).unwrap();
    (KeyPair::try_from(pkcs8.as_slice()).unwrap(), jwk)
}

#[test]
fn the_thumbprint_is_of_the_whole_and_the_key_of_its_part() {
    let pair = KeyPair::generate().unwrap();
    let certificate = certificate_of(&pair);
    assert_eq!(certificate.thumbprint(), sha256(&certificate.der));
    assert!(
        certificate.der.windows(certificate.spki.len()).any(|part| part == certificate.public_key_spki())
    );
    assert_eq!(certificate.public_key_spki(), rcgen::PublicKeyData::subject_public_key_info(&pair));
    let printed = format!("{certificate:?}");
    assert!(printed.starts_with("<certificate ") && !printed.contains("client-1"), "{printed}");
}

#[test]
fn a_certificate_has_its_time() {
    let certificate = certificate();
    let second = time::Duration::SECOND;
    for (now, valid) in [(START - second, false), (START, true), (END, true), (END + second, false)] {
        assert_eq!(certificate.is_valid_at(now), valid, "{now}");
    }
}

#[test]
fn the_subject_is_one_of_five_and_exact() {
    let certificate = certificate();
    for (member, value, matches) in [
        ("subject_dn", r"CN=client-1,O=Padaria\, Pão & Cia,C=BR", true),
        ("subject_dn", r"cn=client-1,o=Padaria\2C P\c3\a3o & Cia,2.5.4.6=BR", true),
        ("subject_dn", r"C=BR,O=Padaria\, Pão & Cia,CN=client-1", false),
        ("subject_dn", r"CN=Client-1,O=Padaria\, Pão & Cia,C=BR", false),
        ("subject_dn", r"CN=client-1, O=Padaria\, Pão & Cia, C=BR", false),
        ("subject_dn", "CN=client-1", false),
        ("subject_dn", "", false),
        ("san_dns", "client.EXAMPLE.com", true),
        ("san_dns", "a.wild.example", false),
        ("san_dns", "*.wild.example", false),
        ("san_dns", "client.example.com.", false),
        ("san_dns", "client-1", false),
        ("san_dns", "", false),
        ("san_uri", "spiffe://example.com/client", true),
        ("san_uri", "spiffe://EXAMPLE.com/client", false),
        ("san_uri", "Client.example.com", false),
        ("san_ip", "192.0.2.7", true),
        ("san_ip", "2001:DB8:0::7", true),
        ("san_ip", "::ffff:192.0.2.7", false),
        ("san_ip", "192.0.2.8", false),
        ("san_ip", "192.0.2.007", false),
        ("san_email", "Ana@example.COM", true),
        ("san_email", "ana@example.com", false),
        ("san_email", "example.com", false),
        ("san_email", "@example.com", false),
    ] {
        let subject = Subject::from_metadata(&format!("tls_client_auth_{member}"), value).unwrap();
        assert_eq!(certificate.matches_subject(&subject), matches, "{member} {value}");
        assert!(subject.is_well_formed() || !matches);
    }
    assert_eq!(Subject::from_metadata("client_name", "a"), None);
}

#[test]
fn nobody_has_an_empty_subject() {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let der = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
    let certificate = Certificate::parse(der.der()).unwrap();
    assert!(!certificate.matches_subject(&Subject::DistinguishedName(String::new())));
    assert!(!certificate.matches_subject(&Subject::SanDns(String::new())));
}

#[test]
fn a_registered_key_is_of_its_certificate_only() {
    let (pair, jwk) = key(Algorithm::Es256);
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256] {
        let (own, own_jwk) = key(algorithm);
        let certificate = certificate_of(&own);
        assert!(certificate.matches_jwks(&[jwk.clone(), own_jwk.clone()]), "{algorithm}");
        assert!(!certificate.matches_jwks(std::slice::from_ref(&jwk)), "{algorithm}");
        assert!(!certificate_of(&pair).matches_jwks(&[own_jwk]), "{algorithm}");
        assert!(!certificate.matches_jwks(&[]));
        assert!(!certificate.matches_jwks(&[json!({}), json!(null), json!({"kty": "EC"})]));
    }
    let p384 = certificate_of(&KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap());
    assert!(!p384.matches_jwks(&[json!({}), json!({"kty": "EC", "crv": "P-384"})]));
}

#[test]
fn a_registered_certificate_is_that_one() {
    let (pair, jwk) = key(Algorithm::Es256);
    let (registered, renewed) = (certificate_of(&pair), certificate_of(&pair));
    assert_ne!(registered.thumbprint(), renewed.thumbprint());
    let with = |x5c: Value| {
        let mut jwk = jwk.clone();
        jwk["x5c"] = x5c;
        [jwk]
    };
    let text = STANDARD.encode(&registered.der);
    assert!(registered.matches_jwks(&with(json!([text]))));
    assert!(!renewed.matches_jwks(&with(json!([text]))));
    for x5c in [json!([]), json!(["x"]), json!(text), json!([1]), json!(null)] {
        assert!(!registered.matches_jwks(&with(x5c)));
    }
    assert!(!registered.matches_jwks(&with(json!([URL_SAFE_NO_PAD.encode(b"x"), text]))));
}

#[test]
fn one_whole_certificate_and_nothing_else() {
    let der = certificate().der;
    let malformed =
        |der: &[u8]| assert_eq!(Certificate::parse(der).unwrap_err(), CertificateError::Malformed);
    malformed(b"");
    malformed(&der[..der.len() - 1]);
    malformed(&[der.as_slice(), b"\0"].concat());
    malformed(&[der.as_slice(), der.as_slice()].concat());
    assert_eq!(Certificate::parse(&vec![0; MAX_CERTIFICATE + 1]).unwrap_err(), CertificateError::TooLong);
}

proptest! {
    #[test]
    fn broken_certificates_have_an_answer(at in 0_usize..600, to in any::<u8>(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut der = certificate().der;
        let at = at % der.len();
        der[at] = to;
        if let Ok(changed) = Certificate::parse(&der) {
            prop_assert_eq!(changed.thumbprint(), sha256(&der));
        }
        prop_assert!(Certificate::parse(&bytes).is_err());
    }
}
