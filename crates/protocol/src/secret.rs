//! Typed secrets. A [`Plain`] secret is shown once; only its [`Hashed`] form may be stored; `Debug` hides both.

use std::{fmt, marker::PhantomData};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use crate::entropy::Entropy;

/// One kind of secret. A leak scanner searches for the prefix, which also keeps one kind from being accepted as
/// another.
pub trait Kind {
    const PREFIX: &'static str;
}

/// 256 random bits, in memory only.
pub struct Plain<K> {
    bytes: Zeroizing<[u8; 32]>,
    kind: PhantomData<fn() -> K>,
}

/// SHA-256 of a secret: the only form in the database.
pub struct Hashed<K> {
    digest: [u8; 32],
    kind: PhantomData<fn() -> K>,
}

/// The text is not a secret of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a {0} secret")]
pub struct Malformed(&'static str);

impl<K: Kind> Plain<K> {
    #[must_use]
    pub fn generate(entropy: &dyn Entropy) -> Self {
        Self { bytes: Zeroizing::new(entropy.bytes()), kind: PhantomData }
    }

    /// # Errors
    /// When the prefix is another kind's or the rest is not exactly 32 bytes of canonical base64url.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let malformed = Malformed(K::PREFIX);
        let body = text.strip_prefix(K::PREFIX).and_then(|rest| rest.strip_prefix('_')).ok_or(malformed)?;
        if body.len() != 43 {
            return Err(malformed);
        }
        let mut bytes = Zeroizing::new([0; 32]);
        let written = URL_SAFE_NO_PAD.decode_slice(body, bytes.as_mut_slice()).map_err(|_| malformed)?;
        if written != bytes.len() {
            return Err(malformed);
        }
        Ok(Self { bytes, kind: PhantomData })
    }

    /// The only conversion of a secret to text: for its owner, once.
    #[must_use]
    pub fn reveal(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{}_{}", K::PREFIX, URL_SAFE_NO_PAD.encode(self.bytes.as_slice())))
    }

    #[must_use]
    pub fn hash(&self) -> Hashed<K> {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, self.bytes.as_slice());
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Hashed { digest: bytes, kind: PhantomData }
    }
}

impl<K> Hashed<K> {
    /// For a `bytea` parameter or column.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.digest
    }
}

impl<K: Kind> fmt::Debug for Plain<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} secret>", K::PREFIX)
    }
}
impl<K: Kind> fmt::Debug for Hashed<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} hash>", K::PREFIX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    enum Door {}
    impl Kind for Door {
        const PREFIX: &'static str = "door";
    }
    #[derive(Debug)]
    enum Window {}
    impl Kind for Window {
        const PREFIX: &'static str = "window";
    }
    struct Sevens;
    impl Entropy for Sevens {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    #[test]
    fn a_secret_never_prints_and_one_kind_is_not_another() {
        let secret = Plain::<Door>::generate(&Sevens);
        let shown = secret.reveal();
        assert_eq!(format!("{secret:?} {:?}", secret.hash()), "<door secret> <door hash>");
        assert_eq!(Plain::<Door>::parse(&shown).unwrap().hash().as_bytes(), secret.hash().as_bytes());
        assert!(Plain::<Window>::parse(&shown).is_err());
    }

    #[test]
    fn only_the_canonical_spelling_is_accepted() {
        let shown = Plain::<Door>::generate(&Sevens).reveal();
        for bad in [
            format!("{}A", *shown),
            format!("{}=", *shown),
            shown[..shown.len() - 1].to_owned(),
            String::new(),
        ] {
            assert!(Plain::<Door>::parse(&bad).is_err(), "{bad}");
        }
        // The last character has two unused bits; a decoder that ignores them accepts four spellings of one secret.
        let mut twin = shown.to_string();
        let last = twin.pop().unwrap();
        twin.push((last as u8 + 1) as char);
        assert!(Plain::<Door>::parse(&twin).is_err());
    }
}
