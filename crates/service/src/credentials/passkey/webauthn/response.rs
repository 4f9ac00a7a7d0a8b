//! Responses of the browser, in the JSON forms of WebAuthn level 3 (§5.1 `toJSON`), parsed strictly.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;
use uuid::Uuid;
use webauthn_rs_core::proto::{
    AuthenticationExtensionsClientOutputs, AuthenticatorAssertionResponseRaw,
    AuthenticatorAttestationResponseRaw, PublicKeyCredential, RegisterPublicKeyCredential,
    RegistrationExtensionsClientOutputs,
};

use super::{Identified, PasskeyError};

// §6.1, flags of the authenticator data and their position.
const FLAGS: usize = 32;
const USER_PRESENT: u8 = 0x01;
const ATTESTED: u8 = 0x40;
const EXTENSIONS: u8 = 0x80;
/// RP ID hash, flags, counter.
const FIXED: usize = 37;
/// §4: longer credential ids must not be accepted.
const LONGEST_ID: usize = 1023;

#[derive(Clone, PartialEq, Eq)]
pub struct Base64Url(pub Vec<u8>);

/// A registration's response.
pub(super) struct Attestation {
    client_data: Vec<u8>,
    raw_id: Vec<u8>,
    authenticator_data: Vec<u8>,
    pub(super) transports: Vec<String>,
    /// What the client reports about the authenticator.
    pub(super) discoverable: Option<bool>,
}

/// §6.5.1.
pub(super) struct Attested<'a> {
    pub(super) aaguid: Uuid,
    pub(super) credential_id: &'a [u8],
    pub(super) public_key: &'a [u8],
}

/// A sign-in's response.
pub(super) struct Assertion {
    pub(super) claims: Identified,
    pub(super) for_library: PublicKeyCredential,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<R> {
    id: String,
    raw_id: Base64Url,
    #[serde(rename = "type")]
    kind: String,
    response: R,
    #[serde(default)]
    client_extension_results: ClientExtensions,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttestationWire {
    #[serde(rename = "clientDataJSON")]
    client_data: Base64Url,
    attestation_object: Base64Url,
    #[serde(default)]
    transports: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AssertionWire {
    #[serde(rename = "clientDataJSON")]
    client_data: Base64Url,
    authenticator_data: Base64Url,
    signature: Base64Url,
    user_handle: Option<Base64Url>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientExtensions {
    #[serde(default)]
    cred_props: Option<CredentialProperties>,
}

#[derive(Deserialize)]
struct CredentialProperties {
    rk: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    cross_origin: Option<bool>,
    top_origin: Option<String>,
}

#[derive(Deserialize)]
struct AttestationObject<'a> {
    #[serde(rename = "authData", borrow)]
    authenticator_data: &'a [u8],
}

impl Attestation {
    pub(super) fn parse(response: &Value) -> Result<Self, PasskeyError> {
        let wire: Wire<AttestationWire> = parse(response)?;
        same_origin(&wire.response.client_data.0)?;
        let object: AttestationObject<'_> = serde_cbor_2::from_slice(&wire.response.attestation_object.0)
            .map_err(|_| PasskeyError::Malformed)?;
        let mut transports = wire.response.transports;
        // Hints, kept as sent (§7.1 step 27), unknown ones too, if they have a valid form.
        transports.retain(|name| name.len() <= 32 && name.bytes().all(|byte| byte.is_ascii_graphic()));
        transports.truncate(8);
        Ok(Self {
            client_data: wire.response.client_data.0,
            raw_id: wire.raw_id.0,
            authenticator_data: object.authenticator_data.to_vec(),
            transports,
            discoverable: wire.client_extension_results.cred_props.and_then(|properties| properties.rk),
        })
    }

    /// The new credential, as the authenticator describes it.
    pub(super) fn attested(&self) -> Result<Attested<'_>, PasskeyError> {
        let attested = attested(&self.authenticator_data).ok_or(PasskeyError::Malformed)?;
        if attested.credential_id == self.raw_id { Ok(attested) } else { Err(PasskeyError::Malformed) }
    }

    /// Without the attestation statement: we request none and would trust none (§7.1 step 24), so its many formats
    /// never reach a parser. `absent` sets the presence bit that a conditional creation lacks.
    pub(super) fn for_library(&self, absent: bool) -> Result<RegisterPublicKeyCredential, PasskeyError> {
        use serde_cbor_2::Value::{Bytes, Map, Text};
        let mut data = self.authenticator_data.clone();
        if let Some(flags) = data.get_mut(FLAGS).filter(|_| absent) {
            *flags |= USER_PRESENT;
        }
        let object = Map([
            (Text("fmt".into()), Text("none".into())),
            (Text("attStmt".into()), Map([].into())),
            (Text("authData".into()), Bytes(data)),
        ]
        .into());
        Ok(RegisterPublicKeyCredential {
            id: String::new(),
            raw_id: self.raw_id.clone(),
            response: AuthenticatorAttestationResponseRaw {
                attestation_object: serde_cbor_2::to_vec(&object).map_err(|_| PasskeyError::Malformed)?,
                client_data_json: self.client_data.clone(),
                transports: None,
            },
            type_: "public-key".into(),
            extensions: RegistrationExtensionsClientOutputs::default(),
        })
    }
}

impl Assertion {
    pub(super) fn parse(response: &Value) -> Result<Self, PasskeyError> {
        let wire: Wire<AssertionWire> = parse(response)?;
        same_origin(&wire.response.client_data.0)?;
        let AssertionWire { client_data, authenticator_data, signature, user_handle } = wire.response;
        let user_handle = user_handle.ok_or(PasskeyError::Malformed)?.0;
        let claims = Identified {
            credential_id: wire.raw_id.0.clone(),
            user_handle: user_handle.as_slice().try_into().map_err(|_| PasskeyError::Malformed)?,
        };
        let flags = authenticator_data.0.get(FLAGS).copied().unwrap_or_default();
        let plain = flags & (ATTESTED | EXTENSIONS) == 0;
        if authenticator_data.0.len() < FIXED || plain && authenticator_data.0.len() > FIXED {
            return Err(PasskeyError::Malformed);
        }
        let for_library = PublicKeyCredential {
            id: String::new(),
            raw_id: wire.raw_id.0,
            response: AuthenticatorAssertionResponseRaw {
                authenticator_data: authenticator_data.0,
                client_data_json: client_data.0,
                signature: signature.0,
                user_handle: Some(user_handle),
            },
            extensions: AuthenticationExtensionsClientOutputs::default(),
            type_: "public-key".into(),
        };
        Ok(Self { claims, for_library })
    }
}

fn parse<R: for<'de> Deserialize<'de>>(response: &Value) -> Result<Wire<R>, PasskeyError> {
    let wire = Wire::<R>::deserialize(response).map_err(|_| PasskeyError::Malformed)?;
    let id = &wire.raw_id.0;
    let named = wire.kind == "public-key" && wire.id == URL_SAFE_NO_PAD.encode(id);
    if named && (1..=LONGEST_ID).contains(&id.len()) { Ok(wire) } else { Err(PasskeyError::Malformed) }
}

/// §7.1 steps 10 and 11, §7.2 steps 13 and 14: refuses cross-origin frames. The library checks this at registration
/// only.
fn same_origin(client_data: &[u8]) -> Result<(), PasskeyError> {
    let data: ClientData = serde_json::from_slice(client_data).map_err(|_| PasskeyError::Malformed)?;
    if data.cross_origin == Some(true) || data.top_origin.is_some() {
        return Err(PasskeyError::Refused("cross_origin"));
    }
    Ok(())
}

/// §6.5.1: AAGUID, length, id, key; then extensions if the flag is set; then the end.
fn attested(data: &[u8]) -> Option<Attested<'_>> {
    let flags = *data.get(FLAGS)?;
    if flags & ATTESTED == 0 {
        return None;
    }
    let (aaguid, rest) = data.get(FIXED..)?.split_first_chunk::<16>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (credential_id, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    let (public_key, mut rest) = cbor_item(rest)?;
    if flags & EXTENSIONS != 0 {
        (_, rest) = cbor_item(rest)?;
    }
    rest.is_empty().then_some(Attested { aaguid: Uuid::from_bytes(*aaguid), credential_id, public_key })
}

/// One item and the bytes after it.
fn cbor_item(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut reader = serde_cbor_2::Deserializer::from_slice(bytes);
    serde::de::IgnoredAny::deserialize(&mut reader).ok()?;
    bytes.split_at_checked(reader.byte_offset())
}

impl Serialize for Base64Url {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64Url {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        URL_SAFE_NO_PAD.decode(text).map(Self).map_err(|_| D::Error::custom("not base64url"))
    }
}
