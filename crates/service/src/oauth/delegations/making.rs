//! Creates and revokes delegations, for people and for administrators.

use std::sync::Arc;

use porteiro_protocol::{
    authority::{Asked as Narrow, Authority},
    client_metadata::ClientKind,
    id::{DelegationId, MembershipId},
    permission::Held,
};
use serde_json::{Value, json};

use super::{
    super::{
        acting,
        apis::{Api, Apis},
        authority::{Asked, AskedScope, Requester, requested_authority},
        clients::{Client, OrganizationMode},
        details::Unfit,
    },
    Delegation, Delegator, MAX_PER_OWNER, Source, Whose, decide, new_id, store,
};
use crate::{
    App,
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    client_policies,
    endings::Why,
    http::RequestContext,
    members::Member,
    organizations::Organization,
    security_log::{self, EventKind},
    store::{Reader, StoreError, Tx},
};

/// A delegation that is to be created.
#[derive(Debug)]
pub struct Proposal<'a> {
    pub client: &'a Client,
    pub resource: Option<&'a str>,
    pub scope: &'a str,
    pub details: &'a [Value],
    pub redelegable: bool,
    /// How long, in seconds; none: the default.
    pub seconds: Option<i64>,
}

/// Why a delegation is not made.
#[derive(Debug)]
pub enum Refused {
    /// In words for the caller.
    Invalid(String),
    /// The delegator does not hold it.
    NotHeld,
    /// The organization does not allow the client.
    ClientNotAllowed,
    TooMany,
    Busy,
    Store(StoreError),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Whose authority is proposed, as it is now.
#[derive(Debug, Clone, Copy)]
pub enum Holder<'a> {
    /// A person, without an organization.
    Person,
    /// A person in an organization.
    Member(&'a Member),
    /// An administrator, for all members: who can give no more than they hold, and only to the organization's own clients.
    Administrator { organization: &'a Organization, held: &'a Held },
}

impl Holder<'_> {
    const fn organization(&self) -> Option<&Organization> {
        match self {
            Self::Person => None,
            Self::Member(member) => Some(&member.organization),
            Self::Administrator { organization, .. } => Some(organization),
        }
    }

    fn holds(&self, authority: &Authority, api: Option<&Api>) -> Result<(), Refused> {
        match self {
            Self::Person if acting::needs_organization(authority, api) => {
                let text = "these scopes are permissions in an organization: name the organization";
                Err(Refused::Invalid(text.into()))
            }
            Self::Person => Ok(()),
            Self::Member(member) => acting::check(member, authority, api).map_err(|_| Refused::NotHeld),
            Self::Administrator { held, .. } => {
                let asked = acting::permissions(authority, api);
                if asked.len() != authority.scope().iter().count() {
                    let text =
                        "an organization can only delegate its permissions; other scopes are the person's";
                    return Err(Refused::Invalid(text.into()));
                }
                if held.missing(&asked).is_empty() { Ok(()) } else { Err(Refused::NotHeld) }
            }
        }
    }
}

/// Exactly what is proposed, if the client may have it and it is held now.
///
/// # Errors
/// Why it cannot be delegated.
pub async fn check(
    app: &App,
    reader: &impl Reader,
    apis: &Arc<Apis>,
    proposal: &Proposal<'_>,
    holder: Holder<'_>,
) -> Result<Authority, Refused> {
    decide::life(proposal.seconds).map_err(Refused::Invalid)?;
    let client = proposal.client;
    if client.is_public() {
        let text = "the client is public, and only clients that can authenticate can use a delegation";
        return Err(Refused::Invalid(text.into()));
    }
    match (client.organization_mode, holder.organization()) {
        (OrganizationMode::None, Some(_)) => {
            return Err(Refused::Invalid("the client does not act for organizations".into()));
        }
        (OrganizationMode::Required, None) => {
            return Err(Refused::Invalid("the client acts for organizations only: name one".into()));
        }
        (OrganizationMode::None | OrganizationMode::Optional, None)
        | (OrganizationMode::Optional | OrganizationMode::Required, Some(_)) => {}
    }
    let authority = asked(app, proposal, holder, apis)?;
    holder.holds(&authority, apis.find(authority.audience()))?;
    if let Some(organization) = holder.organization()
        && !client_policies::allows(reader, organization, client).await?
    {
        return Err(Refused::ClientNotAllowed);
    }
    if let Holder::Administrator { organization, .. } = holder
        && client.organization != Some(organization.id)
    {
        return Err(Refused::ClientNotAllowed);
    }
    match app.details.check(apis, &authority).await {
        Ok(()) => Ok(authority),
        Err(Unfit::Busy) => Err(Refused::Busy),
        Err(Unfit::Invalid(text)) => Err(Refused::Invalid(text)),
        Err(Unfit::Wider) => Err(Refused::NotHeld),
    }
}

fn asked(app: &App, proposal: &Proposal<'_>, holder: Holder<'_>, apis: &Apis) -> Result<Authority, Refused> {
    let asked = Asked {
        resource: proposal.resource,
        scope: AskedScope::Text(Some(proposal.scope)),
        details: proposal.details,
        organization: holder.organization().map(|organization| organization.id),
    };
    let requested = requested_authority(Requester::Client(proposal.client), asked, apis, app.issuer());
    let authority = requested.map_err(|refused| Refused::Invalid(refused.description))?.authority;
    if authority.scope().is_empty() {
        return Err(Refused::Invalid("scope is empty".into()));
    }
    match decide::first_undelegable(&authority) {
        Some(name) => Err(Refused::Invalid(format!("{name} cannot be delegated"))),
        None => Ok(authority),
    }
}

/// Writes a delegation that was checked, in the caller's transaction.
#[expect(clippy::too_many_arguments, reason = "who delegates what to whom, how and by whose hand")]
pub async fn add(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    actor: &Actor,
    delegator: Delegator,
    proposal: &Proposal<'_>,
    authority: &Authority,
    source: Source,
) -> Result<Delegation, Refused> {
    if store::count(tx, delegator.owner()).await? >= MAX_PER_OWNER {
        return Err(Refused::TooMany);
    }
    let new = store::NewDelegation {
        id: new_id(app),
        delegator,
        client_id: &proposal.client.id,
        authority,
        redelegable: proposal.redelegable,
        source,
        seconds: decide::life(proposal.seconds).map_err(Refused::Invalid)?,
    };
    let made = store::insert(tx, &new).await?;
    let after = json!({
        "client_id": made.client_id,
        "audience": authority.audience(),
        "scope": authority.scope(),
        "source": source,
        "redelegable": made.redelegable,
    });
    if let Delegator::Person { account, .. } = delegator {
        let mut payload = after.clone();
        payload["delegation_id"] = json!(made.id);
        let event =
            security_log::Event { kind: EventKind::DelegationCreated, subject: account.uuid(), payload };
        security_log::record(app, tx, context, event).await?;
    }
    if let Some(organization) = authority.organization() {
        let target = Target::new("delegation", made.id);
        let event = audit_trail::Event::done(TrailKind::DelegationCreated, actor.clone(), target)
            .changing(Value::Null, after);
        audit_trail::record(app, tx, context, organization, &event).await?;
    }
    Ok(made)
}

/// Revokes one delegation; `false` where there is none of this id that counts.
pub async fn revoke(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    actor: &Actor,
    whose: Whose,
    id: DelegationId,
) -> Result<bool, StoreError> {
    let why = match whose {
        Whose::Account(_) => Why::Owner,
        Whose::Organization(_) => Why::Organization,
    };
    let revoked = store::revoke(tx, store::Which { id: Some(id), ..store::Which::of(whose) }, why).await?;
    for one in &revoked {
        // In an organization's trail a person is the member they are there.
        let member = |id: MembershipId| Actor { kind: ActorKind::Member, id: id.to_string(), act: None };
        let own = matches!(whose, Whose::Account(_)).then_some(one.membership).flatten().map(member);
        record_revoked(app, tx, context, own.as_ref().unwrap_or(actor), one, why).await?;
    }
    Ok(!revoked.is_empty())
}

/// Where the person reads it, and where their organization does.
async fn record_revoked(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    actor: &Actor,
    revoked: &store::Revoked,
    why: Why,
) -> Result<(), StoreError> {
    if let Some(account) = revoked.account {
        let payload = json!({"delegation_id": revoked.id, "client_id": revoked.client_id, "reason": why});
        let kind = EventKind::DelegationRevoked;
        let event = security_log::Event { kind, subject: account.uuid(), payload };
        security_log::record(app, tx, context, event).await?;
    }
    if let Some(organization) = revoked.organization {
        let target = Target::new("delegation", revoked.id);
        let event = audit_trail::Event::done(TrailKind::DelegationRevoked, actor.clone(), target)
            .because(Some(why.as_str().to_owned()))
            .changing(json!({"client_id": revoked.client_id}), Value::Null);
        audit_trail::record(app, tx, context, organization, &event).await?;
    }
    Ok(())
}

/// The delegation that allows all of this, if one does.
///
/// # Errors
/// When details cannot be compared now.
pub async fn covering<'a>(
    app: &App,
    apis: &Arc<Apis>,
    all: &'a [Delegation],
    authority: &Authority,
) -> Result<Option<&'a Delegation>, Unfit> {
    // Comparing details is work that others wait for: a few tries are enough for everybody who is honest.
    const TRIES: usize = 4;
    let fits = |one: &&Delegation| authority.is_within(&one.authority, |_, _| true);
    let mut fitting = all.iter().filter(fits);
    if authority.details().is_empty() {
        return Ok(fitting.next());
    }
    for one in fitting.take(TRIES) {
        match app.details.narrow(apis, &one.authority, authority.details().to_vec()).await {
            Ok(_) => return Ok(Some(one)),
            Err(Unfit::Wider) => {}
            Err(unfit @ (Unfit::Busy | Unfit::Invalid(_))) => return Err(unfit),
        }
    }
    Ok(None)
}

/// What a person consents to for an agent, it may also do by exchange. Nothing that cannot be delegated is, and a client
/// that cannot authenticate gets nothing: it could not use it.
pub async fn by_consent(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    actor: &Actor,
    delegator: Delegator,
    client: &Client,
    authority: &Authority,
) -> Result<(), StoreError> {
    let Delegator::Person { account, .. } = delegator else { return Ok(()) };
    let scope = decide::delegable(authority.scope());
    let within = authority.narrowed(Narrow { scope: Some(&scope), ..Narrow::default() }, |_, _| true);
    let (ClientKind::Agent, false, Ok(authority)) = (client.metadata.kind, client.is_public(), within) else {
        return Ok(());
    };
    if scope.is_empty() || store::renew(tx, account, client, &authority, decide::DEFAULT_SECONDS).await? {
        return Ok(());
    }
    let proposal = Proposal {
        client,
        resource: None,
        scope: "",
        details: authority.details(),
        redelegable: false,
        seconds: None,
    };
    match add(app, tx, context, actor, delegator, &proposal, &authority, Source::Consent).await {
        // The consent is valid without the delegation. To get one, the person revokes another and consents again.
        Ok(_) | Err(Refused::TooMany) => Ok(()),
        Err(Refused::Store(error)) => Err(error),
        Err(
            refused @ (Refused::Invalid(_) | Refused::NotHeld | Refused::ClientNotAllowed | Refused::Busy),
        ) => Err(StoreError::Inconsistent(format!("{refused:?}"))),
    }
}
