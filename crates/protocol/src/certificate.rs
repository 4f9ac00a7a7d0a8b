//! Client certificates (RFC 8705): parsing them and identifying their subject. Whether a trusted authority issued a
//! certificate is decided elsewhere, where the connection ends.

mod name;
mod subject;

use std::{fmt, net::IpAddr};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde_json::Value;
use time::OffsetDateTime;
use x509_parser::{
    oid_registry::{OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY, OID_PKCS1_RSAENCRYPTION, OID_SIG_ED25519},
    prelude::{FromDer, GeneralName, X509Certificate},
    public_key::PublicKey,
    x509::SubjectPublicKeyInfo,
};

use crate::jose::{Material, sha256, thumbprint};
use name::Name;
pub use subject::Subject;

pub const MAX_CERTIFICATE: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    #[error("the certificate is longer than {MAX_CERTIFICATE} bytes")]
    TooLong,
    #[error("the certificate is not one X.509 certificate in DER")]
    Malformed,
}

/// An alternative name of one of the four kinds in RFC 8705 §2.1.2.
enum AlternativeName {
    Dns(String),
    Uri(String),
    Ip(IpAddr),
    Email(String),
}

/// A parsed certificate.
pub struct Certificate {
    der: Vec<u8>,
    spki: Vec<u8>,
    /// The JWK thumbprint of the public key (RFC 7638); `None` for key types that no JWK here can have.
    key: Option<[u8; 32]>,
    /// `None` when it cannot be read exactly; then it matches no client.
    subject: Option<Name>,
    alternatives: Vec<AlternativeName>,
    not_before: OffsetDateTime,
    not_after: OffsetDateTime,
}

impl Certificate {
    /// # Errors
    /// When the input is too long, or is not exactly one certificate with a readable public key, dates and
    /// extensions.
    pub fn parse(der: &[u8]) -> Result<Self, CertificateError> {
        if der.len() > MAX_CERTIFICATE {
            return Err(CertificateError::TooLong);
        }
        Self::read(der).ok_or(CertificateError::Malformed)
    }

    fn read(der: &[u8]) -> Option<Self> {
        let (rest, parsed) = X509Certificate::from_der(der).ok()?;
        let alternatives = match parsed.subject_alternative_name().ok()? {
            Some(names) => names.value.general_names.iter().filter_map(AlternativeName::read).collect(),
            None => Vec::new(),
        };
        let validity = parsed.validity();
        rest.is_empty().then_some(Self {
            der: der.to_vec(),
            spki: parsed.public_key().raw.to_vec(),
            key: key_name(parsed.public_key()),
            subject: Name::read(parsed.subject()),
            alternatives,
            not_before: OffsetDateTime::from_unix_timestamp(validity.not_before.timestamp()).ok()?,
            not_after: OffsetDateTime::from_unix_timestamp(validity.not_after.timestamp()).ok()?,
        })
    }

    /// For `cnf` member `x5t#S256` (RFC 8705 §3.1): SHA-256 over the DER.
    #[must_use]
    pub fn thumbprint(&self) -> [u8; 32] {
        sha256(&self.der)
    }

    /// SubjectPublicKeyInfo, in DER.
    #[must_use]
    pub fn public_key_spki(&self) -> &[u8] {
        &self.spki
    }

    /// RFC 5280 §4.1.2.5: both ends are part of the period.
    #[must_use]
    pub fn is_valid_at(&self, now: OffsetDateTime) -> bool {
        (self.not_before..=self.not_after).contains(&now)
    }

    /// RFC 8705 §2.1: whether the certificate has this subject.
    #[must_use]
    pub fn matches_subject(&self, subject: &Subject) -> bool {
        let any = |is: &dyn Fn(&AlternativeName) -> bool| self.alternatives.iter().any(is);
        subject.is_well_formed()
            && match subject {
                Subject::DistinguishedName(text) => {
                    Name::parse(text).is_some_and(|name| self.subject.as_ref() == Some(&name))
                }
                Subject::SanDns(dns) => any(
                    &|name| matches!(name, AlternativeName::Dns(found) if found.eq_ignore_ascii_case(dns)),
                ),
                Subject::SanUri(uri) => {
                    any(&|name| matches!(name, AlternativeName::Uri(found) if found == uri))
                }
                Subject::SanIp(ip) => ip.parse().is_ok_and(|ip: IpAddr| {
                    any(&|name| matches!(name, AlternativeName::Ip(found) if *found == ip))
                }),
                Subject::SanEmail(email) => any(
                    &|name| matches!(name, AlternativeName::Email(found) if subject::same_mailbox(found, email)),
                ),
            }
    }

    /// RFC 8705 §2.2: whether one of the client's registered JWKs has the key of this certificate.
    #[must_use]
    pub fn matches_jwks(&self, keys: &[Value]) -> bool {
        keys.iter().any(|jwk| match jwk.get("x5c") {
            // The client registered this certificate: another one with the same key does not match.
            Some(chain) => chain
                .get(0)
                .and_then(Value::as_str)
                .and_then(|first| STANDARD.decode(first).ok())
                .is_some_and(|registered| registered == self.der),
            None => self.key.is_some() && thumbprint(jwk) == self.key,
        })
    }
}

fn key_name(spki: &SubjectPublicKeyInfo<'_>) -> Option<[u8; 32]> {
    let algorithm = &spki.algorithm.algorithm;
    let bytes = spki.subject_public_key.data.as_ref();
    let material = if *algorithm == OID_PKCS1_RSAENCRYPTION {
        let PublicKey::RSA(key) = spki.parsed().ok()? else { return None };
        Material::rsa(key.modulus, key.exponent)
    } else if *algorithm == OID_KEY_TYPE_EC_PUBLIC_KEY {
        let curve = spki.algorithm.parameters.as_ref()?.as_oid().ok()?;
        (curve == OID_EC_P256).then(|| Material::p256(bytes))??
    } else if *algorithm == OID_SIG_ED25519 && bytes.len() == 32 {
        Material::ed25519(bytes)
    } else {
        return None;
    };
    Some(material.thumbprint())
}

impl AlternativeName {
    fn read(name: &GeneralName<'_>) -> Option<Self> {
        match name {
            GeneralName::DNSName(dns) => Some(Self::Dns((*dns).to_owned())),
            GeneralName::URI(uri) => Some(Self::Uri((*uri).to_owned())),
            GeneralName::RFC822Name(email) => Some(Self::Email((*email).to_owned())),
            GeneralName::IPAddress(bytes) => match bytes.len() {
                4 => <[u8; 4]>::try_from(*bytes).ok().map(|v4| Self::Ip(v4.into())),
                16 => <[u8; 16]>::try_from(*bytes).ok().map(|v6| Self::Ip(v6.into())),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Names may be personal data.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<certificate {}>", URL_SAFE_NO_PAD.encode(self.thumbprint()))
    }
}

#[cfg(test)]
mod tests;
