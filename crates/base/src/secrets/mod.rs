//! Keys derived from the master key, one per purpose, and their uses.

mod handle;
mod master_key;

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    hmac,
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use porteiro_protocol::{entropy::Entropy, id::SessionId};
use uuid::Uuid;

pub use handle::sha256;
pub use handle::{HandleKind, Handles, Issued, Presented, Route};
pub use master_key::{MasterKey, MasterKeyError};

use crate::store::StoreError;

pub struct Secrets {
    pub handles: Handles,
    identifiers: hmac::Key,
    limits: hmac::Key,
    pepper: hmac::Key,
    csrf: hmac::Key,
    nonces: hmac::Key,
    cursors: hmac::Key,
    sessions: hmac::Key,
    at_rest: LessSafeKey,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<secrets>")
    }
}

const NONCE_LENGTH: usize = 12;
/// A nonce is accepted for two to three times this long.
const NONCE_SECONDS: i64 = 120;

impl Secrets {
    pub fn derive(master: &MasterKey) -> Result<Self, MasterKeyError> {
        let mac = |purpose| master.subkey(purpose).map(|key| hmac::Key::new(hmac::HMAC_SHA256, &key));
        let at_rest = UnboundKey::new(&AES_256_GCM, &master.subkey("porteiro/credential-sealing/1")?)
            .map(LessSafeKey::new)
            .map_err(|_| MasterKeyError::Encryption)?;
        Ok(Self {
            handles: Handles::new(&master.subkey("porteiro/handle-sealing/1")?)?,
            identifiers: mac("porteiro/identifier/1")?,
            limits: mac("porteiro/limit/1")?,
            pepper: mac("porteiro/password-pepper/1")?,
            csrf: mac("porteiro/csrf/1")?,
            nonces: mac("porteiro/dpop-nonce/1")?,
            cursors: mac("porteiro/cursor/1")?,
            sessions: mac("porteiro/sid/1")?,
            at_rest,
        })
    }

    /// The key under which an identifier is stored. Without it, the database does not show whether it contains an
    /// address.
    pub fn identifier_key(&self, kind: &str, value: &[u8]) -> [u8; 32] {
        digest(&self.identifiers, &[kind.as_bytes(), value])
    }

    pub fn limit_key(&self, rule: &str, whom: &[u8]) -> [u8; 32] {
        digest(&self.limits, &[rule.as_bytes(), whom])
    }

    /// The keyed step before the password hash (NIST SP 800-63B-4 §3.1.1.2): passwords cannot be guessed with a stolen
    /// database alone.
    pub fn peppered(&self, password: &[u8]) -> [u8; 32] {
        digest(&self.pepper, &[password])
    }

    pub fn form_token(&self, parts: &[&[u8]]) -> [u8; 32] {
        digest(&self.csrf, parts)
    }

    /// Authenticates a cursor for one list.
    pub fn cursor_mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        digest(&self.cursors, parts)
    }

    /// A client's identifier (`sid`) of a session of one subject. Two clients, or one client in two organizations,
    /// cannot tell that they have the same session (decision record 0077).
    pub fn sid(&self, session: SessionId, client_id: &str, subject: Uuid) -> String {
        let session = session.uuid();
        let parts: [&[u8]; 3] = [session.as_bytes(), client_id.as_bytes(), subject.as_bytes()];
        URL_SAFE_NO_PAD.encode(&digest(&self.sessions, &parts)[..16])
    }

    /// The nonce of this period (RFC 9449 §8): every node recognizes it without storing it.
    pub fn nonce(&self, now: i64) -> String {
        let step = now.div_euclid(NONCE_SECONDS).to_be_bytes();
        let mac = digest(&self.nonces, &[&step]);
        URL_SAFE_NO_PAD.encode([step.as_slice(), &mac[..16]].concat())
    }

    /// Whether it is a nonce of the last few minutes.
    pub fn is_nonce(&self, text: &str, now: i64) -> bool {
        (0..3).any(|ago| {
            let known = self.nonce(now - ago * NONCE_SECONDS);
            bool::from(subtle::ConstantTimeEq::ct_eq(known.as_bytes(), text.as_bytes()))
        })
    }

    /// Encrypts a value that must be read again, such as a TOTP secret, for one row.
    pub fn seal(
        &self,
        context: &[u8],
        plain: &[u8],
        entropy: &dyn Entropy,
    ) -> Result<Vec<u8>, MasterKeyError> {
        let nonce: [u8; NONCE_LENGTH] = entropy.bytes();
        let mut body = plain.to_vec();
        self.at_rest
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(context), &mut body)
            .map_err(|_| MasterKeyError::Encryption)?;
        let mut sealed = nonce.to_vec();
        sealed.append(&mut body);
        Ok(sealed)
    }

    /// Encrypts a letter for the outbox: it contains an address and perhaps a valid code.
    pub fn seal_letter<T: serde::Serialize>(
        &self,
        kind: &'static str,
        letter: &T,
        entropy: &dyn Entropy,
    ) -> Result<serde_json::Value, StoreError> {
        let failed = || StoreError::Inconsistent("a message could not be encrypted".into());
        let plain = zeroize::Zeroizing::new(serde_json::to_vec(letter).map_err(|_| failed())?);
        let sealed = self.seal(kind.as_bytes(), &plain, entropy).map_err(|_| failed())?;
        Ok(serde_json::json!({"sealed": STANDARD_NO_PAD.encode(sealed)}))
    }

    pub fn open_letter<T: serde::de::DeserializeOwned>(
        &self,
        kind: &'static str,
        payload: &serde_json::Value,
    ) -> Option<T> {
        let sealed = STANDARD_NO_PAD.decode(payload["sealed"].as_str()?).ok()?;
        let plain = self.open(kind.as_bytes(), &sealed).ok()?;
        serde_json::from_slice(&plain).ok()
    }

    pub fn open(&self, context: &[u8], sealed: &[u8]) -> Result<zeroize::Zeroizing<Vec<u8>>, MasterKeyError> {
        let (nonce, body) = sealed.split_at_checked(NONCE_LENGTH).ok_or(MasterKeyError::Foreign)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| MasterKeyError::Foreign)?;
        let mut body = zeroize::Zeroizing::new(body.to_vec());
        let length = self
            .at_rest
            .open_in_place(nonce, Aad::from(context), &mut body)
            .map_err(|_| MasterKeyError::Foreign)?
            .len();
        body.truncate(length);
        Ok(body)
    }
}

/// Each part is preceded by its length, so that different lists of parts never give the same input.
fn digest(key: &hmac::Key, parts: &[&[u8]]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut bytes = [0; 32];
    bytes.copy_from_slice(context.sign().as_ref());
    bytes
}
