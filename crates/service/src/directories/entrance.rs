//! What a session proves to an organization that requires one of its connections (docs/decisions/0132).

use uuid::Uuid;

use super::store;
use crate::{
    organizations::{Entrance, Organization, Proved},
    sessions::{self, SignedIn},
    store::{Reader, StoreError},
};

/// The identity at a directory of the organization that vouches for a session there, and the epoch of its connection.
pub type VouchedBy = (Uuid, i64);

/// What a person with a session has proved to an organization: also the connection by which they entered, where it
/// requires one.
pub async fn proved(reader: &impl Reader, me: &SignedIn, place: &Organization) -> Result<Proved, StoreError> {
    Ok(proved_by(reader, me, place).await?.0)
}

/// The same, and the identity that vouches: what is granted now ends when that does.
pub async fn proved_by(
    reader: &impl Reader,
    me: &SignedIn,
    place: &Organization,
) -> Result<(Proved, Option<VouchedBy>), StoreError> {
    let proved = Proved::from(me);
    if place.policy.require_connection.is_none() {
        return Ok((proved, None));
    }
    match entrance(reader, me, place).await? {
        Some((entrance, vouched_by)) => Ok((Proved { entrance, ..proved }, Some(vouched_by))),
        None => Ok((Proved { entrance: Entrance::default(), ..proved }, None)),
    }
}

/// The connection that vouches for the person in their session, while that counts.
async fn entrance(
    reader: &impl Reader,
    me: &SignedIn,
    place: &Organization,
) -> Result<Option<(Entrance, VouchedBy)>, StoreError> {
    let proof = sessions::directory_proof(reader, me.session_id, me.account_id, place.id).await?;
    let Some(proof) = proof else { return Ok(None) };
    let Some(within) = proof.within(place.id) else { return Ok(None) };
    let Some(id) = within.credential else { return Ok(None) };
    let identity = store::standing(reader, place.id, id.into(), proof.epoch()).await?;
    let identity = identity.filter(|identity| identity.account == me.account_id);
    let vouched_by = (id, proof.epoch());
    Ok(identity.map(|identity| (Entrance::new(&[], Some((identity.connection, within.at))), vouched_by)))
}
