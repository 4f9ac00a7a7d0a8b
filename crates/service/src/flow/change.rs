//! Changes of an account's credentials, inside a step's transaction.

use porteiro_protocol::{
    assurance::{Method, Proof},
    time::OffsetDateTime,
};
use serde_json::json;

use super::{
    apply::HOLD,
    notify,
    state::{Notice, Refusal, State},
    store::Loaded,
};
use crate::{
    App, accounts,
    credentials::{self, CredentialKind, NewCredential, recovery_code, sms},
    endings,
    http::RequestContext,
    security_log, sessions,
    store::{StoreError, Tx},
};

/// Binds a credential to the account, or keeps it for the account that the flow will create.
#[expect(clippy::too_many_arguments, reason = "each part of a binding is one")]
pub(super) async fn bind(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    loaded: &Loaded,
    state: &mut State,
    new: &NewCredential,
    identifier: Option<&([u8; 32], accounts::IdentifierKind)>,
    recovery_codes: &[(String, String)],
    raises_level: bool,
) -> Result<bool, StoreError> {
    let Some(account) = state.account() else {
        state.enrolled.push(new.kind);
        if raises_level {
            state.proofs.extend(shown_by_binding(new, loaded.now));
        }
        if let Some(pending) = &mut state.pending {
            pending.credentials.push(new.clone());
        }
        return Ok(true);
    };
    // A concurrent flow may have added a number of the other use.
    if new.kind == CredentialKind::Phone
        && !sms::have_use(&credentials::find_all(tx, account).await?, new.body["signs_in"] == true)
    {
        return Ok(false);
    }
    if let Some((key, kind)) = identifier
        && !accounts::insert_identifier(tx, key, *kind, account).await?
    {
        return Ok(false);
    }
    state.enrolled.push(new.kind);
    let replaced = replace(app, tx, context, loaded, state, new).await?;
    credentials::insert(tx, account, new).await?;
    if new.kind == CredentialKind::RecoveryCodes {
        recovery_code::replace_all(tx, account, recovery_codes).await?;
    }
    if raises_level {
        state.proofs.extend(shown_by_binding(new, loaded.now));
    }
    let kind = if replaced {
        security_log::EventKind::CredentialChanged
    } else {
        security_log::EventKind::CredentialAdded
    };
    let payload = json!({"credential_id": new.id, "kind": new.kind});
    security_log::record(app, tx, context, security_log::Event { kind, subject: account.uuid(), payload })
        .await?;
    notify::tell_owner(app, tx, account, state, new.kind, true).await?;
    Ok(true)
}

/// The proof that binding gave: a verified use of the passkey, a code of the TOTP secret, a password just chosen.
fn shown_by_binding(new: &NewCredential, now: OffsetDateTime) -> Option<Proof> {
    let info = new.kind.info();
    let user_verified = (info.proved_by_binding)(new)?;
    Some(Proof { method: info.method, credential: Some(new.id.uuid()), at: now, user_verified })
}

/// Replaces a credential of a kind of which an account has only one. Proofs by the old one are removed from all
/// sessions.
async fn replace(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    loaded: &Loaded,
    state: &mut State,
    new: &NewCredential,
) -> Result<bool, StoreError> {
    let Some(account) = state.account().filter(|_| new.kind.info().single) else { return Ok(false) };
    let all = credentials::find_all(tx, account).await?;
    let mut replaced = false;
    for old in all.iter().filter(|credential| credential.kind == new.kind) {
        replaced = true;
        credentials::remove(tx, account, old.id).await?;
        let ended = sessions::forget_credential(tx, account, old.id, state.session).await?;
        let reason = sessions::Ended::CredentialChanged;
        endings::sessions_ended(app, tx, context, account, &ended, reason).await?;
        endings::credential_removed(app, tx, context, account, old.id, state.session).await?;
        let proved = state.proofs.iter().any(|proof| proof.credential == Some(old.id.uuid()));
        state.proofs.retain(|proof| proof.credential != Some(old.id.uuid()));
        if proved && new.kind == CredentialKind::Password {
            // The person proved the old password and chose the new one.
            state.proofs.push(Proof {
                method: Method::Password,
                credential: Some(new.id.uuid()),
                at: loaded.now,
                user_verified: false,
            });
        }
    }
    Ok(replaced)
}

/// No factor is left but the mailbox: starts a recovery hold and notifies all addresses of the account.
pub(super) async fn hold(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    loaded: &Loaded,
    state: &mut State,
) -> Result<bool, StoreError> {
    let Some(account) = state.account() else { return Ok(false) };
    let until = loaded.now + HOLD;
    accounts::set_hold(tx, account, Some(until)).await?;
    state.notices.push(Notice::RecoveryHoldStarted);
    state.refusal = Some(Refusal::RecoveryHeld);
    let payload = json!({"until": until.unix_timestamp()});
    let event = security_log::Event {
        kind: security_log::EventKind::AccountRecoveryHeld,
        subject: account.uuid(),
        payload,
    };
    security_log::record(app, tx, context, event).await?;
    notify::tell_hold(app, tx, account, &state.locale, until).await?;
    Ok(true)
}
