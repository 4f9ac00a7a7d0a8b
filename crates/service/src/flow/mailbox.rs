//! The effect of a proved mailbox on its flow.

use porteiro_protocol::{assurance::Method, id::Id};

use super::{
    decide,
    state::{Kind, Notice, Pending, Refusal, State},
    store::Loaded,
};
use crate::{
    App, accounts,
    credentials::{self, Credential, CredentialKind},
    store::{StoreError, Tx},
};

/// Applies a proved mailbox. Only now is its account looked up, and only its reader learns the result.
pub(super) async fn prove_mailbox(
    app: &App,
    tx: &Tx,
    state: &mut State,
    address: &str,
    loaded: &Loaded,
) -> Result<bool, StoreError> {
    let parsed = porteiro_protocol::address::EmailAddress::parse(address)
        .map_err(|_| StoreError::Inconsistent("a stored address does not parse".into()))?;
    let canonical = parsed.canonical();
    let key = app.secrets.identifier_key("email", canonical.as_bytes());
    state.proved_address = Some(address.to_owned());
    let found = accounts::find_by_identifier(tx, &key).await?;
    if state.account().is_some() && state.account() != found {
        return Ok(false);
    }
    let Some(account) = found else {
        match state.kind {
            Kind::SignIn | Kind::Register => begin_registration(app, state),
            // Deciding about a request requires an account.
            Kind::Recover | Kind::Purpose(_) => state.refusal = Some(Refusal::NoAccount),
            Kind::Reauthenticate | Kind::Enrol => return Ok(false),
        }
        return Ok(true);
    };
    let all = credentials::find_all(tx, account).await?;
    let Some(mailbox) = all.iter().find(|credential| is_mailbox(credential, canonical)) else {
        return Err(StoreError::Inconsistent("an identifier without its credential".into()));
    };
    if state.kind == Kind::Register {
        state.kind = Kind::SignIn;
        state.notices.push(Notice::AlreadyHaveAccount);
    }
    credentials::used(tx, account, mailbox.id).await?;
    let proof = porteiro_protocol::assurance::Proof {
        method: Method::Email,
        credential: Some(mailbox.id.uuid()),
        at: loaded.now,
        user_verified: false,
    };
    Ok(decide::prove(state, account, proof))
}

fn is_mailbox(credential: &Credential, canonical: &str) -> bool {
    credential.kind == CredentialKind::Email && credential.body["canonical"] == canonical
}

fn begin_registration(app: &App, state: &mut State) {
    state.kind = Kind::Register;
    state.pending = Some(Pending {
        account_id: Id::random(&*app.entropy),
        user_handle: app.entropy.bytes::<32>().to_vec(),
        display_name: None,
        platform_administrator: state.bootstrap.is_some(),
        credentials: Vec::new(),
    });
}
