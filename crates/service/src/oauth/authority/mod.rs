//! The requested authority: which API (RFC 8707 §2), which scopes (RFC 6749 §3.3), which authorization details (RFC
//! 9396 §5) and which organization. Every grant type uses this; the result is exactly the requested authority, or a
//! refusal.
//!
//! 1. Whether the requester may use our own API at all.
//! 2. The scopes, from the request; a client that acts for a person may omit them and get its registered ones.
//! 3. The API: named by `resource`, or the one that has the requested scopes.
//! 4. The requester's ceiling, each scope, and the types of details.
//!
//! Whether a member holds the scopes is checked from the database in [`acting`](super::acting).

#[cfg(test)]
mod tests;

use porteiro_protocol::{
    authority::Authority,
    authorization_request::Refused,
    error::ErrorCode,
    id::OrganizationId,
    metadata::is_same_resource,
    permission::{Held, Permission},
    scope::Scope,
};
use serde_json::Value;

use super::{
    apis::{Api, named as named_api},
    clients::{Client, Trust},
    details::check_types,
    scopes,
};
use crate::permissions::{self, Reach};

/// The party that makes the request.
#[derive(Debug, Clone, Copy)]
pub enum Requester<'a> {
    /// A client, for a person who gives consent.
    Client(&'a Client),
    /// A client that acts for itself.
    ClientItself(&'a Client),
    /// An API key, with the permissions it holds.
    Key(&'a Held),
}

/// The requested scopes.
#[derive(Debug, Clone, Copy)]
pub enum AskedScope<'a> {
    Read(&'a Scope),
    /// The parameter, not parsed yet.
    Text(Option<&'a str>),
    /// None named: the client's registered scopes, as far as the API has them.
    Registered,
}

#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub resource: Option<&'a str>,
    pub scope: AskedScope<'a>,
    pub details: &'a [Value],
    /// If it is known already.
    pub organization: Option<OrganizationId>,
}

/// Authority that may be granted, subject to consent.
#[derive(Debug)]
pub struct Requested<'a> {
    /// `None`: our own APIs.
    pub api: Option<&'a Api>,
    pub authority: Authority,
}

fn refuse(code: ErrorCode, description: &str) -> Refused {
    Refused { code, description: description.to_owned() }
}

fn invalid_scope(description: &str) -> Refused {
    refuse(ErrorCode::InvalidScope, description)
}

/// Exactly the requested authority, or a refusal. Details are validated against their schemas later, since that is
/// the most expensive check ([`Details::check`](super::details::Details::check)).
///
/// # Errors
/// When any part of it may not be requested.
pub fn requested_authority<'a>(
    requester: Requester<'_>,
    asked: Asked<'_>,
    apis: &'a [Api],
    issuer: &str,
) -> Result<Requested<'a>, Refused> {
    requester.may_name(asked.resource, issuer)?;
    let named = asked.scope.read()?;
    let api = requester.api(asked.resource, named.as_ref(), apis, issuer)?;
    let scope = match named {
        Some(named) => named,
        None => requester.default_scope(api)?,
    };
    if requester.ceiling().is_some_and(|ceiling| ceiling.first_uncovered(&scope).is_some()) {
        return Err(invalid_scope("the client did not register all of these scopes"));
    }
    scope.iter().try_for_each(|name| requester.may_have(api, name))?;
    requester.may_detail(api, asked.details)?;
    let audience = api.map_or(issuer, |api| api.identifier.as_str());
    let authority = Authority::granted(scope, audience.to_owned(), asked.details.to_vec());
    let authority = match asked.organization {
        Some(organization) => authority.acting_for(organization),
        None => authority,
    };
    Ok(Requested { api, authority })
}

impl AskedScope<'_> {
    /// `None`: the client's registration decides.
    fn read(self) -> Result<Option<Scope>, Refused> {
        match self {
            Self::Read(scope) => Ok(Some(scope.clone())),
            Self::Registered => Ok(None),
            Self::Text(text) => {
                let text = text.ok_or_else(|| invalid_scope("scope is missing"))?;
                let scope = text.parse().map_err(|_| invalid_scope("scope is malformed"))?;
                Ok(Some(scope))
            }
        }
    }
}

impl Requester<'_> {
    fn may_name(self, resource: Option<&str>, issuer: &str) -> Result<(), Refused> {
        match self {
            Self::Key(_) if resource.is_some_and(|resource| is_same_resource(resource, issuer)) => {
                Err(refuse(ErrorCode::InvalidTarget, "this API accepts the key itself; no token is needed"))
            }
            Self::Client(_) | Self::ClientItself(_) | Self::Key(_) => Ok(()),
        }
    }

    /// `None`: our own APIs, which accept only a person's token, except for provisioning (docs/decisions/0124). If an API were stored under our own identifier, its
    /// tokens would be valid here, so it is never returned (docs/decisions/0083).
    fn api<'a>(
        self,
        resource: Option<&str>,
        scope: Option<&Scope>,
        apis: &'a [Api],
        issuer: &str,
    ) -> Result<Option<&'a Api>, Refused> {
        let others = || apis.iter().filter(|api| api.identifier != issuer);
        let named = |resource: &str| {
            let found = named_api(apis, resource).filter(|api| api.identifier != issuer);
            found.ok_or_else(|| refuse(ErrorCode::InvalidTarget, "the API is unknown"))
        };
        let ours = |name: &str| scopes::is_standard(name) || permissions::find(name).is_some();
        let mut names = scope.into_iter().flat_map(Scope::iter);
        match (self, resource) {
            (Self::Client(_), Some(resource)) if is_same_resource(resource, issuer) => Ok(None),
            (Self::Client(_), Some(resource)) => named(resource).map(Some),
            (Self::Client(_), None) => {
                let Some(first) = names.find(|name| !ours(name)) else { return Ok(None) };
                let found = others().find(|api| api.scope(first).is_some());
                found.map(Some).ok_or_else(|| invalid_scope("a scope is unknown"))
            }
            (Self::ClientItself(_), _) if is_provisioning(resource, scope, issuer) => Ok(None),
            (Self::ClientItself(_), _) => {
                let first = names.next().ok_or_else(|| invalid_scope("scope is empty"))?;
                let found = || others().find(|api| api.scope(first).is_some());
                let implied = || found().ok_or_else(|| invalid_scope("a scope is unknown"));
                resource.map_or_else(implied, named).map(Some)
            }
            (Self::Key(_), _) => {
                let first = names.next().ok_or_else(|| invalid_scope("scope is empty"))?;
                let found = || others().find(|api| api.organizational && api.scope(first).is_some());
                let implied =
                    || found().ok_or_else(|| invalid_scope("no API has this scope as a permission"));
                let api = resource.map_or_else(implied, named)?;
                if api.organizational {
                    Ok(Some(api))
                } else {
                    Err(invalid_scope(
                        "the scopes of this API are not permissions, so an API key cannot hold them",
                    ))
                }
            }
        }
    }

    /// RFC 6749 §3.3: the client's registered scopes, as far as this API has them; otherwise all scopes of the API
    /// that it may request.
    fn default_scope(self, api: Option<&Api>) -> Result<Scope, Refused> {
        let missing = || invalid_scope("scope is missing");
        let client = match self {
            Self::Client(client) => client,
            Self::ClientItself(_) | Self::Key(_) => return Err(missing()),
        };
        let fits = |name: &&str| may_ask(client, api, name).is_ok();
        let names: Vec<&str> = match (client.metadata.scope.as_ref(), api) {
            (Some(scope), _) => scope.iter().filter(fits).collect(),
            (None, Some(api)) => api.scopes.iter().map(|scope| scope.name.as_str()).filter(fits).collect(),
            (None, None) => Vec::new(),
        };
        names.join(" ").parse().ok().filter(|scope: &Scope| !scope.is_empty()).ok_or_else(missing)
    }

    /// The maximum scope. For an unverified client that asks a person for consent, the registration is only a default
    /// (decision record 0055); for a client that acts for itself it is the maximum.
    fn ceiling(&self) -> Option<&Scope> {
        match self {
            Self::Client(client) => client.ceiling(),
            Self::ClientItself(client) => client.metadata.scope.as_ref(),
            Self::Key(_) => None,
        }
    }

    fn may_have(self, api: Option<&Api>, name: &str) -> Result<(), Refused> {
        let known = || api.and_then(|api| api.scope(name));
        let foreign = || invalid_scope("not all of these scopes belong to this API");
        match self {
            Self::Client(client) => may_ask(client, api, name),
            Self::ClientItself(client) if api.is_none() && name == PROVISION => is_open_to(client, false),
            Self::ClientItself(client) => {
                let known = known().ok_or_else(foreign)?;
                is_open_to(client, known.open_to_unverified)
            }
            Self::Key(held) => {
                let permission = known().and_then(|known| Permission::parse(&known.name).ok());
                if held.covers(&permission.ok_or_else(foreign)?) {
                    Ok(())
                } else {
                    Err(invalid_scope("the key does not hold all of these permissions"))
                }
            }
        }
    }

    fn may_detail(self, api: Option<&Api>, details: &[Value]) -> Result<(), Refused> {
        match self {
            Self::Client(client) | Self::ClientItself(client) => check_types(client, api, details),
            Self::Key(_) if details.is_empty() => Ok(()),
            Self::Key(_) => {
                Err(refuse(ErrorCode::InvalidAuthorizationDetails, "an API key has no authorization details"))
            }
        }
    }
}

/// The one permission of ours that a client may have for itself.
const PROVISION: &str = "scim:provision";

/// Whether a client asks for our own API to provision members, and for nothing else.
fn is_provisioning(resource: Option<&str>, scope: Option<&Scope>, issuer: &str) -> bool {
    let mut names = scope.into_iter().flat_map(Scope::iter);
    let alone = names.next() == Some(PROVISION) && names.next().is_none();
    alone && resource.is_none_or(|resource| is_same_resource(resource, issuer))
}

fn is_open_to(client: &Client, open_to_unverified: bool) -> Result<(), Refused> {
    match client.trust {
        Trust::Unverified if !open_to_unverified => {
            Err(invalid_scope("a scope is not available to unverified clients"))
        }
        Trust::Unverified | Trust::Verified | Trust::FirstParty => Ok(()),
    }
}

/// Whether a client may request a scope at an API. `None`: our own APIs.
fn may_ask(client: &Client, api: Option<&Api>, name: &str) -> Result<(), Refused> {
    if scopes::is_standard(name) {
        if api.is_some() && !scopes::is_open(name) {
            return Err(invalid_scope("a scope is for the issuer's own API only"));
        }
        return match client.trust {
            Trust::Unverified | Trust::Verified if !scopes::is_open(name) => {
                Err(invalid_scope("a scope is for first-party clients only"))
            }
            Trust::Unverified | Trust::Verified | Trust::FirstParty => Ok(()),
        };
    }
    if let Some(own) = permissions::find(name) {
        if api.is_some() {
            return Err(invalid_scope("a scope is for the issuer's own API only"));
        }
        return match (own.reach, client.trust) {
            (Reach::Organization, Trust::Verified | Trust::FirstParty)
            | (Reach::Platform, Trust::FirstParty) => Ok(()),
            (Reach::Organization, Trust::Unverified)
            | (Reach::Platform, Trust::Unverified | Trust::Verified) => {
                Err(invalid_scope("a scope is not available to clients of this trust"))
            }
        };
    }
    let known = api
        .and_then(|api| api.scope(name))
        .ok_or_else(|| invalid_scope("the scopes belong to more than one API; request one API at a time"))?;
    is_open_to(client, known.open_to_unverified)
}

/// Whether this client may still have what it was granted: its registration, its trust and the API may have changed
/// since. The schemas of details are checked by [`Details::check`](super::details::Details::check).
pub fn still_allowed(client: &Client, api: Option<&Api>, authority: &Authority) -> Result<(), Refused> {
    if client.ceiling().is_some_and(|ceiling| !ceiling.covers_all(authority.scope())) {
        return Err(invalid_scope("the client no longer has all of these scopes"));
    }
    authority.scope().iter().try_for_each(|name| may_ask(client, api, name))?;
    check_types(client, api, authority.details())
}
