//! The certificate authorities of `tls_client_auth` (RFC 8705 §2.1).
//!
//! Checked here and not in the handshake: a certificate may come from a proxy, and one that only binds a token (§3)
//! needs no authority. Requests carry no intermediate certificates, so the file contains the authorities that sign
//! client certificates directly.

use std::{path::Path, sync::Arc, time::Duration};

use porteiro_protocol::time::OffsetDateTime;
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, UnixTime, pem::PemObject},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};

#[derive(Debug)]
pub struct ClientAuthorities {
    verifier: Arc<dyn ClientCertVerifier>,
}

impl ClientAuthorities {
    /// # Errors
    /// What is wrong with the file, as a sentence.
    pub fn from_file(file: &Path) -> Result<Self, String> {
        let wrong = |reason: &dyn std::fmt::Display| format!("{}: {reason}", file.display());
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(file).map_err(|error| wrong(&error))? {
            roots.add(certificate.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))?;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| wrong(&error))?;
        Ok(Self { verifier })
    }

    /// Whether one of them issued the certificate, for client authentication, and it is valid now (RFC 5280 §6).
    pub(super) fn vouch_for(&self, certificate: &[u8], now: OffsetDateTime) -> bool {
        let Ok(seconds) = u64::try_from(now.unix_timestamp()) else { return false };
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        match self.verifier.verify_client_cert(&CertificateDer::from(certificate), &[], now) {
            Ok(_) => true,
            Err(error) => {
                tracing::info!(%error, "a client certificate is not signed by an authority in mtls_ca_file");
                false
            }
        }
    }
}
