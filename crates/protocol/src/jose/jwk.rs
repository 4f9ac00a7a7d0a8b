//! Public keys as JWK (RFC 7517), identified by their thumbprint (RFC 7638).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Algorithm;

/// RFC 7518 §§6.2.2, 6.3.2 and 6.4.1; RFC 8037 §2.
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// The key material, tagged by `kty`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kty")]
pub(crate) enum Material {
    #[serde(rename = "EC")]
    Ec { crv: String, x: String, y: String },
    #[serde(rename = "OKP")]
    Okp { crv: String, x: String },
    #[serde(rename = "RSA")]
    Rsa { n: String, e: String },
}

/// A public signing key. There is no field for private material, so none can be published by mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicJwk {
    #[serde(flatten)]
    material: Material,
    pub kid: String,
    pub alg: Algorithm,
    #[serde(rename = "use")]
    usage: Usage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Usage {
    #[serde(rename = "sig")]
    Signature,
}

/// A JWK set (RFC 7517 §5).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Jwks {
    pub keys: Vec<PublicJwk>,
}

/// The thumbprint of any public key: P-256, Ed25519 or RSA. `None` for another type or a spelling that is not the
/// canonical one of RFC 7518 §6, since one key must not have two thumbprints.
#[must_use]
pub fn thumbprint(jwk: &Value) -> Option<[u8; 32]> {
    let material = Material::deserialize(jwk).ok()?;
    material.is_canonical().then(|| material.thumbprint())
}

pub(crate) fn has_private_member(jwk: &Value) -> bool {
    PRIVATE.iter().any(|name| jwk.get(name).is_some())
}

impl Material {
    /// From an uncompressed P-256 point: 0x04, x, y.
    pub(crate) fn p256(point: &[u8]) -> Option<Self> {
        let [0x04, coordinates @ ..] = point else { return None };
        let (x, y) = coordinates.split_at_checked(32)?;
        (y.len() == 32).then(|| Self::Ec { crv: "P-256".into(), x: encode(x), y: encode(y) })
    }

    pub(crate) fn ed25519(point: &[u8]) -> Self {
        Self::Okp { crv: "Ed25519".into(), x: encode(point) }
    }

    /// From big-endian integers; JWK omits their leading zero bytes (RFC 7518 §2, Base64urlUInt).
    pub(crate) fn rsa(modulus: &[u8], exponent: &[u8]) -> Self {
        Self::Rsa { n: encode(trim(modulus)), e: encode(trim(exponent)) }
    }

    /// RFC 7638 §3: SHA-256 over the required members in lexicographic order, without white space.
    pub(crate) fn thumbprint(&self) -> [u8; 32] {
        let canonical = match self {
            Self::Ec { crv, x, y } => format!(r#"{{"crv":"{crv}","kty":"EC","x":"{x}","y":"{y}"}}"#),
            Self::Okp { crv, x } => format!(r#"{{"crv":"{crv}","kty":"OKP","x":"{x}"}}"#),
            Self::Rsa { n, e } => format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#),
        };
        sha256(canonical.as_bytes())
    }

    /// Base64url also excludes quotes, with which one key could imitate the canonical text of another.
    fn is_canonical(&self) -> bool {
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
        let coordinate = |text: &str| bytes(text).len() == 32;
        let integer = |text: &str| bytes(text).first().is_some_and(|first| *first > 0);
        match self {
            Self::Ec { crv, x, y } => crv == "P-256" && coordinate(x) && coordinate(y),
            Self::Okp { crv, x } => crv == "Ed25519" && coordinate(x),
            Self::Rsa { n, e } => integer(n) && integer(e),
        }
    }
}

impl PublicJwk {
    pub(super) fn p256(alg: Algorithm, point: &[u8]) -> Option<Self> {
        Some(Self::named(alg, Material::p256(point)?))
    }

    pub(super) fn ed25519(alg: Algorithm, point: &[u8]) -> Self {
        Self::named(alg, Material::ed25519(point))
    }

    pub(super) fn rsa(alg: Algorithm, modulus: &[u8], exponent: &[u8]) -> Self {
        Self::named(alg, Material::rsa(modulus, exponent))
    }

    fn named(alg: Algorithm, material: Material) -> Self {
        Self { kid: encode(&material.thumbprint()), material, alg, usage: Usage::Signature }
    }

    /// The uncompressed point of a P-256 key.
    #[must_use]
    pub fn p256_point(&self) -> Option<Vec<u8>> {
        let Material::Ec { x, y, .. } = &self.material else { return None };
        let coordinate = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        Some([vec![4], coordinate(x)?, coordinate(y)?].concat())
    }

    /// Size of an RSA modulus in bits; `None` for elliptic curves, whose size is fixed.
    #[must_use]
    pub fn rsa_bits(&self) -> Option<usize> {
        match &self.material {
            Material::Rsa { n, .. } => {
                let modulus = URL_SAFE_NO_PAD.decode(n).unwrap_or_default();
                let modulus = trim(&modulus);
                Some(modulus.first().map_or(0, |first| modulus.len() * 8 - first.leading_zeros() as usize))
            }
            Material::Ec { .. } | Material::Okp { .. } => None,
        }
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut digest = [0; 32];
    digest.copy_from_slice(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes).as_ref());
    digest
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn trim(integer: &[u8]) -> &[u8] {
    let zeros = integer.iter().take_while(|byte| **byte == 0).count();
    &integer[zeros..]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The worked example of RFC 7638 §3.1.
    #[test]
    fn rfc7638_example_thumbprint() {
        let n = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
        let material = Material::Rsa { n: n.into(), e: "AQAB".into() };
        assert_eq!(encode(&material.thumbprint()), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
        assert_eq!(PublicJwk::named(Algorithm::Rs256, material).rsa_bits(), Some(2048));
    }

    /// RFC 8037 appendix A.3.
    #[test]
    fn rfc8037_example_thumbprint() {
        let material =
            Material::Okp { crv: "Ed25519".into(), x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo".into() };
        assert_eq!(encode(&material.thumbprint()), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    }

    #[test]
    fn anybodys_key_has_one_name_or_none() {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let named = |jwk: &Value| thumbprint(jwk).map(|digest| encode(&digest));
        let okp = json!({"use": "sig", "kid": "a", "x": x, "crv": "Ed25519", "kty": "OKP"});
        assert_eq!(named(&okp).unwrap(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
        assert!(named(&json!({"kty": "EC", "crv": "P-256", "x": x, "y": x})).is_some());
        assert!(named(&json!({"kty": "RSA", "n": x, "e": "AQAB"})).is_some());
        for bad in [
            json!({"kty": "RSA", "n": x, "e": "AAEAAQ"}),
            json!({"kty": "RSA", "n": "", "e": "AQAB"}),
            json!({"kty": "RSA", "n": x, "e": "AQAB\",\"kty\":\"RSA"}),
            json!({"kty": "OKP", "crv": "X25519", "x": x}),
            json!({"kty": "OKP", "crv": "Ed25519", "x": format!("{x}=")}),
            json!({"kty": "EC", "crv": "P-384", "x": x, "y": x}),
            json!({"kty": "EC", "crv": "P-256", "x": x, "y": "AQAB"}),
            json!({"kty": "oct", "k": x}),
            json!({"x": x}),
            json!([x]),
        ] {
            assert_eq!(named(&bad), None, "{bad}");
        }
    }
}
