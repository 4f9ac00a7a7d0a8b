//! JOSE: signature algorithms, keys and tokens (RFC 7515, RFC 7517, RFC 7518, RFC 7638, RFC 8037).

mod jwk;
mod jws;
mod key;
mod verify;

pub use jwk::{Jwks, PublicJwk, thumbprint};
pub(crate) use jwk::{Material, has_private_member, sha256};
pub use jws::{Header, signing_input};
pub use key::{KeyError, SigningKey, generate_pkcs8};
pub use verify::{
    MAX_COMPACT, MAX_RSA_BYTES, VerifiedJws, VerifyError, is_slow_to_verify, peek_claims, verify_compact,
    verify_embedded,
};

use serde::{Deserialize, Serialize};

macro_rules! algorithms {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// The algorithms we sign with. Each has its own key ring; a key serves one algorithm.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Algorithm { $(#[serde(rename = $name)] $variant),+ }

        impl Algorithm {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl std::str::FromStr for Algorithm {
            type Err = UnknownAlgorithm;
            fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
                match name { $($name => Ok(Self::$variant),)+ _ => Err(UnknownAlgorithm(name.to_owned())) }
            }
        }
    };
}

algorithms! { Es256 = "ES256", EdDsa = "EdDSA", Rs256 = "RS256", Ps256 = "PS256" }

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an algorithm we sign with (ES256, EdDSA, RS256, PS256)")]
pub struct UnknownAlgorithm(String);

impl Algorithm {
    /// An RSA signature costs as much as about fifteen elliptic-curve ones, so it is computed off the async threads.
    #[must_use]
    pub const fn is_slow(self) -> bool {
        match self {
            Self::Es256 | Self::EdDsa => false,
            Self::Rs256 | Self::Ps256 => true,
        }
    }
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
