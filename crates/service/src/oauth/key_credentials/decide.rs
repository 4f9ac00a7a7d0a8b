//! For what a key may have a token. Pure.

use porteiro_protocol::{
    error::ErrorCode,
    permission::{Held, Permission},
    scope::Scope,
};

use crate::{
    http::OAuthError,
    oauth::apis::Api,
    organizations::{Name, Organization},
};

/// A key belongs to one organization; naming it again is allowed, naming another is not.
pub fn names(organization: &Organization, named: Option<&str>) -> Result<(), OAuthError> {
    let same = match named.map(Name::parse) {
        None => true,
        Some(Name::Id(id)) => id == organization.id,
        Some(Name::Slug(slug)) => slug == organization.slug,
    };
    if same {
        Ok(())
    } else {
        Err(OAuthError::new(ErrorCode::InvalidTarget, "organization is not the one the key belongs to"))
    }
}

/// Which API and which scopes, or why not.
pub fn asked<'a>(
    held: &Held,
    apis: &'a [Api],
    issuer: &str,
    resource: Option<&str>,
    scope: Option<&str>,
) -> Result<(&'a Api, Scope), OAuthError> {
    let invalid = |detail: &str| OAuthError::new(ErrorCode::InvalidScope, detail);
    if resource == Some(issuer) {
        let text = "at this API the key itself is used, and no token";
        return Err(OAuthError::new(ErrorCode::InvalidTarget, text));
    }
    let scope = scope.ok_or_else(|| invalid("scope is missing: say what the token is for"))?;
    let scope: Scope = scope.parse().map_err(|_| invalid("scope is not a list of scopes"))?;
    let first = scope.iter().next().ok_or_else(|| invalid("scope is empty"))?;
    let api = match resource {
        Some(resource) => apis.iter().find(|api| api.identifier == resource),
        None => apis
            .iter()
            .find(|api| api.identifier != issuer && api.organizational && api.scope(first).is_some()),
    };
    let api = api.ok_or_else(|| match resource {
        Some(_) => OAuthError::new(ErrorCode::InvalidTarget, "there is no such API"),
        None => invalid("no API takes that scope as a permission"),
    })?;
    if !api.organizational {
        return Err(invalid("the scopes of this API are no permissions, so no key holds them"));
    }
    for name in scope.iter() {
        let permission = api.scope(name).and_then(|known| Permission::parse(&known.name).ok());
        let permission = permission.ok_or_else(|| invalid("not all of these scopes are this API's"))?;
        if !held.covers(&permission) {
            return Err(invalid("the key does not hold all of these permissions"));
        }
    }
    Ok((api, scope))
}
