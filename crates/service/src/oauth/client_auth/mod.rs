//! How clients prove who they are. One line here, and discovery and registration follow.

/// One `token_endpoint_auth_method` (RFC 7591 §2, OpenID Connect Core §9, RFC 8705 §2).
#[derive(Debug)]
pub struct Method {
    pub name: &'static str,
}

/// Every method that is served.
pub const METHODS: &[Method] = &[];
