//! Makes and revokes delegations; each change and its log entry are one transaction.

use porteiro_protocol::id::DelegationId;
use serde_json::Value;

use super::super::{caller::Caller, standing, transaction::change};
use crate::{
    App,
    accounts::{self, AccountState},
    audit_trail::{Actor, ActorKind},
    directories,
    http::{Problem, ProblemCode, RequestContext, TxProblem},
    members::{self, Member, Whom},
    oauth::{
        clients::{self, Client},
        delegations::{self, Delegation, Delegator, Holder, Proposal, Refused, Source, Whose},
    },
    organizations::{self, Name},
    sessions::{self, SignedIn},
    store::{Reader, StoreError, Tx},
};

/// What a request wants to delegate.
#[derive(Debug)]
pub(super) struct Wanted {
    pub client_id: String,
    pub resource: Option<String>,
    pub scope: String,
    pub details: Vec<Value>,
    pub redelegable: bool,
    pub seconds: Option<i64>,
}

impl Wanted {
    fn proposal<'a>(&'a self, client: &'a Client) -> Proposal<'a> {
        Proposal {
            client,
            resource: self.resource.as_deref(),
            scope: &self.scope,
            details: &self.details,
            redelegable: self.redelegable,
            seconds: self.seconds,
        }
    }

    /// A client that belongs to another organization does not exist.
    async fn client(&self, reader: &impl Reader, place: Option<&Member>) -> Result<Client, TxProblem> {
        let found = clients::find(reader, &self.client_id).await?;
        let known = found.filter(|client| match place {
            Some(member) => client.is_known_to(member.organization.id),
            None => client.organization.is_none(),
        });
        Ok(known.ok_or_else(unknown)?)
    }
}

fn unknown() -> Problem {
    Problem::new(ProblemCode::FieldInvalid, "client_id is unknown")
}

impl From<Refused> for TxProblem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Invalid(text) => Problem::new(ProblemCode::FieldInvalid, text).into(),
            Refused::NotHeld => {
                let text = "you can only delegate permissions that you hold in the organization";
                Problem::new(ProblemCode::AuthorityExceeded, text).into()
            }
            Refused::ClientNotAllowed => {
                let text = "the organization does not allow this client";
                Problem::new(ProblemCode::Forbidden, text).into()
            }
            Refused::TooMany => {
                let text = format!("at most {} active delegations are allowed", delegations::MAX_PER_OWNER);
                Problem::new(ProblemCode::Quota, text).into()
            }
            Refused::Busy => Problem::from(ProblemCode::Unavailable).into(),
            Refused::Store(error) => error.into(),
        }
    }
}

/// For a signed-in person: their own authority, in an organization or in none.
pub(super) async fn by_person(
    app: &App,
    context: &RequestContext,
    me: &SignedIn,
    organization: Option<&str>,
    wanted: &Wanted,
) -> Result<Delegation, Problem> {
    let account = me.account_id;
    let apis = &app.directory.apis(&app.store).await?;
    let outcome = app.store.try_tx("delegations.make", |tx| async move {
        accounts::lock(&tx, account).await?;
        // The account may have been disabled or recovered while this waited, and the session with it.
        let active =
            accounts::find(&tx, account).await?.is_some_and(|account| account.state == AccountState::Active);
        if !active || !sessions::is_open(&tx, me.session_id, account).await? {
            return Err(ProblemCode::Unauthenticated.into());
        }
        accounts::may_gain(&tx, account).await?;
        let member = match organization {
            Some(name) => Some(member(app, &tx, me, name).await?),
            None => None,
        };
        let client = wanted.client(&tx, member.as_ref()).await?;
        let proposal = wanted.proposal(&client);
        let holder = member.as_ref().map_or(Holder::Person, Holder::Member);
        let authority = delegations::check(app, &tx, apis, &proposal, holder).await?;
        let membership = member.as_ref().map(|member| member.id);
        let delegator = Delegator::Person { account, membership };
        let actor = actor(me, member.as_ref());
        let made =
            delegations::add(app, &tx, context, &actor, delegator, &proposal, &authority, Source::Person);
        Ok(made.await?)
    });
    outcome.await.map_err(Problem::from)
}

/// The person's membership, if they may act for the organization now. To others the organization does not exist.
async fn member(app: &App, tx: &Tx, me: &SignedIn, name: &str) -> Result<Member, TxProblem> {
    let found = organizations::find_named(tx, &Name::parse(name)).await?.ok_or(ProblemCode::NotFound)?;
    // Changes of memberships and client policies take the same lock, so neither ends while the delegation is written.
    organizations::lock(tx, found.id).await?;
    let member = members::find(tx, found.id, Whom::Account(me.account_id)).await?;
    let member = member.filter(|member| member.held_to_read().is_ok()).ok_or(ProblemCode::NotFound)?;
    // A delegation outlives the session that made it, so the session must meet the organization's policy.
    let proved = directories::proved(tx, me, &member.organization).await?;
    member.admits(app.checked.settings.minimum_level, &proved).map_err(Problem::from)?;
    Ok(member)
}

fn actor(me: &SignedIn, member: Option<&Member>) -> Actor {
    let id = member.map_or_else(|| me.account_id.to_string(), |member| member.id.to_string());
    Actor { kind: ActorKind::Member, id, act: None }
}

/// For an administrator: every member's authority, to a client of the organization.
pub(super) async fn by_caller(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    wanted: &Wanted,
) -> Result<Delegation, Problem> {
    let apis = &app.directory.apis(&app.store).await?;
    change(app, context, caller, "delegations.make_for_members", |tx| async move {
        let standing = standing::enter(&tx, caller, super::endpoint::WRITE_PERMISSION).await?;
        let organization = &standing.organization;
        let client = clients::find(&tx, &wanted.client_id).await?;
        let client = client.filter(|client| client.is_known_to(organization.id)).ok_or_else(unknown)?;
        let proposal = wanted.proposal(&client);
        let holder = Holder::Administrator { organization, held: &standing.held };
        let authority = delegations::check(app, &tx, apis, &proposal, holder).await?;
        let delegator = Delegator::Organization(organization.id);
        let source = Source::Administrator;
        let actor = &caller.actor;
        let made =
            delegations::add(app, &tx, context, actor, delegator, &proposal, &authority, source).await?;
        Ok(made)
    })
    .await
}

/// Revoking needs no step-up: it can only make things safer.
pub(super) async fn revoke(
    app: &App,
    context: &RequestContext,
    actor: &Actor,
    whose: Whose,
    id: DelegationId,
) -> Result<bool, StoreError> {
    app.store
        .run_tx("delegations.revoke", |tx| async move {
            delegations::revoke(app, &tx, context, actor, whose, id).await
        })
        .await
}
