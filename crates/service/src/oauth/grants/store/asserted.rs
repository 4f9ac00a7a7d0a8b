//! The grant of a token that was issued for another server's assertion. It has no code and no refresh token: its hash is of
//! no secret. It lives while the trust in the issuer, the link to the member, the membership and the client do.

use porteiro_protocol::{
    authority::Authority,
    id::{AccountId, AssertionIssuerId, ExternalIdentityId, MembershipId, OrganizationId},
};
use uuid::Uuid;

use super::super::{GrantId, Terms, Why};
use crate::store::{StoreError, Tx};

/// A grant for a number of seconds.
#[derive(Debug)]
pub struct NewAsserted<'a> {
    pub id: GrantId,
    pub organization: OrganizationId,
    pub membership: MembershipId,
    /// At which the scope was held.
    pub authority_version: i64,
    pub client_id: &'a str,
    /// Stored in place of the session.
    pub issuer: AssertionIssuerId,
    pub identity: ExternalIdentityId,
    /// Random: no token has this hash.
    pub unused_hash: [u8; 32],
    pub seconds: i32,
    pub authority: &'a Authority,
    pub terms: &'a Terms,
    /// Of the assertion, and its expiry as a key: it is good once.
    pub jti_hash: [u8; 32],
    pub expiry: Uuid,
}

/// Uses the assertion up and writes the grant, if everything that it rests on lives; `false` where it does not, or the
/// assertion was used before, on any node. The statement locks trust, link and membership: a
/// transaction that ends one of them waits for this one, and then sees the grant.
pub async fn insert_asserted(tx: &Tx, new: &NewAsserted<'_>) -> Result<bool, StoreError> {
    let terms =
        serde_json::to_value(new.terms).map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    let written = tx
        .execute(
            "WITH alive AS (
                 SELECT m.account_id, m.organization_id, m.membership_id, o.authority_version, i.issuer_id
                 FROM membership m JOIN organization o ON o.organization_id = m.organization_id
                 JOIN account p ON p.account_id = m.account_id JOIN client c ON c.client_id = $4
                 JOIN assertion_issuer i ON i.organization_id = m.organization_id AND i.client_id = c.client_id
                 JOIN external_identity e ON e.organization_id = m.organization_id
                      AND e.membership_id = m.membership_id AND e.issuer = i.issuer
                      AND e.tenant = coalesce(i.tenant, '')
                 WHERE m.organization_id = $2 AND m.membership_id = $3 AND i.issuer_id = $6 AND e.identity_id = $7
                   AND m.state = 'active' AND p.state = 'active' AND p.deletion_at IS NULL
                   AND o.status = 'enabled' AND o.authority_version = $8
                   AND c.disabled_at IS NULL
                 FOR SHARE OF m, i, e
             ), used AS (
                 INSERT INTO assertion_seen (client_id, jti_hash, expiry)
                 SELECT $4, $13, $14 FROM alive ON CONFLICT DO NOTHING RETURNING client_id
             )
             INSERT INTO oauth_grant (grant_id, account_id, client_id, generation, current_hash, expires_at, ends_at,
                    idle_seconds, session_id, offline, code_challenge, scope, audience, terms, organization_id,
                    membership_id, authority_version, created_at)
             SELECT $1, a.account_id, u.client_id, 1, $5, now() + make_interval(secs => $9::int),
                    now() + make_interval(secs => $9::int), $9::int, a.issuer_id, false, '', $10, $11, $12,
                    a.organization_id, a.membership_id, a.authority_version, clock_timestamp()
             FROM alive a CROSS JOIN used u",
            &[
                &new.id.uuid(),
                &new.organization.uuid(),
                &new.membership.uuid(),
                &new.client_id,
                &new.unused_hash.as_slice(),
                &new.issuer.uuid(),
                &new.identity.uuid(),
                &new.authority_version,
                &new.seconds,
                &new.authority.scope().to_string(),
                &new.authority.audience(),
                &terms,
                &new.jti_hash.as_slice(),
                &new.expiry,
            ],
        )
        .await?;
    Ok(written == 1)
}

/// Which grants end with a trust, or with a link.
#[derive(Debug, Clone, Copy)]
pub enum Asserted<'a> {
    /// Those that a client got by an issuer's assertions.
    By { issuer: AssertionIssuerId, client_id: &'a str },
    /// Those of one member, by this issuer and tenant.
    For { account: AccountId, membership: MembershipId, issuer: &'a str, tenant: &'a str },
}

/// Revokes them; their number. The row of the trust or link was deleted in this transaction, so there will be no more.
pub async fn revoke_asserted(
    tx: &Tx,
    organization: OrganizationId,
    which: Asserted<'_>,
) -> Result<u64, StoreError> {
    let why = Why::Organization.as_str();
    match which {
        Asserted::By { issuer, client_id } => {
            tx.execute(
                "UPDATE oauth_grant SET revoked_at = now(), revoke_reason = $4
                 WHERE organization_id = $1 AND client_id = $2 AND session_id = $3 AND revoked_at IS NULL
                   AND expires_at > now()",
                &[&organization.uuid(), &client_id, &issuer.uuid(), &why],
            )
            .await
        }
        Asserted::For { account, membership, issuer, tenant } => {
            tx.execute(
                "UPDATE oauth_grant SET revoked_at = now(), revoke_reason = $6
                 WHERE account_id = $1 AND organization_id = $2 AND membership_id = $3 AND revoked_at IS NULL
                   AND expires_at > now() AND session_id IN (SELECT i.issuer_id FROM assertion_issuer i
                       WHERE i.organization_id = $2 AND i.issuer = $4 AND coalesce(i.tenant, '') = $5)",
                &[&account.uuid(), &organization.uuid(), &membership.uuid(), &issuer, &tenant, &why],
            )
            .await
        }
    }
}
