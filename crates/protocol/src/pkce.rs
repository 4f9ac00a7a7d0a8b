//! Proof key for code exchange (RFC 7636). S256 only: `plain` discloses the verifier in the request.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Why a challenge or verifier is refused. The texts are for the developer of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PkceError {
    #[error("code_challenge is missing: PKCE with S256 is required on every request (RFC 7636)")]
    ChallengeMissing,
    /// RFC 7636 §4.3: an absent method means `plain`.
    #[error("code_challenge_method is missing, which means plain: send S256")]
    MethodMissing,
    #[error("code_challenge_method must be S256")]
    Method,
    #[error("code_challenge must be the SHA-256 of the verifier in base64url without padding: 43 characters")]
    Challenge,
    #[error("code_verifier must have 43 to 128 characters of A-Z, a-z, 0-9, -, ., _ and ~")]
    Verifier,
}

/// The SHA-256 of a verifier that is presented later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeChallenge([u8; 32]);

/// RFC 7636 §4.1. A secret, so `Debug` hides it.
pub struct CodeVerifier(Zeroizing<String>);

impl CodeChallenge {
    /// # Errors
    /// When either is absent, the method is not S256, or the challenge is not 32 bytes of canonical base64url.
    pub fn parse(challenge: Option<&str>, method: Option<&str>) -> Result<Self, PkceError> {
        let challenge = challenge.ok_or(PkceError::ChallengeMissing)?;
        match method {
            None => return Err(PkceError::MethodMissing),
            Some("S256") => {}
            Some(_) => return Err(PkceError::Method),
        }
        let mut digest = [0; 32];
        match URL_SAFE_NO_PAD.decode_slice(challenge, &mut digest) {
            Ok(32) if challenge.len() == 43 => Ok(Self(digest)),
            Ok(_) | Err(_) => Err(PkceError::Challenge),
        }
    }

    /// From storage.
    #[must_use]
    pub const fn from_bytes(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// For storage.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// RFC 7636 §4.6, in constant time.
    #[must_use]
    pub fn verify(&self, verifier: &CodeVerifier) -> bool {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, verifier.0.as_bytes());
        self.0.as_slice().ct_eq(digest.as_ref()).into()
    }
}

impl CodeVerifier {
    /// # Errors
    /// When the text is too short, too long, or has a character that is not unreserved (RFC 7636 §4.1).
    pub fn parse(text: &str) -> Result<Self, PkceError> {
        let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if !(43..=128).contains(&text.len()) || !text.bytes().all(unreserved) {
            return Err(PkceError::Verifier);
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }

    /// The challenge of this verifier, for a statement that compares them.
    #[must_use]
    pub fn challenge(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(
            aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, self.0.as_bytes()).as_ref(),
        );
        bytes
    }
}

impl fmt::Debug for CodeVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<code verifier>")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn rfc7636_appendix_b() {
        let challenge = CodeChallenge::parse(Some(CHALLENGE), Some("S256")).unwrap();
        let verifier = CodeVerifier::parse(VERIFIER).unwrap();
        assert!(challenge.verify(&verifier));
        assert_eq!(format!("{verifier:?}"), "<code verifier>");
        assert_eq!(CodeChallenge::from_bytes(*challenge.as_bytes()), challenge);
    }

    #[test]
    fn only_s256_said_aloud() {
        for (challenge, method, error) in [
            (None, None, PkceError::ChallengeMissing),
            (None, Some("S256"), PkceError::ChallengeMissing),
            (Some(CHALLENGE), None, PkceError::MethodMissing),
            (Some(CHALLENGE), Some("plain"), PkceError::Method),
            (Some(CHALLENGE), Some("s256"), PkceError::Method),
            (Some(CHALLENGE), Some("S256 "), PkceError::Method),
            (Some(""), Some("S256"), PkceError::Challenge),
            (Some(&CHALLENGE[..42]), Some("S256"), PkceError::Challenge),
            (Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM="), Some("S256"), PkceError::Challenge),
            (Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM"), Some("S256"), PkceError::Challenge),
            // The last character has two unused bits; only one spelling is canonical.
            (Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cN"), Some("S256"), PkceError::Challenge),
            (Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cMAAAA"), Some("S256"), PkceError::Challenge),
        ] {
            assert_eq!(CodeChallenge::parse(challenge, method), Err(error), "{challenge:?} {method:?}");
        }
    }

    #[test]
    fn verifiers_have_bounds_and_an_alphabet() {
        for length in [43, 44, 128] {
            assert!(CodeVerifier::parse(&"~".repeat(length)).is_ok());
        }
        for bad in ["", &"a".repeat(42), &"a".repeat(129), &"a+".repeat(30), &"é".repeat(43), &" ".repeat(43)]
        {
            assert_eq!(CodeVerifier::parse(bad).unwrap_err(), PkceError::Verifier, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_challenge_opens_for_its_own_verifier_only(one in "[A-Za-z0-9._~-]{43,128}", other in "[A-Za-z0-9._~-]{43,128}") {
            let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, one.as_bytes());
            let text = URL_SAFE_NO_PAD.encode(digest.as_ref());
            let challenge = CodeChallenge::parse(Some(&text), Some("S256")).unwrap();
            prop_assert!(challenge.verify(&CodeVerifier::parse(&one).unwrap()));
            prop_assert_eq!(challenge.verify(&CodeVerifier::parse(&other).unwrap()), one == other);
        }
    }
}
