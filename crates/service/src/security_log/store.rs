use porteiro_protocol::{id::Id, time::OffsetDateTime};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{Event, EventKind, Origin};
use crate::store::{Decode, Store, StoreError, Tx};

/// An entry, as its subject may read it.
#[derive(Debug, serde::Serialize)]
pub struct Entry {
    pub id: Uuid,
    pub kind: String,
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    pub details: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
}

/// The erasable part of an entry; none if it would be somebody else's whom the entry does not name.
fn personal(event: &Event, origin: &Origin<'_>, reason: Option<&str>) -> Option<Value> {
    let of_another = origin.acting.is_some_and(|acting| acting != event.subject);
    let mut personal = Map::new();
    if !of_another || event.payload.get("by").is_some() {
        personal.insert("address".to_owned(), origin.address.to_string().into());
        personal.insert("user_agent".to_owned(), origin.user_agent.into());
    }
    if let Some(reason) = reason {
        personal.insert("reason".to_owned(), reason.into());
    }
    (!personal.is_empty()).then_some(Value::Object(personal))
}

pub(super) async fn append(
    tx: &Tx,
    entry_id: Id<Entry>,
    event: &Event,
    origin: &Origin<'_>,
    reason: Option<&str>,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO security_log (entry_id, subject_id, kind, payload, request_id) VALUES ($1, $2, $3, $4, $5)",
        &[&entry_id.uuid(), &event.subject, &event.kind.as_str(), &event.payload, &origin.request_id],
    )
    .await?;
    let Some(personal) = personal(event, origin, reason) else { return Ok(()) };
    tx.execute(
        "INSERT INTO security_log_personal (entry_id, subject_id, personal) VALUES ($1, $2, $3)",
        &[&entry_id.uuid(), &event.subject, &personal],
    )
    .await
    .map(|_| ())
}

pub(super) async fn append_all(
    tx: &Tx,
    events: &[(Id<Entry>, Event)],
    origin: &Origin<'_>,
) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = events.iter().map(|(id, _)| id.uuid()).collect();
    let subjects: Vec<Uuid> = events.iter().map(|(_, event)| event.subject).collect();
    let kinds: Vec<&str> = events.iter().map(|(_, event)| event.kind.as_str()).collect();
    let payloads: Vec<&Value> = events.iter().map(|(_, event)| &event.payload).collect();
    tx.execute(
        "INSERT INTO security_log (entry_id, subject_id, kind, payload, request_id)
         SELECT entry_id, subject_id, kind, payload, $5
         FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::jsonb[]) e (entry_id, subject_id, kind, payload)",
        &[&ids, &subjects, &kinds, &payloads, &origin.request_id],
    )
    .await?;
    let personal: Vec<Option<Value>> =
        events.iter().map(|(_, event)| personal(event, origin, None)).collect();
    tx.execute(
        "INSERT INTO security_log_personal (entry_id, subject_id, personal)
         SELECT entry_id, subject_id, personal
         FROM unnest($1::uuid[], $2::uuid[], $3::jsonb[]) e (entry_id, subject_id, personal)
         WHERE personal IS NOT NULL",
        &[&ids, &subjects, &personal],
    )
    .await
    .map(|_| ())
}

/// Events that anyone who knows an address can cause, and those that an agent causes at every use.
const ATTEMPTS: &[EventKind] = &[EventKind::ProofRefused, EventKind::ProofLimited, EventKind::TokenExchanged];

/// The newest entries about one account, and separately the newest attempts: otherwise an anonymous caller or an
/// agent could push out the entries that the owner must see.
pub async fn recent(store: &Store, subject: Uuid, most: i64) -> Result<Vec<Entry>, StoreError> {
    let attempts: Vec<&str> = ATTEMPTS.iter().map(|kind| kind.as_str()).collect();
    let rows = store
        .read(
            "audit.recent",
            "SELECT log.entry_id, kind, at, payload, personal->>'address' AS address,
                    personal->>'user_agent' AS user_agent
             FROM (
                 (SELECT * FROM security_log WHERE subject_id = $1 AND kind <> ALL ($3)
                  ORDER BY entry_id DESC LIMIT $2)
                 UNION ALL
                 (SELECT * FROM security_log WHERE subject_id = $1 AND kind = ANY ($3)
                  ORDER BY entry_id DESC LIMIT $2)
             ) log LEFT JOIN security_log_personal personal USING (entry_id, subject_id)
             ORDER BY log.entry_id DESC",
            &[&subject, &most, &attempts],
        )
        .await?;
    rows.iter()
        .map(|row| {
            let (entry, id) = Decode::keyed::<Uuid>("security_log", "entry_id", row)?;
            Ok(Entry {
                id,
                kind: entry.get("kind")?,
                at: entry.get("at")?,
                details: entry.get("payload")?,
                address: entry.get("address")?,
                user_agent: entry.get("user_agent")?,
            })
        })
        .collect()
}
