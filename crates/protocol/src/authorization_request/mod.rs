//! The authorization request (OAuth 2.1 §4.1.1, OpenID Connect Core §3.1.2.1), read in two phases, as
//! RFC 6749 §4.1.2.1 demands:
//!
//! 1. [`RawRequest::addressee`]: who asks, and where an answer may go. What fails here is shown to the person
//!    and never redirected: [`Undeliverable`].
//! 2. [`RawRequest::check`]: everything else. What fails here may be told to the client: [`Refused`].
//!
//! In between, [`RawRequest::source`] says whether the request is really elsewhere: pushed (RFC 9126) or in a
//! request object (RFC 9101). A [`RawRequest`] can be stored; it is checked again when it is used.

mod check;
mod claims;
mod object;
mod raw;
mod response;

pub use check::{Prompt, ResponseType};
pub use claims::{ClaimRequest, ClaimsRequest};
pub use raw::{Addressee, MAX_REQUEST, RawRequest, Source};
pub use response::{AuthorizationResponse, ResponseMode, redirect_response};

use serde_json::Value;

use crate::{error::ErrorCode, pkce::CodeChallenge, scope::Scope};

/// Why there is nowhere to send an answer. `invalid_request`, on a page of our own.
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

/// Why the request is refused, for the client. The description never repeats what was sent.
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

/// A request that is well-formed. Whether it is allowed is for the service to decide.
#[derive(Clone, PartialEq)]
pub struct AuthorizationRequest {
    pub client_id: String,
    pub redirect_uri: Option<String>,
    pub response_type: ResponseType,
    pub response_mode: Option<ResponseMode>,
    /// May be empty, and may lack `openid`: then it is plain OAuth.
    pub scope: Scope,
    pub state: Option<String>,
    pub nonce: Option<String>,
    pub code_challenge: CodeChallenge,
    pub prompt: Vec<Prompt>,
    pub max_age: Option<u64>,
    pub acr_values: Vec<String>,
    pub claims: Option<ClaimsRequest>,
    /// Hints, in order of preference; what is not a language tag is left out.
    pub ui_locales: Vec<String>,
    pub login_hint: Option<String>,
    pub id_token_hint: Option<String>,
    /// RFC 8707 §2; one, since a token names one audience.
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

/// Hints and state are about people: they do not print.
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
