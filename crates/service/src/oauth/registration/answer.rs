//! The client information response (RFC 7591 §3.2.1, RFC 7592 §3): all registered metadata, including defaults,
//! without null members.

use porteiro_protocol::{
    client_metadata::ClientMetadata,
    time::{OffsetDateTime, numeric_date},
};
use serde::Serialize;
use zeroize::Zeroizing;

/// The content of the response.
pub(super) struct Registered {
    pub client_id: String,
    pub created_at: OffsetDateTime,
    pub metadata: ClientMetadata,
    pub has_secret: bool,
    /// Only when it was just generated: afterwards only its hash is stored.
    pub secret: Option<Zeroizing<String>>,
    pub token: Zeroizing<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    client_id: &'a str,
    client_id_issued_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<&'a str>,
    /// RFC 7591 §3.2.1: zero, because it does not expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret_expires_at: Option<u8>,
    registration_access_token: &'a str,
    registration_client_uri: String,
    #[serde(flatten)]
    metadata: &'a ClientMetadata,
}

impl Registered {
    pub fn body(&self, issuer: &str) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Document {
            client_id: &self.client_id,
            client_id_issued_at: numeric_date(self.created_at),
            client_secret: self.secret.as_ref().map(|secret| secret.as_str()),
            client_secret_expires_at: self.has_secret.then_some(0),
            registration_access_token: &self.token,
            registration_client_uri: format!("{issuer}/connect/register/{}", self.client_id),
            metadata: &self.metadata,
        })
    }
}
