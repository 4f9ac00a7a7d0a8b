//! A recovery after a hold removes the second factors that were not proved. Otherwise the next sign-in would require
//! them (decision record 0085), and the person would wait three days again.

use porteiro_protocol::{assurance::Proof, id::AccountId};
use serde_json::json;

use super::{second_factor::is_backed, state::State};
use crate::{
    App, accounts,
    credentials::{self, Credential},
    http::RequestContext,
    security_log,
    store::{StoreError, Tx},
};

/// The credentials to remove.
fn lost<'a>(state: &State, all: &'a [Credential]) -> Vec<&'a Credential> {
    let before = |proof: &&Proof| state.enrolled.iter().all(|kind| kind.method() != proof.method);
    let proved: Vec<Proof> = state.proofs.iter().filter(before).cloned().collect();
    let goes = |credential: &&Credential| {
        credential.kind.info().is_lost_by_waiting() && !state.enrolled.contains(&credential.kind)
    };
    if is_backed(&proved) { Vec::new() } else { all.iter().filter(goes).collect() }
}

pub(super) async fn remove_unproved_factors(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    state: &State,
    account: AccountId,
    all: &[Credential],
) -> Result<(), StoreError> {
    for credential in lost(state, all) {
        credentials::remove(tx, account, credential.id).await?;
        if let Some((kind, value)) = credential.identifier() {
            let key = app.secrets.identifier_key(kind, value.as_bytes());
            accounts::remove_identifier(tx, &key, account).await?;
        }
        let payload = json!({"credential_id": credential.id, "kind": credential.kind});
        let kind = security_log::EventKind::CredentialRemoved;
        security_log::record(
            app,
            tx,
            context,
            security_log::Event { kind, subject: account.uuid(), payload },
        )
        .await?;
    }
    Ok(())
}
