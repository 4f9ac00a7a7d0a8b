//! DPoP proofs of possession (RFC 9449 §4): the checks of §4.3 that need no records. The service checks that a `jti`
//! is new, that the nonce is ours (§8), and that a token is bound to the key (§6).

mod uri;

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;
use subtle::ConstantTimeEq;
use time::{Duration, OffsetDateTime};

use crate::jose::{Algorithm, VerifyError, sha256, thumbprint, verify_embedded};

/// RFC 9449 §11.1: short, since a `jti` must be remembered that long.
pub const MAX_AGE: Duration = Duration::minutes(5);
/// Clocks differ. A DPoP proof from further in the future would outlive the record of its `jti`.
pub const MAX_AHEAD: Duration = Duration::seconds(10);
/// The algorithms of DPoP proofs. Not RS256 (FAPI 2.0 Security Profile §5.4.1): the thumbprint names a key, not an
/// algorithm, so an RSA key would be accepted with both.
pub const ALGORITHMS: &[Algorithm] = &[Algorithm::Es256, Algorithm::EdDsa, Algorithm::Ps256];
pub const MAX_JTI: usize = 256;
const MAX_NONCE: usize = 256;

/// Why a DPoP proof is refused (`invalid_dpop_proof`). The texts are for the developer of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DpopError {
    #[error("the DPoP proof is refused: {0}")]
    Jws(#[from] VerifyError),
    #[error("the DPoP proof must have the type dpop+jwt")]
    Type,
    #[error("the jwk of the DPoP proof must be encoded as RFC 7518 requires, without leading zeros")]
    Key,
    #[error("htm of the DPoP proof is not the method of this request")]
    Method,
    #[error("htu of the DPoP proof is not the URL of this request")]
    Uri,
    #[error("iat of the DPoP proof must be a number of seconds since 1970")]
    IssuedAt,
    #[error("the DPoP proof is older than five minutes")]
    TooOld,
    #[error("the DPoP proof is from the future: check the clock")]
    TooNew,
    #[error("jti of the DPoP proof must have 1 to {MAX_JTI} bytes without control characters")]
    Jti,
    #[error("nonce of the DPoP proof must be a string of at most {MAX_NONCE} bytes")]
    Nonce,
    #[error("ath of the DPoP proof is not the hash of the access token")]
    AccessToken,
}

/// The request that carried the DPoP proof.
#[derive(Clone, Copy)]
pub struct Expected<'a> {
    pub method: &'a str,
    /// The absolute URL of the endpoint from our configuration, not from the request.
    pub uri: &'a str,
    pub now: OffsetDateTime,
    /// If the request carries one, `ath` must be its hash (RFC 9449 §4.3, item 12); otherwise `ath` is ignored.
    pub access_token: Option<&'a str>,
}

/// A valid DPoP proof for its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The thumbprint of the key (RFC 7638), for `cnf.jkt`.
    pub jkt: [u8; 32],
    pub jti: String,
    pub iat: OffsetDateTime,
    /// Not checked yet.
    pub nonce: Option<String>,
}

impl Proof {
    /// # Errors
    /// When any check of RFC 9449 §4.3 fails.
    pub fn verify(compact: &str, expected: &Expected<'_>) -> Result<Self, DpopError> {
        let jws = verify_embedded(compact, ALGORITHMS)?;
        // RFC 7515 §4.1.9: media types are compared without regard to case.
        let typ = jws.header.get("typ").and_then(Value::as_str);
        if !typ.is_some_and(|typ| typ.eq_ignore_ascii_case("dpop+jwt")) {
            return Err(DpopError::Type);
        }
        let jkt = jws.header.get("jwk").and_then(thumbprint).ok_or(DpopError::Key)?;
        let claim = |name: &str| jws.payload.get(name);
        let text = |name: &str| claim(name).and_then(Value::as_str);
        if text("htm") != Some(expected.method) {
            return Err(DpopError::Method);
        }
        if !text("htu").is_some_and(|htu| uri::same(htu, expected.uri)) {
            return Err(DpopError::Uri);
        }
        let iat = claim("iat").and_then(numeric_date).ok_or(DpopError::IssuedAt)?;
        check_age(iat, expected.now)?;
        let jti =
            text("jti").filter(|jti| is_short(jti, MAX_JTI) && !jti.is_empty()).ok_or(DpopError::Jti)?;
        let nonce = match claim("nonce") {
            None => None,
            Some(Value::String(nonce)) if is_short(nonce, MAX_NONCE) => Some(nonce.clone()),
            Some(_) => return Err(DpopError::Nonce),
        };
        if expected.access_token.is_some_and(|token| !is_hash_of(text("ath"), token)) {
            return Err(DpopError::AccessToken);
        }
        Ok(Self { jkt, jti: jti.to_owned(), iat, nonce })
    }
}

fn is_short(text: &str, most: usize) -> bool {
    text.len() <= most && crate::plain_text::is_plain(text)
}

/// RFC 7519 §2: seconds since the epoch, fractions allowed.
fn numeric_date(value: &Value) -> Option<OffsetDateTime> {
    match value.as_i64() {
        Some(seconds) => OffsetDateTime::from_unix_timestamp(seconds).ok(),
        None => OffsetDateTime::UNIX_EPOCH.checked_add(Duration::checked_seconds_f64(value.as_f64()?)?),
    }
}

fn check_age(iat: OffsetDateTime, now: OffsetDateTime) -> Result<(), DpopError> {
    let age = now - iat;
    if age > MAX_AGE {
        return Err(DpopError::TooOld);
    }
    if age < -MAX_AHEAD {
        return Err(DpopError::TooNew);
    }
    Ok(())
}

/// RFC 9449 §4.2: SHA-256 over the ASCII of the token, in base64url.
fn is_hash_of(ath: Option<&str>, token: &str) -> bool {
    let hash = URL_SAFE_NO_PAD.encode(sha256(token.as_bytes()));
    ath.is_some_and(|ath| ath.as_bytes().ct_eq(hash.as_bytes()).into())
}

impl fmt::Debug for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<DPoP proof for {} {}>", self.method, self.uri)
    }
}

#[cfg(test)]
mod tests;
