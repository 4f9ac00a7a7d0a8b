//! The standard scopes (OpenID Connect Core §5.4). One line here, and discovery announces it.

/// A scope that every client may ask for, defined by a standard rather than by an API.
#[derive(Debug)]
pub struct StandardScope {
    pub name: &'static str,
}

/// Every standard scope that is served.
pub const STANDARD_SCOPES: &[StandardScope] = &[
    StandardScope { name: "openid" },
    StandardScope { name: "profile" },
    StandardScope { name: "email" },
    StandardScope { name: "offline_access" },
];

/// Whether a scope is a standard's rather than an API's.
pub fn is_standard(name: &str) -> bool {
    STANDARD_SCOPES.iter().any(|scope| scope.name == name)
}
