//! The authorization response (OAuth 2.1 §4.1.2, RFC 9207, OAuth 2.0 Form Post Response Mode, JARM §2.3).

use std::fmt;

use serde::{Deserialize, Serialize};
use url::form_urlencoded::byte_serialize;

/// Without `fragment`: a fragment is for scripts in the browser, and the code flow has no response for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResponseMode {
    #[serde(rename = "query")]
    Query,
    #[serde(rename = "form_post")]
    FormPost,
    #[serde(rename = "query.jwt")]
    QueryJwt,
    #[serde(rename = "form_post.jwt")]
    FormPostJwt,
    /// The default of the response type: for `code`, the query (JARM §2.3.4).
    #[serde(rename = "jwt")]
    Jwt,
}

impl ResponseMode {
    pub const ALL: &'static [Self] =
        &[Self::Query, Self::FormPost, Self::QueryJwt, Self::FormPostJwt, Self::Jwt];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::FormPost => "form_post",
            Self::QueryJwt => "query.jwt",
            Self::FormPostJwt => "form_post.jwt",
            Self::Jwt => "jwt",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.as_str() == text)
    }

    /// Whether the response is one signed `response` parameter (JARM §2.1).
    #[must_use]
    pub const fn is_signed(self) -> bool {
        match self {
            Self::Query | Self::FormPost => false,
            Self::QueryJwt | Self::FormPostJwt | Self::Jwt => true,
        }
    }

    const fn is_post(self) -> bool {
        match self {
            Self::Query | Self::QueryJwt | Self::Jwt => false,
            Self::FormPost | Self::FormPostJwt => true,
        }
    }
}

/// The instruction for the browser. It may contain a code, so `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub enum AuthorizationResponse {
    /// 303 to this address.
    Redirect { location: String },
    /// A page with a form that submits itself. The values are untrusted: escape them.
    FormPost { action: String, fields: Vec<(String, String)> },
}

/// `redirect_uri` was matched before; its query stays unchanged. `iss` is added to every plain response, also to
/// errors (RFC 9207 §2); in a signed one it is a claim, and `parameters` is just `response` (JARM §2.1).
#[must_use]
pub fn redirect_response(
    redirect_uri: &str,
    mode: ResponseMode,
    issuer: &str,
    parameters: &[(&str, &str)],
) -> AuthorizationResponse {
    let issuer = (!mode.is_signed()).then_some(("iss", issuer));
    let fields = parameters.iter().copied().chain(issuer);
    if mode.is_post() {
        return AuthorizationResponse::FormPost {
            action: redirect_uri.to_owned(),
            fields: fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        };
    }
    let mut location = redirect_uri.to_owned();
    for (name, value) in fields {
        if !location.contains('?') {
            location.push('?');
        } else if !location.ends_with(['?', '&']) {
            location.push('&');
        }
        push_encoded(&mut location, name);
        location.push('=');
        push_encoded(&mut location, value);
    }
    AuthorizationResponse::Redirect { location }
}

/// `%20` for a space: every form or URI decoder reads it, but not every one reads `+`.
fn push_encoded(location: &mut String, text: &str) {
    for piece in byte_serialize(text.as_bytes()) {
        location.push_str(if piece == "+" { "%20" } else { piece });
    }
}

impl fmt::Debug for AuthorizationResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redirect { .. } => "<redirect>",
            Self::FormPost { .. } => "<form post>",
        })
    }
}
