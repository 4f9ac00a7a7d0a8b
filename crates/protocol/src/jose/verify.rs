//! Verifying what others signed (RFC 7515 §5.2, RFC 7519 §7.2, RFC 8725 §3).
//!
//! The caller says which algorithms it takes and which keys are the signer's; the token only chooses among
//! those. HMAC and `none` are not in [`Algorithm`], so no list can let them in.

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
/// Of an RSA modulus. Verifying costs four times as much for every doubling, and whoever sends the token chose the key.
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
    /// Where keys are fetched: the time to fetch them again.
    #[error("no key matches the token")]
    UnknownKey,
    #[error("the token has no public key of its algorithm in its jwk header")]
    EmbeddedKey,
    /// Whoever sent it has told it to everybody on the way.
    #[error(
        "the jwk header contains private or symmetric key material: replace that key, it is no longer secret"
    )]
    PrivateKey,
    /// OpenID Connect Core §10.1: with several keys, `kid` must be there. Trying each would cost as often.
    #[error("several keys match the token: send kid")]
    SeveralKeys,
    #[error("the signature does not verify")]
    Signature,
}

/// A token whose signature holds. What it says (`typ`, `iss`, `aud`, `exp`, ...) is still to be checked.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedJws {
    pub header: Value,
    pub payload: Value,
    pub algorithm: Algorithm,
}

/// A compact JWS (RFC 7515 §3.1), taken apart and not yet believed.
struct Parts<'a> {
    header: Value,
    payload: Vec<u8>,
    signature: Vec<u8>,
    signed: &'a str,
}

/// `keys` are JWKs (RFC 7517 §4). Those that are not of the algorithm's type, or are for something else, are
/// passed over.
///
/// # Errors
/// When anything at all is not as it should be.
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

/// Verifies with the key in the token's own `jwk` header (RFC 7515 §4.1.3). That says only that the sender holds
/// the key, not who the sender is: `kid` and everything else that names keys is passed over.
///
/// # Errors
/// When anything at all is not as it should be.
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

/// The claims of a token nobody has verified, for one purpose: to find out whose keys to verify it with.
///
/// # Errors
/// When the token is malformed.
pub fn peek_claims(token: &str) -> Result<Value, VerifyError> {
    object(&Parts::split(token)?.payload)
}

/// Whether verifying it takes long enough to leave the async threads. What is no token takes no time.
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
        // RFC 7515 §4.1.11: what is critical and not understood must be refused; we understand none.
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

/// RFC 9864 §2.2 names the same signature by its curve, and some libraries know no other name.
fn usual_name(algorithm: &str) -> &str {
    if algorithm == "Ed25519" { Algorithm::EdDsa.as_str() } else { algorithm }
}

/// One public key, ready for one algorithm (RFC 8725 §3.1).
enum Key {
    Ec(Vec<u8>),
    Ed(Vec<u8>),
    Rsa { n: Vec<u8>, e: Vec<u8>, padding: &'static aws_lc_rs::signature::RsaParameters },
}

impl Key {
    /// `None` when the key is of another type, too weak (RFC 8725 §3.4), or says it is for something else.
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

    /// 2048 to 4096 bits; the exponent an odd number from 3, for with 1 every message is its own signature.
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

/// No padding, no white space, no second spelling of the last character (RFC 7515 §2).
fn decode(text: &str) -> Result<Vec<u8>, VerifyError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| VerifyError::Malformed)
}

fn object(text: &[u8]) -> Result<Value, VerifyError> {
    parse_strict(text, MAX_DEPTH).ok().filter(Value::is_object).ok_or(VerifyError::Malformed)
}

#[cfg(test)]
mod tests;
