//! What a client may ask for, as it and the API are defined now.

use porteiro_protocol::{authority::Authority, authorization_request::Refused, error::ErrorCode};

use super::{
    apis::Api,
    clients::{Client, Trust},
    details::check_types,
    scopes,
};
use crate::permissions::{self, Reach};

fn refuse(code: ErrorCode, description: &str) -> Refused {
    Refused { code, description: description.to_owned() }
}

/// Whether a client may ask for a scope at an API. None: our own APIs.
pub fn may_ask(client: &Client, api: Option<&Api>, name: &str) -> Result<(), Refused> {
    if scopes::is_standard(name) {
        if api.is_some() && !scopes::is_open(name) {
            return Err(refuse(ErrorCode::InvalidScope, "a scope is for our own API alone"));
        }
        return match client.trust {
            Trust::Unverified | Trust::Verified if !scopes::is_open(name) => {
                Err(refuse(ErrorCode::InvalidScope, "a scope is only for clients of the same house"))
            }
            Trust::Unverified | Trust::Verified | Trust::FirstParty => Ok(()),
        };
    }
    if let Some(own) = permissions::find(name) {
        if api.is_some() {
            return Err(refuse(ErrorCode::InvalidScope, "a scope is for our own API alone"));
        }
        return match (own.reach, client.trust) {
            (Reach::Organization, Trust::Verified | Trust::FirstParty)
            | (Reach::Platform, Trust::FirstParty) => Ok(()),
            (Reach::Organization, Trust::Unverified)
            | (Reach::Platform, Trust::Unverified | Trust::Verified) => {
                Err(refuse(ErrorCode::InvalidScope, "a scope is not open to clients of this trust"))
            }
        };
    }
    let known = api.and_then(|api| api.scope(name)).ok_or_else(|| {
        refuse(
            ErrorCode::InvalidScope,
            "not all of these scopes belong to one API; ask for one API at a time",
        )
    })?;
    match client.trust {
        Trust::Unverified if !known.open_to_unverified => {
            Err(refuse(ErrorCode::InvalidScope, "a scope is not open to clients that nobody has checked"))
        }
        Trust::Unverified | Trust::Verified | Trust::FirstParty => Ok(()),
    }
}

/// Whether what was granted may still be given to this client: it, its trust and the API may have changed since. The schemas
/// of details are for [`Details::check`](super::details::Details::check).
pub fn still_allowed(client: &Client, api: Option<&Api>, authority: &Authority) -> Result<(), Refused> {
    if client.ceiling().is_some_and(|ceiling| !ceiling.covers_all(authority.scope())) {
        return Err(refuse(ErrorCode::InvalidScope, "the client does not have all of these scopes any more"));
    }
    authority.scope().iter().try_for_each(|name| may_ask(client, api, name))?;
    check_types(client, api, authority.details())
}
