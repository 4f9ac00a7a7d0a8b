//! Ends everything that depends on ended authority.
//!
//! 1. Code that ends a session, an account, a credential, a membership or a client's permission passes a [`Cause`], in
//!    the same transaction.
//! 2. Every feature whose rows depend on that authority has a [`Dependent`] that ends them. They are listed in
//!    `registers.rs` and run in that order, which is also the order of their locks.
//! 3. A cause is matched without a wildcard arm: a new cause has to be handled by every dependent.

use std::{ops::AddAssign, pin::Pin};

use porteiro_protocol::id::{
    AccountId, CredentialId, DirectoryIdentityId, MembershipId, OrganizationId, SessionId,
};
use serde_json::json;

use crate::{
    App,
    audit_trail::Actor,
    http::RequestContext,
    security_log::{self, EventKind},
    sessions,
    store::{StoreError, Tx, text_enum},
};

text_enum! {
    /// Why a grant ended before its time.
    Why { Reuse = "reuse", Client = "revoked_by_client", Owner = "revoked_by_owner", SessionEnded = "session_ended",
          Recovered = "recovered", CredentialChanged = "credential_changed", AccountDisabled = "account_disabled",
          AccountDeleted = "account_deleted",
          MembershipEnded = "membership_ended", Organization = "revoked_by_organization",
          ClientBlocked = "client_blocked", ActingEnded = "acting_ended", Used = "used",
          DirectoryEnded = "directory_ended" }
}

/// The authority that ended.
#[derive(Debug, Clone, Copy)]
pub enum Cause<'a> {
    /// Sessions of one account. `offline_too`: grants for offline access end as well.
    Sessions { account: AccountId, sessions: &'a [SessionId], offline_too: bool, why: Why },
    /// Everything the account allowed.
    Account { account: AccountId, why: Why },
    /// A credential was removed. Grants of the session `keep` stay valid.
    Credential { account: AccountId, credential: CredentialId, keep: Option<SessionId> },
    /// A directory of an organization no longer vouches for a member.
    Directory(Directory<'a>),
    /// A person withdrew the consent for a client.
    Consent { account: AccountId, client_id: &'a str },
    /// One grant was revoked.
    Grant { account: AccountId, client_id: &'a str, why: Why },
    /// The grants a member gave to one client in an organization, or to all clients.
    MemberGrants { member: Membership<'a>, account: AccountId, client_id: Option<&'a str> },
    /// A membership ended. Its grants are a cause of their own.
    Membership(Membership<'a>),
    /// An organization no longer allows a client.
    Client { organization: OrganizationId, client_id: &'a str },
}

/// An identity of a member that a directory no longer vouches for.
#[derive(Debug, Clone, Copy)]
pub struct Directory<'a> {
    pub account: AccountId,
    pub identity: DirectoryIdentityId,
    /// What it vouched for in this epoch, or before; none: whenever.
    pub epoch: Option<i64>,
    /// Only in these sessions.
    pub sessions: Option<&'a [SessionId]>,
    /// Grants for offline access end as well.
    pub offline_too: bool,
    pub why: Why,
}

/// A membership, the actor who ended it, and why.
#[derive(Debug, Clone, Copy)]
pub struct Membership<'a> {
    pub organization: OrganizationId,
    pub id: MembershipId,
    pub actor: &'a Actor,
    pub why: Why,
}

/// What ended, as far as it is known at commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gone {
    pub consents: u64,
    pub grants: usize,
    /// There may be more grants: already invalid, and revoked by a job.
    pub more: bool,
}

impl AddAssign for Gone {
    fn add_assign(&mut self, other: Self) {
        self.consents += other.consents;
        self.grants += other.grants;
        self.more |= other.more;
    }
}

pub type Ending<'a> = Pin<Box<dyn Future<Output = Result<Gone, StoreError>> + Send + 'a>>;

/// A feature whose rows end together with other authority.
pub struct Dependent {
    pub name: &'static str,
    /// Ends its rows in the caller's transaction.
    pub end: for<'a> fn(&'a App, &'a Tx, &'a RequestContext, Cause<'a>) -> Ending<'a>,
}

impl std::fmt::Debug for Dependent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Ends everything that depends on the authority, in the order of the register.
pub async fn end(app: &App, tx: &Tx, context: &RequestContext, cause: Cause<'_>) -> Result<Gone, StoreError> {
    let mut gone = Gone::default();
    for dependent in app.registers.dependents {
        gone += (dependent.end)(app, tx, context, cause).await?;
    }
    Ok(gone)
}

/// Sessions of one account ended: ends what depends on them, and notifies every client that takes part in them.
pub async fn sessions_ended(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    ended: &[SessionId],
    reason: sessions::Ended,
) -> Result<(), StoreError> {
    if ended.is_empty() {
        return Ok(());
    }
    log_sessions(app, tx, context, account, ended, reason).await?;
    let (offline_too, why) = match reason {
        sessions::Ended::SignedOut
        | sessions::Ended::EndedByOwner
        | sessions::Ended::EndedByPlatform
        | sessions::Ended::SignedOutElsewhere
        | sessions::Ended::TooMany => (false, Why::SessionEnded),
        sessions::Ended::Recovered => (true, Why::Recovered),
        sessions::Ended::CredentialChanged => (true, Why::CredentialChanged),
        sessions::Ended::AccountDisabled => (true, Why::AccountDisabled),
        sessions::Ended::AccountDeleted => (true, Why::AccountDeleted),
        sessions::Ended::MembershipEnded => (true, Why::MembershipEnded),
        sessions::Ended::DirectoryEnded => (true, Why::DirectoryEnded),
    };
    end(app, tx, context, Cause::Sessions { account, sessions: ended, offline_too, why }).await.map(|_| ())
}

/// All sessions of an account ended, and everything it allowed.
pub async fn everything_ended(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    ended: &[SessionId],
    (reason, why): (sessions::Ended, Why),
) -> Result<(), StoreError> {
    log_sessions(app, tx, context, account, ended, reason).await?;
    end(app, tx, context, Cause::Account { account, why }).await.map(|_| ())
}

/// A credential was removed: ends every grant that rests on a proof with it, however old.
pub async fn credential_removed(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    credential: CredentialId,
    keep: Option<SessionId>,
) -> Result<(), StoreError> {
    end(app, tx, context, Cause::Credential { account, credential, keep }).await.map(|_| ())
}

async fn log_sessions(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    ended: &[SessionId],
    reason: sessions::Ended,
) -> Result<(), StoreError> {
    let event = |session: &SessionId| {
        let payload = json!({"session_id": session, "reason": reason});
        security_log::Event { kind: EventKind::SessionEnded, subject: account.uuid(), payload }
    };
    security_log::record_all(app, tx, context, ended.iter().map(event).collect()).await
}
