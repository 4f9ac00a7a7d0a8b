use porteiro_protocol::{id::OrganizationId, time::OffsetDateTime};
use tokio_postgres::Row;

use super::Decision;
use crate::{
    oauth::clients::Trust,
    store::{Decode, Reader, RowError, StoreError, Tx},
};

/// An organization's decision about one client.
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

/// Ordered by client id, which never changes; after the given one.
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

/// A client with a grant or membership in an organization, and the facts that decide whether it may act there.
#[derive(Debug)]
pub struct Present {
    pub client_id: String,
    pub trust: Trust,
    pub named: Option<Decision>,
}

/// All enabled clients with a grant or a delegation in an organization, or a membership of it. One step through an
/// index for each client, however many grants and delegations it has.
pub async fn present(tx: &Tx, organization: OrganizationId) -> Result<Vec<Present>, StoreError> {
    let rows = tx
        .query(
            "WITH RECURSIVE granted AS (
                 (SELECT client_id FROM oauth_grant WHERE organization_id = $1 ORDER BY client_id LIMIT 1)
                 UNION ALL
                 SELECT (SELECT g.client_id FROM oauth_grant g WHERE g.organization_id = $1
                           AND g.client_id > before.client_id ORDER BY g.client_id LIMIT 1)
                 FROM granted before WHERE before.client_id IS NOT NULL
             ), delegated AS (
                 (SELECT client_id FROM delegation WHERE organization_id = $1 AND revoked_at IS NULL
                  ORDER BY client_id LIMIT 1)
                 UNION ALL
                 SELECT (SELECT d.client_id FROM delegation d WHERE d.organization_id = $1 AND d.revoked_at IS NULL
                           AND d.client_id > before.client_id ORDER BY d.client_id LIMIT 1)
                 FROM delegated before WHERE before.client_id IS NOT NULL
             ), here AS (
                 SELECT client_id FROM granted UNION SELECT client_id FROM delegated
                 UNION SELECT client_id FROM membership WHERE organization_id = $1 AND client_id IS NOT NULL
                       AND state <> 'removed'
             )
             SELECT c.client_id, c.trust, p.decision FROM here JOIN client c USING (client_id)
             LEFT JOIN client_policy p ON p.organization_id = $1 AND p.client_id = c.client_id
             WHERE c.disabled_at IS NULL ORDER BY c.client_id",
            &[&organization.uuid()],
        )
        .await?;
    let read = |row| {
        let (client, client_id) = Decode::keyed::<String>("client", "client_id", row)?;
        let named: Option<String> = client.get("decision")?;
        let named =
            named.map(|text| text.parse()).transpose().map_err(|error| client.wrong("decision", error))?;
        Ok(Present { client_id, trust: client.parsed("trust")?, named })
    };
    rows.iter().map(|row| read(row).map_err(|error: RowError| error.into())).collect()
}

pub async fn count(tx: &Tx, organization: OrganizationId) -> Result<i64, StoreError> {
    let rows = tx
        .query(
            "SELECT count(*) AS number FROM client_policy WHERE organization_id = $1",
            &[&organization.uuid()],
        )
        .await?;
    let number = rows.first().map(|row| Decode::new("client_policy", organization, row).get("number"));
    Ok(number.transpose()?.unwrap_or(0))
}

pub async fn put(
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

pub async fn remove(tx: &Tx, organization: OrganizationId, client_id: &str) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM client_policy WHERE organization_id = $1 AND client_id = $2",
        &[&organization.uuid(), &client_id],
    )
    .await
    .map(|_| ())
}
