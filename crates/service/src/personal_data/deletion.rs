//! A person asks for their account to be deleted, or keeps it after all.

use porteiro_protocol::{id::AccountId, time::OffsetDateTime};
use serde_json::{Map, json};

use super::{end_everything, store};
use crate::{
    App, accounts, flow,
    http::{Problem, ProblemCode, RequestContext, TxProblem},
    mail::templates,
    organizations,
    security_log::{self, EventKind},
    sessions::SignedIn,
    store::{StoreError, Turn, Tx},
};

/// For so long the person can keep the account.
pub(super) const WAIT_DAYS: i32 = 14;

fn turn(me: &SignedIn) -> Turn {
    Turn::new(me.account_id.uuid(), ("account", me.session_id))
}

/// Ends everything at once and returns when the account is deleted.
pub(super) async fn request(
    app: &App,
    context: &RequestContext,
    me: &SignedIn,
) -> Result<OffsetDateTime, TxProblem> {
    let account = me.account_id;
    app.store
        .try_tx_in_turn(turn(me), "personal_data.request_deletion", |tx| async move {
            accounts::lock(&tx, account).await?;
            leaves_no_one_behind(&tx, account).await?;
            let Some(at) = store::schedule(&tx, account, WAIT_DAYS).await? else {
                return Err(
                    Problem::new(ProblemCode::Conflict, "the account is being deleted already").into()
                );
            };
            end_everything(app, &tx, context, account).await?;
            let payload = json!({"at": at.unix_timestamp()});
            log(app, &tx, context, account, EventKind::AccountDeletionRequested, payload).await?;
            let what = flow::happening(app, Some(&context.user_agent));
            flow::tell(app, &tx, account, "en", |locale| templates::deletion_requested(locale, at, &what))
                .await?;
            Ok(at)
        })
        .await
}

/// Refuses where an organization with other members would lose its last owner. Other changes of these organizations
/// wait: two owners must not each rely on the other.
async fn leaves_no_one_behind(tx: &Tx, account: AccountId) -> Result<(), TxProblem> {
    for organization in store::owned(tx, account).await? {
        organizations::lock(tx, organization).await?;
    }
    let left = store::owned_alone(tx, account).await?;
    if left.is_empty() {
        return Ok(());
    }
    let named: Vec<_> = left.iter().map(|(id, name)| json!({"id": id, "name": name})).collect();
    let members = Map::from_iter([("organizations".to_owned(), json!(named))]);
    let text =
        "you are the only owner of organizations with other members; make another member an owner first";
    Err(Problem::new(ProblemCode::LastOwner, text).with(members).into())
}

/// Keeps the account. What ended stays ended. `false` if no deletion was pending.
pub(super) async fn cancel(app: &App, context: &RequestContext, me: &SignedIn) -> Result<bool, StoreError> {
    let account = me.account_id;
    app.store
        .run_tx_in_turn(turn(me), "personal_data.cancel_deletion", |tx| async move {
            if !store::cancel(&tx, account).await? {
                return Ok(false);
            }
            let kind = EventKind::AccountDeletionCancelled;
            log(app, &tx, context, account, kind, json!({})).await?;
            let what = flow::happening(app, Some(&context.user_agent));
            flow::tell(app, &tx, account, "en", |locale| templates::deletion_cancelled(locale, &what))
                .await?;
            Ok(true)
        })
        .await
}

pub(super) async fn log(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    kind: EventKind,
    payload: serde_json::Value,
) -> Result<(), StoreError> {
    security_log::record(app, tx, context, security_log::Event { kind, subject: account.uuid(), payload })
        .await
}
