//! Organizations as a resource of the management API: create, change, suspend and resume.
//!
//! 1. The platform creates them and names the owner. With `organizations_by_people`, a signed-in person may create one
//!    and becomes its owner.
//! 2. A former slug leads to the organization for ninety days, and no other organization can take it.
//! 3. Suspending changes no grant, key or membership: they cannot be used until the organization is resumed.
//!
//! Every change takes the organization's lock, reads the caller's permissions again and writes to the audit trail in
//! the same transaction.

mod decide;
mod door;
mod endpoint;
mod store;
mod view;

use std::sync::Arc;

use porteiro_protocol::id::{AccountId, Id, MembershipId, OrganizationId};
use serde_json::json;

use crate::{
    App,
    accounts::{self, AccountState},
    api::Seen,
    approvals,
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    http::{Problem, ProblemCode, RequestContext, TxProblem},
    management::{
        Caller, client_policies,
        standing::{self, Standing as Entered},
    },
    members::{self, NewMember, Source},
    organizations::{self, Agents, Organization, Policy, Status},
    permissions::OWNER,
    security_log,
    store::{StoreError, Turn, Tx},
};

pub use endpoint::routes;

/// The largest number of organizations that a person created and is still a member of.
const MOST_PER_PERSON: i64 = 10;
const WRITE: &str = "organization:write";
const MAKE: &str = "platform.organizations:write";
const ADMINISTER: &str = "organizations:administer";

/// A problem with the field, the reason, and its JSON pointer (RFC 6901).
fn field_invalid((field, why): decide::Wrong) -> Problem {
    let errors = json!([{"pointer": format!("/{field}"), "code": "field_invalid", "detail": why}]);
    Problem::new(ProblemCode::FieldInvalid, format!("{field} {why}"))
        .with(serde_json::Map::from_iter([("errors".to_owned(), errors)]))
}

fn slug_taken() -> Problem {
    Problem::new(ProblemCode::Conflict, "the slug belongs, or recently belonged, to another organization")
}

/// The creator of an organization.
enum Maker<'a> {
    /// The platform, for an owner or without members yet.
    Platform(&'a Caller, Option<AccountId>),
    /// A person, who becomes the owner.
    Person(AccountId),
}

async fn create(
    app: &Arc<App>,
    context: &RequestContext,
    maker: &Maker<'_>,
    new: &decide::Said,
) -> Result<Organization, TxProblem> {
    let id: OrganizationId = Id::random(&*app.entropy);
    let membership: MembershipId = Id::random(&*app.entropy);
    let (owner, actor, reason) = match maker {
        Maker::Platform(caller, owner) => (*owner, caller.actor.clone(), caller.reason.clone()),
        Maker::Person(account) => {
            let actor = Actor { kind: ActorKind::Member, id: membership.to_string(), act: None };
            (Some(*account), actor, None)
        }
    };
    let (actor, reason) = (&actor, &reason);
    let turn = match maker {
        Maker::Platform(caller, _) => Turn::new(id.uuid(), caller.key()),
        Maker::Person(account) => Turn::new(account.uuid(), "organizations"),
    };
    app.store
        .try_tx_in_turn(turn, "organizations.create", |tx| async move {
            match maker {
                Maker::Platform(caller, _) => {
                    standing::still(&tx, caller, MAKE).await?;
                }
                Maker::Person(account) => {
                    accounts::lock(&tx, *account).await?;
                    if store::made_by(&tx, *account).await? >= MOST_PER_PERSON {
                        let text = "you have created the maximum number of organizations";
                        return Err(Problem::new(ProblemCode::Quota, text).into());
                    }
                }
            }
            if let Some(account) = owner {
                accounts::may_gain(&tx, account).await?;
            }
            let name = match owner {
                None => None,
                Some(account) => match accounts::find(&tx, account).await? {
                    Some(account) if account.state == AccountState::Active => Some(account.display_name),
                    Some(_) | None => {
                        return Err(field_invalid(("owner", "is not an active account")).into());
                    }
                },
            };
            if !organizations::insert(&tx, id, &new.slug, &new.name, new.locale.as_str()).await? {
                return Err(slug_taken().into());
            }
            let target = Target::new("organization", id);
            let event = audit_trail::Event::done(TrailKind::OrganizationCreated, actor.clone(), target)
                .because(reason.clone());
            audit_trail::record(app, &tx, context, id, &event).await?;
            if let (Some(account), Some(name)) = (owner, &name) {
                let founder = NewMember {
                    organization: id,
                    id: membership,
                    account: Some(account),
                    client_id: None,
                    display_name: name,
                    role: OWNER,
                    source: Source::Founder,
                };
                members::insert(&tx, &founder).await?;
                let target = Target::new("member", membership);
                let event = audit_trail::Event::done(TrailKind::MemberJoined, actor.clone(), target)
                    .because(reason.clone());
                audit_trail::record(app, &tx, context, id, &event).await?;
            }
            log(app, &tx, context, security_log::EventKind::OrganizationCreated, owner, id, actor).await?;
            let made = organizations::find(&tx, id).await?;
            Ok(made.ok_or_else(|| StoreError::Inconsistent("it was just made".into()))?)
        })
        .await
}

/// Writes what the platform did to the security log.
async fn log(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    kind: security_log::EventKind,
    subject: Option<AccountId>,
    organization: OrganizationId,
    actor: &Actor,
) -> Result<(), StoreError> {
    let subject = subject.map_or(uuid::Uuid::nil(), Id::uuid);
    let payload = json!({"organization_id": organization, "actor": actor});
    security_log::record(app, tx, context, security_log::Event { kind, subject, payload }).await
}

async fn change(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    id: OrganizationId,
    seen: Seen,
    said: &decide::Said,
) -> Result<Organization, TxProblem> {
    app.store
        .try_tx_in_turn(caller.turn(), "organizations.change", |tx| async move {
            let before = entered(&tx, caller, seen).await?.organization;
            let was = decide::Said::from(&before);
            if was == *said {
                return Ok(before);
            }
            if was.slug != said.slug && !store::move_slug(&tx, id, &was.slug, &said.slug).await? {
                return Err(slug_taken().into());
            }
            store::set_said(&tx, id, said).await?;
            written(app, &tx, context, caller, id, json!(was), json!(said)).await
        })
        .await
}

async fn set_policy(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    id: OrganizationId,
    seen: Seen,
    policy: &Policy,
) -> Result<Organization, TxProblem> {
    app.store
        .try_tx_in_turn(caller.turn(), "organizations.set_policy", |tx| async move {
            let entered = entered(&tx, caller, seen).await?;
            if entered.organization.policy == *policy {
                return Ok(entered.organization);
            }
            door::check(app, &tx, &entered, policy).await?;
            let before = entered.organization;
            store::set_policy(&tx, id, policy).await?;
            // The policy changed: the next refresh of every grant checks it.
            organizations::check_again(&tx, id).await?;
            // The clients that may act here may have changed: the grants of those that no longer may end now.
            let third_party = policy.third_party_clients;
            let ended = if before.policy.third_party_clients == third_party {
                json!(0)
            } else {
                client_policies::end_disallowed(app, &tx, context, id, third_party).await?
            };
            match policy.agents {
                Agents::Frozen => approvals::end_in_organization(&tx, id).await?,
                Agents::Allowed => {}
            }
            let was = json!({"policy": before.policy});
            let is = json!({"policy": policy, "grants_ended": ended});
            written(app, &tx, context, caller, id, was, is).await
        })
        .await
}

/// A dry run: refuses what the change would refuse, and says whom it would keep out.
async fn dry_run_policy(
    app: &Arc<App>,
    caller: &Caller,
    seen: Seen,
    policy: &Policy,
) -> Result<store::Affected, TxProblem> {
    app.store
        .try_tx_in_turn(caller.turn(), "organizations.dry_run_policy", |tx| async move {
            let entered = entered(&tx, caller, seen).await?;
            door::check(app, &tx, &entered, policy).await?;
            let now = &entered.organization;
            Ok(store::affected(&tx, now.id, &now.policy, policy).await?)
        })
        .await
}

/// Locks the organization, if the caller may still change it and has seen this version.
async fn entered(tx: &Tx, caller: &Caller, seen: Seen) -> Result<Entered, TxProblem> {
    let entered = standing::enter(tx, caller, WRITE).await?;
    seen.check(entered.organization.version)?;
    Ok(entered)
}

async fn written(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    id: OrganizationId,
    before: serde_json::Value,
    after: serde_json::Value,
) -> Result<Organization, TxProblem> {
    let target = Target::new("organization", id);
    let event = audit_trail::Event::done(TrailKind::OrganizationChanged, caller.actor.clone(), target)
        .because(caller.reason.clone())
        .changing(before, after);
    audit_trail::record(app, tx, context, id, &event).await?;
    Ok(organizations::find(tx, id).await?.ok_or(ProblemCode::NotFound)?)
}

/// Suspends an organization in which nobody is left.
pub async fn suspend_without_members(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    id: OrganizationId,
) -> Result<(), StoreError> {
    let actor = Actor { kind: ActorKind::System, id: "porteiro".into(), act: None };
    let by = format!("{}:{}", actor.kind.as_str(), actor.id);
    if !store::suspend(tx, id, &by, WITHOUT_MEMBERS, None).await? {
        return Ok(());
    }
    let target = Target::new("organization", id);
    let event = audit_trail::Event::done(TrailKind::OrganizationSuspended, actor.clone(), target)
        .changing(json!({}), json!({"reason_code": WITHOUT_MEMBERS}));
    audit_trail::record(app, tx, context, id, &event).await?;
    log(app, tx, context, security_log::EventKind::OrganizationSuspended, None, id, &actor).await
}

const WITHOUT_MEMBERS: &str = "no_members";

/// A decision of the platform about an organization.
#[derive(Debug, Clone, Copy)]
enum Standing<'a> {
    Suspended { reason_code: &'a str, note: Option<&'a str> },
    Resumed,
}

impl Standing<'_> {
    /// The request, as the audit trail names a use of `organizations:administer`.
    fn request(self, id: OrganizationId) -> String {
        let verb = match self {
            Self::Suspended { .. } => "suspend",
            Self::Resumed => "resume",
        };
        format!("POST /v1/organizations/{id}/{verb}")
    }
}

/// A decision that is already in force changes nothing; the request is recorded every time.
async fn decide_standing(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    id: OrganizationId,
    standing: Standing<'_>,
) -> Result<Organization, TxProblem> {
    app.store
        .try_tx_in_turn(
            Turn::new(id.uuid(), caller.key()),
            "organizations.decide_standing",
            |tx| async move {
                let before = organizations::lock(&tx, id).await?.ok_or(ProblemCode::NotFound)?;
                standing::still(&tx, caller, ADMINISTER).await?;
                let (trailed, logged) = match (standing, before.status) {
                    (Standing::Suspended { .. }, Status::Suspended)
                    | (Standing::Resumed, Status::Enabled) => {
                        let target = Target::new("request", standing.request(id));
                        let kind = TrailKind::PlatformAdministered;
                        let event = audit_trail::Event::done(kind, caller.actor.clone(), target)
                            .because(caller.reason.clone());
                        audit_trail::record(app, &tx, context, id, &event).await?;
                        return Ok(before);
                    }
                    (Standing::Suspended { reason_code, note }, Status::Enabled) => {
                        store::suspend(&tx, id, &caller.key(), reason_code, note).await?;
                        (TrailKind::OrganizationSuspended, security_log::EventKind::OrganizationSuspended)
                    }
                    (Standing::Resumed, Status::Suspended) => {
                        store::resume(&tx, id).await?;
                        (TrailKind::OrganizationResumed, security_log::EventKind::OrganizationResumed)
                    }
                };
                let mut event =
                    audit_trail::Event::done(trailed, caller.actor.clone(), Target::new("organization", id))
                        .because(caller.reason.clone());
                if let Standing::Suspended { reason_code, .. } = standing {
                    event = event.changing(json!({}), json!({"reason_code": reason_code}));
                }
                audit_trail::record(app, &tx, context, id, &event).await?;
                log(app, &tx, context, logged, None, id, &caller.actor).await?;
                Ok(organizations::find(&tx, id).await?.ok_or(ProblemCode::NotFound)?)
            },
        )
        .await
}
