//! Erases accounts whose time has come, each in one transaction. What stays is a row that says that there was an account,
//! and what organizations and the log keep under its id.
//!
//! A disabled account waits until the platform enables it: whoever disabled it may have to look into what happened.

use std::time::Duration;

use porteiro_protocol::id::{AccountId, Id, MembershipId, OrganizationId};
use serde_json::json;

use super::{deletion::log, end_everything, store};
use crate::{
    App, accounts,
    audit_trail::{Actor, ActorKind},
    credentials, flow,
    http::RequestContext,
    jobs::JobKind,
    mail::templates,
    management::{
        members::{End, cut},
        organizations::suspend_without_members,
    },
    members::{self, Whom},
    organizations,
    security_log::EventKind,
    store::{StoreError, Tx},
};

pub const ERASURE: JobKind<App> =
    JobKind::new("accounts.erase", |app, _| Box::pin(async move { Ok(erase_due(&app).await.map(|_| ())?) }))
        .lease(Duration::from_mins(5))
        .every(|_| 3_600);

/// Erases accounts that are due, and returns how many.
///
/// # Errors
/// The last one: an account that cannot be erased now keeps no other from it.
pub async fn erase_due(app: &App) -> Result<usize, StoreError> {
    let (mut erased, mut failed) = (0, None);
    for account in store::due(&app.store).await? {
        match erase_one(app, account).await {
            Ok(gone) => erased += usize::from(gone),
            Err(error) => {
                tracing::warn!(%error, %account, "an account that is due was not erased");
                failed = Some(error);
            }
        }
    }
    failed.map_or(Ok(erased), Err)
}

async fn erase_one(app: &App, account: AccountId) -> Result<bool, StoreError> {
    // In short statements, as there may be many. A node that is killed here leaves the rest to the next run: the account
    // is still due.
    while store::erase_addresses(&app.store, account).await? > 0 {}
    store::erase_administered(&app.store, account, app.clock.now()).await?;
    let context = RequestContext::of_job(Id::random(&*app.entropy));
    let context = &context;
    app.store.run_tx("personal_data.erase", |tx| async move { erase(app, &tx, context, account).await }).await
}

/// `false` if the person kept the account, or the platform disabled it, in the meantime.
async fn erase(app: &App, tx: &Tx, context: &RequestContext, account: AccountId) -> Result<bool, StoreError> {
    accounts::lock(tx, account).await?;
    if !store::is_due(tx, account).await? {
        return Ok(false);
    }
    // While the addresses are known. The mail is deleted when it is sent.
    let what = flow::happening(app, None);
    flow::tell(app, tx, account, "en", |locale| templates::account_deleted(locale, &what)).await?;
    // What was opened or allowed since the request.
    for (organization, member) in end_everything(app, tx, context, account).await? {
        leave(app, tx, context, organization, member).await?;
    }
    forget_identifiers(app, tx, account).await?;
    store::erase_rows(tx, account).await?;
    store::erase_account(tx, account).await?;
    log(app, tx, context, account, EventKind::AccountDeleted, json!({})).await?;
    Ok(true)
}

/// Ends a membership for good. An organization without another active member is suspended: nobody answers for its keys
/// and clients.
async fn leave(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    organization: OrganizationId,
    member: MembershipId,
) -> Result<(), StoreError> {
    organizations::lock(tx, organization).await?;
    let Some(found) = members::find(tx, organization, Whom::Id(member)).await? else { return Ok(()) };
    let actor = Actor { kind: ActorKind::Member, id: member.to_string(), act: None };
    cut::cut(app, tx, context, &found, &actor, End::Removed, Some("account_deleted")).await?;
    if !store::has_active_person(tx, organization).await? {
        suspend_without_members(app, tx, context, organization).await?;
    }
    Ok(())
}

/// From here on, another person can register with these addresses.
async fn forget_identifiers(app: &App, tx: &Tx, account: AccountId) -> Result<(), StoreError> {
    let mut keys = Vec::new();
    for credential in credentials::find_all(tx, account).await? {
        keys.extend(
            credential.identifier().map(|(kind, value)| app.secrets.identifier_key(kind, value.as_bytes())),
        );
    }
    if let Some(found) = accounts::find(tx, account).await? {
        keys.push(app.secrets.identifier_key("user_handle", &found.user_handle));
    }
    for key in keys {
        accounts::remove_identifier(tx, &key, account).await?;
    }
    Ok(())
}
