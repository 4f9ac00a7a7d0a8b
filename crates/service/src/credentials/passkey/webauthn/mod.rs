//! The server's half of WebAuthn level 3: §7.1 (registering) and §7.2 (signing in), over `webauthn-rs-core`.
//!
//! The core layer, because the layer above it requests `residentKey: discouraged` and requires user verification at
//! registration. Three behaviours of the core do not suit us, and are handled here:
//!
//! * It refuses a counter that decreased. We report it (§6.1.1: what to do is the relying party's choice).
//! * It requires user presence at every registration; a conditional one has none (§7.1 step 15). Without attestation
//!   the authenticator data of a registration is not signed, so [`begin_registration`] with `conditional` sets the bit
//!   before the core checks it.
//! * It verifies no EdDSA, so EdDSA is not offered.
//!
//! The stored form is ours, not the library's: ids, flags and the COSE key as the authenticator wrote it.
//!
//! [`begin_registration`]: RelyingParty::begin_registration

mod response;
mod stored;
#[cfg(test)]
mod tests;

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use url::{Host, Url};
use webauthn_rs_core::{
    WebauthnCore,
    error::WebauthnError,
    proto::{
        AttestationConveyancePreference, AuthenticationState, COSEAlgorithm, RegistrationState,
        RequestRegistrationExtensions, UserVerificationPolicy,
    },
};

use response::{Assertion, Attestation, Base64Url};
pub use stored::StoredPasskey;

/// How long the browser may wait for the person; the stored challenge is valid as long.
const TIMEOUT: Duration = Duration::from_mins(5);
/// In order of preference: everything that the library can verify and authenticators support.
const ALGORITHMS: [COSEAlgorithm; 2] = [COSEAlgorithm::ES256, COSEAlgorithm::RS256];
const ANDROID: &str = "android:apk-key-hash:";

/// Its text never contains input.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyError {
    #[error("the passkey response is malformed")]
    Malformed,
    /// The check that failed, in one word for logs and tests.
    #[error("the passkey response is refused: {0}")]
    Refused(&'static str),
    #[error("the passkey library failed: {0}")]
    Library(String),
}

/// The relying party: its RP ID, and the origins from which browsers may use it.
#[derive(Debug, Clone)]
pub struct RelyingParty {
    id: String,
    core: WebauthnCore,
}

/// The unverified claims of a response: enough to look the passkey up.
pub struct Identified {
    pub credential_id: Vec<u8>,
    pub user_handle: [u8; 32],
}

/// A verified sign-in. `updated` replaces the stored passkey.
#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "user verification is the standard's word")]
pub struct Verified {
    pub user_verified: bool,
    pub counter: u32,
    pub backup_state: bool,
    pub updated: StoredPasskey,
    /// A sign of a cloned authenticator, or of one with a faulty counter: to be logged, not refused.
    pub counter_regressed: bool,
}

/// The state of a ceremony. Stored on the server: it decides what is accepted.
#[derive(Serialize, Deserialize)]
struct Registering {
    creation: RegistrationState,
    user_handle: Base64Url,
    exclude: Vec<Base64Url>,
    conditional: bool,
}

#[derive(Serialize, Deserialize)]
struct Authenticating {
    request: AuthenticationState,
}

impl RelyingParty {
    /// The RP ID is the host of `base_url` unless configured; changing it invalidates every passkey. Origins are
    /// `base_url` and the related ones (§5.11), web or `android:apk-key-hash:…`.
    pub fn new(base_url: &str, rp_id: Option<&str>, related_origins: &[String]) -> Result<Self, String> {
        let base = web_origin(base_url)?;
        let host = base.host_str().unwrap_or_default();
        let id = rp_id.unwrap_or(host).to_owned();
        // §4 "RP ID": equal to the host or a parent of it. A single label would be a parent of too many hosts.
        let parent = || {
            base.domain().is_some()
                && id.contains('.')
                && host.strip_suffix(&id).is_some_and(|rest| rest.ends_with('.'))
        };
        if id != host && !parent() {
            return Err(format!("the RP ID must be {host} or a parent domain of it"));
        }
        let related = related_origins.iter().map(|text| match text.strip_prefix(ANDROID) {
            Some(hash) if !hash.is_empty() => Url::parse(text).map_err(|error| error.to_string()),
            _ => web_origin(text),
        });
        let origins = std::iter::once(Ok(base.clone())).chain(related).collect::<Result<_, _>>()?;
        // §5.4.1: the name is deprecated and should be the id.
        let core = WebauthnCore::new_unsafe_experts_only(&id, &id, origins, TIMEOUT, None, None);
        Ok(Self { id, core })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// `PublicKeyCredentialCreationOptionsJSON` (§5.1.8) and the state to store. `conditional` is only for
    /// `create({mediation: "conditional"})`: such a passkey comes without presence and verification.
    pub fn begin_registration(
        &self,
        user_handle: &[u8; 32],
        user_name: &str,
        display_name: &str,
        exclude: &[StoredPasskey],
        conditional: bool,
    ) -> Result<(Value, Value), PasskeyError> {
        // §5.1.3: "required" makes a conditional creation fail where the user cannot be verified.
        let verification =
            if conditional { UserVerificationPolicy::Preferred } else { UserVerificationPolicy::Required };
        let display_name = if display_name.is_empty() { user_name } else { display_name };
        let wanted = self
            .core
            .new_challenge_register_builder(user_handle, user_name, display_name)
            .map_err(refusal)?
            .attestation(AttestationConveyancePreference::None)
            .credential_algorithms(ALGORITHMS.to_vec())
            .require_resident_key(true)
            .user_verification_policy(verification)
            .extensions(Some(RequestRegistrationExtensions {
                uvm: None,
                cred_props: Some(true),
                ..RequestRegistrationExtensions::default()
            }));
        let (options, creation) = self.core.generate_challenge_register(wanted).map_err(refusal)?;
        let mut options = to_json(&options.public_key)?;
        options["excludeCredentials"] = exclude.iter().map(StoredPasskey::descriptor).collect();
        let state = Registering {
            creation,
            user_handle: Base64Url(user_handle.to_vec()),
            exclude: exclude.iter().map(|passkey| passkey.credential_id.clone()).collect(),
            conditional,
        };
        Ok((options, to_json(&state)?))
    }

    /// §7.1. The caller checks that the credential id is new (step 26).
    pub fn finish_registration(
        &self,
        state: &Value,
        response: &Value,
    ) -> Result<StoredPasskey, PasskeyError> {
        let state: Registering = own(state)?;
        let response = Attestation::parse(response)?;
        let attested = response.attested()?;
        if state.exclude.iter().any(|excluded| excluded.0 == attested.credential_id) {
            return Err(PasskeyError::Refused("excluded"));
        }
        // §10.1.3: the client reports it, unsigned; a passkey that is not discoverable could not sign in.
        if response.discoverable == Some(false) {
            return Err(PasskeyError::Refused("not_discoverable"));
        }
        let checked = self
            .core
            .register_credential(&response.for_library(state.conditional)?, &state.creation, None)
            .map_err(refusal)?;
        Ok(StoredPasskey {
            credential_id: Base64Url(checked.cred_id),
            public_key: Base64Url(attested.public_key.to_vec()),
            user_handle: state.user_handle,
            aaguid: attested.aaguid,
            transports: response.transports,
            counter: checked.counter,
            user_verified: checked.user_verified,
            backup_eligible: checked.backup_eligible,
            backup_state: checked.backup_state,
        })
    }

    /// `PublicKeyCredentialRequestOptionsJSON` (§5.1.9) and the state to store. No account is named: the passkey
    /// identifies it. The same options serve the button and autofill.
    pub fn begin_authentication(&self) -> Result<(Value, Value), PasskeyError> {
        let wanted = self
            .core
            .new_challenge_authenticate_builder(Vec::new(), Some(UserVerificationPolicy::Required))
            .map_err(refusal)?;
        let (options, request) = self.core.generate_challenge_authenticate(wanted).map_err(refusal)?;
        Ok((to_json(&options.public_key)?, to_json(&Authenticating { request })?))
    }

    /// Which passkey to load. Nothing is verified yet.
    pub fn identify(response: &Value) -> Result<Identified, PasskeyError> {
        Assertion::parse(response).map(|assertion| assertion.claims)
    }

    /// §7.2. `stored` is the passkey that [`Self::identify`] named.
    pub fn finish_authentication(
        &self,
        state: &Value,
        response: &Value,
        stored: &StoredPasskey,
    ) -> Result<Verified, PasskeyError> {
        let state: Authenticating = own(state)?;
        let response = Assertion::parse(response)?;
        if response.claims.credential_id != stored.credential_id.0 {
            return Err(PasskeyError::Refused("unknown_credential"));
        }
        // Step 6: the user handle is that of this passkey's owner.
        if response.claims.user_handle != *stored.user_handle.0 {
            return Err(PasskeyError::Refused("user_handle"));
        }
        let found = self
            .core
            .authenticate_single_credential(&response.for_library, &state.request, &stored.for_library()?)
            .map_err(refusal)?;
        let counter = found.counter();
        let mut updated = stored.clone();
        // The higher counter is kept, so that a clone is noticed again.
        updated.counter = stored.counter.max(counter);
        updated.backup_state = found.backup_state();
        updated.user_verified |= found.user_verified();
        Ok(Verified {
            user_verified: found.user_verified(),
            counter,
            backup_state: found.backup_state(),
            updated,
            // Step 22: both zero means that the authenticator does not count.
            counter_regressed: (counter > 0 || stored.counter > 0) && counter <= stored.counter,
        })
    }
}

impl fmt::Debug for Identified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identified").finish_non_exhaustive()
    }
}

/// Browsers create no passkeys for an IP address (§4 "RP ID"). A loopback address is accepted all the same, or `serve
/// --dev` could not start on its default address.
fn web_origin(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("{text} is not an origin ({error})"))?;
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) if ip.is_loopback() => true,
        Some(Host::Ipv6(ip)) if ip.is_loopback() => true,
        _ => return Err(format!("{text} has no host name, which passkeys require")),
    };
    let secure = url.scheme() == "https" || (url.scheme() == "http" && loopback);
    if !secure || url.origin().ascii_serialization() != text.trim_end_matches('/') {
        return Err(format!("{text} must be an https origin: scheme, host and port only"));
    }
    Ok(url)
}

/// Reads state that we stored; a wrong kind is our mistake, never the client's.
fn own<T: DeserializeOwned>(state: &Value) -> Result<T, PasskeyError> {
    T::deserialize(state)
        .map_err(|_| PasskeyError::Library("the stored state is not of this ceremony".into()))
}

fn to_json<T: Serialize>(value: &T) -> Result<Value, PasskeyError> {
    serde_json::to_value(value).map_err(|_| PasskeyError::Library("the options cannot be written".into()))
}

fn refusal(error: WebauthnError) -> PasskeyError {
    use WebauthnError as E;
    PasskeyError::Refused(match error {
        E::InvalidClientDataType => "ceremony",
        E::MismatchedChallenge => "challenge",
        E::InvalidRPOrigin => "origin",
        E::InvalidRPIDHash => "rp_id",
        E::UserNotPresent => "user_presence",
        E::UserNotVerified => "user_verification",
        E::CredentialCrossOrigin => "cross_origin",
        E::AuthenticationFailure | E::SignatureInvalid => "signature",
        E::CredentialAlteredAlgFromRequest
        | E::COSEKeyInvalidAlgorithm
        | E::COSEKeyInvalidType
        | E::SshPublicKeyEDUnsupported => "algorithm",
        E::CredentialBackupEligibilityInconsistent => "backup_eligibility",
        E::CredentialMayNotBeHardwareBound => "backup_state",
        E::CredentialNotFound => "unknown_credential",
        E::ParseBase64Failure(_)
        | E::ParseCBORFailure(_)
        | E::ParseJSONFailure(_)
        | E::ParseNOMFailure
        | E::ParseInsufficientBytesAvailable
        | E::MissingAttestationCredentialData
        | E::COSEKeyInvalidCBORValue
        | E::COSEKeyECDSAXYInvalid
        | E::COSEKeyECDSAInvalidCurve
        | E::COSEKeyEDDSAXInvalid
        | E::COSEKeyEDDSAInvalidCurve
        | E::COSEKeyRSANEInvalid
        | E::EcdsaPointInvalid
        | E::RsaParametersInvalid => return PasskeyError::Malformed,
        // The library's texts are fixed sentences.
        other => return PasskeyError::Library(other.to_string()),
    })
}
