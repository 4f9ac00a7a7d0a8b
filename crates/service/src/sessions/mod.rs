//! Server-side sessions: a 256-bit token, stored as its SHA-256; 7 days sliding, at most 30 days, both by the
//! database's clock; a new token after every new proof.
//!
//! A session keeps proofs of the account apart from those of an organization's directory (`held.rs`). A session with
//! only the latter signs nobody in: [`check`] finds no person.

mod held;
mod store;

use std::sync::Arc;

use porteiro_protocol::{
    assurance::{Decay, DirectoryProof, Level, Proof, effective_level, is_fresh},
    id::{AccountId, Id, OrganizationId, SessionId},
    time::{Duration, OffsetDateTime},
};

pub(crate) use store::ALIVE;
pub use store::{
    Ended, Forget, Forgotten, SessionRecord, add_directory, directory_proof, end, end_others, end_presented,
    end_resting_on, forget_credential, forget_directory, forget_identity, is_alive, is_open, list, of_grant,
};

use crate::{
    App,
    http::RequestContext,
    secrets::{HandleKind, Issued, MasterKeyError, Presented, Route},
    store::{StoreError, Tx},
};

/// The maximum age of a proof for changing credentials.
pub const FRESH: Duration = Duration::minutes(10);
/// The largest number of sessions of an account; the one unused for longest ends.
pub const MOST: i64 = 50;
/// A session ends when it was not used for this long.
pub const IDLE_DAYS: u32 = 7;
/// A session ends this long after it began, however much it is used.
pub const CEILING_DAYS: u32 = 30;
/// A session is marked as used at most this often.
pub const TOUCH_SECONDS: f64 = 60.0;

/// A person with a valid session token. Only [`check`] creates one.
#[derive(Debug, Clone)]
pub struct SignedIn {
    pub session_id: SessionId,
    /// SHA-256 of the presented token.
    pub token_hash: [u8; 32],
    pub account_id: AccountId,
    /// Those of the account. What a directory of an organization vouches for is not among them.
    pub proofs: Vec<Proof>,
    /// It was idle for longer than AAL2 allows, at some time since the last proof.
    pub lapsed: bool,
    pub now: OffsetDateTime,
}

/// The level that proofs reach now, in a session that was idle or not.
pub fn level(proofs: &[Proof], lapsed: bool, now: OffsetDateTime) -> Level {
    let decay = Decay::default();
    let used = if lapsed { now - decay.aal2_idle - Duration::SECOND } else { now };
    effective_level(proofs, used, now, &decay)
}

impl SignedIn {
    pub fn level(&self) -> Level {
        level(&self.proofs, self.lapsed, self.now)
    }

    pub fn is_fresh(&self) -> bool {
        is_fresh(&self.proofs, FRESH, self.now)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Handle(#[from] MasterKeyError),
}

/// The session that a completed sign-in creates.
#[derive(Debug)]
pub struct NewSession {
    pub id: SessionId,
    pub token: Issued,
}

/// Prepares a session; [`open`] writes it.
pub fn prepare(app: &App, account: AccountId) -> Result<NewSession, MasterKeyError> {
    let id: SessionId = Id::ordered(app.clock.now(), &*app.entropy);
    let token = issue(app, id, account)?;
    Ok(NewSession { id, token })
}

pub fn issue(app: &App, id: SessionId, account: AccountId) -> Result<Issued, MasterKeyError> {
    let route = Route { owner: account.uuid(), row: id.uuid(), generation: 0 };
    app.secrets.handles.issue(HandleKind::Session, route, &*app.entropy)
}

/// Writes the session and ends the ones beyond the limit.
pub async fn open(
    tx: &Tx,
    account: AccountId,
    session: &NewSession,
    proofs: &[Proof],
    context: &RequestContext,
) -> Result<Vec<SessionId>, StoreError> {
    store::insert(tx, account, session, &proofs, &context.into()).await?;
    store::end_beyond(tx, account, MOST, None).await
}

/// Writes a session that only a directory vouches for. Each organization has a limit of its own: a directory ends no
/// session of the account, nor one of another organization.
pub async fn open_confined(
    tx: &Tx,
    account: AccountId,
    place: OrganizationId,
    session: &NewSession,
    proof: &DirectoryProof,
    context: &RequestContext,
) -> Result<Vec<SessionId>, StoreError> {
    store::insert(tx, account, session, &[proof], &context.into()).await?;
    store::end_beyond(tx, account, MOST, Some(place)).await
}

/// Replaces the token and the proofs of a valid session (ASVS 7.2.4); `false` if it ended meanwhile.
pub async fn raise(
    tx: &Tx,
    session: SessionId,
    account: AccountId,
    token: &Issued,
    proofs: &[Proof],
) -> Result<bool, StoreError> {
    store::raise(tx, session, account, &token.hash, proofs).await
}

/// The person of a session token, if it is valid now and not confined to organizations.
pub async fn check(app: &Arc<App>, token: &str) -> Result<Option<SignedIn>, StoreError> {
    let Some(presented) = app.secrets.handles.open(HandleKind::Session, token) else { return Ok(None) };
    check_presented(app, &presented).await
}

async fn check_presented(app: &Arc<App>, presented: &Presented) -> Result<Option<SignedIn>, StoreError> {
    let Some((found, stale)) = store::find(&app.store, presented).await? else { return Ok(None) };
    if stale {
        store::touch(&app.store, presented).await?;
    }
    Ok(found.signed_in())
}

/// What a directory of one organization vouches for, in a valid session.
#[derive(Debug, Clone)]
pub struct Within {
    pub session_id: SessionId,
    pub token_hash: [u8; 32],
    pub account_id: AccountId,
    pub proof: DirectoryProof,
    pub now: OffsetDateTime,
}

/// What the session of a token is worth in one organization, by its directory.
pub async fn within(
    app: &Arc<App>,
    token: &str,
    organization: OrganizationId,
) -> Result<Option<Within>, StoreError> {
    let Some(presented) = app.secrets.handles.open(HandleKind::Session, token) else { return Ok(None) };
    let Some((found, stale)) = store::find(&app.store, &presented).await? else { return Ok(None) };
    let Some(proof) = found.within(organization).cloned() else { return Ok(None) };
    if stale {
        store::touch(&app.store, &presented).await?;
    }
    Ok(Some(Within {
        session_id: presented.route.row.into(),
        token_hash: presented.hash,
        account_id: presented.route.owner.into(),
        proof,
        now: found.now(),
    }))
}

/// A valid session of any reach. Enough to end it, and for nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Present {
    pub session_id: SessionId,
    pub account_id: AccountId,
}

/// The session of a token, also one that is confined to organizations.
pub async fn present(app: &Arc<App>, token: &str) -> Result<Option<Present>, StoreError> {
    let Some(presented) = app.secrets.handles.open(HandleKind::Session, token) else { return Ok(None) };
    let found = store::find(&app.store, &presented).await?;
    Ok(found.map(|_| Present {
        session_id: presented.route.row.into(),
        account_id: presented.route.owner.into(),
    }))
}
