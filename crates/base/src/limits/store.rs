use super::{Bucket, Limited};
use crate::store::{Decode, Reader, Store, StoreError, Tx};

/// Takes one from a bucket: its key, the seconds of one, and how full it may be. Public for benchmarks.
pub const TAKE: &str = "INSERT INTO limit_bucket AS b (bucket_key, full_at)
    VALUES ($1, now() + make_interval(secs => $2))
    ON CONFLICT (bucket_key) DO UPDATE
       SET full_at = greatest(b.full_at, now()) + make_interval(secs => $2)
       WHERE b.full_at <= now() + make_interval(secs => $3)
    RETURNING bucket_key";

const REFUND: &str =
    "UPDATE limit_bucket SET full_at = full_at - make_interval(secs => $2) WHERE bucket_key = $1";

/// Takes one from every bucket; the first empty one refuses. One statement per bucket, each its own transaction: what
/// was taken stays taken whatever happens next.
pub async fn take(store: &Store, buckets: &[Bucket]) -> Result<Option<Limited>, StoreError> {
    for bucket in buckets {
        let interval = bucket.rule.interval_seconds;
        let tolerance = interval * f64::from(bucket.rule.burst.saturating_sub(1));
        let rows = store.write("limits.take", TAKE, &[&bucket.key.as_slice(), &interval, &tolerance]).await?;
        if rows.is_empty() {
            return Ok(Some(Limited::new(bucket, until_full(store, bucket).await?)));
        }
    }
    Ok(None)
}

/// Takes one from every bucket in a transaction, for actions that count only if they are done: a rollback takes
/// nothing. The first empty bucket refuses, and nothing is taken from the others. The rows are locked until the
/// transaction ends, so all callers take them in the same order, the widest last.
pub async fn take_in(tx: &Tx, buckets: &[Bucket]) -> Result<Option<Limited>, StoreError> {
    for (index, bucket) in buckets.iter().enumerate() {
        let interval = bucket.rule.interval_seconds;
        let tolerance = interval * f64::from(bucket.rule.burst.saturating_sub(1));
        let taken = tx.execute(TAKE, &[&bucket.key.as_slice(), &interval, &tolerance]).await?;
        if taken == 0 {
            for bucket in &buckets[..index] {
                tx.execute(REFUND, &[&bucket.key.as_slice(), &bucket.rule.interval_seconds]).await?;
            }
            return Ok(Some(Limited::new(bucket, until_full(tx, bucket).await?)));
        }
    }
    Ok(None)
}

/// Read only for a bucket that was just empty.
async fn until_full(reader: &impl Reader, bucket: &Bucket) -> Result<f64, StoreError> {
    let sql = "SELECT extract(epoch FROM full_at - now())::float8 AS seconds FROM limit_bucket WHERE bucket_key = $1";
    let rows = reader.rows("limits.until_full", sql, &[&bucket.key.as_slice()]).await?;
    let Some(row) = rows.first() else { return Ok(0.0) };
    Ok(Decode::new("limit_bucket", "until_full", row).get("seconds")?)
}

/// The state of a bucket after taking from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Left {
    pub taken: bool,
    /// Until the bucket is full again.
    pub seconds: f64,
}

/// Takes one from each of them, in one statement. What was taken stays taken if another is empty.
pub async fn take_together(store: &Store, buckets: &[Bucket]) -> Result<Vec<Left>, StoreError> {
    let ones: Vec<(Bucket, u32)> = buckets.iter().map(|bucket| (bucket.clone(), 1)).collect();
    take_weighed(store, &ones).await
}

/// The same with amounts, for instance for a rule that counts sizes.
pub async fn take_weighed(store: &Store, buckets: &[(Bucket, u32)]) -> Result<Vec<Left>, StoreError> {
    let keys: Vec<&[u8]> = buckets.iter().map(|(bucket, _)| bucket.key.as_slice()).collect();
    let span = |(bucket, amount): &(Bucket, u32)| {
        bucket.rule.interval_seconds * f64::from((*amount).min(bucket.rule.burst))
    };
    let spans: Vec<f64> = buckets.iter().map(span).collect();
    let tolerance = |(bucket, amount): &(Bucket, u32)| {
        bucket.rule.interval_seconds * f64::from(bucket.rule.burst.saturating_sub(*amount))
    };
    let tolerances: Vec<f64> = buckets.iter().map(tolerance).collect();
    // In a fixed order, so that concurrent callers cannot deadlock.
    let rows = store
        .write(
            "limits.take_together",
            "WITH asked AS (
                 SELECT * FROM unnest($1::bytea[], $2::float8[], $3::float8[]) WITH ORDINALITY
                     AS a (key, span, tolerance, place)
             ), taken AS (
                 INSERT INTO limit_bucket AS b (bucket_key, full_at)
                 SELECT key, now() + make_interval(secs => span) FROM asked ORDER BY key
                 ON CONFLICT (bucket_key) DO UPDATE
                    SET full_at = greatest(b.full_at, now()) + (excluded.full_at - now())
                    WHERE b.full_at <= now() + make_interval(secs =>
                        (SELECT a.tolerance FROM asked a WHERE a.key = b.bucket_key))
                 RETURNING bucket_key, full_at
             )
             SELECT t.full_at IS NOT NULL AS taken,
                    coalesce(extract(epoch FROM coalesce(t.full_at, b.full_at) - now()), a.tolerance)::float8 AS seconds
             FROM asked a LEFT JOIN taken t ON t.bucket_key = a.key LEFT JOIN limit_bucket b ON b.bucket_key = a.key
             ORDER BY a.place",
            &[&keys, &spans, &tolerances],
        )
        .await?;
    let read = |row| {
        let row = Decode::new("limit_bucket", "taken", row);
        Ok(Left { taken: row.get("taken")?, seconds: row.get("seconds")? })
    };
    rows.iter().map(read).collect()
}

/// Refunds what a successful attempt took: only failures use up a bucket.
pub async fn refund(store: &Store, buckets: &[Bucket]) -> Result<(), StoreError> {
    for bucket in buckets {
        store
            .write("limits.refund", REFUND, &[&bucket.key.as_slice(), &bucket.rule.interval_seconds])
            .await?;
    }
    Ok(())
}

/// Deletes buckets that have been full for a day.
pub async fn sweep(store: &Store) -> Result<u64, StoreError> {
    store
        .sweep(
            "limits.sweep",
            "DELETE FROM limit_bucket WHERE bucket_key IN (
                 SELECT bucket_key FROM limit_bucket WHERE full_at < now() - interval '1 day' LIMIT $1)
             RETURNING 1 AS swept",
        )
        .await
}
