use porteiro_protocol::{id::ordered_floor, time::OffsetDateTime};
use serde_json::Value;
use uuid::Uuid;

use crate::store::{Conditions, Decode, Reader, StoreError};

/// Which entries to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub subject: Option<Uuid>,
    pub kind: Option<String>,
    pub from: Option<OffsetDateTime>,
    pub to: Option<OffsetDateTime>,
}

/// One entry, as the platform reads it.
#[derive(Debug)]
pub struct Found {
    pub id: Uuid,
    pub subject: Uuid,
    pub kind: String,
    pub at: OffsetDateTime,
    pub payload: Value,
    pub request_id: Option<Uuid>,
    pub address: Option<String>,
    pub user_agent: Option<String>,
    pub reason: Option<String>,
}

/// Newest first, before the given position.
pub(super) async fn list(
    reader: &impl Reader,
    filter: &Filter,
    before: Option<Uuid>,
    most: i64,
) -> Result<Vec<Found>, StoreError> {
    let lowest = filter.from.map_or(Uuid::nil(), ordered_floor);
    let below = filter.to.map_or(Uuid::max(), ordered_floor);
    let below = before.map_or(below, |before| below.min(before));
    let conditions = Conditions::new("log.entry_id >= ? AND log.entry_id < ?", &[&lowest, &below])
        .and_if("log.subject_id = ?", filter.subject.as_ref())
        .and_if("kind = ?", filter.kind.as_ref());
    let (sql, params) = conditions.finish(
        "SELECT log.entry_id, log.subject_id, kind, at, payload, request_id, personal->>'address' AS address,
                personal->>'user_agent' AS user_agent, personal->>'reason' AS reason
         FROM security_log log LEFT JOIN security_log_personal p
              ON p.entry_id = log.entry_id AND p.subject_id = log.subject_id",
        &format!("ORDER BY log.entry_id DESC LIMIT {most}"),
    );
    let rows = reader.rows("platform.log", &sql, params).await?;
    rows.iter()
        .map(|row| {
            let (entry, id) = Decode::keyed::<Uuid>("security_log", "entry_id", row)?;
            Ok(Found {
                id,
                subject: entry.get("subject_id")?,
                kind: entry.get("kind")?,
                at: entry.get("at")?,
                payload: entry.get("payload")?,
                request_id: entry.get("request_id")?,
                address: entry.get("address")?,
                user_agent: entry.get("user_agent")?,
                reason: entry.get("reason")?,
            })
        })
        .collect()
}
