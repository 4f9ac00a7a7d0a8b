//! The OAuth error registry: for each registered code, its status and where it may be sent.
//!
//! RFC 6749 §4.1.2.1 and §5.2, RFC 6750 §3.1, RFC 7009 §2.2.1, RFC 7591 §3.2.2, RFC 8628 §3.5, RFC 8707 §2,
//! RFC 9126 §2.3, RFC 9396 §5, RFC 9449 §§5 and 9, RFC 9470 §3, OpenID Connect Core §3.1.2.6, CIBA Core §13.

use serde::Serialize;

/// Where an error may be sent besides a plain response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Only in the body of the direct response.
    Body,
    /// Also to the client's redirect URI, once that URI is known to be registered.
    Redirect,
    /// In a `WWW-Authenticate` challenge of a protected resource (RFC 6750 §3).
    Challenge,
}

macro_rules! registry {
    ($($variant:ident = $code:literal, $status:literal, [$($place:ident),+];)+) => {
        /// A registered error code. No other value is sent in an `error` member.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $($variant),+ }

        impl ErrorCode {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code),+ }
            }

            /// The status of a direct (not redirected) response.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status),+ }
            }

            #[must_use]
            pub const fn placements(self) -> &'static [Placement] {
                match self { $(Self::$variant => &[$(Placement::$place),+]),+ }
            }
        }
    };
}

registry! {
    InvalidRequest = "invalid_request", 400, [Body, Redirect, Challenge];
    InvalidClient = "invalid_client", 401, [Body];
    InvalidGrant = "invalid_grant", 400, [Body];
    UnauthorizedClient = "unauthorized_client", 400, [Body, Redirect];
    UnsupportedGrantType = "unsupported_grant_type", 400, [Body];
    UnsupportedResponseType = "unsupported_response_type", 400, [Body, Redirect];
    InvalidScope = "invalid_scope", 400, [Body, Redirect];
    AccessDenied = "access_denied", 403, [Body, Redirect];
    ServerError = "server_error", 500, [Body, Redirect];
    TemporarilyUnavailable = "temporarily_unavailable", 503, [Body, Redirect];
    InvalidToken = "invalid_token", 401, [Body, Challenge];
    InsufficientScope = "insufficient_scope", 403, [Body, Challenge];
    InsufficientUserAuthentication = "insufficient_user_authentication", 401, [Body, Challenge];
    InvalidTarget = "invalid_target", 400, [Body, Redirect];
    InvalidAuthorizationDetails = "invalid_authorization_details", 400, [Body, Redirect];
    InvalidRequestUri = "invalid_request_uri", 400, [Body, Redirect];
    InvalidRequestObject = "invalid_request_object", 400, [Body, Redirect];
    RequestNotSupported = "request_not_supported", 400, [Body, Redirect];
    RequestUriNotSupported = "request_uri_not_supported", 400, [Body, Redirect];
    RegistrationNotSupported = "registration_not_supported", 400, [Body, Redirect];
    InteractionRequired = "interaction_required", 400, [Body, Redirect];
    LoginRequired = "login_required", 400, [Body, Redirect];
    AccountSelectionRequired = "account_selection_required", 400, [Body, Redirect];
    ConsentRequired = "consent_required", 400, [Body, Redirect];
    UnmetAuthenticationRequirements = "unmet_authentication_requirements", 400, [Body, Redirect];
    UnsupportedTokenType = "unsupported_token_type", 400, [Body];
    InvalidRedirectUri = "invalid_redirect_uri", 400, [Body];
    InvalidClientMetadata = "invalid_client_metadata", 400, [Body];
    InvalidDpopProof = "invalid_dpop_proof", 400, [Body, Challenge];
    UseDpopNonce = "use_dpop_nonce", 400, [Body, Challenge];
    AuthorizationPending = "authorization_pending", 400, [Body];
    SlowDown = "slow_down", 400, [Body];
    ExpiredToken = "expired_token", 400, [Body];
    UnknownUserId = "unknown_user_id", 400, [Body];
    InvalidBindingMessage = "invalid_binding_message", 400, [Body];
}

impl ErrorCode {
    /// Whether the client's redirect URI may receive it. Never for an error about the redirect URI or the client
    /// itself (RFC 6749 §4.1.2.1): that would be an open redirector.
    #[must_use]
    pub fn may_redirect(self) -> bool {
        self.placements().contains(&Placement::Redirect)
    }

    #[must_use]
    pub fn may_challenge(self) -> bool {
        self.placements().contains(&Placement::Challenge)
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_spelt_as_rfc_6749_allows() {
        let mut seen = std::collections::BTreeSet::new();
        for code in ErrorCode::ALL {
            assert!(seen.insert(code.as_str()), "{} twice", code.as_str());
            assert!(code.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
            assert!((400..600).contains(&code.status()));
        }
    }

    #[test]
    fn what_blames_the_client_or_its_redirect_uri_stays_off_the_redirect_uri() {
        for code in [ErrorCode::InvalidClient, ErrorCode::InvalidRedirectUri, ErrorCode::InvalidGrant] {
            assert!(!code.may_redirect());
        }
        assert!(ErrorCode::AccessDenied.may_redirect());
    }
}
