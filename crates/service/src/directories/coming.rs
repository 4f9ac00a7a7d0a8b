//! Who comes by a directory of an organization in a browser that has sessions already.

use std::sync::Arc;

use porteiro_protocol::{
    id::{AccountId, OrganizationId},
    time::OffsetDateTime,
};

use super::{Vouched, store};
use crate::{
    App, connections,
    members::{self, State, Whom},
    sessions,
    store::{Reader, StoreError},
};

/// What a session holds by a directory of the organization.
#[derive(Debug)]
pub struct Held {
    pub vouched: Vouched,
    /// When the directory authenticated the member.
    pub at: Option<OffsetDateTime>,
    pub now: OffsetDateTime,
}

/// For whom a directory of the organization vouches in the session of a token, while that counts.
pub async fn held(
    app: &Arc<App>,
    token: Option<&str>,
    place: OrganizationId,
) -> Result<Option<Held>, StoreError> {
    let Some(token) = token else { return Ok(None) };
    let Some(found) = sessions::within(app, token, place).await? else { return Ok(None) };
    let (now, at) = (found.now, found.proof.within(place).map(|proof| proof.at));
    let session = (found.session_id, found.token_hash.to_vec());
    let vouched = Vouched::of_session(place, found.account_id, found.proof, session);
    let Some(vouched) = vouched else { return Ok(None) };
    let identity = store::standing(&app.store, place, vouched.identity, vouched.proof.epoch()).await?;
    Ok(identity.map(|_| Held { vouched, at, now }))
}

/// Whether the account is not a member of the organization, and a directory may vouch for somebody who is: then a flow
/// does not use the account of the session.
pub async fn may_come_by_directory(
    reader: &impl Reader,
    account: AccountId,
    place: OrganizationId,
) -> Result<bool, StoreError> {
    let (_, connections) = connections::organizations::offered(reader, place).await?;
    if connections.is_empty() {
        return Ok(false);
    }
    let member = members::find(reader, place, Whom::Account(account)).await?;
    Ok(member.is_none_or(|member| member.state == State::Removed))
}
