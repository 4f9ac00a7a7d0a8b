//! Creates and revokes API keys; each change and its log entry are one transaction.

use porteiro_protocol::{api_key::ApiKey, assurance::Level, id::AccountId, permission::Held};

use super::super::{
    caller::Caller,
    standing::{self, exceeds, held_now, lost},
    transaction::explained,
};
use crate::{
    App,
    accounts::{self, AccountState},
    api_keys::{self, Key, KeyKind, Made, Place, Wanted, Whose, note},
    audit_trail::{Actor, ActorKind, TrailKind},
    http::{Problem, ProblemCode, RequestContext, TxProblem},
    members::{self, Whom},
    organizations::{self, Name, Status},
    refusals::{self, Holder, Refusal, RefusalId, Rule},
    security_log::EventKind,
    sessions::{self, SignedIn},
    store::{Reader, StoreError, Tx},
};

/// The largest number of valid keys: of one person in one organization, of an organization, of the platform.
const MOST: [(KeyKind, i64); 3] =
    [(KeyKind::Personal, 50), (KeyKind::Organization, 500), (KeyKind::Platform, 100)];

/// The creator of a key, and the permissions it may give the key.
struct Maker {
    held: Held,
    actor: Actor,
    account: Option<AccountId>,
    /// The level of the person's session, for a personal key.
    level: Level,
    /// The reason, if a platform administrator creates it.
    reason: Option<String>,
}

/// For a caller of the management API: a key of the organization in the path, or of the platform.
pub(super) async fn by_caller(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    wanted: &Wanted,
) -> Result<Made, Problem> {
    let secret = ApiKey::generate(&*app.entropy);
    let shown = &secret;
    let outcome = app.store.try_tx("api_keys.make", |tx| async move {
        let organization = caller.organization.as_ref().map(|organization| organization.id);
        let held = match organization {
            Some(_) => standing::enter(&tx, caller, "api-keys:write").await?.held,
            None => held_now(&tx, caller).await?.ok_or_else(lost)?,
        };
        let (actor, reason) = (caller.actor.clone(), caller.reason.clone());
        let maker = Maker { held, actor, account: caller.operator(), level: Level::None, reason };
        let place = Place { organization, membership: None };
        write(app, &tx, context, &maker, place, wanted, shown).await
    });
    match outcome.await.map_err(Problem::from) {
        Ok(key) => Ok(Made { key, secret }),
        Err(problem) => Err(explained(app, context, caller, problem).await),
    }
}

/// For a signed-in person: a personal key in one organization.
pub(super) async fn by_person(
    app: &App,
    context: &RequestContext,
    me: &SignedIn,
    organization: &str,
    wanted: &Wanted,
) -> Result<Made, Problem> {
    let secret = ApiKey::generate(&*app.entropy);
    let shown = &secret;
    let outcome = app.store.try_tx("api_keys.make_personal", |tx| async move {
        accounts::lock(&tx, me.account_id).await?;
        // The account may have been disabled, or its deletion requested, while this waited, and the session with it.
        let found = accounts::find(&tx, me.account_id).await?;
        let active = found.is_some_and(|account| account.state == AccountState::Active);
        if !active || !sessions::is_open(&tx, me.session_id, me.account_id).await? {
            return Err(ProblemCode::Unauthenticated.into());
        }
        accounts::may_gain(&tx, me.account_id).await?;
        let found = organizations::find_named(&tx, &Name::parse(organization)).await?;
        let found = found.ok_or(ProblemCode::NotFound)?;
        organizations::lock(&tx, found.id).await?;
        let member = members::find(&tx, found.id, Whom::Account(me.account_id)).await?;
        // For a person who is not a member, the organization does not exist.
        let member = member.ok_or(ProblemCode::NotFound)?;
        let held = member.held_to_read().map_err(|_| ProblemCode::NotFound)?.clone();
        match member.organization.status {
            Status::Suspended => return Err(ProblemCode::OrganizationSuspended.into()),
            Status::Enabled => {}
        }
        // A key outlives the session that created it, so the session must meet the organization's policy.
        if member.door().is_some() {
            return Err(Problem::new(ProblemCode::Conflict, api_keys::NOT_BY_CONNECTION).into());
        }
        member.admits(app.checked.settings.minimum_level, &me.into()).map_err(Problem::from)?;
        let actor = Actor { kind: ActorKind::Member, id: member.id.to_string(), act: None };
        let maker = Maker { held, actor, account: member.account, level: me.level(), reason: None };
        let place = Place { organization: Some(found.id), membership: Some(member.id) };
        write(app, &tx, context, &maker, place, wanted, shown).await
    });
    match outcome.await.map_err(Problem::from) {
        Ok(key) => Ok(Made { key, secret }),
        Err(problem) if problem.code == ProblemCode::AuthorityExceeded => {
            let reference = exceeded(app, context, me, organization, wanted).await?;
            Err(problem.with_reference(reference))
        }
        Err(problem) => Err(problem),
    }
}

/// Records the refusal for readers of the organization's audit trail. The member is read again, because the transaction
/// of the key has been rolled back.
async fn exceeded(
    app: &App,
    context: &RequestContext,
    me: &SignedIn,
    organization: &str,
    wanted: &Wanted,
) -> Result<Option<RefusalId>, StoreError> {
    let named = organizations::find_named(&app.store, &Name::parse(organization)).await?;
    let Some(place) = named.map(|found| found.id) else { return Ok(None) };
    let Some(member) = members::find(&app.store, place, Whom::Account(me.account_id)).await? else {
        return Ok(None);
    };
    let refusal = Refusal {
        organization: Some(place),
        client_id: None,
        subject: Some(Actor { kind: ActorKind::Member, id: member.id.to_string(), act: None }),
        rule: Rule::PermissionNotHeld,
        asked: wanted.permissions.iter().map(ToString::to_string).collect(),
        holder: Holder::Member(place, member.id),
        would_pass: "a key that says no more than its owner holds".into(),
    };
    Ok(refusals::record(app, context, &refusal).await)
}

async fn write(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    maker: &Maker,
    place: Place,
    wanted: &Wanted,
    secret: &ApiKey,
) -> Result<Key, TxProblem> {
    let missing = api_keys::missing(&maker.held, wanted);
    if !missing.is_empty() {
        return Err(exceeds(&missing).into());
    }
    let most = MOST.iter().find(|(kind, _)| *kind == wanted.kind).map_or(0, |(_, most)| *most);
    if api_keys::count_living(tx, wanted.kind, place.organization, place.membership).await? >= most {
        let text = format!("at most {most} active keys are allowed");
        return Err(Problem::new(ProblemCode::Quota, text).into());
    }
    let created_by = format!("{}:{}", maker.actor.kind.as_str(), maker.actor.id);
    let key = api_keys::write(tx, place, wanted, secret, &created_by, maker.level).await?;
    let kinds = (TrailKind::ApiKeyCreated, EventKind::ApiKeyCreated);
    let reason = maker.reason.as_deref();
    note(app, tx, context, &key, maker.account, maker.actor.clone(), kinds, reason).await?;
    Ok(key)
}

/// `false` if `whose` has no such key. Revoking a key again changes nothing.
pub(super) async fn revoke(
    app: &App,
    context: &RequestContext,
    whose: Whose,
    id: &str,
    actor: &Actor,
    reason: &str,
) -> Result<bool, StoreError> {
    app.store
        .run_tx("api_keys.revoke", |tx| async move {
            let Some(key) = api_keys::show(&tx, whose, id).await? else { return Ok(false) };
            if api_keys::revoke(&tx, id, reason).await? {
                let account = owner(&tx, &key).await?;
                let kinds = (TrailKind::ApiKeyRevoked, EventKind::ApiKeyRevoked);
                note(app, &tx, context, &key, account, actor.clone(), kinds, Some(reason)).await?;
            }
            Ok(true)
        })
        .await
}

async fn owner(reader: &impl Reader, key: &Key) -> Result<Option<AccountId>, StoreError> {
    let (Some(organization), Some(membership)) = (key.organization, key.membership) else { return Ok(None) };
    let member = members::find(reader, organization, Whom::Id(membership)).await?;
    Ok(member.and_then(|member| member.account))
}
