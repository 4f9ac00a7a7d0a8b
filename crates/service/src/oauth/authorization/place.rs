//! In which organization a person would act (`flows.md` 2.4): named by the request, fixed by the client, the only one they
//! have, or chosen. Asked only of somebody who is proved; whatever is wrong with one has one answer.

use porteiro_protocol::{
    error::ErrorCode,
    id::{AccountId, OrganizationId},
};

use super::{
    super::{
        acting,
        clients::{Client, OrganizationMode},
    },
    Continued, Prepared,
};
use crate::{
    client_policies,
    members::{self, Member, Whom},
    organizations::{self, Name},
    store::{Reader, StoreError},
};

/// Where the person would act.
#[derive(Debug)]
pub(super) enum Place {
    /// The request is about nobody but the person.
    Nowhere,
    Here(Box<Member>),
    /// They belong to several that would do.
    Choose(Vec<Member>),
    /// No such organization for them, and why is nobody's business; or they do not hold there what is asked.
    Refused(ErrorCode, &'static str),
}

/// Whether the request can be answered without an organization.
pub(super) fn is_needed(prepared: &Prepared) -> bool {
    let Prepared { client, request, authority, api, .. } = prepared;
    request.organization.is_some()
        || client.organization.is_some()
        || acting::needs_organization(authority, api.as_ref())
        || match client.organization_mode {
            OrganizationMode::Required => true,
            OrganizationMode::Optional | OrganizationMode::None => false,
        }
}

const UNAVAILABLE: Place = Place::Refused(ErrorCode::AccessDenied, "the organization is not available");

pub(super) async fn find(
    reader: &impl Reader,
    continued: &Continued,
    prepared: &Prepared,
    account: AccountId,
) -> Result<Place, StoreError> {
    if !is_needed(prepared) {
        return Ok(Place::Nowhere);
    }
    let member = match wanted(reader, continued, prepared).await? {
        Wanted::Unknown => return Ok(UNAVAILABLE),
        Wanted::This(organization) => members::find(reader, organization, Whom::Account(account)).await?,
        Wanted::Any => {
            let mut usable = Vec::new();
            for member in members::of_account(reader, account).await? {
                if is_usable(reader, &prepared.client, &member).await? {
                    usable.push(member);
                }
            }
            if usable.len() > 1 {
                return Ok(Place::Choose(usable));
            }
            usable.pop()
        }
    };
    let Some(member) = member else { return Ok(UNAVAILABLE) };
    if !is_usable(reader, &prepared.client, &member).await? {
        return Ok(UNAVAILABLE);
    }
    Ok(match acting::check(&member, &prepared.authority, prepared.api.as_ref()) {
        Ok(()) => Place::Here(Box::new(member)),
        Err(acting::Refused::Unusable(_)) => UNAVAILABLE,
        Err(acting::Refused::Lacks(_)) => Place::Refused(
            ErrorCode::InvalidScope,
            "not all of these scopes are held in the organization; ask for less",
        ),
    })
}

enum Wanted {
    This(OrganizationId),
    Any,
    /// Named, and not there, or not the client's own.
    Unknown,
}

async fn wanted(
    reader: &impl Reader,
    continued: &Continued,
    prepared: &Prepared,
) -> Result<Wanted, StoreError> {
    let own = prepared.client.organization;
    let Some(text) = &prepared.request.organization else {
        return Ok(own.or(continued.organization).map_or(Wanted::Any, Wanted::This));
    };
    let found = organizations::find_named(reader, &Name::parse(text)).await?;
    Ok(match (found, own) {
        (Some(found), None) => Wanted::This(found.id),
        (Some(found), Some(own)) if found.id == own => Wanted::This(own),
        (Some(_) | None, _) => Wanted::Unknown,
    })
}

/// It counts there, and the organization lets the client in.
async fn is_usable(reader: &impl Reader, client: &Client, member: &Member) -> Result<bool, StoreError> {
    Ok(member.held().is_ok() && client_policies::allows(reader, &member.organization, client).await?)
}
