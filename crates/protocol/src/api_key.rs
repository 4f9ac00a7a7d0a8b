//! API keys: `pt_key_<id>_<secret>_<checksum>`. The id is safe to log; the secret has 256 bits and is shown once; the
//! checksum lets a leak scanner recognise a key without a request to the service.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use crate::entropy::Entropy;

pub const PREFIX: &str = "pt_key_";
const ID: usize = 12;
const SECRET: usize = 43;
const CHECKSUM: usize = 6;
/// Without characters that are easily confused, and without `_`, the separator.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// A key in memory. Its `Debug` hides the secret.
pub struct ApiKey {
    id: String,
    secret: Zeroizing<[u8; 32]>,
}

impl ApiKey {
    #[must_use]
    pub fn generate(entropy: &dyn Entropy) -> Self {
        let random: [u8; ID] = entropy.bytes();
        let id = random.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect();
        Self { id, secret: Zeroizing::new(entropy.bytes()) }
    }

    /// `None` when the text is not a key, including a wrong checksum. Needs no database.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        if !rest.is_ascii() || rest.len() != ID + 1 + SECRET + 1 + CHECKSUM {
            return None;
        }
        let (id, rest) = rest.split_at(ID);
        let (secret, sum) = rest.strip_prefix('_')?.split_at(SECRET);
        if sum.strip_prefix('_')? != checksum(id, secret) {
            return None;
        }
        Self::from_parts(id, secret)
    }

    /// Reads HTTP Basic credentials: the id as user name, and as password the secret or the whole key.
    #[must_use]
    pub fn from_basic(user: &str, password: &str) -> Option<Self> {
        if password.starts_with(PREFIX) {
            return Self::parse(password).filter(|key| key.id == user);
        }
        Self::from_parts(user, password)
    }

    /// Reads HTTP Basic credentials: the id as user name, the secret as password.
    #[must_use]
    pub fn from_parts(id: &str, secret: &str) -> Option<Self> {
        let mut bytes = Zeroizing::new([0; 32]);
        if !is_id(id) || secret.len() != SECRET {
            return None;
        }
        let written = URL_SAFE_NO_PAD.decode_slice(secret, bytes.as_mut_slice()).ok()?;
        (written == bytes.len()).then(|| Self { id: id.to_owned(), secret: bytes })
    }

    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// SHA-256 of the secret: the only form that is stored.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, self.secret.as_slice());
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        bytes
    }

    /// The text that is shown to the owner once.
    #[must_use]
    pub fn reveal(&self) -> Zeroizing<String> {
        let secret = Zeroizing::new(URL_SAFE_NO_PAD.encode(self.secret.as_slice()));
        Zeroizing::new(format!("{PREFIX}{}_{}_{}", self.id, *secret, checksum(&self.id, &secret)))
    }
}

/// Whether the text has the form of a key id. Client ids are UUIDs or URLs and never do.
#[must_use]
pub fn is_id(text: &str) -> bool {
    text.len() == ID && text.bytes().all(|byte| ALPHABET.contains(&byte))
}

/// CRC-32 (IEEE 802.3) of id and secret in the id's alphabet: 30 of its bits.
fn checksum(id: &str, secret: &str) -> String {
    let crc = !id.bytes().chain([b'_']).chain(secret.bytes()).fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    });
    (0..CHECKSUM).map(|at| char::from(ALPHABET[(crc >> (5 * at)) as usize % 32])).collect()
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<api key {}>", self.id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Seeded(u8);
    impl Entropy for Seeded {
        fn fill(&self, bytes: &mut [u8]) {
            for (at, byte) in bytes.iter_mut().enumerate() {
                *byte = self.0.wrapping_mul(31).wrapping_add(u8::try_from(at % 251).unwrap_or(0));
            }
        }
    }

    proptest! {
        #[test]
        fn a_key_is_read_as_written_and_one_wrong_character_is_noticed(
            seed in any::<u8>(), at in 0..69usize, other in 0x21..0x7eu8,
        ) {
            let key = ApiKey::generate(&Seeded(seed));
            let text = key.reveal();
            let read = ApiKey::parse(&text).unwrap();
            prop_assert_eq!(read.hash(), key.hash());
            prop_assert_eq!(read.id(), key.id());
            let mut wrong = text.as_bytes().to_vec();
            prop_assume!(wrong[at] != other);
            wrong[at] = other;
            prop_assert!(ApiKey::parse(std::str::from_utf8(&wrong).unwrap()).is_none());
        }
    }

    #[test]
    fn the_documentation_tells_a_scanner_what_a_key_looks_like() {
        let text = include_str!("../../../docs/api-keys.md");
        let after = |label: &str| {
            let line = text.lines().find(|line| line.trim_start_matches("- ").starts_with(label)).unwrap();
            line.split('`').nth(1).unwrap()
        };
        let (pattern, example) = (after("Pattern:"), after("Example:"));
        let is_match = |text: &str| {
            let schema = serde_json::json!({"type": "string", "pattern": format!("^{pattern}$")});
            jsonschema::is_valid(&schema, &serde_json::json!(text))
        };
        assert!(is_match(example));
        let key = ApiKey::parse(example).expect("the worked example");
        assert_eq!(key.id(), after("Id:"));
        let secret = URL_SAFE_NO_PAD.encode(key.secret.as_slice());
        assert_eq!(checksum(key.id(), &secret), after("Checksum:"));
        for seed in 0..=255 {
            assert!(is_match(&ApiKey::generate(&Seeded(seed)).reveal()));
        }
        for other in
            ["pt_key_", "pt_cs_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", &example[1..], &example[..68]]
        {
            assert!(!is_match(other), "{other}");
        }
    }

    #[test]
    fn basic_carries_a_key_in_two_ways() {
        let key = ApiKey::generate(&Seeded(3));
        let shown = key.reveal();
        let secret = &shown[PREFIX.len() + ID + 1..PREFIX.len() + ID + 1 + SECRET];
        for password in [secret, shown.as_str()] {
            assert_eq!(ApiKey::from_basic(key.id(), password).unwrap().hash(), key.hash());
        }
        let other = ApiKey::generate(&Seeded(4));
        assert!(ApiKey::from_basic(other.id(), &shown).is_none(), "another's key under this id");
        assert!(ApiKey::from_basic(key.id(), &shown[..shown.len() - 1]).is_none());
        assert!(ApiKey::from_basic("someone", secret).is_none());
        assert!(is_id(key.id()) && !is_id("0123456789ab") && !is_id("") && !is_id(secret));
    }

    #[test]
    fn a_key_does_not_print() {
        let key = ApiKey::generate(&Seeded(1));
        assert!(!format!("{key:?}").contains(&key.reveal()[21..60]));
    }
}
