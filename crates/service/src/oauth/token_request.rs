//! A token request (OAuth 2.1 §3.2) between the endpoint and the grant types: their input and their result.

use std::{pin::Pin, sync::Arc};

use porteiro_protocol::{form::Parameters, id::OrganizationId};
use serde::Serialize;
use serde_json::Value;

use super::{binding::Binding, clients::Client};
use crate::{
    App,
    http::{OAuthError, RequestContext},
};

/// A token request of an authenticated client.
#[derive(Debug, Clone, Copy)]
pub struct TokenRequest<'a> {
    pub app: &'a Arc<App>,
    pub context: &'a RequestContext,
    pub client: &'a Client,
    pub form: &'a Parameters,
    pub binding: Binding,
}

/// RFC 6749 §5.1. Members without a value are absent.
#[derive(Serialize)]
pub struct TokenResponse {
    pub access_token: String,
    /// What kind of token was issued; of an exchange only (RFC 8693 §2.2.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issued_token_type: Option<&'static str>,
    pub token_type: &'static str,
    pub expires_in: i64,
    pub scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<String>,
    /// The organization of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<OrganizationId>,
    /// The granted details (RFC 9396 §7).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authorization_details: Vec<Value>,
}

impl std::fmt::Debug for TokenResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<tokens>")
    }
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<TokenResponse, OAuthError>> + Send + 'a>>;

/// The code that serves a grant type; listed in `registers.rs`.
pub struct Grant {
    /// As in [`GRANT_TYPES`](super::grant_types::GRANT_TYPES).
    pub name: &'static str,
    pub run: for<'a> fn(TokenRequest<'a>) -> Answer<'a>,
}

impl std::fmt::Debug for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
