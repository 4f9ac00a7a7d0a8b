//! APIs (resource servers): their scopes, the clients that may request them, and the lifetime and signature of their
//! access tokens.

mod console;
mod known;
mod reserved;
mod store;

use porteiro_protocol::{
    authorization_details::DetailType,
    jose::Algorithm,
    metadata::{check_resource_url, is_same_resource},
};
use serde::{Deserialize, Serialize};

pub use console::{register_at_console, remove_at_console};
pub use known::{Apis, named};
pub use reserved::unfit;
pub use store::{all, list, list_dated, lock, register, register_in, remove, remove_in};

/// The longest lifetime of an access token. It bounds how long an API that verifies tokens offline accepts a revoked
/// one.
pub const LONGEST_TOKEN_SECONDS: i32 = 600;
const MOST_RESOURCES: usize = 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Api {
    /// The value of `aud` and of the `resource` parameter (RFC 8707): an absolute URI without fragment.
    pub identifier: String,
    pub name: String,
    /// URLs at which it is reached: each names it in `resource` as well, and has a metadata document here (RFC 9728).
    #[serde(default)]
    pub resources: Vec<String>,
    pub scopes: Vec<ApiScope>,
    /// Types of authorization details that it supports (RFC 9396).
    #[serde(default)]
    pub details: Vec<DetailType>,
    /// Clients that belong to the API: they may introspect its tokens (RFC 7662).
    #[serde(default)]
    pub introspected_by: Vec<String>,
    /// Whether its scopes are permissions, which members hold through roles in an organization.
    #[serde(default)]
    pub organizational: bool,
    /// From which other APIs' tokens a token for this one can be had by exchange (RFC 8693).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<Exchange>,
    #[serde(default = "default_seconds")]
    pub token_seconds: i32,
    #[serde(default = "default_algorithm")]
    pub algorithm: Algorithm,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiScope {
    pub name: String,
    /// Whether an unverified client may request it.
    #[serde(default)]
    pub open_to_unverified: bool,
    pub description: Description,
}

/// Tokens of another API that can be exchanged for tokens of this one, and what their scopes are worth here.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The identifier of the other API.
    pub from: String,
    pub scopes: Vec<ExchangedScope>,
}

/// A scope of this API, and scopes of the other API of which any one is enough for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangedScope {
    pub name: String,
    pub from: Vec<String>,
}

/// What a person reads at consent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    pub en: String,
    pub pt: String,
}

const fn default_seconds() -> i32 {
    300
}

const fn default_algorithm() -> Algorithm {
    Algorithm::Es256
}

impl Api {
    /// Whether the API may be registered at this issuer.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub fn check(&self, issuer: &str) -> Result<(), String> {
        if let Some(why) = self.reserved(issuer) {
            return Err(why);
        }
        let url =
            url::Url::parse(&self.identifier).map_err(|_| "identifier is not an absolute URI".to_owned())?;
        if url.fragment().is_some() {
            return Err("identifier must not have a fragment (RFC 8707 §2)".into());
        }
        if self.resources.len() > MOST_RESOURCES {
            return Err(format!("resources must have at most {MOST_RESOURCES} items"));
        }
        for resource in &self.resources {
            check_resource_url(resource).map_err(|error| format!("resources: {error}"))?;
        }
        if !(30..=LONGEST_TOKEN_SECONDS).contains(&self.token_seconds) {
            return Err(format!("token_seconds must be between 30 and {LONGEST_TOKEN_SECONDS}"));
        }
        for detail in &self.details {
            detail.check().map_err(|error| format!("{}: {error}", detail.name))?;
        }
        for (place, exchange) in self.exchanges.iter().enumerate() {
            if self.exchanges[..place].iter().any(|earlier| earlier.from == exchange.from) {
                return Err(format!(
                    "exchanges names '{}' twice; list all scopes in one item",
                    exchange.from
                ));
            }
            if exchange.from == self.identifier || exchange.from == issuer {
                return Err("exchanges must name another API".into());
            }
            if let Some(unknown) = exchange.scopes.iter().find(|scope| self.scope(&scope.name).is_none()) {
                return Err(format!("exchanges names '{}', which is not a scope of this API", unknown.name));
            }
        }
        for scope in &self.scopes {
            let parsed = scope.name.parse::<porteiro_protocol::scope::Scope>();
            if parsed.map_or(true, |parsed| parsed.iter().count() != 1) {
                return Err(format!("'{}' is not a scope", scope.name));
            }
            if self.organizational && porteiro_protocol::permission::Permission::parse(&scope.name).is_err() {
                return Err(format!(
                    "'{}' is not a permission (resource:action), which every scope of an organizational API must be",
                    scope.name
                ));
            }
            if super::scopes::is_standard(&scope.name) {
                return Err(format!("'{}' is a standard scope and belongs to no API", scope.name));
            }
        }
        Ok(())
    }

    /// Whether a `resource` parameter names it (docs/decisions/0092).
    pub fn is_named_by(&self, resource: &str) -> bool {
        is_same_resource(&self.identifier, resource)
            || self.resources.iter().any(|own| is_same_resource(own, resource))
    }

    pub fn scope(&self, name: &str) -> Option<&ApiScope> {
        self.scopes.iter().find(|scope| scope.name == name)
    }
}
