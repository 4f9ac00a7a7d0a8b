//! The organization for which a key may have a token. Pure.

use porteiro_protocol::error::ErrorCode;

use crate::{
    http::OAuthError,
    organizations::{Name, Organization},
};

/// A key belongs to one organization; a request may name that one and no other.
pub fn names(organization: &Organization, named: Option<&str>) -> Result<(), OAuthError> {
    let same = match named.map(Name::parse) {
        None => true,
        Some(Name::Id(id)) => id == organization.id,
        Some(Name::Slug(slug)) => slug == organization.slug,
    };
    if same {
        Ok(())
    } else {
        Err(OAuthError::new(ErrorCode::InvalidTarget, "organization is not the key's organization"))
    }
}
