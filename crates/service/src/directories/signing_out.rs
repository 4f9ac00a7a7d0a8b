//! A directory signs a person out (OpenID Connect Back-Channel Logout 1.0): what rests on its session, or on all of the
//! person's, ends. Grants for offline access stay, as when the person signs out here (§2.7).

use porteiro_protocol::id::{AccountId, ConnectionId, DirectoryIdentityId, OrganizationId, SessionId};

use super::{Vouched, store};
use crate::{
    App,
    endings::{self, Cause, Directory, Why},
    http::RequestContext,
    jobs::JobKind,
    secrets::sha256,
    sessions::{self, Ended, Forget},
    store::{StoreError, Tx},
};

/// Deletes what is remembered of sessions that are over by their age.
pub const SWEEPING: JobKind<App> = JobKind::<App>::new("directory_sessions.sweep", |app, _| {
    Box::pin(async move { Ok(store::sweep(&app.store).await.map(|_| ())?) })
})
.every(|_| 3_600);

/// Remembers which session of ours rests on which one there.
pub async fn remember(tx: &Tx, vouched: &Vouched, session: SessionId) -> Result<(), StoreError> {
    let Some(sid) = vouched.proof.sid() else { return Ok(()) };
    store::remember(tx, vouched, session, &sha256(sid.as_bytes())).await
}

/// Whom the directory signed out: a subject, one of its sessions there, or both.
#[derive(Debug, Clone, Copy)]
pub struct Whom<'a> {
    pub subject: Option<&'a str>,
    pub sid: Option<&'a str>,
}

/// Ends what rests on it.
pub async fn sign_out(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    (organization, connection): (OrganizationId, ConnectionId),
    whom: Whom<'_>,
) -> Result<(), StoreError> {
    let hash = whom.sid.map(|sid| sha256(sid.as_bytes()));
    let found = store::signed_in(tx, organization, connection, whom.subject, hash.as_ref()).await?;
    for (identity, account) in found {
        let there = match &hash {
            None => None,
            Some(hash) => Some(store::sessions_there(tx, organization, identity, hash).await?),
        };
        end(app, tx, context, organization, (identity, account), whom.sid, there.as_deref()).await?;
    }
    Ok(())
}

/// `there`: the sessions of ours that began in that one there; none: all.
async fn end(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    organization: OrganizationId,
    (identity, account): (DirectoryIdentityId, AccountId),
    sid: Option<&str>,
    there: Option<&[SessionId]>,
) -> Result<(), StoreError> {
    let reason = Ended::SignedOutElsewhere;
    let which = Forget { organization, identity: identity.uuid(), epoch: None, sid, reason };
    let gone = sessions::forget_identity(tx, account, which).await?;
    endings::sessions_ended(app, tx, context, account, &gone.ended, reason).await?;
    // A session may go on: the person is signed in to their account there too, or came by the directory again since. What
    // was granted by the word that is taken back ends all the same.
    let why = Why::SessionEnded;
    let gone = Directory { account, identity, epoch: None, sessions: there, offline_too: false, why };
    endings::end(app, tx, context, Cause::Directory(gone)).await.map(|_| ())
}
