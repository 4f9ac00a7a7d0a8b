//! `/v1/account`: what people see of their own account and can change.
//!
//! Reading requires a session; changing credentials, and leaving an organization, requires a recent proof at the best
//! level of the account (ASVS 7.5.1). Otherwise the answer is `step_up_required`.

mod endpoint;
mod identities;
mod organizations;
mod profile;
mod view;

use std::sync::Arc;

use porteiro_protocol::id::{CredentialId, SessionId};
use serde_json::json;

use crate::{
    App, accounts,
    credentials::{self, CredentialKind},
    endings::{self, Cause, Gone},
    flow::{self, decide},
    http::{Access, RequestContext, Route},
    security_log,
    sessions::{self, Ended, SignedIn},
    store::{StoreError, Turn},
};

pub fn routes() -> Vec<Route> {
    [endpoint::routes(), identities::routes(), profile::routes(), organizations::routes()]
        .into_iter()
        .flatten()
        .collect()
}

/// Changes of one account wait for each other; each session has its own queue.
fn turn(signed_in: &SignedIn) -> Turn {
    Turn::new(signed_in.account_id.uuid(), ("account", signed_in.session_id))
}

async fn rename_credential(
    app: &Arc<App>,
    context: &RequestContext,
    signed_in: &SignedIn,
    id: CredentialId,
    label: &str,
) -> Result<bool, StoreError> {
    app.store
        .run_tx_in_turn(turn(signed_in), "account.rename_credential", |tx| async move {
            let Some(kind) = credentials::rename(&tx, signed_in.account_id, id, label).await? else {
                return Ok(false);
            };
            let payload = json!({"credential_id": id, "kind": kind});
            let event = security_log::Event {
                kind: security_log::EventKind::CredentialChanged,
                subject: signed_in.account_id.uuid(),
                payload,
            };
            security_log::record(app, &tx, context, event).await?;
            Ok(true)
        })
        .await
}

/// The result of removing a credential.
enum Removed {
    Yes,
    NotFound,
    LastWayIn,
}

async fn remove_credential(
    app: &Arc<App>,
    context: &RequestContext,
    signed_in: &SignedIn,
    id: CredentialId,
) -> Result<Removed, StoreError> {
    app.store
        .run_tx_in_turn(turn(signed_in), "account.remove_credential", |tx| async move {
            // Removals of one account wait for each other: two at once must not each rely on the other credential.
            lock_account(&tx, signed_in).await?;
            let all = credentials::find_all(&tx, signed_in.account_id).await?;
            let Some(credential) = all.iter().find(|credential| credential.id == id) else {
                return Ok(Removed::NotFound);
            };
            let kinds: Vec<CredentialKind> = all.iter().map(|credential| credential.kind).collect();
            if !decide::can_lose(&kinds, credential.kind) {
                return Ok(Removed::LastWayIn);
            }
            // Notified before the removal, so that the mail also goes to an address that is being removed.
            let locale = accounts::find(&tx, signed_in.account_id).await?.map(|account| account.locale);
            flow::notify(
                app,
                &tx,
                signed_in.account_id,
                locale.as_deref().unwrap_or("en"),
                credential.kind,
                false,
            )
            .await?;
            credentials::remove(&tx, signed_in.account_id, id).await?;
            if let Some((kind, value)) = credential.identifier() {
                let key = app.secrets.identifier_key(kind, value.as_bytes());
                accounts::remove_identifier(&tx, &key, signed_in.account_id).await?;
            }
            let keep = Some(signed_in.session_id);
            let ended = sessions::forget_credential(&tx, signed_in.account_id, id, keep).await?;
            let reason = Ended::CredentialChanged;
            endings::sessions_ended(app, &tx, context, signed_in.account_id, &ended, reason).await?;
            endings::credential_removed(app, &tx, context, signed_in.account_id, id, keep).await?;
            let payload = json!({"credential_id": id, "kind": credential.kind});
            let event = security_log::Event {
                kind: security_log::EventKind::CredentialRemoved,
                subject: signed_in.account_id.uuid(),
                payload,
            };
            security_log::record(app, &tx, context, event).await?;
            Ok(Removed::Yes)
        })
        .await
}

async fn lock_account(tx: &crate::store::Tx, signed_in: &SignedIn) -> Result<(), StoreError> {
    accounts::lock(tx, signed_in.account_id).await
}

async fn end_session(
    app: &Arc<App>,
    context: &RequestContext,
    signed_in: &SignedIn,
    session: SessionId,
    reason: Ended,
) -> Result<bool, StoreError> {
    app.store
        .run_tx_in_turn(turn(signed_in), "account.end_session", |tx| async move {
            lock_account(&tx, signed_in).await?;
            let ended = sessions::end(&tx, session, signed_in.account_id, reason).await?;
            if ended {
                endings::sessions_ended(app, &tx, context, signed_in.account_id, &[session], reason).await?;
            }
            Ok(ended)
        })
        .await
}

async fn end_other_sessions(
    app: &Arc<App>,
    context: &RequestContext,
    signed_in: &SignedIn,
) -> Result<usize, StoreError> {
    app.store
        .run_tx_in_turn(turn(signed_in), "account.end_other_sessions", |tx| async move {
            lock_account(&tx, signed_in).await?;
            let keep = Some(signed_in.session_id);
            let reason = Ended::EndedByOwner;
            let ended = sessions::end_others(&tx, signed_in.account_id, keep, reason).await?;
            endings::sessions_ended(app, &tx, context, signed_in.account_id, &ended, reason).await?;
            Ok(ended.len())
        })
        .await
}

/// Withdraws everything a client was allowed: its grants end, and it has to ask for consent again.
async fn withdraw(
    app: &Arc<App>,
    context: &RequestContext,
    signed_in: &SignedIn,
    client_id: &str,
) -> Result<bool, StoreError> {
    let account = signed_in.account_id;
    app.store
        .run_tx_in_turn(turn(signed_in), "account.withdraw", |tx| async move {
            lock_account(&tx, signed_in).await?;
            let gone = endings::end(app, &tx, context, Cause::Consent { account, client_id }).await?;
            if gone == Gone::default() {
                return Ok(false);
            }
            let payload = json!({"client_id": client_id});
            let kind = security_log::EventKind::ConsentWithdrawn;
            security_log::record(
                app,
                &tx,
                context,
                security_log::Event { kind, subject: account.uuid(), payload },
            )
            .await?;
            Ok(true)
        })
        .await
}

/// The owner stops a pending recovery that another person requested.
async fn stop_recovery(
    app: &Arc<App>,
    context: &RequestContext,
    signed_in: &SignedIn,
) -> Result<(), StoreError> {
    app.store
        .run_tx_in_turn(turn(signed_in), "account.stop_recovery", |tx| async move {
            accounts::set_hold(&tx, signed_in.account_id, None).await?;
            let kind = security_log::EventKind::AccountRecoveryStopped;
            let event =
                security_log::Event { kind, subject: signed_in.account_id.uuid(), payload: json!({}) };
            security_log::record(app, &tx, context, event).await
        })
        .await
}

const SIGNED_IN: Access = Access::Session;
