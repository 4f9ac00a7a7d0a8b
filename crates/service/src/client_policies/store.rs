use porteiro_protocol::{id::OrganizationId, time::OffsetDateTime};
use tokio_postgres::Row;

use super::Decision;
use crate::store::{Decode, Reader, RowError, StoreError, Tx};

/// What an organization says of one client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientPolicy {
    pub client_id: String,
    pub decision: Decision,
    pub version: i64,
    pub created_at: OffsetDateTime,
}

impl TryFrom<&Row> for ClientPolicy {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (policy, client_id) = Decode::keyed::<String>("client_policy", "client_id", row)?;
        Ok(Self {
            client_id,
            decision: policy.parsed("decision")?,
            version: policy.get("version")?,
            created_at: policy.get("created_at")?,
        })
    }
}

pub async fn find(
    reader: &impl Reader,
    organization: OrganizationId,
    client_id: &str,
) -> Result<Option<ClientPolicy>, StoreError> {
    let rows = reader
        .rows(
            "client_policies.find",
            "SELECT client_id, decision, version, created_at FROM client_policy
             WHERE organization_id = $1 AND client_id = $2",
            &[&organization.uuid(), &client_id],
        )
        .await?;
    rows.first().map(ClientPolicy::try_from).transpose().map_err(Into::into)
}

/// In the order of client ids, which never change; behind the last one seen.
pub async fn list(
    reader: &impl Reader,
    organization: OrganizationId,
    after: Option<&str>,
    limit: i64,
) -> Result<Vec<ClientPolicy>, StoreError> {
    let rows = reader
        .rows(
            "client_policies.list",
            "SELECT client_id, decision, version, created_at FROM client_policy
             WHERE organization_id = $1 AND client_id > $2 ORDER BY client_id LIMIT $3",
            &[&organization.uuid(), &after.unwrap_or_default(), &limit],
        )
        .await?;
    rows.iter().map(ClientPolicy::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

pub(super) async fn count(tx: &Tx, organization: OrganizationId) -> Result<i64, StoreError> {
    let rows = tx
        .query(
            "SELECT count(*) AS number FROM client_policy WHERE organization_id = $1",
            &[&organization.uuid()],
        )
        .await?;
    let number = rows.first().map(|row| Decode::new("client_policy", organization, row).get("number"));
    Ok(number.transpose()?.unwrap_or(0))
}

pub(super) async fn put(
    tx: &Tx,
    organization: OrganizationId,
    client_id: &str,
    decision: Decision,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO client_policy (organization_id, client_id, decision) VALUES ($1, $2, $3)
         ON CONFLICT (organization_id, client_id) DO UPDATE SET decision = excluded.decision,
             version = client_policy.version + 1",
        &[&organization.uuid(), &client_id, &decision.as_str()],
    )
    .await
    .map(|_| ())
}

pub(super) async fn remove(tx: &Tx, organization: OrganizationId, client_id: &str) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM client_policy WHERE organization_id = $1 AND client_id = $2",
        &[&organization.uuid(), &client_id],
    )
    .await
    .map(|_| ())
}
