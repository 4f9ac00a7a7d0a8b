//! What a session proves to an organization that requires one of its connections (docs/decisions/0132).

use super::store;
use crate::{
    organizations::{Entrance, Organization, Proved},
    sessions::{self, SignedIn},
    store::{Reader, StoreError},
};

/// What a person with a session has proved to an organization: also the connection by which they came, where it
/// requires one.
pub async fn proved(reader: &impl Reader, me: &SignedIn, place: &Organization) -> Result<Proved, StoreError> {
    let proved = Proved::from(me);
    match place.policy.require_connection {
        Some(_) => Ok(Proved { entrance: entrance(reader, me, place).await?, ..proved }),
        None => Ok(proved),
    }
}

/// The connection that vouches for the person in their session, while that counts.
async fn entrance(reader: &impl Reader, me: &SignedIn, place: &Organization) -> Result<Entrance, StoreError> {
    let proof = sessions::directory_proof(reader, me.session_id, me.account_id, place.id).await?;
    let Some(proof) = proof else { return Ok(Entrance::default()) };
    let Some(within) = proof.within(place.id) else { return Ok(Entrance::default()) };
    let Some(id) = within.credential else { return Ok(Entrance::default()) };
    let identity = store::standing(reader, place.id, id.into(), proof.epoch()).await?;
    let identity = identity.filter(|identity| identity.account == me.account_id);
    Ok(Entrance::new(&[], identity.map(|identity| (identity.connection, within.at))))
}
