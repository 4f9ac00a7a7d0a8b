//! The rules for a relying party (OpenID Connect Core 1.0, Discovery 1.0, RFC 9207): what it reads of a provider's
//! metadata, and which ID tokens and authorization responses it accepts.

use serde_json::Value;

pub use logout::{LogoutTokenError, SignedOut, check_logout_token};
pub use userinfo::{OtherSubject, add_userinfo};

use crate::{jose::Algorithm, time::OffsetDateTime};

/// Accepted clock difference, in seconds.
const AHEAD_SECONDS: i64 = 30;
/// The oldest ID token that is accepted: it is made for the response that just arrived (§3.1.3.7, 10).
const OLDEST_SECONDS: i64 = 300;
/// §2: "MUST NOT exceed 255 ASCII characters in length".
const LONGEST_SUBJECT: usize = 255;

/// A provider, by its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub jwks_uri: String,
    pub userinfo_endpoint: Option<String>,
    /// It names itself in every authorization response (RFC 9207 §3).
    pub sends_iss: bool,
    /// It puts the claims into ID tokens for which a request asks (Core §5.5).
    pub takes_claims: bool,
}

/// Why metadata cannot be used. The texts are for the administrator of the connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    #[error(
        "the document names another issuer than the one configured: they must be equal, character by character"
    )]
    Issuer,
    #[error("{0} is missing or not an absolute URL")]
    Endpoint(&'static str),
    #[error("the provider does not sign ID tokens with the configured algorithm {0}")]
    Algorithm(Algorithm),
    #[error("the provider does not offer the response type code")]
    ResponseType,
    #[error("the provider does not support PKCE with S256")]
    Pkce,
}

impl Provider {
    /// Reads the metadata of a provider whose issuer and algorithm are known (Discovery §4.3).
    ///
    /// # Errors
    /// What does not fit.
    pub fn parse(document: &Value, issuer: &str, algorithm: Algorithm) -> Result<Self, MetadataError> {
        if document["issuer"].as_str() != Some(issuer) {
            return Err(MetadataError::Issuer);
        }
        let scheme = issuer.split_once("://").map_or("https", |(scheme, _)| scheme);
        let endpoint = |name: &'static str| {
            let text = document[name].as_str().filter(|text| is_endpoint(text, scheme));
            text.map(str::to_owned).ok_or(MetadataError::Endpoint(name))
        };
        let lists = |name: &str, value: &str| match document[name].as_array() {
            Some(values) => values.iter().any(|it| it == value),
            None => true,
        };
        if !lists("id_token_signing_alg_values_supported", algorithm.as_str()) {
            return Err(MetadataError::Algorithm(algorithm));
        }
        if !lists("response_types_supported", "code") {
            return Err(MetadataError::ResponseType);
        }
        // A provider that says nothing is sent a challenge too, and ignores it at worst.
        if !lists("code_challenge_methods_supported", "S256") {
            return Err(MetadataError::Pkce);
        }
        Ok(Self {
            authorization_endpoint: endpoint("authorization_endpoint")?,
            token_endpoint: endpoint("token_endpoint")?,
            jwks_uri: endpoint("jwks_uri")?,
            userinfo_endpoint: endpoint("userinfo_endpoint").ok(),
            sends_iss: document["authorization_response_iss_parameter_supported"] == true,
            takes_claims: document["claims_parameter_supported"] == true,
        })
    }

    /// Whether the `iss` of an authorization response is this issuer's (RFC 9207 §2.4).
    #[must_use]
    pub fn accepts_iss(&self, iss: Option<&str>, issuer: &str) -> bool {
        match iss {
            Some(iss) => iss == issuer,
            None => !self.sends_iss,
        }
    }
}

/// Of the issuer's own scheme: never plain http where the issuer has https.
fn is_endpoint(text: &str, scheme: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| {
        url.scheme() == scheme
            && url.host().is_some()
            && url.fragment().is_none()
            && url.username().is_empty()
    })
}

/// What an ID token must be.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    pub nonce: &'a str,
    pub now: OffsetDateTime,
}

/// Whom an ID token is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asserted {
    pub subject: String,
    /// The session there, if the provider names it (Back-Channel Logout 1.0 §2.1).
    pub sid: Option<String>,
    /// When the provider says that it authenticated the person; never later than now.
    pub auth_time: Option<OffsetDateTime>,
}

/// Why an ID token is refused. The texts are for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdTokenError {
    #[error("the ID token is of another issuer")]
    Issuer,
    #[error("the ID token is for another client")]
    Audience,
    #[error("the ID token has expired or is too old")]
    Expired,
    #[error("the ID token is from the future")]
    Early,
    #[error("the ID token answers another request")]
    Nonce,
    #[error("the ID token has no usable subject")]
    Subject,
}

impl IdTokenError {
    /// The same text, for a log of fixed texts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Issuer => "the ID token is of another issuer",
            Self::Audience => "the ID token is for another client",
            Self::Expired => "the ID token has expired or is too old",
            Self::Early => "the ID token is from the future",
            Self::Nonce => "the ID token answers another request",
            Self::Subject => "the ID token has no usable subject",
        }
    }
}

/// Checks the claims of an ID token whose signature was verified (OpenID Connect Core §3.1.3.7).
///
/// # Errors
/// The first rule that it breaks.
pub fn check_id_token(claims: &Value, expected: &Expected<'_>) -> Result<Asserted, IdTokenError> {
    check_parties_and_age(claims, expected)?;
    if claims["nonce"].as_str() != Some(expected.nonce) {
        return Err(IdTokenError::Nonce);
    }
    let now = expected.now.unix_timestamp();
    let auth_time = claims["auth_time"].as_i64().map(|at| at.min(now));
    Ok(Asserted {
        subject: id(claims, "sub").ok_or(IdTokenError::Subject)?,
        sid: id(claims, "sid"),
        auth_time: auth_time.and_then(|at| OffsetDateTime::from_unix_timestamp(at).ok()),
    })
}

fn check_parties_and_age(claims: &Value, expected: &Expected<'_>) -> Result<(), IdTokenError> {
    if claims["iss"].as_str() != Some(expected.issuer) {
        return Err(IdTokenError::Issuer);
    }
    if !is_for(claims, expected.client_id) {
        return Err(IdTokenError::Audience);
    }
    let now = expected.now.unix_timestamp();
    let expires = claims["exp"].as_i64().ok_or(IdTokenError::Expired)?;
    let issued = claims["iat"].as_i64().ok_or(IdTokenError::Expired)?;
    if expires.saturating_add(AHEAD_SECONDS) <= now || issued.saturating_add(OLDEST_SECONDS) < now {
        return Err(IdTokenError::Expired);
    }
    if issued > now.saturating_add(AHEAD_SECONDS) {
        return Err(IdTokenError::Early);
    }
    Ok(())
}

/// An id in a claim, in the form in which it is stored and compared.
fn id(claims: &Value, name: &str) -> Option<String> {
    let text = claims[name].as_str().filter(|text| {
        !text.is_empty() && text.len() <= LONGEST_SUBJECT && text.bytes().all(|byte| byte.is_ascii_graphic())
    });
    text.map(str::to_owned)
}

/// One audience, ours. A token for several clients could have been obtained by another of them, so it is refused even
/// where `azp` names us (§3.1.3.7, 3 to 5: "or if it contains additional audiences not trusted by the Client").
fn is_for(claims: &Value, client_id: &str) -> bool {
    let ours = match &claims["aud"] {
        Value::String(audience) => audience == client_id,
        Value::Array(audiences) => audiences.len() == 1 && audiences[0] == client_id,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    let party = match &claims["azp"] {
        Value::Null => true,
        party => party == client_id,
    };
    ours && party
}

mod logout;
#[cfg(test)]
mod tests;
mod userinfo;
