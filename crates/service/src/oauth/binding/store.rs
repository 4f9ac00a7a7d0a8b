use uuid::Uuid;

use crate::{
    limits::Bucket,
    store::{Decode, Store, StoreError},
};

/// The stored use of a DPoP proof.
#[derive(Debug)]
pub(super) struct Used {
    pub key: [u8; 32],
    pub jti_hash: [u8; 32],
    pub expiry: Uuid,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Spent {
    Now,
    /// Possibly on another node.
    Before,
    TooMany,
}

/// Stores the use of a DPoP proof; with a bucket, only while that has room. One statement in both cases.
pub(super) async fn use_proof(
    store: &Store,
    used: &Used,
    within: Option<&Bucket>,
) -> Result<Spent, StoreError> {
    let Used { key, jti_hash, expiry } = used;
    let Some(bucket) = within else {
        let rows = store
            .write(
                "binding.use_proof",
                "INSERT INTO proof_seen (key_thumbprint, jti_hash, expiry) VALUES ($1, $2, $3)
                 ON CONFLICT DO NOTHING RETURNING expiry",
                &[&key.as_slice(), &jti_hash.as_slice(), expiry],
            )
            .await?;
        return Ok(if rows.is_empty() { Spent::Before } else { Spent::Now });
    };
    let span = bucket.rule.interval_seconds;
    let tolerance = span * f64::from(bucket.rule.burst.saturating_sub(1));
    let rows = store
        .write(
            "binding.use_proof_within",
            "WITH taken AS (
                 INSERT INTO limit_bucket AS b (bucket_key, full_at)
                 VALUES ($4, now() + make_interval(secs => $5))
                 ON CONFLICT (bucket_key) DO UPDATE
                    SET full_at = greatest(b.full_at, now()) + make_interval(secs => $5)
                    WHERE b.full_at <= now() + make_interval(secs => $6)
                 RETURNING bucket_key
             ), seen AS (
                 INSERT INTO proof_seen (key_thumbprint, jti_hash, expiry)
                 SELECT $1, $2, $3 FROM taken ON CONFLICT DO NOTHING RETURNING expiry
             )
             SELECT EXISTS (SELECT FROM taken) AS taken, EXISTS (SELECT FROM seen) AS new",
            &[&key.as_slice(), &jti_hash.as_slice(), expiry, &bucket.key.as_slice(), &span, &tolerance],
        )
        .await?;
    let row = rows.first().ok_or_else(|| StoreError::Inconsistent("a proof was not answered".into()))?;
    let row = Decode::new("proof_seen", "used", row);
    Ok(match (row.get("taken")?, row.get("new")?) {
        (true, true) => Spent::Now,
        (true, false) => Spent::Before,
        (false, _) => Spent::TooMany,
    })
}
