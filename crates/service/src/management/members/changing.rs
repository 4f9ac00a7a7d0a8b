//! Changes of members. Each is one transaction under the organization's lock: load, decide, apply, record.

use std::sync::Arc;

use porteiro_protocol::id::{AccountId, Id, MembershipId, OrganizationId};
use serde_json::json;

use super::{
    super::{
        roles::impact::{self, Impact},
        standing::{self, Standing},
    },
    cut,
    decide::{self, Becomes, Now, Refused, Wanted},
    store::{self, End, Undo},
};
use crate::{
    App, accounts,
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    client_policies,
    http::{Problem, ProblemCode, RequestContext, TxProblem},
    management::{self, Caller},
    members::{self, Member, NewMember, Source, State, Whom, join},
    oauth::{clients, grants},
    organizations::{self, Status},
    roles::{self, Definitions},
    security_log::{self, EventKind},
    store::{Turn, Tx},
};

const WRITE: &str = "members:write";
const NO_CLIENT: &str = "the client is unknown";

type Outcome<T> = Result<T, TxProblem>;

/// The new member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// Only the platform adds accounts; organizations invite people.
    Account(AccountId),
    /// A client, as a member of its own.
    Client(String),
}

pub async fn add(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    who: &Who,
    role: &str,
    display_name: Option<&str>,
) -> Result<Member, Problem> {
    management::change(app, context, caller, "members.add", |tx| async move {
        let standing = standing::enter(&tx, caller, WRITE).await?;
        // A client that is a member acts without anybody, as a key does.
        standing.of_own_account()?;
        let Standing { organization, held, .. } = standing;
        let definitions = roles::definitions(&tx, organization.id).await?;
        decide::may_give(&held, &definitions, role)?;
        let known = match who {
            Who::Account(account) => {
                accounts::may_gain(&tx, *account).await?;
                let account = accounts::find(&tx, *account).await?;
                let account = account.filter(|it| it.state == accounts::AccountState::Active);
                account.ok_or(Refused::Whom("the account is unknown")).map(|it| it.display_name)
            }
            Who::Client(client_id) => match clients::find(&tx, client_id).await? {
                None => Err(Refused::Whom(NO_CLIENT)),
                Some(client) if !client.is_known_to(organization.id) => Err(Refused::Whom(NO_CLIENT)),
                Some(client) if client.is_public() || !client.may_use_grant("client_credentials") => {
                    Err(Refused::Whom("only a client with the client_credentials grant can be a member"))
                }
                Some(client) if !client_policies::allows(&tx, &organization, &client).await? => {
                    Err(Refused::Whom("the organization does not allow this client"))
                }
                Some(client) => Ok(client.metadata.client_name.unwrap_or(client.id)),
            },
        };
        let name = display_name.map_or_else(|| known.clone(), |given| known.clone().map(|_| given.into()));
        let name = decide::name(&name?).ok_or(Refused::DisplayName)?;
        let new = NewMember {
            organization: organization.id,
            id: Id::random(&*app.entropy),
            account: match who {
                Who::Account(account) => Some(*account),
                Who::Client(_) => None,
            },
            client_id: match who {
                Who::Account(_) => None,
                Who::Client(client_id) => Some(client_id),
            },
            display_name: &name,
            role,
            source: Source::Admin,
        };
        let joined = join(app, &tx, context, &new, &caller.actor).await?;
        let id = joined.ok_or(Refused::AlreadyMember)?;
        found(&tx, organization.id, id).await
    })
    .await
}

async fn found(tx: &Tx, organization: OrganizationId, id: MembershipId) -> Outcome<Member> {
    Ok(members::find(tx, organization, Whom::Id(id)).await?.ok_or(Refused::NotFound)?)
}

/// Locks the member to change, which is not removed and has the version that the caller has seen.
async fn locked(
    tx: &Tx,
    organization: OrganizationId,
    id: MembershipId,
    seen: Option<i64>,
) -> Outcome<Member> {
    let member = store::lock(tx, organization, id).await?.ok_or(Refused::NotFound)?;
    match member.state {
        State::Removed => Err(Refused::Removed.into()),
        State::Provisioned | State::Active | State::Disabled
            if seen.is_some_and(|seen| seen != member.version) =>
        {
            Err(Refused::Stale.into())
        }
        State::Provisioned | State::Active | State::Disabled => Ok(member),
    }
}

pub async fn change(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    id: MembershipId,
    seen: i64,
    wanted: &Wanted,
) -> Result<Member, Problem> {
    management::change(app, context, caller, "members.change", |tx| async move {
        let standing = standing::enter(&tx, caller, WRITE).await?;
        let member = locked(&tx, standing.organization.id, id, Some(seen)).await?;
        let definitions = roles::definitions(&tx, standing.organization.id).await?;
        apply(app, &tx, context, caller, &standing, &definitions, &member, wanted).await
    })
    .await
}

/// A dry run: makes the change, reads its effect and rolls it back.
pub async fn dry_run(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    id: MembershipId,
    seen: i64,
    wanted: &Wanted,
) -> Result<Impact, Problem> {
    management::change(app, context, caller, "members.dry_run", |tx| async move {
        let standing = standing::enter(&tx, caller, WRITE).await?;
        let member = locked(&tx, standing.organization.id, id, Some(seen)).await?;
        let definitions = roles::definitions(&tx, standing.organization.id).await?;
        let change = apply(app, &tx, context, caller, &standing, &definitions, &member, wanted);
        let after = tx.tentatively(Box::pin(change)).await?;
        Ok(impact::of_member(&tx, &member, after.authority()).await?)
    })
    .await
}

#[expect(clippy::too_many_arguments, reason = "everything that was loaded, and whoever asks")]
async fn apply(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    standing: &Standing,
    definitions: &Definitions,
    member: &Member,
    wanted: &Wanted,
) -> Outcome<Member> {
    let organization = standing.organization.id;
    let now = Now {
        display_name: &member.display_name,
        roles: &member.roles,
        primary_role: &member.primary_role,
        held: member.authority(),
    };
    let becomes = decide::change(&standing.held, definitions, now, wanted)?;
    let added = becomes.roles.iter().filter(|role| !member.roles.contains(role));
    standing.may_raise(added.filter_map(|role| definitions.get(role)))?;
    if member.state == State::Active {
        let another = store::has_another_owner(tx, organization, member.id).await?;
        decide::keeps_an_owner(&member.roles, &becomes.roles, another)?;
    }
    let Becomes { display_name, roles, primary_role } = &becomes;
    let other_roles = *roles != member.roles || *primary_role != member.primary_role;
    if !other_roles && *display_name == member.display_name {
        return found(tx, organization, member.id).await;
    }
    store::describe(tx, organization, member.id, display_name, primary_role).await?;
    if other_roles {
        store::set_roles(tx, organization, member.id, roles).await?;
    }
    // A role that a group gives stays, whatever was asked.
    let after = found(tx, organization, member.id).await?;
    if other_roles && let Some(account) = member.account {
        if !grants::look_again(tx, account, organization, member.id).await? {
            organizations::check_again(tx, organization).await?;
        }
        let payload =
            json!({"organization_id": organization, "membership_id": member.id, "roles": after.roles});
        let kind = EventKind::MembershipChanged;
        security_log::record(
            app,
            tx,
            context,
            security_log::Event { kind, subject: account.uuid(), payload },
        )
        .await?;
    }
    // Names are personal data: the audit trail records that the name changed, but neither name.
    let named = |name: &str| (name != member.display_name).then_some("another");
    let event = audit_trail::Event::done(
        TrailKind::MemberChanged,
        caller.actor.clone(),
        Target::new("member", member.id),
    )
    .because(caller.reason.clone())
    .changing(
        json!({"roles": member.roles, "primary_role": member.primary_role}),
        json!({"roles": after.roles, "primary_role": after.primary_role, "display_name": named(display_name)}),
    );
    audit_trail::record(app, tx, context, organization, &event).await?;
    Ok(after)
}

/// Disables or removes a member. `seen`: the version the caller has seen, where it is required.
pub async fn end(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    id: MembershipId,
    seen: Option<i64>,
    end: End,
    reason: Option<&str>,
) -> Result<Member, Problem> {
    management::change(app, context, caller, "members.end", |tx| async move {
        let standing = standing::enter(&tx, caller, WRITE).await?;
        let organization = standing.organization.id;
        let member = locked(&tx, organization, id, seen).await?;
        decide::outranks(&standing.held, member.authority())?;
        let given = decide::reason(reason)?;
        may_end(&tx, &member).await?;
        let reason = given.or(caller.reason.as_deref());
        cut::cut(app, &tx, context, &member, &caller.actor, end, reason).await?;
        found(&tx, organization, id).await
    })
    .await
}

/// An organization keeps an owner.
pub async fn may_end(tx: &Tx, member: &Member) -> Outcome<()> {
    if member.state != State::Active {
        return Ok(());
    }
    let another = store::has_another_owner(tx, member.organization.id, member.id).await?;
    Ok(decide::keeps_an_owner(&member.roles, &[], another)?)
}

/// A member leaves. No permission is required, but an organization keeps an owner. A disabled member does not leave: a
/// former member can return by an invitation, and only an administrator ends the disabling.
pub async fn leave(
    app: &Arc<App>,
    context: &RequestContext,
    account: AccountId,
    organization: OrganizationId,
) -> Result<(), Problem> {
    let turn = Turn::new(organization.uuid(), account);
    let left = app.store.try_tx_in_turn(turn, "members.leave", |tx| async move {
        let place = organizations::lock(&tx, organization).await?.ok_or(Refused::NotFound)?;
        let member = members::find(&tx, organization, Whom::Account(account)).await?;
        let id = member.ok_or(Refused::NotFound)?.id;
        // A removed member does not learn whether the organization still exists.
        let member = store::lock(&tx, organization, id).await?.ok_or(Refused::NotFound)?;
        match (member.state, place.status) {
            (State::Removed | State::Provisioned, _) => return Err(Refused::NotFound.into()),
            (State::Active | State::Disabled, Status::Suspended) => {
                return Err(ProblemCode::OrganizationSuspended.into());
            }
            (State::Disabled, Status::Enabled) => return Err(Refused::Disabled.into()),
            (State::Active, Status::Enabled) => {}
        }
        may_end(&tx, &member).await?;
        let actor = Actor { kind: ActorKind::Member, id: id.to_string(), act: None };
        cut::cut(app, &tx, context, &member, &actor, End::Removed, None).await?;
        Ok(())
    });
    Ok(left.await?)
}

/// Enables a disabled member, with its roles and nothing else of before. This gives those roles, so the caller must
/// hold everything they permit.
pub async fn enable(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    id: MembershipId,
) -> Result<Member, Problem> {
    management::change(app, context, caller, "members.enable", |tx| async move {
        let standing = standing::enter(&tx, caller, WRITE).await?;
        let organization = standing.organization.id;
        let member = locked(&tx, organization, id, None).await?;
        decide::outranks(&standing.held, member.authority())?;
        standing.may_raise([member.authority()])?;
        let reason = caller.reason.as_deref();
        cut::restore(app, &tx, context, &member, &caller.actor, reason, Undo::Anybodys).await?;
        found(&tx, organization, id).await
    })
    .await
}
