use porteiro_protocol::{
    authority::Authority,
    id::{AccountId, OrganizationId},
    scope::Scope,
};
use uuid::Uuid;

use super::super::clients::Client;
use crate::{
    flow::Person,
    store::{Decode, Reader, StoreError, Tx},
};

/// The key of the organization in a consent; nil for the account itself.
fn acting_for(organization: Option<OrganizationId>) -> Uuid {
    organization.map_or(Uuid::nil(), porteiro_protocol::id::Id::uuid)
}

/// What a member allowed for whom a directory vouched counts for such sign-ins alone, and what an account allowed for
/// the account's (docs/decisions/0120).
const fn table(person: Person) -> &'static str {
    if person.confined { "directory_consent" } else { "consent" }
}

/// The scopes the person consented to before, for this client, API and organization.
pub async fn remembered(
    reader: &impl Reader,
    person: Person,
    client: &Client,
    audience: &str,
    organization: Option<OrganizationId>,
) -> Result<Option<Scope>, StoreError> {
    let sql = format!(
        "SELECT scope FROM {} WHERE account_id = $1 AND client_id = $2 AND audience = $3 AND given_at >= $4
           AND organization_id = $5",
        table(person)
    );
    let rows = reader
        .rows(
            "authorization.remembered",
            &sql,
            &[&person.account.uuid(), &client.id, &audience, &client.grants_from, &acting_for(organization)],
        )
        .await?;
    let read = |row| Decode::new("consent", &client.id, row).parsed("scope");
    Ok(rows.first().map(read).transpose()?)
}

/// Adds to the scopes of earlier consent.
pub async fn remember(
    tx: &Tx,
    person: Person,
    client: &Client,
    authority: &Authority,
) -> Result<(), StoreError> {
    let organization = acting_for(authority.organization());
    let sql = format!(
        "INSERT INTO {} AS given (account_id, client_id, audience, scope, organization_id)
         VALUES ($1, $2, $3, $4, $6)
         ON CONFLICT (account_id, client_id, audience, organization_id) DO UPDATE SET given_at = now(),
             scope = CASE WHEN given.given_at < $5 THEN excluded.scope ELSE (
                 SELECT string_agg(DISTINCT name, ' ') FROM unnest(
                     string_to_array(given.scope, ' ') || string_to_array(excluded.scope, ' ')) name) END",
        table(person)
    );
    tx.execute(
        &sql,
        &[
            &person.account.uuid(),
            &client.id,
            &authority.audience(),
            &authority.scope().to_string(),
            &client.grants_from,
            &organization,
        ],
    )
    .await
    .map(|_| ())
}

/// Deletes the person's consent for a client.
pub async fn forget(tx: &Tx, account: AccountId, client_id: &str) -> Result<u64, StoreError> {
    tx.execute(
        "WITH confined AS (DELETE FROM directory_consent WHERE account_id = $1 AND client_id = $2)
         DELETE FROM consent WHERE account_id = $1 AND client_id = $2",
        &[&account.uuid(), &client_id],
    )
    .await
}

/// Deletes the consent a person gave for an organization: for one client, or for all.
pub async fn forget_in_organization(
    tx: &Tx,
    account: AccountId,
    organization: OrganizationId,
    client_id: Option<&str>,
) -> Result<u64, StoreError> {
    tx.execute(
        "WITH confined AS (DELETE FROM directory_consent
             WHERE account_id = $1 AND organization_id = $2 AND ($3::text IS NULL OR client_id = $3))
         DELETE FROM consent
         WHERE account_id = $1 AND organization_id = $2 AND ($3::text IS NULL OR client_id = $3)",
        &[&account.uuid(), &organization.uuid(), &client_id],
    )
    .await
}

/// The clients that have a consent of this person.
pub async fn allowed_clients(reader: &impl Reader, account: AccountId) -> Result<Vec<String>, StoreError> {
    let rows = reader
        .rows(
            "authorization.allowed_clients",
            "SELECT DISTINCT client_id FROM consent WHERE account_id = $1 ORDER BY client_id LIMIT 500",
            &[&account.uuid()],
        )
        .await?;
    rows.iter().map(|row| Ok(Decode::new("consent", account, row).get("client_id")?)).collect()
}

/// `false` when this client used the same challenge today: a constant one protects nothing (RFC 9700 §2.1.1).
pub async fn use_challenge(
    tx: &Tx,
    client_id: &str,
    challenge: &[u8; 32],
    day: Uuid,
) -> Result<bool, StoreError> {
    let rows = tx
        .execute(
            "INSERT INTO code_challenge_seen (client_id, challenge, expiry) VALUES ($1, $2, $3)
             ON CONFLICT DO NOTHING",
            &[&client_id, &challenge.as_slice(), &day],
        )
        .await?;
    Ok(rows == 1)
}
