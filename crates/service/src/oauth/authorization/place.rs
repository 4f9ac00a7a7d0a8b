//! The organization a person acts for (docs/decisions/0034): named by the request, fixed by the client, the person's
//! only one, or chosen. Determined only after authentication; every unavailable organization gives the same error.

use porteiro_protocol::{
    authorization_request::Refused,
    error::ErrorCode,
    id::{AccountId, OrganizationId},
};

use uuid::Uuid;

use super::{
    super::{
        acting,
        clients::{Client, OrganizationMode},
    },
    Continued, Prepared,
    decide::refuse,
};
use crate::{
    audit_trail::{Actor, ActorKind},
    client_policies,
    members::{self, Member, State, Whom},
    organizations::{self, Name, Status},
    refusals::{Holder, Refusal, Rule},
    store::{Reader, StoreError},
};

/// The organization a person acts for.
#[derive(Debug)]
pub(super) enum Place {
    /// The request is for the account only.
    Nowhere,
    Here(Box<Member>),
    /// The person is a member of several usable ones. Suspended ones are listed too, so that the person finds them.
    Choose(Vec<Member>),
    /// No usable organization, with an error that does not say why; or the member does not hold the requested scopes.
    Refused(Refused, Box<Refusal>),
}

impl Place {
    /// Whether a response could have this subject. A refusal has none, so any subject is accepted.
    pub(super) fn may_be(&self, subject: Uuid, account: AccountId) -> bool {
        match self {
            Self::Nowhere => account.uuid() == subject,
            Self::Here(member) => member.id.uuid() == subject,
            Self::Choose(members) => members.iter().any(|member| member.id.uuid() == subject),
            Self::Refused(_, _) => true,
        }
    }
}

/// Whether this person is the one whose subject the request names, if it names one.
pub(super) async fn is_named(
    reader: &impl Reader,
    continued: &Continued,
    prepared: &Prepared,
    account: AccountId,
) -> Result<bool, StoreError> {
    match continued.subject {
        None => Ok(true),
        Some(subject) => Ok(find(reader, None, prepared, account).await?.may_be(subject, account)),
    }
}

/// Whether the request is for another organization than this one.
pub(super) async fn is_elsewhere(
    reader: &impl Reader,
    prepared: &Prepared,
    organization: OrganizationId,
) -> Result<bool, StoreError> {
    Ok(match wanted(reader, None, prepared).await? {
        Wanted::This(wanted) => wanted != organization,
        Wanted::Any | Wanted::Unknown => false,
    })
}

/// Whether the request needs an organization.
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

/// The common error, and the recorded refusal. It is recorded in an organization only for its members.
fn unavailable(prepared: &Prepared, member: Option<&Member>, rule: Rule, would_pass: &str) -> Place {
    let refused = refuse(ErrorCode::AccessDenied, "the organization is not available");
    Place::Refused(refused, Box::new(refusal(prepared, member, rule, would_pass.into())))
}

fn refusal(prepared: &Prepared, member: Option<&Member>, rule: Rule, would_pass: String) -> Refusal {
    let actor = |member: &Member| Actor { kind: ActorKind::Member, id: member.id.to_string(), act: None };
    let here = member.map(|member| (member.organization.id, member.id));
    Refusal {
        organization: here.map(|(organization, _)| organization),
        client_id: Some(prepared.client.id.clone()),
        subject: member.map(actor),
        rule,
        asked: prepared.authority.scope().iter().map(str::to_owned).collect(),
        holder: here.map_or(Holder::Nobody, |(organization, id)| Holder::Member(organization, id)),
        would_pass,
    }
}

pub(super) async fn find(
    reader: &impl Reader,
    chosen: Option<OrganizationId>,
    prepared: &Prepared,
    account: AccountId,
) -> Result<Place, StoreError> {
    if !is_needed(prepared) {
        return Ok(Place::Nowhere);
    }
    let member = match wanted(reader, chosen, prepared).await? {
        Wanted::Unknown => {
            let text = "an organization that the person is a member of and that the client may act for";
            return Ok(unavailable(prepared, None, Rule::NotAMember, text));
        }
        Wanted::This(organization) => members::find(reader, organization, Whom::Account(account)).await?,
        Wanted::Any => {
            let (mut usable, mut suspended) = (Vec::new(), Vec::new());
            for member in members::of_account(reader, account).await? {
                if is_usable(reader, &prepared.client, &member).await? {
                    usable.push(member);
                } else if member.state == State::Active && member.organization.status == Status::Suspended {
                    suspended.push(member);
                }
            }
            if usable.len() > 1 {
                usable.append(&mut suspended);
                return Ok(Place::Choose(usable));
            }
            usable.pop()
        }
    };
    let member = member.filter(|member| member.state != State::Removed);
    let Some(member) = member else {
        let text = "an organization that the person is an active member of";
        return Ok(unavailable(prepared, None, Rule::NotAMember, text));
    };
    Ok(match acting::check(&member, &prepared.authority, prepared.api.as_ref()) {
        Err(lacking @ acting::Refused::Unusable(_)) => {
            let (rule, would_pass) = acting::explain(&lacking);
            unavailable(prepared, Some(&member), rule, &would_pass)
        }
        Ok(()) | Err(acting::Refused::Lacks(_))
            if !client_policies::allows(reader, &member.organization, &prepared.client).await? =>
        {
            let text = "a client that the organization allows, or a policy that allows this client";
            unavailable(prepared, Some(&member), Rule::ClientNotAllowed, text)
        }
        Ok(()) => Place::Here(Box::new(member)),
        Err(lacking @ acting::Refused::Lacks(_)) => {
            let text = "the member does not hold all of these scopes in the organization; request fewer";
            let (rule, would_pass) = acting::explain(&lacking);
            let why = refusal(prepared, Some(&member), rule, would_pass);
            Place::Refused(refuse(ErrorCode::InvalidScope, text), Box::new(why))
        }
    })
}

/// What is known of the organization before the person is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// The request is for this one.
    This(OrganizationId),
    /// It needs one, which the person decides.
    Any,
    Nothing,
}

/// The organization that the request is for. It does not depend on the person. `chosen`: the one that an address led to.
pub(super) async fn known(
    reader: &impl Reader,
    chosen: Option<OrganizationId>,
    prepared: &Prepared,
) -> Result<Known, StoreError> {
    if !is_needed(prepared) {
        return Ok(Known::Nothing);
    }
    Ok(match wanted(reader, chosen, prepared).await? {
        Wanted::This(organization) => Known::This(organization),
        Wanted::Any => Known::Any,
        Wanted::Unknown => Known::Nothing,
    })
}

enum Wanted {
    This(OrganizationId),
    Any,
    /// The named organization does not exist, or is not the client's own.
    Unknown,
}

async fn wanted(
    reader: &impl Reader,
    chosen: Option<OrganizationId>,
    prepared: &Prepared,
) -> Result<Wanted, StoreError> {
    let own = prepared.client.organization;
    let Some(text) = &prepared.request.organization else {
        return Ok(own.or(chosen).map_or(Wanted::Any, Wanted::This));
    };
    let found = organizations::find_named(reader, &Name::parse(text)).await?;
    Ok(match (found, own) {
        (Some(found), None) => Wanted::This(found.id),
        (Some(found), Some(own)) if found.id == own => Wanted::This(own),
        (Some(_) | None, _) => Wanted::Unknown,
    })
}

/// The membership is usable, and the organization allows the client.
async fn is_usable(reader: &impl Reader, client: &Client, member: &Member) -> Result<bool, StoreError> {
    Ok(member.held().is_ok() && client_policies::allows(reader, &member.organization, client).await?)
}
