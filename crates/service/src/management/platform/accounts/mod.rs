//! Accounts, as the platform sees them: that they exist, their state, and the kinds of their credentials; never the
//! contents of a credential.

mod ending;
mod endpoint;
mod recovery;
mod store;

use porteiro_protocol::{address::EmailAddress, id::AccountId, time::OffsetDateTime};
use serde_json::json;

pub use ending::{disable, enable};
pub use store::Filter;

use crate::{
    App,
    accounts::{self, Account, AccountState},
    endings::{self, Why},
    http::{Problem, ProblemCode, RequestContext, Route, TxProblem},
    impersonation,
    management::{Caller, standing},
    security_log::{self, EventKind},
    sessions::{self, Ended},
    store::{StoreError, Turn, Tx},
};

const WRITE: &str = "platform.accounts:write";

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// The account of an address; `None` if no account has it.
async fn by_address(app: &App, address: &str) -> Result<Option<AccountId>, StoreError> {
    let Ok(address) = EmailAddress::parse(address) else { return Ok(None) };
    let key = app.secrets.identifier_key("email", address.canonical().as_bytes());
    accounts::find_by_identifier(&app.store, &key).await
}

async fn list(
    app: &App,
    filter: &Filter,
    after: Option<(OffsetDateTime, AccountId)>,
    most: i64,
) -> Result<Vec<Account>, StoreError> {
    store::list(&app.store, filter, after, most).await
}

async fn count_sessions(app: &App, account: AccountId) -> Result<i64, StoreError> {
    store::sessions(&app.store, account).await
}

fn turn(caller: &Caller, account: AccountId) -> Turn {
    Turn::new(account.uuid(), caller.key())
}

/// Locks the account, which was not deleted, and checks the caller's permission again.
async fn enter(tx: &Tx, caller: &Caller, account: AccountId) -> Result<(), TxProblem> {
    accounts::lock(tx, account).await?;
    let found = accounts::find(tx, account).await?.ok_or(ProblemCode::NotFound)?;
    standing::still(tx, caller, WRITE).await?;
    match found.state {
        AccountState::Active | AccountState::Disabled => Ok(()),
        AccountState::Deleted => {
            let text = "the account was deleted: nothing is left to change";
            Err(Problem::new(ProblemCode::Conflict, text).into())
        }
    }
}

/// Disables or enables. Repeating it changes nothing.
async fn set_enabled(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    account: AccountId,
    disabled_because: Option<&str>,
) -> Result<(), TxProblem> {
    app.store
        .try_tx_in_turn(turn(caller, account), "platform.set_enabled", |tx| async move {
            enter(&tx, caller, account).await?;
            let by = caller.key();
            let (changed, action) = match disabled_because {
                Some(_) => (Box::pin(disable(app, &tx, context, account, &by)).await?, "disable"),
                None => (Box::pin(enable(app, &tx, context, account, &by)).await?, "enable"),
            };
            if changed {
                note(app, &tx, context, caller, account, action, disabled_because).await?;
            }
            Ok(())
        })
        .await
}

/// Ends every session of an account and what depends on it.
async fn end_sessions(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    account: AccountId,
) -> Result<usize, TxProblem> {
    app.store
        .try_tx_in_turn(turn(caller, account), "platform.end_sessions", |tx| async move {
            enter(&tx, caller, account).await?;
            let reason = Ended::EndedByPlatform;
            let ended = sessions::end_others(&tx, account, None, reason).await?;
            Box::pin(endings::sessions_ended(app, &tx, context, account, &ended, reason)).await?;
            // Also if no session is left and an impersonation runs on a grant that outlived its session.
            let why = Why::SessionEnded;
            Box::pin(impersonation::end_of_actor(app, &tx, context, account, None, why)).await?;
            if !ended.is_empty() {
                note(app, &tx, context, caller, account, "end_sessions", None).await?;
            }
            Ok(ended.len())
        })
        .await
}

async fn note(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    account: AccountId,
    action: &str,
    reason: Option<&str>,
) -> Result<(), StoreError> {
    let payload = json!({"action": action, "by": caller.key()});
    let event =
        security_log::Event { kind: EventKind::AccountAdministered, subject: account.uuid(), payload };
    security_log::record_noted(app, tx, context, event, reason).await
}
