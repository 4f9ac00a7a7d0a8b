//! Client metadata: RFC 7591 §2 and §3.1, RFC 7592 §2.2, OpenID Connect Registration §2, and what RFC 8705,
//! RFC 9101, RFC 9126, RFC 9396, RFC 9449, JARM, CIBA and the logout specifications add. `kind` is Porteiro's own. A
//! client registers its metadata or publishes them (`document`).
//!
//! 1. Each member is read by the reader that the table below names: `read`, `keys`, `name`.
//! 2. Rules between members are checked in `consistency`.
//!
//! Unknown members are ignored and `null` means absent; any other invalid member is refused, never dropped. Errors do
//! not repeat the input.

mod client_id_url;
mod consistency;
mod document;
mod keys;
mod name;
mod patch;
mod read;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

pub use client_id_url::{ClientIdUrl, ClientIdUrlError, MAX_CLIENT_ID_URL};

use crate::{error::ErrorCode, jose::Algorithm, redirect_uri::RedirectUri, scope::Scope};

/// What this server supports, from the service's registers.
#[derive(Debug, Clone, Copy)]
pub struct Allowed<'a> {
    pub auth_methods: &'a [&'a str],
    pub grant_types: &'a [&'a str],
    /// For a client that names none. RFC 7591 §2 says `authorization_code`; §3.2.1 allows other defaults.
    pub default_grant_types: &'a [&'a str],
    pub response_types: &'a [&'a str],
    pub signing_algs: &'a [&'a str],
}

/// RFC 7591 §3.2.2. The detail names members and rules, and is suitable for `error_description`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct MetadataError {
    /// `InvalidRedirectUri` or `InvalidClientMetadata`.
    pub code: ErrorCode,
    pub detail: String,
}

/// OpenID Connect Registration §2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApplicationType {
    Web,
    Native,
}

/// What a client is. It says so itself, or an administrator does; nothing is granted for it (docs/decisions/0090).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientKind {
    #[default]
    Application,
    Service,
    Agent,
}

/// How a client learns that a person decided (CIBA Core §4). Push is not among them (decision record 0094).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryMode {
    Poll,
    Ping,
}

/// One member as received, with what its reader needs.
#[derive(Clone, Copy)]
struct Member<'a> {
    name: &'static str,
    value: Option<&'a Value>,
    allowed: &'a Allowed<'a>,
}

macro_rules! members {
    ($($name:ident: $type:ty = $reader:path;)+) => {
        /// The metadata of a client. A member without a value is absent, never null: both mean the same (RFC 7592
        /// §2.2).
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct ClientMetadata {
            $(#[serde(skip_serializing_if = "is_absent")] pub $name: $type),+
        }

        impl ClientMetadata {
            /// The names of all members.
            const MEMBERS: &'static [&'static str] = &[$(stringify!($name)),+];

            fn read(object: &Map<String, Value>, allowed: &Allowed<'_>) -> Result<Self, MetadataError> {
                Ok(Self {
                    $($name: $reader(Member {
                        name: stringify!($name),
                        value: object.get(stringify!($name)).filter(|value| !value.is_null()),
                        allowed,
                    })?),+
                })
            }
        }
    };
}

members! {
    redirect_uris: Vec<RedirectUri> = read::redirect_uris;
    client_name: Option<String> = name::display_name;
    token_endpoint_auth_method: String = read::auth_method;
    grant_types: Vec<String> = read::grant_types;
    response_types: Vec<String> = read::response_types;
    scope: Option<Scope> = read::scope;
    contacts: Vec<String> = read::texts;
    client_uri: Option<String> = read::page;
    logo_uri: Option<String> = read::page;
    policy_uri: Option<String> = read::page;
    tos_uri: Option<String> = read::page;
    jwks: Option<Value> = keys::jwks;
    jwks_uri: Option<String> = read::endpoint;
    software_id: Option<String> = read::text;
    software_version: Option<String> = read::text;
    application_type: Option<ApplicationType> = read::application_type;
    subject_type: Option<String> = read::subject_type;
    id_token_signed_response_alg: Option<Algorithm> = read::algorithm;
    userinfo_signed_response_alg: Option<Algorithm> = read::algorithm;
    request_object_signing_alg: Option<Algorithm> = read::algorithm;
    token_endpoint_auth_signing_alg: Option<Algorithm> = read::algorithm;
    authorization_signed_response_alg: Option<Algorithm> = read::algorithm;
    default_max_age: Option<u64> = read::seconds;
    require_auth_time: Option<bool> = read::flag;
    default_acr_values: Vec<String> = read::texts;
    initiate_login_uri: Option<String> = read::endpoint;
    request_uris: Vec<String> = read::pages;
    post_logout_redirect_uris: Vec<RedirectUri> = read::post_logout_redirect_uris;
    backchannel_logout_uri: Option<String> = read::endpoint;
    backchannel_logout_session_required: Option<bool> = read::flag;
    require_pushed_authorization_requests: Option<bool> = read::flag;
    require_signed_request_object: Option<bool> = read::flag;
    tls_client_auth_subject_dn: Option<String> = read::text;
    tls_client_auth_san_dns: Option<String> = read::text;
    tls_client_auth_san_uri: Option<String> = read::text;
    tls_client_auth_san_ip: Option<String> = read::text;
    tls_client_auth_san_email: Option<String> = read::text;
    tls_client_certificate_bound_access_tokens: Option<bool> = read::flag;
    dpop_bound_access_tokens: Option<bool> = read::flag;
    authorization_details_types: Vec<String> = read::texts;
    backchannel_token_delivery_mode: Option<DeliveryMode> = read::delivery_mode;
    backchannel_client_notification_endpoint: Option<String> = read::endpoint;
    backchannel_authentication_request_signing_alg: Option<Algorithm> = read::algorithm;
    kind: ClientKind = read::kind;
}

/// RFC 7592 §2.2: the complete new registration.
pub struct Update {
    pub metadata: ClientMetadata,
    /// The service compares it; a client cannot choose its secret.
    pub client_secret: Option<Zeroizing<String>>,
}

/// RFC 7592 §2.2: an update request must not include them.
const NOT_IN_AN_UPDATE: [&str; 4] = [
    "registration_access_token",
    "registration_client_uri",
    "client_secret_expires_at",
    "client_id_issued_at",
];

impl ClientMetadata {
    /// Parses a registration request (RFC 7591 §3.1) and fills in the defaults of §2.
    ///
    /// # Errors
    /// When a member is malformed, names what this server does not support, or contradicts another one.
    pub fn parse(value: &Value, allowed: &Allowed<'_>) -> Result<Self, MetadataError> {
        let mut metadata = Self::read(object(value)?, allowed)?;
        consistency::settle(&mut metadata)?;
        Ok(metadata)
    }

    /// Parses an update request (RFC 7592 §2.2) of this client. It replaces all members, so every rule applies again.
    ///
    /// # Errors
    /// As [`Self::parse`], and when the request is for another client or contains members that only the server sets.
    pub fn parse_update(
        value: &Value,
        client_id: &str,
        allowed: &Allowed<'_>,
    ) -> Result<Update, MetadataError> {
        let object = object(value)?;
        let present = |name: &str| object.get(name).filter(|value| !value.is_null());
        if present("client_id").and_then(Value::as_str) != Some(client_id) {
            return Err(invalid("client_id must be the client_id of this registration"));
        }
        if let Some(name) = NOT_IN_AN_UPDATE.iter().find(|name| present(name).is_some()) {
            return Err(invalid(format!("{name} must not be part of an update")));
        }
        let client_secret = match present("client_secret") {
            None => None,
            Some(Value::String(secret)) => Some(Zeroizing::new(secret.clone())),
            Some(_) => return Err(invalid("client_secret must be a string")),
        };
        Ok(Update { metadata: Self::parse(value, allowed)?, client_secret })
    }

    #[must_use]
    pub fn has_grant(&self, grant_type: &str) -> bool {
        self.grant_types.iter().any(|known| known == grant_type)
    }

    /// OAuth 2.1 §2.1: a client without credentials.
    #[must_use]
    pub fn is_public(&self) -> bool {
        self.token_endpoint_auth_method == "none"
    }
}

impl std::fmt::Debug for Update {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Update").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

fn object(value: &Value) -> Result<&Map<String, Value>, MetadataError> {
    value.as_object().ok_or_else(|| invalid("client metadata must be a JSON object"))
}

fn invalid(detail: impl Into<String>) -> MetadataError {
    MetadataError { code: ErrorCode::InvalidClientMetadata, detail: detail.into() }
}

fn is_absent<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests;
