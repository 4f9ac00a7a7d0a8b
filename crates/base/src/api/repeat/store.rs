use serde_json::Value;
use uuid::Uuid;

use crate::store::{Decode, Store, StoreError};

/// Digests of the caller, the key and the request; the key itself is not stored.
#[derive(Debug)]
pub(super) struct Entry {
    pub caller: [u8; 32],
    pub request: [u8; 32],
    pub digest: [u8; 32],
}

#[derive(Debug)]
pub(super) enum Begun {
    /// The key was free: run the request, and store its end.
    First(Uuid),
    Running,
    /// The key belongs to another request.
    Other,
    Done {
        status: u16,
        answer: Value,
    },
}

/// Claims the key, or returns the state of the request that claimed it. An unfinished claim lapses after `lease` seconds.
pub(super) async fn begin(store: &Store, entry: &Entry, lease: f64) -> Result<Begun, StoreError> {
    let rows = store
        .write(
            "repeat.begin",
            // Days as the smallest UUIDv7 of their start. Yesterday is included: a key is kept for at least 24 hours.
            "WITH starts AS (
                 SELECT (extract(epoch FROM date_trunc('day', now() AT TIME ZONE 'UTC')) * 1000)::bigint AS today
             ), days AS (
                 SELECT (lpad(to_hex(today), 12, '0') || repeat('0', 20))::uuid AS today,
                        (lpad(to_hex(today - 86400000), 12, '0') || repeat('0', 20))::uuid AS yesterday FROM starts
             ), known AS (
                 SELECT r.day, r.digest, r.status, r.answer FROM idempotent_request r, days d
                 WHERE r.caller_key = $1 AND r.request_key = $2 AND r.day IN (d.today, d.yesterday)
             ), begun AS (
                 INSERT INTO idempotent_request (caller_key, request_key, day, digest, answer)
                 SELECT $1, $2, d.today, $3, jsonb_build_object('until', extract(epoch FROM now()) + $4::float8)
                 FROM days d WHERE NOT EXISTS (SELECT 1 FROM known)
                 ON CONFLICT (caller_key, request_key, day) DO NOTHING
                 RETURNING day
             ), taken AS (
                 UPDATE idempotent_request r
                 SET answer = jsonb_build_object('until', extract(epoch FROM now()) + $4::float8)
                 FROM known k
                 WHERE r.caller_key = $1 AND r.request_key = $2 AND r.day = k.day AND r.digest = $3
                   AND r.status IS NULL AND (r.answer->>'until')::float8 < extract(epoch FROM now())
                 RETURNING r.day
             )
             SELECT coalesce(b.day, t.day) AS mine, k.digest, k.status, k.answer
             FROM days d LEFT JOIN begun b ON true LEFT JOIN taken t ON true LEFT JOIN known k ON true",
            &[&entry.caller.as_slice(), &entry.request.as_slice(), &entry.digest.as_slice(), &lease],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(Begun::Running) };
    let row = Decode::new("idempotent_request", "begun", row);
    if let Some(day) = row.get::<Option<Uuid>>("mine")? {
        return Ok(Begun::First(day));
    }
    // Neither known nor claimed: a concurrent request claimed it at this moment.
    let Some(digest) = row.get::<Option<Vec<u8>>>("digest")? else { return Ok(Begun::Running) };
    if digest != entry.digest {
        return Ok(Begun::Other);
    }
    match (row.get::<Option<i16>>("status")?, row.get::<Option<Value>>("answer")?) {
        (Some(status), Some(answer)) => {
            let status = u16::try_from(status).map_err(|error| row.wrong("status", error))?;
            Ok(Begun::Done { status, answer })
        }
        (Some(_) | None, _) => Ok(Begun::Running),
    }
}

pub(super) async fn finish(
    store: &Store,
    entry: &Entry,
    day: Uuid,
    status: u16,
    answer: &Value,
) -> Result<(), StoreError> {
    let status = i16::try_from(status).unwrap_or(i16::MAX);
    store
        .write(
            "repeat.finish",
            "UPDATE idempotent_request SET status = $4, answer = $5
             WHERE caller_key = $1 AND request_key = $2 AND day = $3 AND status IS NULL",
            &[&entry.caller.as_slice(), &entry.request.as_slice(), &day, &status, answer],
        )
        .await
        .map(|_| ())
}

/// Nothing was created: the key may be used again.
pub(super) async fn release(store: &Store, entry: &Entry, day: Uuid) -> Result<(), StoreError> {
    store
        .write(
            "repeat.release",
            "DELETE FROM idempotent_request
             WHERE caller_key = $1 AND request_key = $2 AND day = $3 AND status IS NULL",
            &[&entry.caller.as_slice(), &entry.request.as_slice(), &day],
        )
        .await
        .map(|_| ())
}
