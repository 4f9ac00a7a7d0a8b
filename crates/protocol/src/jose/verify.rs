//! Verification of signed tokens (RFC 7515 §5.2, RFC 7519 §7.2, RFC 8725 §3).
//!
//! The caller passes the accepted algorithms and the signer's keys; the token only selects among those. HMAC and
//! `none` are not in [`Algorithm`], so they cannot be accepted.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;

use super::{Algorithm, has_private_member};
use crate::json::parse_strict;

pub const MAX_COMPACT: usize = 16 * 1024;
const MAX_DEPTH: usize = 16;
/// Maximum size of an RSA modulus. The cost of verification quadruples with each doubling, and the sender of the
/// token chose the key.
pub const MAX_RSA_BYTES: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    #[error("the token is longer than {MAX_COMPACT} bytes")]
    TooLong,
    #[error("the token is not a compact JWS with a JSON payload")]
    Malformed,
    #[error("the token has critical headers that are not supported")]
    Critical,
    #[error("the token is not signed with an accepted algorithm")]
    Algorithm,
    /// Where keys are fetched: a reason to fetch them again.
    #[error("no key matches the token")]
    UnknownKey,
    #[error("the token has no public key of its algorithm in its jwk header")]
    EmbeddedKey,
    /// The sender has disclosed it to every party on the way.
    #[error(
        "the jwk header contains private or symmetric key material: replace that key, it is no longer secret"
    )]
    PrivateKey,
    /// OpenID Connect Core §10.1: with several keys, `kid` is required. Trying each would multiply the cost.
    #[error("several keys match the token: send kid")]
    SeveralKeys,
    #[error("the signature does not verify")]
    Signature,
}

/// A token with a valid signature. Its content (`typ`, `iss`, `aud`, `exp`, ...) is not checked yet.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedJws {
    pub header: Value,
    pub payload: Value,
    pub algorithm: Algorithm,
}

/// The parts of a compact JWS (RFC 7515 §3.1), not verified yet.
struct Parts<'a> {
    header: Value,
    payload: Vec<u8>,
    signature: Vec<u8>,
    signed: &'a str,
}

/// `keys` are JWKs (RFC 7517 §4). Keys of another type or for another use are skipped.
///
/// # Errors
/// When the token is malformed, not accepted or not signed by one of the keys.
pub fn verify_compact(
    token: &str,
    keys: &[Value],
    allowed: &[Algorithm],
) -> Result<VerifiedJws, VerifyError> {
    let parts = Parts::split(token)?;
    let algorithm = parts.algorithm(allowed)?;
    let kid = match parts.header.get("kid") {
        None => None,
        Some(Value::String(kid)) => Some(kid.as_str()),
        Some(_) => return Err(VerifyError::Malformed),
    };
    let named = keys.iter().filter(|key| kid.is_none() || key.get("kid").and_then(Value::as_str) == kid);
    let mut candidates = named.filter_map(|key| Key::read(key, algorithm));
    let key = candidates.next().ok_or(VerifyError::UnknownKey)?;
    if candidates.next().is_some() {
        return Err(VerifyError::SeveralKeys);
    }
    if !key.verifies(parts.signed.as_bytes(), &parts.signature) {
        return Err(VerifyError::Signature);
    }
    Ok(VerifiedJws { payload: object(&parts.payload)?, header: parts.header, algorithm })
}

/// Verifies with the key in the token's own `jwk` header (RFC 7515 §4.1.3). This only shows that the sender holds the
/// key, not who the sender is: `kid` and other names of keys are ignored.
///
/// # Errors
/// When the token is malformed, not accepted or not signed by that key.
pub fn verify_embedded(token: &str, allowed: &[Algorithm]) -> Result<VerifiedJws, VerifyError> {
    let parts = Parts::split(token)?;
    let algorithm = parts.algorithm(allowed)?;
    let jwk = parts.header.get("jwk").ok_or(VerifyError::EmbeddedKey)?;
    if has_private_member(jwk) {
        return Err(VerifyError::PrivateKey);
    }
    let key = Key::read(jwk, algorithm).ok_or(VerifyError::EmbeddedKey)?;
    if !key.verifies(parts.signed.as_bytes(), &parts.signature) {
        return Err(VerifyError::Signature);
    }
    Ok(VerifiedJws { payload: object(&parts.payload)?, header: parts.header, algorithm })
}

/// The claims of a token before verification. Only for finding the keys to verify it with.
///
/// # Errors
/// When the token is malformed.
pub fn peek_claims(token: &str) -> Result<Value, VerifyError> {
    object(&Parts::split(token)?.payload)
}

/// Whether verification is slow enough to run off the async threads. A malformed token costs nothing.
#[must_use]
pub fn is_slow_to_verify(token: &str) -> bool {
    let header = token.split_once('.').and_then(|(header, _)| decode(header).ok());
    let header = header.filter(|_| token.len() <= MAX_COMPACT).and_then(|header| object(&header).ok());
    let named = header.as_ref().and_then(|header| header.get("alg")).and_then(Value::as_str);
    named.and_then(|name| name.parse().ok()).is_some_and(Algorithm::is_slow)
}

impl<'a> Parts<'a> {
    fn split(token: &'a str) -> Result<Self, VerifyError> {
        if token.len() > MAX_COMPACT {
            return Err(VerifyError::TooLong);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(VerifyError::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(VerifyError::Malformed)?;
        // A fourth part would leave a dot in the payload, which is not base64url.
        Ok(Self {
            header: object(&decode(header)?)?,
            payload: decode(payload)?,
            signature: decode(signature)?,
            signed,
        })
    }

    fn algorithm(&self, allowed: &[Algorithm]) -> Result<Algorithm, VerifyError> {
        // RFC 7515 §4.1.11: an unknown critical extension must be refused; none is known.
        if self.header.get("crit").is_some() {
            return Err(VerifyError::Critical);
        }
        self.header
            .get("alg")
            .and_then(Value::as_str)
            .and_then(|name| usual_name(name).parse().ok())
            .filter(|algorithm| allowed.contains(algorithm))
            .ok_or(VerifyError::Algorithm)
    }
}

/// RFC 9864 §2.2 names the same signature by its curve, and some libraries use only that name.
fn usual_name(algorithm: &str) -> &str {
    if algorithm == "Ed25519" { Algorithm::EdDsa.as_str() } else { algorithm }
}

/// A public key for one algorithm (RFC 8725 §3.1).
enum Key {
    Ec(Vec<u8>),
    Ed(Vec<u8>),
    Rsa { n: Vec<u8>, e: Vec<u8>, padding: &'static aws_lc_rs::signature::RsaParameters },
}

impl Key {
    /// `None` when the key has another type, is too weak (RFC 8725 §3.4), or declares another use.
    fn read(jwk: &Value, algorithm: Algorithm) -> Option<Self> {
        let member = |name: &str| jwk.get(name).and_then(Value::as_str);
        let bytes = |name: &str| member(name).and_then(|text| decode(text).ok());
        let says = |name: &str, expected: &str| {
            jwk.get(name).is_none_or(|value| value.as_str().is_some_and(|text| usual_name(text) == expected))
        };
        let may_verify = jwk.get("key_ops").is_none_or(|operations| {
            operations.as_array().is_some_and(|names| names.iter().any(|name| name == "verify"))
        });
        if !says("alg", algorithm.as_str()) || !says("use", "sig") || !may_verify {
            return None;
        }
        match (algorithm, member("kty")?) {
            (Algorithm::Es256, "EC") if member("crv") == Some("P-256") => {
                let (x, y) = (bytes("x")?, bytes("y")?);
                (x.len() == 32 && y.len() == 32)
                    .then(|| Self::Ec([&[0x04], x.as_slice(), y.as_slice()].concat()))
            }
            (Algorithm::EdDsa, "OKP") if member("crv") == Some("Ed25519") => {
                bytes("x").filter(|x| x.len() == 32).map(Self::Ed)
            }
            (Algorithm::Rs256, "RSA") => Self::rsa(bytes("n")?, bytes("e")?, &RSA_PKCS1_2048_8192_SHA256),
            (Algorithm::Ps256, "RSA") => Self::rsa(bytes("n")?, bytes("e")?, &RSA_PSS_2048_8192_SHA256),
            (Algorithm::Es256 | Algorithm::EdDsa | Algorithm::Rs256 | Algorithm::Ps256, _) => None,
        }
    }

    /// 2048 to 4096 bits; the exponent is an odd number from 3: with 1 every message would be its own signature.
    fn rsa(n: Vec<u8>, e: Vec<u8>, padding: &'static aws_lc_rs::signature::RsaParameters) -> Option<Self> {
        let least = if n.len() == 256 { 0x80 } else { 1 };
        let long_enough =
            (256..=MAX_RSA_BYTES).contains(&n.len()) && n.first().is_some_and(|first| *first >= least);
        let odd = e.last().is_some_and(|last| last % 2 == 1);
        let from_three = e.first().is_some_and(|first| *first > 0) && e != [1] && e.len() <= 4;
        (long_enough && odd && from_three).then_some(Self::Rsa { n, e, padding })
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Ec(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
            }
            Self::Ed(point) => UnparsedPublicKey::new(&ED25519, point).verify(message, signature).is_ok(),
            Self::Rsa { n, e, padding } => {
                RsaPublicKeyComponents { n, e }.verify(padding, message, signature).is_ok()
            }
        }
    }
}

/// No padding, no white space, no alternative spelling of the last character (RFC 7515 §2).
fn decode(text: &str) -> Result<Vec<u8>, VerifyError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| VerifyError::Malformed)
}

fn object(text: &[u8]) -> Result<Value, VerifyError> {
    parse_strict(text, MAX_DEPTH).ok().filter(Value::is_object).ok_or(VerifyError::Malformed)
}

#[cfg(test)]
mod tests;
