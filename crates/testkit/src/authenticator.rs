//! A passkey provider and its browser, in software. Every flag, the origin, the RP ID and the counter can be set, also
//! to false values, so that tests can provoke each refusal of a server.

use std::fmt;

use aws_lc_rs::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, KeySize},
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    },
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

/// The algorithm of new keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Es256,
    Rs256,
    EdDsa,
}

/// Keeps discoverable credentials of one person.
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of the authenticator data")]
pub struct VirtualAuthenticator {
    /// The origin in the client data, and whether it is in a frame.
    pub origin: String,
    pub cross_origin: bool,
    /// The RP ID in the authenticator data.
    pub rp_id: String,
    pub user_presence: bool,
    pub user_verification: bool,
    pub backup_eligible: bool,
    pub backup_state: bool,
    /// The counter of the next response; it is incremented afterwards, unless it is 0.
    pub counter: u32,
    pub algorithm: Algorithm,
    /// The id of the next credential, instead of a random one.
    pub next_id: Option<Vec<u8>>,
    /// The value of discoverability in `credProps`.
    pub resident: bool,
    passkeys: Vec<Passkey>,
}

struct Passkey {
    id: Vec<u8>,
    user_handle: String,
    key: Key,
}

enum Key {
    Es256(EcdsaKeyPair),
    Rs256(RsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

impl VirtualAuthenticator {
    /// A well-behaved synced passkey provider.
    pub fn new(origin: &str, rp_id: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            cross_origin: false,
            rp_id: rp_id.to_owned(),
            user_presence: true,
            user_verification: true,
            backup_eligible: true,
            backup_state: true,
            counter: 0,
            algorithm: Algorithm::Es256,
            next_id: None,
            resident: true,
            passkeys: Vec::new(),
        }
    }

    /// The ids, oldest first.
    pub fn credential_ids(&self) -> Vec<Vec<u8>> {
        self.passkeys.iter().map(|passkey| passkey.id.clone()).collect()
    }

    /// `navigator.credentials.create({publicKey: options})` and `toJSON()`. Ignores `excludeCredentials` and
    /// `pubKeyCredParams`: the server must enforce them.
    pub fn register(&mut self, options: &Value) -> Value {
        let key = Key::generate(self.algorithm);
        let public_key = key.cose();
        let id = self.next_id.take().unwrap_or_else(|| digest(&SHA256, &public_key).as_ref()[..20].to_vec());
        let mut data = self.authenticator_data(0x40);
        data.extend([0xaa; 16]);
        data.extend(u16::try_from(id.len()).expect("a short id").to_be_bytes());
        data.extend(&id);
        data.extend(public_key);
        // {"fmt": "none", "attStmt": {}, "authData": data}
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData".to_vec();
        cbor_bytes(&mut object, &data);
        let response = json!({
            "id": encode(&id),
            "rawId": encode(&id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {"credProps": {"rk": self.resident}},
            "response": {
                "clientDataJSON": encode(&self.client_data("webauthn.create", options)),
                "attestationObject": encode(&object),
                "transports": ["internal", "hybrid"],
            },
        });
        let user_handle = options["user"]["id"].as_str().expect("a user id").to_owned();
        self.passkeys.push(Passkey { id, user_handle, key });
        response
    }

    /// `navigator.credentials.get({publicKey: options})` and `toJSON()`, with the newest allowed passkey.
    pub fn authenticate(&mut self, options: &Value) -> Value {
        let data = self.authenticator_data(0);
        let client_data = self.client_data("webauthn.get", options);
        let allowed = options["allowCredentials"].as_array().cloned().unwrap_or_default();
        let may = |passkey: &&Passkey| {
            allowed.is_empty() || allowed.iter().any(|one| one["id"] == encode(&passkey.id))
        };
        let passkey = self.passkeys.iter().rev().find(may).expect("a passkey that is allowed");
        let signed = [data.as_slice(), digest(&SHA256, &client_data).as_ref()].concat();
        json!({
            "id": encode(&passkey.id),
            "rawId": encode(&passkey.id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": encode(&client_data),
                "authenticatorData": encode(&data),
                "signature": encode(&passkey.key.sign(&signed)),
                "userHandle": passkey.user_handle,
            },
        })
    }

    /// WebAuthn §6.1: RP ID hash, flags, counter.
    fn authenticator_data(&mut self, more_flags: u8) -> Vec<u8> {
        let flags = u8::from(self.user_presence)
            | u8::from(self.user_verification) << 2
            | u8::from(self.backup_eligible) << 3
            | u8::from(self.backup_state) << 4
            | more_flags;
        let mut data = digest(&SHA256, self.rp_id.as_bytes()).as_ref().to_vec();
        data.push(flags);
        data.extend(self.counter.to_be_bytes());
        self.counter += u32::from(self.counter > 0);
        data
    }

    /// WebAuthn §5.8.1.
    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let data = json!({
            "type": kind,
            "challenge": options["challenge"],
            "origin": self.origin,
            "crossOrigin": self.cross_origin,
        });
        data.to_string().into_bytes()
    }
}

impl Key {
    fn generate(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Es256 => {
                Self::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("a key"))
            }
            Algorithm::Rs256 => Self::Rs256(RsaKeyPair::generate(KeySize::Rsa2048).expect("a key")),
            Algorithm::EdDsa => Self::EdDsa(Ed25519KeyPair::generate().expect("a key")),
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Es256(key) => {
                key.sign(&SystemRandom::new(), message).expect("a signature").as_ref().to_vec()
            }
            Self::Rs256(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)
                    .expect("a signature");
                signature
            }
            Self::EdDsa(key) => key.sign(message).as_ref().to_vec(),
        }
    }

    /// `COSE_Key` (WebAuthn §6.5.1.1).
    fn cose(&self) -> Vec<u8> {
        let mut out;
        match self {
            Self::Es256(key) => {
                let point = key.public_key().as_ref();
                // {1: 2, 3: -7, -1: 1, -2: x, -3: y}
                out = vec![0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21];
                cbor_bytes(&mut out, &point[1..33]);
                out.push(0x22);
                cbor_bytes(&mut out, &point[33..]);
            }
            Self::Rs256(key) => {
                // {1: 3, 3: -257, -1: n, -2: e}
                out = vec![0xa4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20];
                cbor_bytes(&mut out, key.public_key().modulus().big_endian_without_leading_zero());
                out.push(0x21);
                cbor_bytes(&mut out, key.public_key().exponent().big_endian_without_leading_zero());
            }
            Self::EdDsa(key) => {
                // {1: 1, 3: -8, -1: 6, -2: x}
                out = vec![0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21];
                cbor_bytes(&mut out, key.public_key().as_ref());
            }
        }
        out
    }
}

impl fmt::Debug for VirtualAuthenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualAuthenticator")
            .field("origin", &self.origin)
            .field("rp_id", &self.rp_id)
            .field("passkeys", &self.passkeys.len())
            .finish_non_exhaustive()
    }
}

fn cbor_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    match u8::try_from(bytes.len()) {
        Ok(short) if short < 24 => out.push(0x40 | short),
        Ok(short) => out.extend([0x58, short]),
        Err(_) => {
            out.push(0x59);
            out.extend(u16::try_from(bytes.len()).expect("less than 64 KiB").to_be_bytes());
        }
    }
    out.extend(bytes);
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
