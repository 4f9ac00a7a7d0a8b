use porteiro_protocol::{
    id::{OrganizationId, ordered_floor},
    time::OffsetDateTime,
};
use serde_json::json;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{
    Event,
    decide::{AuditEvent, Personal, Written, entry_id},
};
use crate::{
    security_log::Origin,
    store::{Conditions, Decode, Reader, RowError, StoreError, Tx},
};

/// The type of entry ids.
#[derive(Debug)]
pub enum Entry {}

/// `origin`: `None` without a request.
pub(super) async fn append(
    tx: &Tx,
    organization: OrganizationId,
    random: [u8; 4],
    event: &Event,
    origin: Option<&Origin<'_>>,
) -> Result<(), StoreError> {
    let inconsistent = |error: serde_json::Error| StoreError::Inconsistent(error.to_string());
    let rows = lock_head(tx, organization).await?;
    let head = rows.first().ok_or_else(|| StoreError::Inconsistent("a trail has no head".into()))?;
    let head = Decode::new("trail_head", organization, head);
    let (sequence, at) = (head.get::<i64>("sequence")? + 1, head.get("at")?);
    let entry = Written {
        id: entry_id(at, sequence, random),
        organization,
        sequence,
        at,
        kind: event.kind.as_str().to_owned(),
        actor: serde_json::to_value(&event.actor).map_err(inconsistent)?,
        target: serde_json::to_value(&event.target).map_err(inconsistent)?,
        outcome: event.outcome,
        reason: event.reason.clone(),
        changes: event.changes.clone(),
        request_id: origin.map_or(Uuid::nil(), |origin| origin.request_id),
        previous_hash: head.get("hash")?,
    };
    let hash = entry.hash().map_err(StoreError::Inconsistent)?;
    let personal = origin.filter(|_| event.actor.is_named()).map(|origin| personal(event, origin));
    write(tx, &entry, &hash, personal.as_ref()).await
}

/// What an erasure removes.
fn personal(event: &Event, origin: &Origin<'_>) -> serde_json::Value {
    let mut personal = json!({"address": origin.address.to_string(), "user_agent": origin.user_agent});
    if let Some(subject) = &event.directory_subject {
        personal["directory_subject"] = json!(subject);
    }
    personal
}

/// Locked until the transaction ends: the number and hash of the next entry depend on the head.
async fn lock_head(tx: &Tx, organization: OrganizationId) -> Result<Vec<Row>, StoreError> {
    let id = organization.uuid();
    let rows = tx
        .query(
            "SELECT sequence, hash, greatest(at, clock_timestamp()) AS at FROM trail_head
             WHERE organization_id = $1 FOR UPDATE",
            &[&id],
        )
        .await?;
    if !rows.is_empty() {
        return Ok(rows);
    }
    // Somebody else may make it at this moment.
    tx.query(
        "INSERT INTO trail_head (organization_id, sequence, hash) VALUES ($1, 0, '')
         ON CONFLICT (organization_id) DO UPDATE SET sequence = trail_head.sequence
         RETURNING sequence, hash, greatest(at, clock_timestamp()) AS at",
        &[&id],
    )
    .await
}

/// The entry, who asked for it, and the head: one round trip, because everybody else waits for the head.
async fn write(
    tx: &Tx,
    entry: &Written,
    hash: &[u8; 32],
    personal: Option<&serde_json::Value>,
) -> Result<(), StoreError> {
    tx.execute(
        "WITH entry AS (
             INSERT INTO trail (organization_id, entry_id, sequence, kind, actor, target, outcome, reason, changes,
                 request_id, at, previous_hash, hash)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
         ), personal AS (
             INSERT INTO trail_personal (organization_id, entry_id, personal)
             SELECT $1, $2, $14::jsonb WHERE $14::jsonb IS NOT NULL
         )
         UPDATE trail_head SET sequence = $3, hash = $13, at = $11 WHERE organization_id = $1",
        &[
            &entry.organization.uuid(),
            &entry.id.uuid(),
            &entry.sequence,
            &entry.kind,
            &entry.actor,
            &entry.target,
            &entry.outcome.as_str(),
            &entry.reason,
            &entry.changes,
            &entry.request_id,
            &entry.at,
            &entry.previous_hash,
            &hash.as_slice(),
            &personal,
        ],
    )
    .await
    .map(|_| ())
}

/// A stored entry.
#[derive(Debug)]
pub struct Found {
    pub entry: Written,
    pub hash: Vec<u8>,
    pub personal: Personal,
}

impl Found {
    /// As readers see it.
    pub fn shown(self) -> AuditEvent {
        self.entry.shown(&self.hash, self.personal)
    }
}

impl TryFrom<&Row> for Found {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (found, id) = Decode::keyed::<Uuid>("trail", "entry_id", row)?;
        Ok(Self {
            entry: Written {
                id: id.into(),
                organization: found.get::<Uuid>("organization_id")?.into(),
                sequence: found.get("sequence")?,
                at: found.get("at")?,
                kind: found.get("kind")?,
                actor: found.get("actor")?,
                target: found.get("target")?,
                outcome: found.parsed("outcome")?,
                reason: found.get("reason")?,
                changes: found.get("changes")?,
                request_id: found.get("request_id")?,
                previous_hash: found.get("previous_hash")?,
            },
            hash: found.get("hash")?,
            personal: Personal {
                address: found.get("address")?,
                user_agent: found.get("user_agent")?,
                directory_subject: found.get("directory_subject")?,
            },
        })
    }
}

/// Which entries to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub kind: Option<String>,
    pub actor: Option<String>,
    /// At or after this time.
    pub from: Option<OffsetDateTime>,
    /// Before this time.
    pub to: Option<OffsetDateTime>,
}

/// The position and the direction.
#[derive(Debug, Clone, Copy)]
pub enum Range {
    /// Newest first, before this entry.
    Newest(Option<Uuid>),
    /// Oldest first, after this entry and up to that one.
    Oldest { after: Option<Uuid>, up_to: Uuid },
}

/// A page of matching entries.
pub async fn page(
    reader: &impl Reader,
    organization: OrganizationId,
    filter: &Filter,
    from: Range,
    most: i64,
) -> Result<Vec<Found>, StoreError> {
    // Ids contain the time: a period is a range of the key.
    let mut lowest = filter.from.map_or(Uuid::nil(), ordered_floor);
    let mut below = filter.to.map_or(Uuid::max(), ordered_floor);
    let next = |id: Uuid| Uuid::from_u128(id.as_u128().saturating_add(1));
    let order = match from {
        Range::Newest(before) => {
            below = before.map_or(below, |before| below.min(before));
            "DESC"
        }
        Range::Oldest { after, up_to } => {
            lowest = after.map_or(lowest, |after| lowest.max(next(after)));
            below = below.min(next(up_to));
            "ASC"
        }
    };
    let organization = organization.uuid();
    let conditions = Conditions::new(
        "t.organization_id = ? AND t.entry_id >= ? AND t.entry_id < ?",
        &[&organization, &lowest, &below],
    )
    .and_if("kind = ?", filter.kind.as_ref())
    .and_if("actor->>'id' = ?", filter.actor.as_ref());
    let (sql, params) = conditions.finish(
        "SELECT t.organization_id, t.entry_id, sequence, kind, actor, target, outcome, reason, changes, request_id, at,
                previous_hash, hash, personal->>'address' AS address, personal->>'user_agent' AS user_agent,
                personal->>'directory_subject' AS directory_subject
         FROM trail t LEFT JOIN trail_personal p ON p.organization_id = t.organization_id AND p.entry_id = t.entry_id",
        &format!("ORDER BY t.entry_id {order} LIMIT {most}"),
    );
    let rows = reader.rows("trail.page", &sql, params).await?;
    rows.iter().map(Found::try_from).collect::<Result<_, _>>().map_err(Into::into)
}
