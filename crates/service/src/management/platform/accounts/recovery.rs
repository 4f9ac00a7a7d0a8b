//! The platform starts the recovery of an account, and never finishes it (docs/decisions/0136).
//!
//! 1. The account gets the same hold of 72 hours that its owner could ask for with a proof of the mailbox.
//! 2. All its addresses are told at once, and again every day; the owner can stop it.
//! 3. After the hold, the owner proves the mailbox and binds a new way in. The caller gets no link, code or secret.

use porteiro_protocol::{
    id::AccountId,
    time::{Duration, OffsetDateTime},
};
use serde_json::json;

use super::{enter, note, turn};
use crate::{
    App,
    accounts::{self, AccountState},
    credentials::{self, CredentialKind},
    flow,
    http::{Problem, ProblemCode, RequestContext, TxProblem},
    limits::{self, Bucket, RECOVERY_START},
    mail::templates,
    management::Caller,
    security_log::{self, EventKind},
    store::Tx,
};

/// Returns when the owner can complete the recovery. One that is pending stays as it is, and nobody is told again.
pub(super) async fn start(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    account: AccountId,
    reason: &str,
) -> Result<OffsetDateTime, TxProblem> {
    let key = app.secrets.limit_key(RECOVERY_START.name, account.uuid().as_bytes());
    if let Some(limited) = limits::take(&app.store, &[Bucket { rule: RECOVERY_START, key }]).await? {
        return Err(Problem::from(limited).into());
    }
    app.store
        .try_tx_in_turn(turn(caller, account), "platform.start_recovery", |tx| async move {
            enter(&tx, caller, account).await?;
            let pending = recoverable(&tx, account).await?;
            let (hours, good_for) = (whole_hours(flow::HOLD), whole_hours(flow::HOLD_GOOD_FOR));
            let Some(until) = accounts::start_recovery(&tx, account, hours, good_for).await? else {
                return Ok(pending.ok_or(ProblemCode::Conflict)?);
            };
            let payload = json!({"until": until.unix_timestamp(), "by": caller.key()});
            let kind = EventKind::AccountRecoveryHeld;
            let event = security_log::Event { kind, subject: account.uuid(), payload };
            security_log::record(app, &tx, context, event).await?;
            note(app, &tx, context, caller, account, "start_recovery", Some(reason)).await?;
            let what = flow::happening(app, None);
            flow::tell(app, &tx, account, "en", |locale| templates::recovery_started(locale, until, &what))
                .await?;
            Ok(until)
        })
        .await
}

/// Refuses an account that nobody could recover. Returns the hold it has.
async fn recoverable(tx: &Tx, account: AccountId) -> Result<Option<OffsetDateTime>, TxProblem> {
    let found = accounts::find(tx, account).await?.ok_or(ProblemCode::NotFound)?;
    match found.state {
        AccountState::Active => {}
        AccountState::Disabled | AccountState::Deleted => {
            return Err(Problem::new(ProblemCode::Conflict, "the account is not active").into());
        }
    }
    let all = credentials::find_all(tx, account).await?;
    if !all.iter().any(|credential| credential.kind == CredentialKind::Email) {
        return Err(Problem::new(ProblemCode::Conflict, "the account has no mail address").into());
    }
    Ok(found.recovery_hold_until)
}

fn whole_hours(duration: Duration) -> i32 {
    i32::try_from(duration.whole_hours()).unwrap_or(i32::MAX)
}
