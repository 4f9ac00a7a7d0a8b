//! Somebody of the platform acts as a member, for a quarter of an hour at most, where everybody concerned can see it.
//!
//! 1. Only a person who holds `members:impersonate` by name, with a second factor no older than five minutes; never a
//!    key. Never as somebody above them (`management/impersonation`).
//! 2. The person hears of it by mail, the organization reads it in its trail: that it began and why, each token, its end.
//! 3. Tokens say both: `sub` is the member, `act.sub` who really acts. They carry only what the member holds, last five
//!    minutes and never beyond the end, prove nobody's presence (`acr` 0), and open neither consent, nor account, nor
//!    credentials; at the management API they only read.
//! 4. It hangs on a grant like any other. Whatever ends the member's grants ends it too.
//! 5. It ends with what let the operator begin it: the permission, their account, and their own sessions and grants.
//!
//! Here is what is stored, and what ends it; `management/impersonation` begins one and makes its tokens.

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

/// The impersonation itself, for ids.
#[derive(Debug)]
pub enum Acted {}
pub type ImpersonationId = Id<Acted>;

/// No longer than this.
pub const SECONDS: i32 = 900;
pub const JOB: &str = "impersonation.time_is_up";
/// The job of every impersonation that nobody ends.
pub const EXPIRY: JobKind<App> =
    JobKind::new(JOB, |app, payload| Box::pin(time_is_up(app, payload))).attempts(8);
/// Needed by name; no wildcard covers it.
pub const PERMISSION: &str = "members:impersonate";

/// Whether it is held by name.
pub fn holds_permission(held: &Held) -> bool {
    held.named().any(|held| held.as_str() == PERMISSION)
}

pub fn target(membership: MembershipId) -> audit_trail::Target {
    audit_trail::Target::new("member", membership)
}

/// Whether somebody may act as others, now: asked wherever a token says that they do.
pub async fn is_allowed(reader: &impl Reader, actor: &str) -> Result<bool, StoreError> {
    let Ok(actor) = actor.parse::<AccountId>() else { return Ok(false) };
    Ok(holds_permission(&platform::held(reader, actor).await?))
}

/// The job of every impersonation: where nobody ended it, its time did, and the trail says so.
async fn time_is_up(app: Arc<App>, payload: Value) -> Result<(), JobError> {
    let part = |name: &str| payload[name].as_str().and_then(|text| text.parse().ok());
    let (Some(organization), Some(id)) = (part("organization"), part("impersonation")) else {
        return Err(JobError::Hopeless("not an impersonation".into()));
    };
    let (organization, id): (uuid::Uuid, uuid::Uuid) = (organization, id);
    let (organization, app) = (OrganizationId::from(organization), &app);
    app.store
        .run_tx("impersonation.time_is_up", |tx| async move {
            let Some(ended) = store::end(&tx, organization, id.into(), true).await? else { return Ok(()) };
            let event = ending::ended(&ended, "the impersonation expired");
            audit_trail::record_unasked(&*app.entropy, &tx, organization, &event).await
        })
        .await?;
    Ok(())
}
