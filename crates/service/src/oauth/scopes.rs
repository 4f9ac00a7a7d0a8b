//! The standard scopes (OpenID Connect Core §5.4). One line here, and discovery announces it.

/// A scope that every client may ask for, defined by a standard rather than by an API.
#[derive(Debug)]
pub struct StandardScope {
    pub name: &'static str,
}

/// Every standard scope that is served.
pub const STANDARD_SCOPES: &[StandardScope] = &[];
