//! API keys (docs/api-keys.md): of a person, an organization or the platform. A key never adds authority: at every use
//! its owner must hold all of its permissions, otherwise the key is refused.
//!
//! 1. Its creator must hold all of its permissions (`management/api_keys`). It is shown once and stored as a hash.
//! 2. It is used directly at the management API, and as a client for other APIs (`oauth/key_credentials`). A string
//!    with a wrong form or checksum never reaches the database.
//! 3. Its owner or an administrator revokes it. Nothing about a key is cached outside the database, so revoking it
//!    takes effect everywhere at once, for tokens issued to it as well ([`token_alive`]).

mod decide;
mod ending;
mod making;
mod store;

use std::net::IpAddr;

use porteiro_protocol::{
    api_key::ApiKey,
    assurance::Level,
    id::{AccountId, Id, OrganizationId},
    permission::{Held, Permission},
    time::Duration,
};
use serde_json::{Value, json};
use uuid::Uuid;

pub use decide::{NewKeyRequest, NewPersonalKeyRequest, Wanted, missing, wanted};
pub use ending::DEPENDENT;
pub use making::{Made, Place, make_at_console, revoke_at_console, write};
pub use store::{Key, KeyKind, NewKey, Whose, count_living, find, insert, list, revoke, show};

use crate::{
    App,
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    http::RequestContext,
    members::{self, Member, Whom},
    organizations::{self, Organization, Status},
    security_log,
    store::{Reader, StoreError, Tx},
};

/// Why personal keys are refused where the organization requires a connection.
pub const NOT_BY_CONNECTION: &str = "the organization requires its own connection, so personal keys are not accepted; use a key of the organization";

/// A usable key and its permissions.
#[derive(Debug)]
pub struct Usable {
    pub key: Key,
    pub held: Held,
    /// Its organization; `None` for platform keys.
    pub organization: Option<Organization>,
    pub member: Option<Member>,
}

/// Why a genuine key is refused.
#[derive(Debug)]
pub enum Refused {
    /// Unknown, wrong, expired, revoked, from a network that is not allowed, or its owner is gone: one answer.
    Invalid,
    /// Its organization is suspended.
    Suspended(OrganizationId),
    /// Its owner's level at creation is below what the deployment or the organization requires now.
    BelowLevel(OrganizationId),
    /// It is a person's, and the organization requires its own connection.
    NotByConnection(OrganizationId),
    /// Its owner no longer holds all of its permissions.
    Exceeds { organization: OrganizationId, missing: Vec<Permission> },
    /// The database could not be read.
    Store(StoreError),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Refused {
    /// `None` for a refused key; an error of the database stays an error.
    fn none<T>(self) -> Result<Option<T>, StoreError> {
        match self {
            Self::Store(error) => Err(error),
            Self::Invalid
            | Self::Suspended(_)
            | Self::BelowLevel(_)
            | Self::NotByConnection(_)
            | Self::Exceeds { .. } => Ok(None),
        }
    }
}

/// Whether a presented key may be used from this address, and its permissions. Read from the database every time.
pub async fn check(app: &App, presented: &ApiKey, address: IpAddr) -> Result<Usable, Refused> {
    let minimum = app.checked.settings.minimum_level;
    match store::find(&app.store, presented.id(), &presented.hash()).await? {
        Some(key) if key.allows(address) => worth(&app.store, key, minimum, None).await,
        Some(_) | None => Err(Refused::Invalid),
    }
}

/// The permissions of a key that is neither revoked nor expired. `minimum` is the deployment's minimum level; `locked` an
/// organization that the caller has locked, and so need not be read again.
async fn worth(
    reader: &impl Reader,
    key: Key,
    minimum: Level,
    locked: Option<&Organization>,
) -> Result<Usable, Refused> {
    match (key.kind, key.organization) {
        (KeyKind::Platform, None) => {
            let held = Held::of(key.permissions.clone());
            Ok(Usable { key, held, organization: None, member: None })
        }
        (KeyKind::Organization, Some(id)) => of_organization(reader, key, id, locked).await,
        (KeyKind::Personal, Some(id)) => of_member(reader, key, id, minimum).await,
        (KeyKind::Platform, Some(_)) | (KeyKind::Organization | KeyKind::Personal, None) => {
            Err(Refused::Invalid)
        }
    }
}

async fn of_organization(
    reader: &impl Reader,
    key: Key,
    id: OrganizationId,
    locked: Option<&Organization>,
) -> Result<Usable, Refused> {
    let organization = match locked.filter(|locked| locked.id == id) {
        Some(locked) => Some(locked.clone()),
        None => organizations::find(reader, id).await?,
    };
    let Some(organization) = organization else { return Err(Refused::Invalid) };
    match organization.status {
        Status::Suspended => Err(Refused::Suspended(id)),
        Status::Enabled => {
            let held = Held::of(key.permissions.clone());
            Ok(Usable { key, held, organization: Some(organization), member: None })
        }
    }
}

async fn of_member(
    reader: &impl Reader,
    key: Key,
    id: OrganizationId,
    minimum: Level,
) -> Result<Usable, Refused> {
    let owner = match key.membership {
        Some(membership) => members::find(reader, id, Whom::Id(membership)).await?,
        None => None,
    };
    let Some(member) = owner else { return Err(Refused::Invalid) };
    // The member was disabled since: a key created before stays invalid.
    if key.created_at < member.grants_from {
        return Err(Refused::Invalid);
    }
    let held = match member.held() {
        Ok(held) => held,
        Err(members::Unusable::Suspended) => return Err(Refused::Suspended(id)),
        Err(members::Unusable::Unclaimed | members::Unusable::Disabled | members::Unusable::Removed) => {
            return Err(Refused::Invalid);
        }
    };
    // The age of the proof is not checked: no person is present when a key is used (docs/decisions/0082).
    if key.level < member.organization.policy.min_level.max(minimum) {
        return Err(Refused::BelowLevel(id));
    }
    // A key would go on when the connection does not vouch for its owner any more (docs/decisions/0132).
    if member.door().is_some() {
        return Err(Refused::NotByConnection(id));
    }
    let missing: Vec<Permission> = held.missing(&key.permissions).into_iter().cloned().collect();
    if !missing.is_empty() {
        return Err(Refused::Exceeds { organization: id, missing });
    }
    let organization = Some(member.organization.clone());
    Ok(Usable { held: Held::of(key.permissions.clone()), key, organization, member: Some(member) })
}

/// The permissions of a key, with its row locked until the transaction ends: revoking it waits for that. `locked`: the
/// organization, if this transaction has locked it.
pub async fn hold(tx: &Tx, id: &str, locked: Option<&Organization>) -> Result<Option<Usable>, StoreError> {
    match store::hold_living(tx, id).await? {
        // The minimum level is a setting: it was checked when the call was admitted, and has not changed since.
        Some(key) => worth(tx, key, Level::None, locked).await.map(Some).or_else(Refused::none),
        None => Ok(None),
    }
}

/// Whether a token issued to a key is still valid: as long as the key itself would be accepted. `organization` and
/// `subject` are the token's; they must be the key's.
pub async fn token_alive(
    app: &App,
    key_id: &str,
    organization: Option<OrganizationId>,
    subject: &str,
) -> Result<Option<Usable>, StoreError> {
    let Some(key) = store::find_living(&app.store, key_id).await? else { return Ok(None) };
    if key.organization != organization || self::subject(&key) != subject {
        return Ok(None);
    }
    let minimum = app.checked.settings.minimum_level;
    worth(&app.store, key, minimum, None).await.map(Some).or_else(Refused::none)
}

/// The subject of a key's tokens: the membership, or the organization's key itself.
pub fn subject(key: &Key) -> String {
    key.membership.map_or_else(|| key.id.clone(), |membership| membership.to_string())
}

pub fn actor(key: &Key) -> Actor {
    Actor { kind: ActorKind::ApiKey, id: key.id.clone(), act: None }
}

/// Stores when a key was last used, and records its first use.
pub async fn used(app: &App, context: &RequestContext, usable: &Usable) -> Result<(), StoreError> {
    let key = &usable.key;
    match key.last_used_at {
        Some(at) if app.clock.now() - at < Duration::MINUTE => Ok(()),
        Some(_) => store::touch(&app.store, &key.id, context.address).await,
        None => {
            let account = usable.member.as_ref().and_then(|member| member.account);
            app.store
                .run_tx("api_keys.used_first", |tx| async move {
                    if !store::touch_first(&tx, &key.id, context.address).await? {
                        return Ok(());
                    }
                    let (trail, log) = (TrailKind::ApiKeyUsedFirst, security_log::EventKind::ApiKeyUsedFirst);
                    note(app, &tx, context, key, account, actor(key), (trail, log), None).await
                })
                .await
        }
    }
}

/// In the organization's audit trail, and in the security log if it concerns a person or the platform.
#[expect(clippy::too_many_arguments, reason = "an entry says who did what to which key, and why")]
pub async fn note(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    key: &Key,
    account: Option<AccountId>,
    actor: Actor,
    (trail_kind, log_kind): (TrailKind, security_log::EventKind),
    reason: Option<&str>,
) -> Result<(), StoreError> {
    if let Some(organization) = key.organization {
        let event = audit_trail::Event::done(trail_kind, actor, Target::new("api_key", &key.id))
            .because(reason.map(str::to_owned));
        let made = trail_kind == TrailKind::ApiKeyCreated;
        let event = if made { event.changing(Value::Null, described(key)) } else { event };
        audit_trail::record(app, tx, context, organization, &event).await?;
    }
    match key.kind {
        KeyKind::Organization => Ok(()),
        KeyKind::Personal | KeyKind::Platform => {
            let subject = account.map(Id::uuid).unwrap_or_default();
            security_log::record(app, tx, context, logged(key, subject, log_kind, reason)).await
        }
    }
}

fn described(key: &Key) -> Value {
    json!({"kind": key.kind, "membership_id": key.membership, "permissions": key.permissions})
}

fn logged(
    key: &Key,
    subject: Uuid,
    kind: security_log::EventKind,
    reason: Option<&str>,
) -> security_log::Event {
    let mut payload = json!({"key_id": key.id, "kind": key.kind});
    if let Some(organization) = key.organization {
        payload["organization_id"] = json!(organization);
    }
    if let Some(reason) = reason {
        payload["reason"] = json!(reason);
    }
    security_log::Event { kind, subject, payload }
}
