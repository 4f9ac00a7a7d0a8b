//! Handles: 256 random bits and, encrypted beside them, the id of the row (docs/decisions/0011).
//!
//! A forged handle is refused without a database query; a genuine one leads to its shard and row; only SHA-256 of the
//! random bits is stored. A handle of one kind is never accepted as another.

use aws_lc_rs::{
    aead::{AES_256_GCM_SIV, Aad, LessSafeKey, Nonce, UnboundKey},
    digest,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::entropy::Entropy;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::MasterKeyError;

/// The purpose of a handle. The prefix is authenticated too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandleKind {
    Session,
    /// A known device: for limits and alerts, never a proof.
    Device,
    /// An authorization code: generation 0 of a grant.
    Code,
    /// A refresh token: a later generation.
    Refresh,
    /// A pushed authorization request (RFC 9126).
    Pushed,
    /// An invitation: only the mail contains it.
    Invitation,
    /// The device code with which a device polls (RFC 8628).
    DeviceCode,
    /// The `auth_req_id` with which a client asks for the outcome of an approval (CIBA Core §7.3).
    ApprovalRequest,
}

impl HandleKind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Session => "pt_ses_",
            Self::Device => "pt_dev_",
            Self::Code => "pt_code_",
            Self::Refresh => "pt_rt_",
            Self::Pushed => "pt_par_",
            Self::Invitation => "pt_inv_",
            Self::DeviceCode => "pt_dc_",
            Self::ApprovalRequest => "pt_ar_",
        }
    }
}

/// The row of a handle: its shard key, its id and the generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub owner: Uuid,
    pub row: Uuid,
    pub generation: u32,
}

/// A new handle: the text to show once and the hash to store.
pub struct Issued {
    pub text: Zeroizing<String>,
    pub hash: [u8; 32],
}

impl std::fmt::Debug for Issued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<handle>")
    }
}

/// A genuine handle that was presented. Only the row tells whether it is still valid.
#[derive(Debug, Clone, Copy)]
pub struct Presented {
    pub route: Route,
    pub hash: [u8; 32],
}

pub struct Handles {
    key: LessSafeKey,
}

impl std::fmt::Debug for Handles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<handles>")
    }
}

const VERSION: u8 = 1;
const SECRET: usize = 32;
/// Cell (two bytes, for routing between deployments), owner, row, generation.
const ROUTE: usize = 2 + 16 + 16 + 4;
const TAG: usize = 16;
const LENGTH: usize = 1 + SECRET + ROUTE + TAG;

impl Handles {
    pub(super) fn new(key: &[u8; 32]) -> Result<Self, MasterKeyError> {
        let key = UnboundKey::new(&AES_256_GCM_SIV, key).map_err(|_| MasterKeyError::Encryption)?;
        Ok(Self { key: LessSafeKey::new(key) })
    }

    pub fn issue(
        &self,
        kind: HandleKind,
        route: Route,
        entropy: &dyn Entropy,
    ) -> Result<Issued, MasterKeyError> {
        let secret: Zeroizing<[u8; SECRET]> = Zeroizing::new(entropy.bytes());
        let mut sealed = Vec::with_capacity(ROUTE + TAG);
        sealed.extend_from_slice(&[0, 0]);
        sealed.extend_from_slice(route.owner.as_bytes());
        sealed.extend_from_slice(route.row.as_bytes());
        sealed.extend_from_slice(&route.generation.to_be_bytes());
        self.key
            .seal_in_place_append_tag(nonce(&secret), Aad::from(context(kind, &secret)), &mut sealed)
            .map_err(|_| MasterKeyError::Encryption)?;
        let mut bytes = Zeroizing::new(Vec::with_capacity(LENGTH));
        bytes.push(VERSION);
        bytes.extend_from_slice(secret.as_slice());
        bytes.append(&mut sealed);
        let text = Zeroizing::new(format!("{}{}", kind.prefix(), URL_SAFE_NO_PAD.encode(&*bytes)));
        Ok(Issued { text, hash: sha256(secret.as_slice()) })
    }

    /// `None` for a forged handle, or one of another kind.
    pub fn open(&self, kind: HandleKind, text: &str) -> Option<Presented> {
        let body = text.strip_prefix(kind.prefix())?;
        let bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(body).ok()?);
        if bytes.len() != LENGTH || bytes[0] != VERSION {
            return None;
        }
        let secret: [u8; SECRET] = bytes[1..=SECRET].try_into().ok()?;
        let mut sealed = bytes[1 + SECRET..].to_vec();
        let route =
            self.key.open_in_place(nonce(&secret), Aad::from(context(kind, &secret)), &mut sealed).ok()?;
        Some(Presented {
            route: Route {
                owner: Uuid::from_slice(&route[2..18]).ok()?,
                row: Uuid::from_slice(&route[18..34]).ok()?,
                generation: u32::from_be_bytes(route[34..38].try_into().ok()?),
            },
            hash: sha256(&secret),
        })
    }
}

/// The secret is random and used once, so its first bytes are the nonce; GCM-SIV tolerates even a repeated one.
fn nonce(secret: &[u8; SECRET]) -> Nonce {
    let mut bytes = [0; 12];
    bytes.copy_from_slice(&secret[..12]);
    Nonce::assume_unique_for_key(bytes)
}

fn context(kind: HandleKind, secret: &[u8; SECRET]) -> Vec<u8> {
    [kind.prefix().as_bytes(), &[VERSION], secret].concat()
}

pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting(std::sync::atomic::AtomicU8);
    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            for byte in bytes {
                *byte = self.0.fetch_add(7, std::sync::atomic::Ordering::Relaxed);
            }
        }
    }

    fn route() -> Route {
        Route { owner: Uuid::from_u128(1), row: Uuid::from_u128(2), generation: 3 }
    }

    #[test]
    fn a_handle_finds_its_row_and_says_nothing_about_it() {
        let (handles, entropy) = (Handles::new(&[9; 32]).unwrap(), Counting(1.into()));
        let issued = handles.issue(HandleKind::Session, route(), &entropy).unwrap();
        let presented = handles.open(HandleKind::Session, &issued.text).unwrap();
        assert_eq!((presented.route, presented.hash), (route(), issued.hash));
        let other = handles.issue(HandleKind::Session, route(), &entropy).unwrap();
        let shared = issued.text.bytes().zip(other.text.bytes()).skip(10).filter(|(a, b)| a == b).count();
        assert!(shared < 20, "two handles of one row must not look alike ({shared} characters do)");
    }

    /// CVE-2026-4282: one kind of artefact redeemed as another.
    #[test]
    fn cve_2026_4282_one_kind_is_never_taken_for_another_and_junk_for_none() {
        let (handles, entropy) = (Handles::new(&[9; 32]).unwrap(), Counting(1.into()));
        let issued = handles.issue(HandleKind::Session, route(), &entropy).unwrap();
        assert!(handles.open(HandleKind::Device, &issued.text).is_none());
        let renamed = issued.text.replace("pt_ses_", "pt_dev_");
        assert!(handles.open(HandleKind::Device, &renamed).is_none());
        assert!(Handles::new(&[8; 32]).unwrap().open(HandleKind::Session, &issued.text).is_none());
        for index in 7..issued.text.len() {
            let mut altered = issued.text.as_bytes().to_vec();
            altered[index] = if altered[index] == b'A' { b'B' } else { b'A' };
            assert!(handles.open(HandleKind::Session, std::str::from_utf8(&altered).unwrap()).is_none());
        }
        for junk in ["", "pt_ses_", "pt_ses_AAAA", "x"] {
            assert!(handles.open(HandleKind::Session, junk).is_none());
        }
    }
}
