//! API keys (docs/api-keys.md): personal, of an organization, of the platform. A key borrows authority and never adds any:
//! at every use its permissions must be held by whoever it belongs to, all of them, or it does nothing.
//!
//! 1. Made by somebody who holds all of it (`management/api_keys`); shown once, kept as a hash.
//! 2. Used at our own management API as it is, and for other APIs as a client (`oauth/key_credentials`). Whatever is not
//!    a key down to its checksum never reaches the database.
//! 3. Revoked by its owner or an administrator. Nothing about a key is remembered outside the database, so that counts
//!    everywhere at once, for the tokens it got as well ([`token_alive`]).

mod decide;
mod ending;
mod making;
mod store;

use std::net::IpAddr;

use porteiro_protocol::{
    api_key::ApiKey,
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
    store::{Reader, Store, StoreError, Tx},
};

/// What a key is worth now.
#[derive(Debug)]
pub struct Usable {
    pub key: Key,
    pub held: Held,
    /// Where it counts; none for the platform's own.
    pub organization: Option<Organization>,
    pub member: Option<Member>,
}

/// Why a genuine key does nothing.
#[derive(Debug)]
pub enum Refused {
    /// Unknown, wrong, expired, revoked, from elsewhere, or its owner is gone: one answer.
    Invalid,
    /// Its organization is suspended.
    Suspended(OrganizationId),
    /// Its owner had proved less than the organization asks of people now.
    BelowLevel(OrganizationId),
    /// Its owner no longer holds all of it.
    Exceeds { organization: OrganizationId, missing: Vec<Permission> },
    /// The database did not say.
    Store(StoreError),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Refused {
    /// For whoever asks only whether it does something: `None`, unless the database did not say.
    fn none<T>(self) -> Result<Option<T>, StoreError> {
        match self {
            Self::Store(error) => Err(error),
            Self::Invalid | Self::Suspended(_) | Self::BelowLevel(_) | Self::Exceeds { .. } => Ok(None),
        }
    }
}

/// Whether a presented key may be used from here, and for what. Asked of the database, every time.
pub async fn check(store: &Store, presented: &ApiKey, address: IpAddr) -> Result<Usable, Refused> {
    match store::find(store, presented.id(), &presented.hash()).await? {
        Some(key) if key.allows(address) => worth(store, key).await,
        Some(_) | None => Err(Refused::Invalid),
    }
}

/// What a key that is neither revoked nor expired is worth.
async fn worth(reader: &impl Reader, key: Key) -> Result<Usable, Refused> {
    match (key.kind, key.organization) {
        (KeyKind::Platform, None) => {
            let held = Held::of(key.permissions.clone());
            Ok(Usable { key, held, organization: None, member: None })
        }
        (KeyKind::Organization, Some(id)) => of_organization(reader, key, id).await,
        (KeyKind::Personal, Some(id)) => of_member(reader, key, id).await,
        (KeyKind::Platform, Some(_)) | (KeyKind::Organization | KeyKind::Personal, None) => {
            Err(Refused::Invalid)
        }
    }
}

async fn of_organization(reader: &impl Reader, key: Key, id: OrganizationId) -> Result<Usable, Refused> {
    let Some(organization) = organizations::find(reader, id).await? else { return Err(Refused::Invalid) };
    match organization.status {
        Status::Suspended => Err(Refused::Suspended(id)),
        Status::Enabled => {
            let held = Held::of(key.permissions.clone());
            Ok(Usable { key, held, organization: Some(organization), member: None })
        }
    }
}

async fn of_member(reader: &impl Reader, key: Key, id: OrganizationId) -> Result<Usable, Refused> {
    let owner = match key.membership {
        Some(membership) => members::find(reader, id, Whom::Id(membership)).await?,
        None => None,
    };
    let Some(member) = owner else { return Err(Refused::Invalid) };
    // Disabled in between: what was made before stays dead.
    if key.created_at < member.grants_from {
        return Err(Refused::Invalid);
    }
    let held = match member.held() {
        Ok(held) => held,
        Err(members::Unusable::Suspended) => return Err(Refused::Suspended(id)),
        Err(members::Unusable::Disabled | members::Unusable::Removed) => return Err(Refused::Invalid),
    };
    // How long ago is not asked: nobody is there when a key is used (docs/decisions/0082).
    if key.level < member.organization.policy.min_level {
        return Err(Refused::BelowLevel(id));
    }
    let missing: Vec<Permission> = held.missing(&key.permissions).into_iter().cloned().collect();
    if !missing.is_empty() {
        return Err(Refused::Exceeds { organization: id, missing });
    }
    let organization = Some(member.organization.clone());
    Ok(Usable { held: Held::of(key.permissions.clone()), key, organization, member: Some(member) })
}

/// What a key may do once its row is held until the transaction ends: whoever revokes it waits for that.
pub async fn hold(tx: &Tx, id: &str) -> Result<Option<Usable>, StoreError> {
    match store::hold_living(tx, id).await? {
        Some(key) => worth(tx, key).await.map(Some).or_else(Refused::none),
        None => Ok(None),
    }
}

/// Whether a token that a key got still counts: it does as long as the key would be let in. `organization` and
/// `subject` are what the token says; they must be the key's.
pub async fn token_alive(
    store: &Store,
    key_id: &str,
    organization: Option<OrganizationId>,
    subject: &str,
) -> Result<Option<Usable>, StoreError> {
    let Some(key) = store::find_living(store, key_id).await? else { return Ok(None) };
    if key.organization != organization || self::subject(&key) != subject {
        return Ok(None);
    }
    worth(store, key).await.map(Some).or_else(Refused::none)
}

/// Whom a key's tokens speak for: the membership, or an organization's key itself.
pub fn subject(key: &Key) -> String {
    key.membership.map_or_else(|| key.id.clone(), |membership| membership.to_string())
}

pub fn actor(key: &Key) -> Actor {
    Actor { kind: ActorKind::ApiKey, id: key.id.clone(), act: None }
}

/// Remembers that a key was used, and writes down the first time.
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

/// In the organization's trail, and in the security log where it is about a person or the platform.
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
