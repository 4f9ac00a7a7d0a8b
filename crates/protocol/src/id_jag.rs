//! Identity assertion authorization grants, ID-JAG (draft-ietf-oauth-identity-assertion-authz-grant): one type for issuing
//! and for reading. One server asserts to another who a person is and what a client there may do for them.

use serde::Serialize;
use serde_json::Value;

use crate::{access_token::Confirmation, jose::VerifiedJws, scope::Scope};

/// The `typ` of their header.
pub const TYPE: &str = "oauth-id-jag+jwt";
/// As a token exchange names them (RFC 8693 §3).
pub const TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:id-jag";
/// As metadata name the profile of the JWT bearer grant.
pub const GRANT_PROFILE: &str = "urn:ietf:params:oauth:grant-profile:id-jag";
/// The life of those that we issue.
pub const ISSUED_SECONDS: i64 = 300;
/// The longest remaining life of those that we accept.
pub const LONGEST_SECONDS: i64 = 600;
/// How far another server's clock may be ahead.
const AHEAD_SECONDS: i64 = 10;
/// The longest `sub`, `jti` or `tenant`: OpenID Connect Core §2 allows a `sub` of 255 characters.
pub const LONGEST_TEXT: usize = 255;

/// Members without a value are absent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IdJag {
    #[serde(rename = "iss")]
    pub issuer: String,
    #[serde(rename = "sub")]
    pub subject: String,
    #[serde(rename = "aud")]
    pub audience: String,
    /// The client's id at the audience.
    pub client_id: String,
    #[serde(rename = "jti")]
    pub id: String,
    #[serde(rename = "exp")]
    pub expires: i64,
    #[serde(rename = "iat")]
    pub issued: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acr: Option<String>,
    /// The tenant of the issuer in which `subject` is unique.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The tenant of the audience.
    #[serde(rename = "aud_tenant", skip_serializing_if = "Option::is_none")]
    pub audience_tenant: Option<String>,
    #[serde(rename = "cnf", skip_serializing_if = "Confirmation::is_none")]
    pub confirmation: Confirmation,
}

/// What the reader knows beforehand.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    pub issuer: &'a str,
    pub audience: &'a str,
    pub client_id: &'a str,
    pub now: i64,
}

/// Why an assertion is not accepted; in words for the client that presented it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    #[error("the assertion's typ is not {TYPE}")]
    Type,
    #[error("the assertion is of another issuer")]
    Issuer,
    #[error("the assertion's aud is not this server, and this server alone")]
    Audience,
    #[error("the assertion's client_id is not the client that presents it")]
    Client,
    #[error("the assertion has expired, or is not valid yet")]
    Time,
    #[error("the assertion is valid for more than {LONGEST_SECONDS} seconds")]
    TooLong,
    #[error("the assertion names more than one resource")]
    Resources,
    #[error("the assertion carries authorization_details or act, which are not accepted here")]
    Unsupported,
    #[error("a claim of the assertion is missing or malformed")]
    Malformed,
}

impl IdJag {
    /// Reads an assertion whose signature was verified.
    ///
    /// # Errors
    /// When a claim is not as it must be.
    pub fn read(verified: &VerifiedJws, expected: Expected<'_>) -> Result<Self, Wrong> {
        let claims = &verified.payload;
        let typ = verified.header["typ"].as_str().unwrap_or_default();
        if !typ.eq_ignore_ascii_case(TYPE) {
            return Err(Wrong::Type);
        }
        if claims["iss"] != expected.issuer {
            return Err(Wrong::Issuer);
        }
        if only(&claims["aud"]) != Some(expected.audience) {
            return Err(Wrong::Audience);
        }
        if claims["client_id"] != expected.client_id {
            return Err(Wrong::Client);
        }
        // Dropping either would hide who acts, or widen what was asserted.
        if !claims["act"].is_null() || !claims["authorization_details"].is_null() {
            return Err(Wrong::Unsupported);
        }
        let (expires, issued) = times(claims, expected.now)?;
        let required = |name| text(claims, name)?.ok_or(Wrong::Malformed);
        let resource = match &claims["resource"] {
            Value::Null => None,
            value => Some(only(value).ok_or(Wrong::Resources)?.to_owned()),
        };
        let scope = match &claims["scope"] {
            Value::Null => None,
            value => Some(value.as_str().and_then(|text| text.parse().ok()).ok_or(Wrong::Malformed)?),
        };
        Ok(Self {
            issuer: expected.issuer.to_owned(),
            subject: required("sub")?,
            audience: expected.audience.to_owned(),
            client_id: expected.client_id.to_owned(),
            id: required("jti")?,
            expires,
            issued,
            resource,
            scope,
            auth_time: claims["auth_time"].as_i64(),
            acr: claims["acr"].as_str().map(str::to_owned),
            tenant: text(claims, "tenant")?,
            audience_tenant: text(claims, "aud_tenant")?,
            confirmation: Confirmation::read(&claims["cnf"]).ok_or(Wrong::Malformed)?,
        })
    }
}

/// A string, or the one member of an array. An array of two could also name another server.
fn only(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(members) if members.len() == 1 => members.first()?.as_str(),
        _ => None,
    }
}

fn text(claims: &Value, name: &str) -> Result<Option<String>, Wrong> {
    match &claims[name] {
        Value::Null => Ok(None),
        Value::String(text) if !text.is_empty() && text.len() <= LONGEST_TEXT => Ok(Some(text.clone())),
        _ => Err(Wrong::Malformed),
    }
}

/// `exp` and `iat`, both required.
fn times(claims: &Value, now: i64) -> Result<(i64, i64), Wrong> {
    let (Some(expires), Some(issued)) = (claims["exp"].as_i64(), claims["iat"].as_i64()) else {
        return Err(Wrong::Malformed);
    };
    let not_before = match &claims["nbf"] {
        Value::Null => issued,
        value => value.as_i64().ok_or(Wrong::Malformed)?,
    };
    if expires <= now || issued.max(not_before) > now + AHEAD_SECONDS {
        return Err(Wrong::Time);
    }
    if expires > now + LONGEST_SECONDS {
        return Err(Wrong::TooLong);
    }
    Ok((expires, issued))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::jose::Algorithm;

    const EXPECTED: Expected<'_> = Expected {
        issuer: "https://idp.example",
        audience: "https://as.example",
        client_id: "c",
        now: 1_000,
    };

    fn good() -> Value {
        json!({"iss": "https://idp.example", "sub": "s", "aud": "https://as.example", "client_id": "c", "jti": "j",
               "exp": 1_300, "iat": 1_000, "scope": "a b", "resource": "https://api.example", "tenant": "t"})
    }

    fn read(change: &Value) -> Result<IdJag, Wrong> {
        let mut payload = good();
        for (name, value) in change.as_object().unwrap() {
            payload[name] = value.clone();
        }
        let verified = VerifiedJws { header: json!({"typ": TYPE}), payload, algorithm: Algorithm::Es256 };
        IdJag::read(&verified, EXPECTED)
    }

    #[test]
    fn what_is_written_is_read() {
        let whole = read(&json!({})).unwrap();
        assert_eq!(serde_json::to_value(&whole).unwrap(), good());
        assert_eq!(read(&json!({"aud": ["https://as.example"]})), Ok(whole));
    }

    #[test]
    fn each_claim_that_is_wrong_has_its_reason() {
        for (change, wrong) in [
            (json!({"iss": "https://other.example"}), Wrong::Issuer),
            (json!({"aud": "https://as.example/"}), Wrong::Audience),
            (json!({"aud": ["https://as.example", "https://other.example"]}), Wrong::Audience),
            (json!({"aud": []}), Wrong::Audience),
            (json!({"client_id": "d"}), Wrong::Client),
            (json!({"client_id": null}), Wrong::Client),
            (json!({"exp": 1_000}), Wrong::Time),
            (json!({"exp": null}), Wrong::Malformed),
            (json!({"iat": null}), Wrong::Malformed),
            (json!({"exp": 1_601}), Wrong::TooLong),
            (json!({"iat": 1_011}), Wrong::Time),
            (json!({"nbf": 1_011}), Wrong::Time),
            (json!({"jti": ""}), Wrong::Malformed),
            (json!({"sub": 7}), Wrong::Malformed),
            (json!({"sub": "s".repeat(256)}), Wrong::Malformed),
            (json!({"scope": "a\tb"}), Wrong::Malformed),
            (json!({"resource": ["https://a.example", "https://b.example"]}), Wrong::Resources),
            (json!({"act": {"sub": "x"}}), Wrong::Unsupported),
            (json!({"authorization_details": []}), Wrong::Unsupported),
            (json!({"cnf": {"jkt": "short"}}), Wrong::Malformed),
        ] {
            assert_eq!(read(&change), Err(wrong), "{change}");
        }
    }

    #[test]
    fn other_tokens_of_the_issuer_are_not_assertions() {
        for typ in [json!("JWT"), json!("at+jwt"), json!(null)] {
            let verified =
                VerifiedJws { header: json!({"typ": typ}), payload: good(), algorithm: Algorithm::Es256 };
            assert_eq!(IdJag::read(&verified, EXPECTED), Err(Wrong::Type));
        }
    }
}
