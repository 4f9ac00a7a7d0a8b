//! The claims of an access token (RFC 9068 §2.2): one type for issuing and for verifying.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use crate::{
    actor::ActorChain,
    assurance::Level,
    id::{GrantId, OrganizationId},
    jose::VerifiedJws,
    scope::Scope,
};

/// The `typ` of their header (RFC 9068 §2.1).
pub const TYPE: &str = "at+jwt";

/// Members without a value are absent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claims {
    #[serde(rename = "iss")]
    pub issuer: String,
    #[serde(rename = "sub")]
    pub subject: String,
    #[serde(rename = "aud")]
    pub audience: String,
    #[serde(rename = "exp")]
    pub expires: i64,
    #[serde(rename = "iat")]
    pub issued: i64,
    #[serde(rename = "jti")]
    pub id: String,
    pub client_id: String,
    pub scope: Scope,
    /// The grant the token belongs to: the token is valid at our own APIs and at introspection only while the grant
    /// is.
    #[serde(rename = "grant_id", skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantId>,
    /// The organization the token is for, and the subject's role there.
    #[serde(rename = "org", skip_serializing_if = "Option::is_none")]
    pub organization: Option<OrganizationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The actor (RFC 8693 §4.1).
    #[serde(rename = "act", serialize_with = "act", skip_serializing_if = "Option::is_none")]
    pub actor: Option<ActorChain>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_time: Option<i64>,
    #[serde(rename = "acr", serialize_with = "acr", skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    #[serde(rename = "cnf", skip_serializing_if = "Confirmation::is_none")]
    pub confirmation: Confirmation,
    #[serde(rename = "authorization_details", skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Value>,
}

/// What the token is bound to (RFC 7800 §3.1): a key (RFC 9449 §6) or a certificate (RFC 8705 §3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Confirmation {
    /// Thumbprint of the key.
    pub key: Option<[u8; 32]>,
    /// SHA-256 of the certificate.
    pub certificate: Option<[u8; 32]>,
}

impl Confirmation {
    /// Whether the token is a bearer token: bound to neither.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.key.is_none() && self.certificate.is_none()
    }

    pub(crate) fn read(claim: &Value) -> Option<Self> {
        let thumbprint = |name: &str| match &claim[name] {
            Value::Null => Some(None),
            value => URL_SAFE_NO_PAD.decode(value.as_str()?).ok()?.try_into().ok().map(Some),
        };
        Some(Self { key: thumbprint("jkt")?, certificate: thumbprint("x5t#S256")? })
    }
}

impl Serialize for Confirmation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        for (name, hash) in [("x5t#S256", &self.certificate), ("jkt", &self.key)] {
            if let Some(hash) = hash {
                members.serialize_entry(name, &URL_SAFE_NO_PAD.encode(hash))?;
            }
        }
        members.end()
    }
}

#[expect(clippy::ref_option, reason = "serde asks for it")]
fn act<S: Serializer>(actor: &Option<ActorChain>, serializer: S) -> Result<S::Ok, S::Error> {
    actor.as_ref().map(ActorChain::claim).serialize(serializer)
}

#[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn acr<S: Serializer>(level: &Option<Level>, serializer: S) -> Result<S::Ok, S::Error> {
    level.map(Level::acr).serialize(serializer)
}

impl Claims {
    /// The level that the person reached; [`Level::None`] where the subject is not a person.
    #[must_use]
    pub fn proved_level(&self) -> Level {
        self.level.unwrap_or(Level::None)
    }

    /// The platform administrator who impersonates the subject.
    #[must_use]
    pub fn impersonator(&self) -> Option<&str> {
        self.actor.as_ref().and_then(ActorChain::impersonator)
    }

    /// Accepts an access token of this issuer that is complete, not expired and has no unreadable claim (RFC 9068
    /// §4). Other tokens of the issuer (ID tokens, logout tokens, metadata) fail at the type.
    #[must_use]
    pub fn read(verified: &VerifiedJws, issuer: &str, now: i64) -> Option<Self> {
        if !verified.header["typ"].as_str()?.eq_ignore_ascii_case(TYPE) {
            return None;
        }
        let claims = &verified.payload;
        let text = |name: &str| claims[name].as_str().map(str::to_owned);
        if claims["iss"] != issuer {
            return None;
        }
        let (expires, issued) = (claims["exp"].as_i64()?, claims["iat"].as_i64()?);
        // The clocks of our nodes differ by less than this.
        if expires <= now || issued > now + 10 {
            return None;
        }
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
            value => Some(ActorChain::read(value)?),
        };
        Some(Self {
            issuer: issuer.to_owned(),
            subject: text("sub")?,
            audience: text("aud")?,
            expires,
            issued,
            id: text("jti")?,
            client_id: text("client_id")?,
            scope: text("scope")?.parse().ok()?,
            grant,
            organization,
            role: text("role"),
            actor,
            auth_time: claims["auth_time"].as_i64(),
            level: claims["acr"].as_str().and_then(Level::parse_acr),
            confirmation: Confirmation::read(&claims["cnf"])?,
            details: claims["authorization_details"].as_array().cloned().unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{actor::ActorChain, jose::Algorithm};

    fn claims() -> Claims {
        Claims {
            issuer: "https://id.example".into(),
            subject: "s".into(),
            audience: "https://api.example".into(),
            expires: 400,
            issued: 100,
            id: "j".into(),
            client_id: "c".into(),
            scope: "b a".parse().unwrap(),
            grant: None,
            organization: None,
            role: None,
            actor: None,
            auth_time: None,
            level: None,
            confirmation: Confirmation::default(),
            details: Vec::new(),
        }
    }

    fn verified(claims: &Claims) -> VerifiedJws {
        let payload = serde_json::to_value(claims).unwrap();
        VerifiedJws { header: json!({"typ": TYPE}), payload, algorithm: Algorithm::Es256 }
    }

    #[test]
    fn members_have_one_order_and_are_absent_without_a_value() {
        let plain = r#"{"iss":"https://id.example","sub":"s","aud":"https://api.example","exp":400,"iat":100,"jti":"j","client_id":"c","scope":"b a"}"#;
        assert_eq!(serde_json::to_string(&claims()).unwrap(), plain);
        let full = Claims {
            grant: Some(uuid::Uuid::nil().into()),
            organization: Some(uuid::Uuid::nil().into()),
            role: Some("admin".into()),
            actor: Some(ActorChain::staff("x".into())),
            auth_time: Some(1),
            level: Some(Level::None),
            confirmation: Confirmation { key: Some([0; 32]), certificate: None },
            details: vec![json!({"type": "t"})],
            ..claims()
        };
        let nil = uuid::Uuid::nil();
        let bound = URL_SAFE_NO_PAD.encode([0; 32]);
        let acr = Level::None.acr();
        let more = format!(
            r#","grant_id":"{nil}","org":"{nil}","role":"admin","act":{{"sub":"x"}},"auth_time":1,"acr":"{acr}","cnf":{{"jkt":"{bound}"}},"authorization_details":[{{"type":"t"}}]}}"#
        );
        assert_eq!(serde_json::to_string(&full).unwrap(), plain.replace('}', &more));
        assert_eq!(Claims::read(&verified(&full), &full.issuer, 399), Some(full));
    }

    #[test]
    fn only_whole_tokens_of_this_issuer_and_time_are_read() {
        let good = verified(&claims());
        let read = |token: &VerifiedJws, issuer: &str, now| Claims::read(token, issuer, now).is_some();
        assert!(read(&good, "https://id.example", 100));
        assert!(!read(&good, "https://id.example/", 100));
        assert!(!read(&good, "https://id.example", 400), "expired");
        assert!(!read(&good, "https://id.example", 89), "from the future");
        for (member, value) in [
            ("jti", json!(null)),
            ("scope", json!("a\tb")),
            ("cnf", json!({"jkt": "short"})),
            ("org", json!("nowhere")),
            ("grant_id", json!(7)),
            ("act", json!({"sub": "x", "sub_profile": "robot"})),
        ] {
            let mut wrong = verified(&claims());
            wrong.payload[member] = value;
            assert!(!read(&wrong, "https://id.example", 100), "{member}");
        }
        let other = VerifiedJws { header: json!({"typ": "JWT"}), ..verified(&claims()) };
        assert!(!read(&other, "https://id.example", 100));
    }
}
