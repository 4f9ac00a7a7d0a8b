//! Which logout tokens a relying party accepts (OpenID Connect Back-Channel Logout 1.0 §2.6).

use serde_json::Value;

use super::{AHEAD_SECONDS, Expected, IdTokenError, check_parties_and_age, id};
use crate::time::{Duration, OffsetDateTime};

/// What makes a token a logout token (§2.4).
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Whom a provider signed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedOut {
    /// All sessions of this subject, or the one in `sid`. One of both is there.
    pub subject: Option<String>,
    pub sid: Option<String>,
    /// Of the token, which counts once.
    pub id: String,
    /// After this, the token is refused by its age alone.
    pub until: OffsetDateTime,
}

/// Why a logout token is refused. The texts are for the provider's administrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LogoutTokenError {
    #[error("the logout token is of another issuer")]
    Issuer,
    #[error("the logout token is for another client")]
    Audience,
    #[error("the logout token has expired, is too old, or has no iat or exp")]
    Expired,
    #[error("the logout token is from the future")]
    Early,
    #[error("events does not say that it is a logout token")]
    Event,
    #[error("the logout token has a nonce, so it is an ID token")]
    Nonce,
    #[error("the logout token names neither a subject nor a session")]
    Nobody,
    #[error("the logout token has no jti")]
    NoId,
}

impl LogoutTokenError {
    /// The same text, as a fixed one.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Issuer => "the logout token is of another issuer",
            Self::Audience => "the logout token is for another client",
            Self::Expired => "the logout token has expired, is too old, or has no iat or exp",
            Self::Early => "the logout token is from the future",
            Self::Event => "events does not say that it is a logout token",
            Self::Nonce => "the logout token has a nonce, so it is an ID token",
            Self::Nobody => "the logout token names neither a subject nor a session",
            Self::NoId => "the logout token has no jti",
        }
    }
}

/// Checks the claims of a logout token whose signature was verified. `expected.nonce` is not read.
///
/// # Errors
/// The first rule that it breaks.
pub fn check_logout_token(claims: &Value, expected: &Expected<'_>) -> Result<SignedOut, LogoutTokenError> {
    check_parties_and_age(claims, expected).map_err(|error| match error {
        IdTokenError::Issuer => LogoutTokenError::Issuer,
        IdTokenError::Audience => LogoutTokenError::Audience,
        IdTokenError::Early => LogoutTokenError::Early,
        IdTokenError::Expired | IdTokenError::Nonce | IdTokenError::Subject => LogoutTokenError::Expired,
    })?;
    if !claims["events"][EVENT].is_object() {
        return Err(LogoutTokenError::Event);
    }
    // "Verify that the Logout Token does not contain a nonce Claim."
    if !claims["nonce"].is_null() {
        return Err(LogoutTokenError::Nonce);
    }
    // A member that is there and cannot be used must not widen what the token ends.
    let part = |name: &str| match (&claims[name], id(claims, name)) {
        (Value::Null, _) => Ok(None),
        (_, Some(text)) => Ok(Some(text)),
        (_, None) => Err(LogoutTokenError::Nobody),
    };
    let (subject, sid) = (part("sub")?, part("sid")?);
    if subject.is_none() && sid.is_none() {
        return Err(LogoutTokenError::Nobody);
    }
    let at = |name: &str| {
        let at = claims[name].as_i64().and_then(|at| OffsetDateTime::from_unix_timestamp(at).ok());
        at.ok_or(LogoutTokenError::Expired)
    };
    // Its age ends it too, however late `exp` is. A token that is presented again has the same time: by it and its id it
    // is known.
    let oldest = at("iat")?.saturating_add(Duration::hours(1));
    let until = at("exp")?.min(oldest).saturating_add(Duration::seconds(AHEAD_SECONDS));
    Ok(SignedOut { subject, sid, id: id(claims, "jti").ok_or(LogoutTokenError::NoId)?, until })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ISSUER: &str = "https://login.example.test";
    const NOW: i64 = 1_800_000_000;

    #[test]
    fn a_logout_token_has_the_event_a_subject_or_a_session_and_no_nonce() {
        let now = OffsetDateTime::from_unix_timestamp(NOW).unwrap();
        let check = |claims: &Value| {
            check_logout_token(claims, &Expected { issuer: ISSUER, client_id: "porteiro", nonce: "", now })
        };
        let good = json!({"iss": ISSUER, "aud": "porteiro", "sub": "ana", "sid": "s-1", "jti": "1", "iat": NOW,
                          "exp": NOW + 120, "events": {EVENT: {}}});
        let with = |name: &str, value: Value| {
            let mut claims = good.clone();
            claims[name] = value;
            claims
        };
        let told = check(&good).unwrap();
        assert_eq!((told.subject.as_deref(), told.sid.as_deref()), (Some("ana"), Some("s-1")));
        assert_eq!(check(&with("sub", json!(null))).unwrap().subject, None);
        // However late it expires, it is known again by the same time.
        let until = |exp: i64, now: i64| {
            let now = OffsetDateTime::from_unix_timestamp(now).unwrap();
            let expected = Expected { issuer: ISSUER, client_id: "porteiro", nonce: "", now };
            check_logout_token(&with("exp", json!(exp)), &expected).unwrap().until
        };
        for exp in [NOW + 86_400, 253_402_300_799] {
            assert_eq!(until(exp, NOW).unix_timestamp(), NOW + 3_630);
            assert_eq!(until(exp, NOW + 200), until(exp, NOW));
        }
        assert_eq!(check(&with("sid", json!(null))).unwrap().sid, None);
        for (name, value, error) in [
            ("nonce", json!("n-1"), LogoutTokenError::Nonce),
            ("events", json!(null), LogoutTokenError::Event),
            ("events", json!({"http://schemas.openid.net/event/other": {}}), LogoutTokenError::Event),
            ("events", json!(EVENT), LogoutTokenError::Event),
            ("events", json!({EVENT: true}), LogoutTokenError::Event),
            ("iss", json!("https://other.example.test"), LogoutTokenError::Issuer),
            ("aud", json!("other"), LogoutTokenError::Audience),
            ("aud", json!(["porteiro", "other"]), LogoutTokenError::Audience),
            ("exp", json!(NOW - 30), LogoutTokenError::Expired),
            ("exp", json!(null), LogoutTokenError::Expired),
            ("iat", json!(NOW - 301), LogoutTokenError::Expired),
            ("iat", json!(null), LogoutTokenError::Expired),
            ("iat", json!(NOW + 31), LogoutTokenError::Early),
            ("sub", json!(7), LogoutTokenError::Nobody),
            ("sid", json!(""), LogoutTokenError::Nobody),
            ("jti", json!(null), LogoutTokenError::NoId),
        ] {
            assert_eq!(check(&with(name, value)), Err(error), "{name}");
        }
        let nobody = with("sub", json!(null));
        assert_eq!(
            check(&{
                let mut it = nobody;
                it["sid"] = json!(null);
                it
            }),
            Err(LogoutTokenError::Nobody)
        );
    }
}
