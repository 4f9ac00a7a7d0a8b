//! Accounts, as whoever runs the installation sees them: that they exist, in which state, with which kinds of credential.
//! Never what is in a credential, and never what somebody else proved.

mod endpoint;
mod store;

use porteiro_protocol::{address::EmailAddress, id::AccountId, time::OffsetDateTime};

pub use store::Filter;

use crate::{
    App, accounts,
    accounts::Account,
    http::{RequestContext, Route},
    oauth::logout,
    sessions::{self, Ended},
    store::StoreError,
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// The account that an address leads to; `None` where it leads nowhere.
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

/// `None`: there is no such account. Said twice, it changes nothing the second time.
async fn set_enabled(
    app: &App,
    context: &RequestContext,
    account: AccountId,
    disabled_because: Option<&str>,
) -> Result<Option<()>, StoreError> {
    app.store
        .run_tx("platform.set_enabled", |tx| async move {
            if accounts::find(&tx, account).await?.is_none() {
                return Ok(None);
            }
            let _ = (disabled_because, context);
            Ok(Some(()))
        })
        .await
}

/// Ends every session and what hangs on them. `None`: there is no such account.
async fn end_sessions(
    app: &App,
    context: &RequestContext,
    account: AccountId,
) -> Result<Option<usize>, StoreError> {
    app.store
        .run_tx("platform.end_sessions", |tx| async move {
            accounts::lock(&tx, account).await?;
            if accounts::find(&tx, account).await?.is_none() {
                return Ok(None);
            }
            let reason = Ended::EndedByPlatform;
            let ended = sessions::end_others(&tx, account, None, reason).await?;
            for session in &ended {
                Box::pin(logout::session_ended(app, &tx, context, account, *session, reason)).await?;
            }
            Ok(Some(ended.len()))
        })
        .await
}
