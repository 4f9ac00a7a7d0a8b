//! Private signing keys, parsed once.

use aws_lc_rs::{
    encoding::AsDer,
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, KeySize},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
        RSA_PSS_SHA256,
    },
};
use zeroize::Zeroizing;

use super::{Algorithm, PublicJwk};

/// Why a key cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("the key could not be generated")]
    Generation,
    #[error("the private key is not a PKCS#8 key of its algorithm")]
    Malformed,
    #[error("the key refused to sign")]
    Signature,
}

enum Pair {
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

/// A private key with its one algorithm.
pub struct SigningKey {
    algorithm: Algorithm,
    pair: Pair,
    public: PublicJwk,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<{} signing key {}>", self.algorithm, self.public.kid)
    }
}

/// Generates a private key as PKCS#8. The one place where entropy is not an argument: the crypto library uses only
/// its own generator.
///
/// # Errors
/// When the crypto library fails.
pub fn generate_pkcs8(algorithm: Algorithm) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let random = SystemRandom::new();
    let der = match algorithm {
        Algorithm::Es256 => EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(|_| KeyError::Generation)?
            .as_ref()
            .to_vec(),
        Algorithm::EdDsa => {
            Ed25519KeyPair::generate_pkcs8(&random).map_err(|_| KeyError::Generation)?.as_ref().to_vec()
        }
        Algorithm::Rs256 | Algorithm::Ps256 => {
            let pair = RsaKeyPair::generate(KeySize::Rsa2048).map_err(|_| KeyError::Generation)?;
            AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&pair)
                .map_err(|_| KeyError::Generation)?
                .as_ref()
                .to_vec()
        }
    };
    Ok(Zeroizing::new(der))
}

impl SigningKey {
    /// # Errors
    /// When the bytes are not a PKCS#8 key for this algorithm, or are a too short RSA key.
    pub fn from_pkcs8(algorithm: Algorithm, der: &[u8]) -> Result<Self, KeyError> {
        let (pair, public) = match algorithm {
            Algorithm::Es256 => {
                let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der)
                    .map_err(|_| KeyError::Malformed)?;
                let public =
                    PublicJwk::p256(algorithm, pair.public_key().as_ref()).ok_or(KeyError::Malformed)?;
                (Pair::Ec(pair), public)
            }
            Algorithm::EdDsa => {
                let pair = Ed25519KeyPair::from_pkcs8(der).map_err(|_| KeyError::Malformed)?;
                let public = PublicJwk::ed25519(algorithm, pair.public_key().as_ref());
                (Pair::Ed(pair), public)
            }
            Algorithm::Rs256 | Algorithm::Ps256 => {
                let pair = RsaKeyPair::from_pkcs8(der).map_err(|_| KeyError::Malformed)?;
                let public = PublicJwk::rsa(
                    algorithm,
                    pair.public_key().modulus().big_endian_without_leading_zero(),
                    pair.public_key().exponent().big_endian_without_leading_zero(),
                );
                (Pair::Rsa(pair), public)
            }
        };
        Ok(Self { algorithm, pair, public })
    }

    /// ES256 with a private key of P-256 as 32 bytes, for keys that are derived.
    ///
    /// # Errors
    /// When the number is not a private key of the curve.
    pub fn from_p256_scalar(scalar: &[u8; 32]) -> Result<Self, KeyError> {
        // PrivateKeyInfo (RFC 5208 §5) of an ECPrivateKey without its public key (RFC 5915 §3), up to the number.
        const BEFORE: [u8; 35] = [
            0x30, 0x41, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
            0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x27, 0x30, 0x25, 0x02, 0x01,
            0x01, 0x04, 0x20,
        ];
        let der = Zeroizing::new([BEFORE.as_slice(), scalar].concat());
        Self::from_pkcs8(Algorithm::Es256, &der)
    }

    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    #[must_use]
    pub const fn public(&self) -> &PublicJwk {
        &self.public
    }

    /// # Errors
    /// When the crypto library fails.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ec(pair) => {
                Ok(pair.sign(&random, message).map_err(|_| KeyError::Signature)?.as_ref().to_vec())
            }
            Pair::Ed(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let padding: &'static dyn aws_lc_rs::signature::RsaEncoding = match self.algorithm {
                    Algorithm::Ps256 => &RSA_PSS_SHA256,
                    Algorithm::Rs256 | Algorithm::Es256 | Algorithm::EdDsa => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(padding, &random, message, &mut signature).map_err(|_| KeyError::Signature)?;
                Ok(signature)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_one_algorithm_is_not_accepted_for_another() {
        let ec = generate_pkcs8(Algorithm::Es256).unwrap();
        assert!(SigningKey::from_pkcs8(Algorithm::Es256, &ec).is_ok());
        for other in [Algorithm::EdDsa, Algorithm::Rs256, Algorithm::Ps256] {
            assert_eq!(SigningKey::from_pkcs8(other, &ec).unwrap_err(), KeyError::Malformed);
        }
    }

    #[test]
    fn a_key_never_prints_its_private_part() {
        let key =
            SigningKey::from_pkcs8(Algorithm::EdDsa, &generate_pkcs8(Algorithm::EdDsa).unwrap()).unwrap();
        assert_eq!(format!("{key:?}"), format!("<EdDSA signing key {}>", key.public().kid));
    }
}
