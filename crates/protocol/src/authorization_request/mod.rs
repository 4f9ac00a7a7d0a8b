//! The authorization request (OAuth 2.1 §4.1.1, OpenID Connect Core §3.1.2.1), read in two phases, as RFC 6749
//! §4.1.2.1 demands:
//!
//! 1. [`RawRequest::addressee`]: the client and the redirect URI. An error here is shown to the person and never
//!    redirected: [`Undeliverable`].
//! 2. [`RawRequest::check`]: all other parameters. An error here may be sent to the client: [`Refused`].
//!
//! In between, [`RawRequest::source`] finds a request that was pushed (RFC 9126) or is in a request object (RFC
//! 9101). A [`RawRequest`] can be stored; it is checked again when it is used.

mod check;
mod claims;
mod object;
mod raw;
mod response;
mod returning;

pub use check::{Prompt, ResponseType};
pub use claims::{ClaimRequest, ClaimsRequest};
pub use raw::{Addressee, MAX_REQUEST, RawRequest, Source};
pub use response::{AuthorizationResponse, ResponseMode, redirect_response};

use serde_json::Value;

use crate::{error::ErrorCode, pkce::CodeChallenge, scope::Scope};

/// Why no response can be sent to a redirect URI. `invalid_request`, on a page of this service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Undeliverable {
    #[error("client_id is missing")]
    ClientIdMissing,
    #[error("client_id is malformed")]
    ClientId,
    #[error("redirect_uri is missing, and the client has not registered exactly one")]
    RedirectUriMissing,
    #[error("redirect_uri is not registered for this client")]
    RedirectUri,
}

/// Why the request is refused, for the client. The description never repeats input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{description}")]
pub struct Refused {
    pub code: ErrorCode,
    pub description: String,
}

impl Refused {
    fn new(code: ErrorCode, description: impl Into<String>) -> Self {
        Self { code, description: description.into() }
    }

    fn invalid(description: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidRequest, description)
    }
}

/// A well-formed request. The service decides whether it is allowed.
#[derive(Clone, PartialEq)]
pub struct AuthorizationRequest {
    pub client_id: String,
    pub redirect_uri: Option<String>,
    pub response_type: ResponseType,
    pub response_mode: Option<ResponseMode>,
    /// May be empty. Without `openid` the request is plain OAuth.
    pub scope: Scope,
    pub state: Option<String>,
    pub nonce: Option<String>,
    pub code_challenge: CodeChallenge,
    pub prompt: Vec<Prompt>,
    pub max_age: Option<u64>,
    pub acr_values: Vec<String>,
    pub claims: Option<ClaimsRequest>,
    /// Hints, in order of preference; values that are not language tags are dropped.
    pub ui_locales: Vec<String>,
    pub login_hint: Option<String>,
    pub id_token_hint: Option<String>,
    /// RFC 8707 §2; only one, since a token has one audience.
    pub resource: Option<String>,
    /// RFC 9396 §2: an array of objects, each with a `type`.
    pub authorization_details: Option<Value>,
    pub organization: Option<String>,
    /// RFC 9449 §10.
    pub dpop_jkt: Option<String>,
}

impl AuthorizationRequest {
    #[must_use]
    pub fn is_openid(&self) -> bool {
        self.scope.contains("openid")
    }

    #[must_use]
    pub fn prompts(&self, prompt: Prompt) -> bool {
        self.prompt.contains(&prompt)
    }
}

/// Hints and state are personal data, so `Debug` hides them.
impl std::fmt::Debug for AuthorizationRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthorizationRequest")
            .field("client_id", &self.client_id)
            .field("redirect_uri", &self.redirect_uri)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
