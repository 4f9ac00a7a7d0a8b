use porteiro_protocol::time::OffsetDateTime;

use crate::store::{Decode, Store, StoreError};

/// The id of a row and the time of its last change.
pub(super) type Dated = (String, OffsetDateTime);

/// Recent changes, by the database's clock.
#[derive(Debug)]
pub(super) struct Look {
    pub at: OffsetDateTime,
    /// Clients that changed since the last check, and some that changed shortly before.
    pub clients: Vec<Dated>,
    /// Every API.
    pub apis: Vec<Dated>,
}

/// A change has the time of its statement and is visible after its commit: reading half a minute further back finds
/// slow commits. The smaller of both clocks is used, in case the database's is set back.
pub(super) async fn look(store: &Store, since: Option<OffsetDateTime>) -> Result<Look, StoreError> {
    let rows = store
        .read(
            "directory.look",
            "SELECT now() AS looked_at, recent.names, recent.dates, every.names AS api_names, every.dates AS api_dates
             FROM (SELECT coalesce(array_agg(client_id), '{}') AS names, coalesce(array_agg(changed_at), '{}') AS dates
                   FROM client WHERE changed_at > least($1::timestamptz, now()) - interval '30 seconds') AS recent,
                  (SELECT coalesce(array_agg(identifier ORDER BY identifier), '{}') AS names,
                          coalesce(array_agg(changed_at ORDER BY identifier), '{}') AS dates FROM api) AS every",
            &[&since],
        )
        .await?;
    let row = rows.first().ok_or_else(|| StoreError::Inconsistent("a look found no row at all".into()))?;
    let row = Decode::new("client", "<recent>", row);
    let dated = |names: Vec<String>, dates: Vec<OffsetDateTime>| names.into_iter().zip(dates).collect();
    Ok(Look {
        at: row.get("looked_at")?,
        clients: dated(row.get("names")?, row.get("dates")?),
        apis: dated(row.get("api_names")?, row.get("api_dates")?),
    })
}
