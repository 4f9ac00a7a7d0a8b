//! The rules for client metadata. They are the same for clients, administrators and operators.

use porteiro_protocol::{
    client_metadata::{ClientMetadata, MetadataError},
    error::ErrorCode,
};

use super::{
    super::{
        apis::Api,
        clients::{self, Profile, Trust},
    },
    decide,
};
use crate::settings::Settings;

/// The settings and APIs that the rules depend on.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    pub settings: &'a Settings,
    pub apis: &'a [Api],
}

impl Rules<'_> {
    /// # Errors
    /// The rule that is broken. The text names the member, never its value.
    pub fn check(
        self,
        profile: Profile,
        trust: Trust,
        metadata: &ClientMetadata,
    ) -> Result<(), MetadataError> {
        clients::check(profile, metadata)?;
        if !clients::is_served(self.settings, &metadata.token_endpoint_auth_method) {
            let detail = "token_endpoint_auth_method requires client certificates, which are not configured";
            return Err(MetadataError { code: ErrorCode::InvalidClientMetadata, detail: detail.into() });
        }
        match trust {
            Trust::Unverified => decide::check(metadata, self.apis, &self.settings.service_name),
            Trust::Verified | Trust::FirstParty => Ok(()),
        }
    }
}
