//! Finds the person that a request names. Only ids are hints: people cannot be found by an address or a name.

use porteiro_protocol::id::{AccountId, MembershipId};
use serde_json::Value;

use super::{
    super::authorization::{self, read_hint},
    decide::{Hint, Request, invalid},
};
use crate::{
    App,
    accounts::{self, AccountState},
    approvals::unknown,
    http::OAuthError,
    members::{self, Member, Whom},
    organizations::{self, Name},
};

/// The person, and as whom they are asked.
#[derive(Debug)]
pub struct Meant {
    pub account: AccountId,
    pub member: Option<Member>,
}

/// The person that the hint names, if they can act now. Whether they let the client ask is checked next, with the same
/// answer.
pub async fn find(app: &App, request: &Request) -> Result<Meant, OAuthError> {
    let subject = match &request.hint {
        Hint::Subject(subject) => subject.clone(),
        Hint::IdToken(token) => subject_of(app, token)?,
    };
    let organization = match request.organization.as_deref() {
        None => None,
        Some(name) => {
            let found = organizations::find_named(&app.store, &Name::parse(name)).await?;
            Some(found.ok_or_else(unknown)?.id)
        }
    };
    let (account, organization) = match place(app, &subject).await? {
        Some((here, account)) if organization.is_none_or(|named| named == here) => (account, Some(here)),
        Some(_) => return Err(unknown()),
        None => (subject.parse().map_err(|_| unknown())?, organization),
    };
    // Somebody who is leaving is asked for nothing until they come back themselves.
    let found = accounts::find(&app.store, account).await?;
    found
        .filter(|account| account.state == AccountState::Active && account.deletion_at.is_none())
        .ok_or_else(unknown)?;
    let Some(organization) = organization else { return Ok(Meant { account, member: None }) };
    let member = members::find(&app.store, organization, Whom::Account(account)).await?;
    let member = member.filter(|member| member.held().is_ok()).ok_or_else(unknown)?;
    Ok(Meant { account, member: Some(member) })
}

async fn place(
    app: &App,
    subject: &str,
) -> Result<Option<(porteiro_protocol::id::OrganizationId, AccountId)>, OAuthError> {
    match subject.parse::<MembershipId>() {
        Ok(id) => Ok(members::place_of(&app.store, id).await?),
        Err(_) => Ok(None),
    }
}

/// Any ID token of ours, for whichever client: it names a person and proves nothing.
fn subject_of(app: &App, token: &str) -> Result<String, OAuthError> {
    match read_hint(app, token) {
        authorization::Hint::Own(claims) => match &claims["sub"] {
            Value::String(subject) => Ok(subject.clone()),
            _ => Err(unknown()),
        },
        authorization::Hint::Outdated => Err(unknown()),
        authorization::Hint::Foreign => Err(invalid("id_token_hint is not an ID token of this issuer")),
    }
}
