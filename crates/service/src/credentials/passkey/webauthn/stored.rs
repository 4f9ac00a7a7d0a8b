//! The stored form of a passkey.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;
use webauthn_rs_core::proto::{
    AttestationFormat, COSEKey, Credential, ParsedAttestation, RegisteredExtensions, UserVerificationPolicy,
};

use super::{PasskeyError, refusal, response::Base64Url};

/// A passkey as it is stored: library-independent JSON, see §4 "credential record".
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPasskey {
    pub(super) credential_id: Base64Url,
    /// `COSE_Key` (§6.5.1.1).
    pub(super) public_key: Base64Url,
    pub(super) user_handle: Base64Url,
    pub(super) aaguid: Uuid,
    pub(super) transports: Vec<String>,
    pub(super) counter: u32,
    pub(super) user_verified: bool,
    pub(super) backup_eligible: bool,
    pub(super) backup_state: bool,
}

impl StoredPasskey {
    pub fn credential_id(&self) -> &[u8] {
        &self.credential_id.0
    }

    /// The user handle of the account it was created for.
    pub fn user_handle(&self) -> &[u8] {
        &self.user_handle.0
    }

    /// The authenticator's model, unattested; all zero if unknown.
    pub const fn aaguid(&self) -> Uuid {
        self.aaguid
    }

    pub fn transports(&self) -> &[String] {
        &self.transports
    }

    pub const fn counter(&self) -> u32 {
        self.counter
    }

    /// Whether it ever verified its user (§4 `uvInitialized`).
    pub const fn user_verified(&self) -> bool {
        self.user_verified
    }

    pub const fn backup_eligible(&self) -> bool {
        self.backup_eligible
    }

    pub const fn backup_state(&self) -> bool {
        self.backup_state
    }

    /// `PublicKeyCredentialDescriptorJSON` (§5.1.8).
    pub(super) fn descriptor(&self) -> Value {
        json!({"type": "public-key", "id": self.credential_id, "transports": self.transports})
    }

    pub(super) fn for_library(&self) -> Result<Credential, PasskeyError> {
        let key: serde_cbor_2::Value = serde_cbor_2::from_slice(&self.public_key.0)
            .map_err(|_| PasskeyError::Library("a stored public key is damaged".into()))?;
        Ok(Credential {
            cred_id: self.credential_id.0.clone(),
            cred: COSEKey::try_from(&key).map_err(refusal)?,
            // We compare the counter: the library would refuse one that decreased.
            counter: 0,
            transports: None,
            user_verified: self.user_verified,
            backup_eligible: self.backup_eligible,
            backup_state: self.backup_state,
            registration_policy: UserVerificationPolicy::Required,
            extensions: RegisteredExtensions::none(),
            attestation: ParsedAttestation::default(),
            attestation_format: AttestationFormat::None,
        })
    }
}

/// Ids and user handles identify a person; logs need none of them.
impl fmt::Debug for StoredPasskey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredPasskey")
            .field("aaguid", &self.aaguid)
            .field("counter", &self.counter)
            .field("user_verified", &self.user_verified)
            .field("backup_eligible", &self.backup_eligible)
            .field("backup_state", &self.backup_state)
            .finish_non_exhaustive()
    }
}
