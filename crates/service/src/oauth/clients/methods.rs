//! The methods of client authentication. Discovery and registration follow from [`METHODS`].

use crate::{settings::Settings, store::text_enum};

text_enum! {
    /// A `token_endpoint_auth_method` (RFC 7591 §2, OpenID Connect Core §9, RFC 8705 §2).
    AuthMethod {
        None = "none",
        SecretBasic = "client_secret_basic",
        SecretPost = "client_secret_post",
        PrivateKeyJwt = "private_key_jwt",
        TlsClientAuth = "tls_client_auth",
        SelfSignedTls = "self_signed_tls_client_auth",
    }
}

/// One method, and whether these settings suffice to support it.
#[derive(Debug)]
pub struct Method {
    pub name: &'static str,
    pub served: fn(&Settings) -> bool,
}

const fn method(method: AuthMethod, served: fn(&Settings) -> bool) -> Method {
    Method { name: method.as_str(), served }
}

/// Every supported method.
pub const METHODS: &[Method] = &[
    method(AuthMethod::None, |_| true),
    method(AuthMethod::SecretBasic, |_| true),
    method(AuthMethod::SecretPost, |_| true),
    method(AuthMethod::PrivateKeyJwt, |_| true),
    method(AuthMethod::TlsClientAuth, |settings| {
        settings.takes_client_certificates() && settings.mtls_ca_file.is_some()
    }),
    method(AuthMethod::SelfSignedTls, Settings::takes_client_certificates),
];

/// Their names, for registration.
pub const NAMES: &[&str] = &names();

const fn names() -> [&'static str; METHODS.len()] {
    let mut names = [""; METHODS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = METHODS[at].name;
        at += 1;
    }
    names
}

pub fn is_served(settings: &Settings, name: &str) -> bool {
    METHODS.iter().any(|method| method.name == name && (method.served)(settings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_method() {
        let known: Vec<&str> = AuthMethod::ALL.iter().map(|method| method.as_str()).collect();
        assert_eq!(known, NAMES);
    }
}
