//! What ends an impersonation besides its time and whoever began it.

use porteiro_protocol::{entropy::Entropy, id::AccountId};

use super::{store, store::Impersonation, target};
use crate::{
    App,
    http::RequestContext,
    oauth::grants::{self, Why},
    store::{StoreError, Tx},
    trail::{self, Actor, TrailKind},
};

/// Whoever loses the session or grant they acted with, or their account, acts as nobody any more. `client_id`: only what
/// they do by that client.
pub async fn end_of_actor(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    actor: AccountId,
    client_id: Option<&str>,
    why: Why,
) -> Result<(), StoreError> {
    let because = if matches!(why, Why::AccountDisabled) {
        "the account of whoever acted was disabled"
    } else {
        "the session or grant of whoever acted ended"
    };
    for one in end_all(tx, actor, client_id).await? {
        trail::record(app, tx, context, one.organization, &ended(&one, because)).await?;
    }
    Ok(())
}

/// The same for whoever lost the permission, on the command line.
pub async fn end_of_actor_at_console(
    tx: &Tx,
    entropy: &dyn Entropy,
    actor: AccountId,
) -> Result<(), StoreError> {
    for one in end_all(tx, actor, None).await? {
        let event = ended(&one, "whoever acted may no longer do so");
        trail::record_unasked(entropy, tx, one.organization, &event).await?;
    }
    Ok(())
}

async fn end_all(
    tx: &Tx,
    actor: AccountId,
    client_id: Option<&str>,
) -> Result<Vec<Impersonation>, StoreError> {
    let mut ended = store::end_of_actor(tx, actor, client_id).await?;
    ended.sort_by_key(|one| (one.organization, one.id));
    for one in &ended {
        grants::revoke_acting(tx, one.grant, one.account).await?;
    }
    Ok(ended)
}

pub(super) fn ended(one: &Impersonation, because: &str) -> trail::Event {
    trail::Event::done(TrailKind::ImpersonationEnded, Actor::system(), target(one.membership))
        .because(Some(because.to_owned()))
}
