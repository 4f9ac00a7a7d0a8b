//! Published metadata: OpenID Connect Discovery 1.0 §3, RFC 8414 §2, RFC 9728 §2.
//!
//! A member without a value is absent, never null or empty (RFC 8414 §3.2, RFC 9728 §3.2).

mod resource_url;

use serde::Serialize;

pub use resource_url::{
    MAX_RESOURCE_URL, ResourceUrlError, check_resource_url, is_same_resource, resource_path,
};

/// Authorization server metadata; the OpenID document is the same with the OpenID members filled in.
#[derive(Debug, Clone, Default, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the standards' own members")]
pub struct AuthorizationServer {
    pub issuer: String,
    #[serde(flatten)]
    pub endpoints: Endpoints,
    pub jwks_uri: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes_supported: Vec<&'static str>,
    /// Required even if no response type is supported (RFC 8414 §2), so the only list that may be empty.
    pub response_types_supported: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_modes_supported: Vec<&'static str>,
    /// Never omitted: the default would claim `implicit`.
    pub grant_types_supported: Vec<&'static str>,
    /// RFC 8705 §5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtls_endpoint_aliases: Option<Endpoints>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub token_endpoint_auth_methods_supported: Vec<&'static str>,
    /// Required beside `private_key_jwt` (RFC 8414 §2).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub token_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_challenge_methods_supported: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subject_types_supported: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub id_token_signing_alg_values_supported: Vec<&'static str>,
    pub userinfo_signing_alg_values_supported: Vec<&'static str>,
    /// Always present, because the default includes `none` (OpenID Connect Discovery §3).
    pub request_object_signing_alg_values_supported: Vec<&'static str>,
    pub authorization_signing_alg_values_supported: Vec<&'static str>,
    pub dpop_signing_alg_values_supported: Vec<&'static str>,
    pub acr_values_supported: Vec<&'static str>,
    pub claims_supported: Vec<&'static str>,
    pub prompt_values_supported: Vec<&'static str>,
    pub claims_parameter_supported: bool,
    pub request_parameter_supported: bool,
    /// Always present, because the default is true (OpenID Connect Discovery §3).
    pub request_uri_parameter_supported: bool,
    pub require_request_uri_registration: bool,
    /// RFC 9207 §3.
    pub authorization_response_iss_parameter_supported: bool,
    /// draft-ietf-oauth-client-id-metadata-document §6.
    pub client_id_metadata_document_supported: bool,
    pub tls_client_certificate_bound_access_tokens: bool,
    pub backchannel_logout_supported: bool,
    pub backchannel_logout_session_supported: bool,
    /// CIBA Core §4.
    pub backchannel_token_delivery_modes_supported: Vec<&'static str>,
    pub backchannel_authentication_request_signing_alg_values_supported: Vec<&'static str>,
    pub backchannel_user_code_parameter_supported: bool,
    /// draft-ietf-oauth-identity-chaining; what an ID-JAG is asked for by.
    pub identity_chaining_requested_token_types_supported: Vec<&'static str>,
    /// draft-ietf-oauth-identity-assertion-authz-grant; without it clients do not try.
    pub authorization_grant_profiles_supported: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ui_locales_supported: Vec<&'static str>,
    /// RFC 9396 §10.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authorization_details_types_supported: Vec<String>,
    /// draft-ietf-oauth-rar-metadata-remediation.
    pub authorization_details_types_metadata_endpoint: String,
    /// RFC 9728 §4.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protected_resources: Vec<String>,
}

/// Endpoint addresses; each is present exactly when its route is served.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Endpoints {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub userinfo_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed_authorization_request_endpoint: Option<String>,
    /// RFC 8628 §4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_authorization_endpoint: Option<String>,
    /// CIBA Core §4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backchannel_authentication_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub introspection_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revocation_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_session_endpoint: Option<String>,
}

/// RFC 9728 §2: the authorization server of an API, one of our own or another.
#[derive(Debug, Clone, Serialize)]
pub struct ProtectedResource {
    pub resource: String,
    pub authorization_servers: Vec<String>,
    pub bearer_methods_supported: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes_supported: Vec<String>,
    pub resource_name: String,
    /// RFC 9728 §2, RFC 9396.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authorization_details_types_supported: Vec<String>,
}
