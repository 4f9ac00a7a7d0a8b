use porteiro_protocol::{
    id::{ConnectionId, ordered_floor},
    time::OffsetDateTime,
};

use crate::store::{StoreError, Tx};

/// `false` if a token of this connection's provider with this id was used before.
pub(super) async fn use_once(
    tx: &Tx,
    connection: ConnectionId,
    jti_hash: &[u8; 32],
    until: OffsetDateTime,
) -> Result<bool, StoreError> {
    let inserted = tx
        .execute(
            "INSERT INTO assertion_seen (client_id, jti_hash, expiry) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            &[&connection.to_string(), &jti_hash.as_slice(), &ordered_floor(until)],
        )
        .await?;
    Ok(inserted == 1)
}
