//! A platform administrator acts as a member, for at most fifteen minutes, visibly to all concerned.
//!
//! 1. Only a person who holds `members:impersonate` by name, with a second factor proved in the last five minutes;
//!    never a key. Never as a member with higher authority (`management/impersonation`).
//! 2. The person is notified by mail; the organization's audit trail records the start with its reason, each token and
//!    the end.
//! 3. Tokens name both: `sub` is the member, `act.sub` the administrator. They carry only what the member holds, are
//!    valid for five minutes and not beyond the end, have `acr` 0, and give no access to consent, account or
//!    credentials; at the management API they only read.
//! 4. It has a grant. Whatever ends the member's grants ends it too.
//! 5. It ends with the authority of the administrator: the permission, the account, and the administrator's sessions
//!    and grants.
//!
//! This folder has its rows, and what ends them; `management/impersonation` starts one and issues its tokens.

mod ending;
mod store;

use std::sync::Arc;

use porteiro_protocol::{
    id::{AccountId, Id, MembershipId, OrganizationId},
    permission::Held,
};
use serde_json::Value;

pub use self::{
    ending::{DEPENDENT, end_of_actor, end_of_actor_at_console},
    store::{Impersonation, New, end, find, insert},
};
use crate::{
    App, audit_trail,
    jobs::{JobError, JobKind},
    platform,
    store::{Reader, StoreError},
};

/// The type of impersonation ids.
#[derive(Debug)]
pub enum Acted {}
pub type ImpersonationId = Id<Acted>;

/// The maximum duration.
pub const SECONDS: i32 = 900;
pub const JOB: &str = "impersonation.time_is_up";
/// The job that ends an impersonation when its time expires.
pub const EXPIRY: JobKind<App> = JobKind::new(JOB, |app, payload| Box::pin(expire(app, payload))).attempts(8);
/// Held by name only; no wildcard covers it.
pub const PERMISSION: &str = "members:impersonate";

/// Whether it is held by name.
pub fn holds_permission(held: &Held) -> bool {
    held.named().any(|held| held.as_str() == PERMISSION)
}

pub fn target(membership: MembershipId) -> audit_trail::Target {
    audit_trail::Target::new("member", membership)
}

/// Whether an account may impersonate now: checked wherever a token has an actor.
pub async fn is_allowed(reader: &impl Reader, actor: &str) -> Result<bool, StoreError> {
    let Ok(actor) = actor.parse::<AccountId>() else { return Ok(false) };
    Ok(holds_permission(&platform::held(reader, actor).await?))
}

/// Ends an impersonation whose time has expired, and records it in the audit trail.
async fn expire(app: Arc<App>, payload: Value) -> Result<(), JobError> {
    let part = |name: &str| payload[name].as_str().and_then(|text| text.parse().ok());
    let (Some(organization), Some(id)) = (part("organization"), part("impersonation")) else {
        return Err(JobError::Hopeless("not an impersonation".into()));
    };
    let (organization, id): (uuid::Uuid, uuid::Uuid) = (organization, id);
    let (organization, app) = (OrganizationId::from(organization), &app);
    app.store
        .run_tx("impersonation.expire", |tx| async move {
            let Some(ended) = store::end(&tx, organization, id.into(), true).await? else { return Ok(()) };
            let event = ending::ended(&ended, "the impersonation expired");
            audit_trail::record_unasked(&*app.entropy, &tx, organization, &event).await
        })
        .await?;
    Ok(())
}
