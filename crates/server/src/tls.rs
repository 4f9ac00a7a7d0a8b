//! TLS in process. The second listener requests a client certificate but does not require one.

use std::{path::Path, sync::Arc};

use rustls::{
    CipherSuite, DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};

use crate::exit::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCertificates {
    NotAsked,
    Asked,
}

pub fn server(
    certificate: &Path,
    key: &Path,
    clients: ClientCertificates,
) -> Result<Arc<ServerConfig>, Failure> {
    let refused = |setting: &str, file: &Path, error: String| {
        Failure::refusal(format!("{setting}: {}: {error}", file.display()))
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| refused("tls_certificate_file", certificate, error.to_string()))?;
    let private =
        PrivateKeyDer::from_pem_file(key).map_err(|error| refused("tls_key_file", key, error.to_string()))?;
    let provider = Arc::new(provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::new(error.to_string()))?;
    let builder = match clients {
        ClientCertificates::NotAsked => builder.with_no_client_auth(),
        ClientCertificates::Asked => builder.with_client_cert_verifier(Arc::new(AnyCertificate { provider })),
    };
    let mut config = builder
        .with_single_cert(chain, private)
        .map_err(|error| refused("tls_certificate_file", certificate, error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// In TLS 1.2, neither RFC 9325 §4.2 recommends ChaCha20 nor FAPI 1.0 Advanced §8.5 permits it (docs/decisions/0096).
const UNLISTED: [CipherSuite; 2] = [
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
];

fn provider() -> CryptoProvider {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.cipher_suites.retain(|suite| !UNLISTED.contains(&suite.suite()));
    provider
}

/// Accepts any certificate whose private key the client proves to hold. Whether it authenticates a client is decided
/// per client: by thumbprint (RFC 8705 §2.2) or by its chain and subject (§2.1).
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
