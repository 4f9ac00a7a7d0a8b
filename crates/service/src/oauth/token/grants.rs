//! THE grant table. One line here, and discovery, registration and the per-client permission follow.

/// One grant type.
#[derive(Debug)]
pub struct Grant {
    /// The value of `grant_type`.
    pub name: &'static str,
    /// The `response_type` it needs at the authorization endpoint, if it begins there.
    pub response_type: Option<&'static str>,
}

/// Every grant that is served.
pub const GRANTS: &[Grant] = &[];
