//! What an access token of ours must look like (RFC 9068 §4). Pure.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{assurance::Level, id::OrganizationId, jose::VerifiedJws, scope::Scope};
use serde_json::Value;

use super::GrantId;

#[derive(Debug)]
pub struct Claims {
    pub subject: String,
    pub audience: String,
    pub client_id: String,
    pub scope: Scope,
    pub grant: Option<GrantId>,
    /// The one organization it speaks for.
    pub organization: Option<OrganizationId>,
    /// Who really acts (RFC 8693 §4.1).
    pub actor: Option<String>,
    pub level: Level,
    pub auth_time: Option<i64>,
    pub key: Option<[u8; 32]>,
    pub certificate: Option<[u8; 32]>,
    pub expires: i64,
    pub issued: i64,
    pub raw: Value,
}

/// Typed as an access token, by us, complete, not expired, and nothing in it unreadable. Whatever else we sign (ID
/// tokens, logout tokens, metadata) fails at the type.
pub fn read(verified: &VerifiedJws, issuer: &str, now: i64) -> Option<Claims> {
    if !verified.header["typ"].as_str()?.eq_ignore_ascii_case("at+jwt") {
        return None;
    }
    let claims = &verified.payload;
    let text = |name: &str| claims[name].as_str().map(str::to_owned);
    if claims["iss"] != issuer {
        return None;
    }
    let (expires, issued) = (claims["exp"].as_i64()?, claims["iat"].as_i64()?);
    // Our own clocks differ by little; nothing of ours is from the future by more.
    if expires <= now || issued > now + 10 {
        return None;
    }
    let thumbprint = |name: &str| match &claims["cnf"][name] {
        Value::Null => Some(None),
        value => URL_SAFE_NO_PAD.decode(value.as_str()?).ok()?.try_into().ok().map(Some),
    };
    let grant = match &claims["grant_id"] {
        Value::Null => None,
        value => Some(value.as_str()?.parse().ok()?),
    };
    let organization = match &claims["org"] {
        Value::Null => None,
        value => Some(value.as_str()?.parse().ok()?),
    };
    let actor = match &claims["act"] {
        Value::Null => None,
        value => Some(value["sub"].as_str()?.to_owned()),
    };
    text("jti")?;
    Some(Claims {
        subject: text("sub")?,
        audience: text("aud")?,
        client_id: text("client_id")?,
        scope: text("scope")?.parse().ok()?,
        grant,
        organization,
        actor,
        level: claims["acr"].as_str().and_then(Level::parse_acr).unwrap_or(Level::None),
        auth_time: claims["auth_time"].as_i64(),
        key: thumbprint("jkt")?,
        certificate: thumbprint("x5t#S256")?,
        expires,
        issued,
        raw: claims.clone(),
    })
}
