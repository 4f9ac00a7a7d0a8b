//! The master key: 32 bytes in a file, from which one key per purpose is derived (RFC 5869).

use std::path::Path;

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    hkdf::{HKDF_SHA256, KeyType, Salt},
};
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use porteiro_protocol::entropy::Entropy;

#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    #[error("the master key file {0} cannot be read ({1}); run: porteiro keys generate --create-master-key")]
    Unreadable(String, std::io::Error),
    #[error(
        "the master key file {0} does not contain 64 hexadecimal digits; move it away and run: porteiro keys generate --create-master-key"
    )]
    Malformed(String),
    #[error(
        "the master key in {0} is a known placeholder; move it away and run: porteiro keys generate --create-master-key"
    )]
    Placeholder(String),
    #[error("the master key in {file} can be read by others (mode {mode:o}); run: chmod 600 {file}")]
    Exposed { file: String, mode: u32 },
    #[error("encryption failed")]
    Encryption,
    #[error("the value was encrypted with another master key, or was modified")]
    Foreign,
}

pub struct MasterKey {
    sealing: LessSafeKey,
    bytes: zeroize::Zeroizing<[u8; 32]>,
    entropy: std::sync::Arc<dyn Entropy>,
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<master key>")
    }
}

/// The key of `--dev`, so that a restart can read its temporary keys. It is public, hence refused in production.
const DEVELOPMENT: [u8; 32] = *b"porteiro --dev: not a secret key";
const NONCE_LENGTH: usize = 12;
const FORMAT: u8 = 1;

struct Length(usize);
impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

impl MasterKey {
    pub fn development(entropy: std::sync::Arc<dyn Entropy>) -> Result<Self, MasterKeyError> {
        Self::from_bytes(&DEVELOPMENT, entropy)
    }

    /// # Errors
    /// When the file is missing, readable by others, malformed, or contains a placeholder.
    pub fn from_file(file: &Path, entropy: std::sync::Arc<dyn Entropy>) -> Result<Self, MasterKeyError> {
        let name = file.display().to_string();
        let text =
            std::fs::read_to_string(file).map_err(|error| MasterKeyError::Unreadable(name.clone(), error))?;
        let text = text.trim();
        if is_placeholder_text(text) {
            return Err(MasterKeyError::Placeholder(name));
        }
        let bytes = from_hex(text).ok_or_else(|| MasterKeyError::Malformed(name.clone()))?;
        if is_placeholder(&bytes) {
            return Err(MasterKeyError::Placeholder(name));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(file)
                .map_err(|error| MasterKeyError::Unreadable(name.clone(), error))?
                .permissions()
                .mode();
            // A group may read it (container secrets are mounted 0640 or 0440); others may not.
            if mode & 0o007 != 0 {
                return Err(MasterKeyError::Exposed { file: name, mode: mode & 0o777 });
            }
        }
        Self::from_bytes(&bytes, entropy)
    }

    /// The text of a new master key file.
    pub fn generate_text(entropy: &dyn Entropy) -> String {
        HEXLOWER.encode(&entropy.bytes::<32>()) + "\n"
    }

    fn from_bytes(bytes: &[u8; 32], entropy: std::sync::Arc<dyn Entropy>) -> Result<Self, MasterKeyError> {
        let derived = derive(bytes, b"porteiro/signing-key-sealing/1")?;
        let sealing = UnboundKey::new(&AES_256_GCM, &derived)
            .map(LessSafeKey::new)
            .map_err(|_| MasterKeyError::Encryption)?;
        Ok(Self { sealing, bytes: zeroize::Zeroizing::new(*bytes), entropy })
    }

    /// A separate key for each purpose: a leaked one does not disclose another.
    pub fn subkey(&self, purpose: &'static str) -> Result<[u8; 32], MasterKeyError> {
        derive(&self.bytes, purpose.as_bytes())
    }

    /// Format byte, nonce, ciphertext and tag; `context` is authenticated too, so a sealed value cannot be moved to
    /// another row.
    pub fn seal(&self, context: &[u8], plain: &[u8]) -> Result<Vec<u8>, MasterKeyError> {
        let nonce: [u8; NONCE_LENGTH] = self.entropy.bytes();
        let mut body = plain.to_vec();
        self.sealing
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(context), &mut body)
            .map_err(|_| MasterKeyError::Encryption)?;
        let mut sealed = vec![FORMAT];
        sealed.extend_from_slice(&nonce);
        sealed.append(&mut body);
        Ok(sealed)
    }

    pub fn open(&self, context: &[u8], sealed: &[u8]) -> Result<zeroize::Zeroizing<Vec<u8>>, MasterKeyError> {
        let [FORMAT, rest @ ..] = sealed else { return Err(MasterKeyError::Foreign) };
        let (nonce, body) = rest.split_at_checked(NONCE_LENGTH).ok_or(MasterKeyError::Foreign)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| MasterKeyError::Foreign)?;
        let mut body = zeroize::Zeroizing::new(body.to_vec());
        let length = self
            .sealing
            .open_in_place(nonce, Aad::from(context), &mut body)
            .map_err(|_| MasterKeyError::Foreign)?
            .len();
        body.truncate(length);
        Ok(body)
    }
}

fn derive(master: &[u8; 32], purpose: &[u8]) -> Result<[u8; 32], MasterKeyError> {
    let mut key = [0; 32];
    Salt::new(HKDF_SHA256, b"porteiro")
        .extract(master)
        .expand(&[purpose], Length(32))
        .and_then(|expanded| expanded.fill(&mut key))
        .map_err(|_| MasterKeyError::Encryption)?;
    Ok(key)
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?.try_into().ok()
}

fn is_placeholder_text(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["changeme", "change-me", "change_me", "secret", "placeholder", "example", "replace", "todo", "password"]
        .iter()
        .any(|word| text.contains(word))
}

/// Bytes that are not random: ours for `--dev`, one byte repeated, a counting sequence, or plain text.
fn is_placeholder(bytes: &[u8; 32]) -> bool {
    let steps: std::collections::BTreeSet<u8> =
        bytes.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    let distinct: std::collections::BTreeSet<&u8> = bytes.iter().collect();
    let text = bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    *bytes == DEVELOPMENT || steps.len() == 1 || distinct.len() <= 8 || text
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting;
    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            for (value, byte) in (0u8..).zip(bytes) {
                *byte = value.wrapping_mul(37).wrapping_add(11);
            }
        }
    }

    fn key(seed: u8) -> MasterKey {
        MasterKey::from_bytes(&[seed; 32], std::sync::Arc::new(Counting)).unwrap()
    }

    #[test]
    fn sealed_values_open_only_under_their_key_and_in_their_row() {
        let sealed = key(1).seal(b"row 1", b"private").unwrap();
        assert_eq!(*key(1).open(b"row 1", &sealed).unwrap(), b"private");
        assert!(key(1).open(b"row 2", &sealed).is_err());
        assert!(key(2).open(b"row 1", &sealed).is_err());
        for cut in 0..sealed.len() {
            assert!(key(1).open(b"row 1", &sealed[..cut]).is_err());
        }
        assert!(!sealed.windows(7).any(|window| window == b"private"));
    }

    #[test]
    fn placeholders_are_known() {
        let counting: [u8; 32] = std::array::from_fn(|index| u8::try_from(index).unwrap());
        let drawn: [u8; 32] = std::array::from_fn(|index| u8::try_from(index * 97 % 251).unwrap() ^ 0x5a);
        for (bytes, expected) in
            [([0; 32], true), ([0xff; 32], true), (counting, true), (DEVELOPMENT, true), (drawn, false)]
        {
            assert_eq!(is_placeholder(&bytes), expected, "{bytes:?}");
        }
        assert!(is_placeholder_text("CHANGEME"));
        assert_eq!(MasterKey::generate_text(&Counting).trim().len(), 64);
        assert!(from_hex(MasterKey::generate_text(&Counting).trim()).is_some());
        assert!(from_hex(&"Ab".repeat(32)).is_some(), "capitals are digits too");
        for wrong in ["+f".repeat(32), "ab".repeat(31), "ab".repeat(33), " a".repeat(32), "é".repeat(32)] {
            assert!(from_hex(&wrong).is_none(), "{wrong}");
        }
    }
}
