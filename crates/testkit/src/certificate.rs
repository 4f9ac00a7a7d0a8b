//! Throw-away certificates.

/// A self-signed certificate for a name, as PEM.
pub fn self_signed_pem(name: &str) -> String {
    rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate").cert.pem()
}
