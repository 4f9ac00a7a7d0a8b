//! Delegations end with the person's account, their membership, their consent, and what an organization allows a client.

use std::sync::Arc;

use porteiro_protocol::{
    id::{Id, JobId, OrganizationId},
    time::OffsetDateTime,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::store::{self, BATCH, Which, Whose};
use crate::{
    App,
    endings::{Cause, Dependent, Gone, Why},
    jobs::{self, JobError, JobKind},
    store::{StoreError, Tx},
};

pub const DEPENDENT: Dependent =
    Dependent { name: "delegations", end: |app, tx, _, cause| Box::pin(end(app, tx, cause)) };

const JOB: &str = "delegations.end";
/// Revokes what the members of a large organization delegated to a client that it does not allow any more. Until then
/// the organization's decision refuses the client, whatever was delegated to it.
pub const ENDING: JobKind<App> = JobKind::new(JOB, |app, payload| Box::pin(go_on(app, payload)));

#[derive(Serialize, Deserialize)]
struct Rest {
    organization: OrganizationId,
    client_id: String,
    /// What is delegated after this, when the client is allowed again, stays.
    #[serde(with = "time::serde::rfc3339")]
    made_until: OffsetDateTime,
}

impl Rest {
    fn which(&self) -> Which<'_> {
        let all = Which::of(Whose::Organization(self.organization));
        Which { client_id: Some(&self.client_id), made_until: Some(self.made_until), ..all }
    }
}

async fn go_on(app: Arc<App>, payload: Value) -> Result<(), JobError> {
    let rest: Rest =
        serde_json::from_value(payload).map_err(|error| JobError::Hopeless(error.to_string()))?;
    let rest = &rest;
    loop {
        let work = |tx| async move { store::revoke(&tx, rest.which(), Why::ClientBlocked).await };
        if app.store.run_tx("delegations.end", work).await?.len() < BATCH {
            return Ok(());
        }
    }
}

async fn end(app: &App, tx: &Tx, cause: Cause<'_>) -> Result<Gone, StoreError> {
    let of = |account| Which::of(Whose::Account(account));
    let (which, why) = match cause {
        // An attacker who had taken the account over may have delegated, too.
        Cause::Account { account, why } | Cause::Sessions { account, why: why @ Why::Recovered, .. } => {
            (of(account), why)
        }
        Cause::Consent { account, client_id } => {
            (Which { client_id: Some(client_id), ..of(account) }, Why::Owner)
        }
        Cause::MemberGrants { member, account, client_id } => {
            let organization = Some(member.organization);
            (Which { organization, client_id, ..of(account) }, member.why)
        }
        Cause::Client { organization, client_id } => {
            let all = Which::of(Whose::Organization(organization));
            (Which { client_id: Some(client_id), ..all }, Why::ClientBlocked)
        }
        // A delegation outlives the session in which it was made, as consent does. For what a member allowed clients
        // there is a cause of its own when the membership ends.
        // Whom only a directory vouches for makes none.
        Cause::Sessions { .. }
        | Cause::Credential { .. }
        | Cause::Directory(_)
        | Cause::Grant { .. }
        | Cause::Membership(_) => {
            return Ok(Gone::default());
        }
    };
    let revoked = store::revoke(tx, which, why).await?;
    if let (Cause::Client { organization, client_id }, BATCH..) = (cause, revoked.len()) {
        let made_until = store::moment(tx).await?;
        let rest = Rest { organization, client_id: client_id.to_owned(), made_until };
        let job: JobId = Id::ordered(app.clock.now(), &*app.entropy);
        jobs::enqueue(tx, job, JOB, &rest).await?;
    }
    Ok(Gone { consents: revoked.len() as u64, ..Gone::default() })
}
