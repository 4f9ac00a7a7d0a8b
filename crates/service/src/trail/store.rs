use porteiro_protocol::id::{Id, OrganizationId};
use serde_json::json;

use super::Event;
use crate::{
    audit::Origin,
    secrets::sha256,
    store::{Decode, StoreError, Tx},
};

/// Names entries of trails.
#[derive(Debug)]
pub enum Entry {}

pub(super) async fn append(
    tx: &Tx,
    organization: OrganizationId,
    id: Id<Entry>,
    event: &Event,
    origin: &Origin<'_>,
) -> Result<(), StoreError> {
    let inconsistent = |error: serde_json::Error| StoreError::Inconsistent(error.to_string());
    let actor = serde_json::to_value(&event.actor).map_err(inconsistent)?;
    let target = serde_json::to_value(&event.target).map_err(inconsistent)?;
    // Held until the transaction ends: the next entry's number and hash follow from this one's.
    let rows = tx
        .query(
            "INSERT INTO trail_head (organization_id, sequence, hash) VALUES ($1, 0, '')
             ON CONFLICT (organization_id) DO UPDATE SET sequence = trail_head.sequence
             RETURNING sequence, hash",
            &[&organization.uuid()],
        )
        .await?;
    let head = rows.first().ok_or_else(|| StoreError::Inconsistent("a trail has no head".into()))?;
    let head = Decode::new("trail_head", organization, head);
    let sequence = head.get::<i64>("sequence")? + 1;
    let previous: Vec<u8> = head.get("hash")?;
    let hash = digest(organization, id, sequence, event, &previous);
    tx.execute(
        "INSERT INTO trail (organization_id, entry_id, sequence, kind, actor, target, outcome, reason, changes,
                request_id, previous_hash, hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        &[
            &organization.uuid(),
            &id.uuid(),
            &sequence,
            &event.kind.as_str(),
            &actor,
            &target,
            &event.outcome.as_str(),
            &event.reason,
            &event.changes,
            &origin.request_id,
            &previous,
            &hash.as_slice(),
        ],
    )
    .await?;
    let personal = json!({"address": origin.address.to_string(), "user_agent": origin.user_agent});
    tx.execute(
        "INSERT INTO trail_personal (organization_id, entry_id, personal) VALUES ($1, $2, $3)",
        &[&organization.uuid(), &id.uuid(), &personal],
    )
    .await?;
    tx.execute(
        "UPDATE trail_head SET sequence = $2, hash = $3 WHERE organization_id = $1",
        &[&organization.uuid(), &sequence, &hash.as_slice()],
    )
    .await
    .map(|_| ())
}

/// Of everything an entry says, and of the entry before.
pub(super) fn digest(
    organization: OrganizationId,
    id: Id<Entry>,
    sequence: i64,
    event: &Event,
    previous: &[u8],
) -> [u8; 32] {
    let said = json!([
        organization,
        id,
        sequence,
        event.kind.as_str(),
        event.actor,
        event.target,
        event.outcome,
        event.reason,
        event.changes,
    ]);
    let mut bytes = previous.to_vec();
    bytes.extend(said.to_string().as_bytes());
    sha256(&bytes)
}
