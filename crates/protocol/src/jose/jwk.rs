//! Public keys as JWK (RFC 7517), named by their thumbprint (RFC 7638).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::Algorithm;

/// The key material, tagged by `kty`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kty")]
enum Material {
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

impl PublicJwk {
    /// From an uncompressed P-256 point: 0x04, x, y.
    pub(super) fn p256(alg: Algorithm, point: &[u8]) -> Option<Self> {
        let [0x04, coordinates @ ..] = point else { return None };
        let (x, y) = coordinates.split_at_checked(32)?;
        if y.len() != 32 {
            return None;
        }
        Some(Self::named(alg, Material::Ec { crv: "P-256".into(), x: encode(x), y: encode(y) }))
    }

    pub(super) fn ed25519(alg: Algorithm, point: &[u8]) -> Self {
        Self::named(alg, Material::Okp { crv: "Ed25519".into(), x: encode(point) })
    }

    /// From big-endian integers without leading zero bytes (RFC 7518 §2, Base64urlUInt).
    pub(super) fn rsa(alg: Algorithm, modulus: &[u8], exponent: &[u8]) -> Self {
        Self::named(alg, Material::Rsa { n: encode(trim(modulus)), e: encode(trim(exponent)) })
    }

    fn named(alg: Algorithm, material: Material) -> Self {
        Self { kid: thumbprint(&material), material, alg, usage: Usage::Signature }
    }

    /// Bits of an RSA modulus; `None` for the curves, whose size is fixed.
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

/// RFC 7638 §3: SHA-256 over the required members in lexicographic order, without white space.
fn thumbprint(material: &Material) -> String {
    let canonical = match material {
        Material::Ec { crv, x, y } => format!(r#"{{"crv":"{crv}","kty":"EC","x":"{x}","y":"{y}"}}"#),
        Material::Okp { crv, x } => format!(r#"{{"crv":"{crv}","kty":"OKP","x":"{x}"}}"#),
        Material::Rsa { n, e } => format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#),
    };
    encode(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, canonical.as_bytes()).as_ref())
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
    use super::*;

    /// The worked example of RFC 7638 §3.1.
    #[test]
    fn rfc7638_example_thumbprint() {
        let n = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
        let material = Material::Rsa { n: n.into(), e: "AQAB".into() };
        assert_eq!(thumbprint(&material), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
        assert_eq!(PublicJwk::named(Algorithm::Rs256, material).rsa_bits(), Some(2048));
    }

    /// RFC 8037 appendix A.3.
    #[test]
    fn rfc8037_example_thumbprint() {
        let material =
            Material::Okp { crv: "Ed25519".into(), x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo".into() };
        assert_eq!(thumbprint(&material), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    }
}
