use porteiro_protocol::{assurance::Level, id::AccountId, time::OffsetDateTime};
use uuid::Uuid;

use super::super::{
    clients::Client,
    grants::{GrantId, Terms, Why, not_ended, not_ended_there},
};
use crate::{
    organizations::Policy,
    secrets::Presented,
    store::{Decode, Store, StoreError},
};

#[derive(Debug)]
pub(super) struct RefreshToken {
    /// The subject of its tokens.
    pub(super) subject: Uuid,
    pub(super) organization: Option<Uuid>,
    pub(super) client_id: String,
    pub(super) scope: String,
    pub(super) audience: String,
    pub(super) issued_at: OffsetDateTime,
    pub(super) expires_at: OffsetDateTime,
    /// What the person proved.
    terms: Terms,
    /// In an organization: its policy.
    policy: Option<Policy>,
}

impl RefreshToken {
    /// Whether the proof meets the deployment's minimum level and the policy; otherwise a refresh would be refused.
    pub(super) fn is_admitted(&self, minimum: Level, now: OffsetDateTime) -> bool {
        let proved = self.terms.proved(now);
        match &self.policy {
            Some(policy) => {
                // Whether the member is still an owner, a refresh asks.
                let breaks_glass = policy.break_glass.is_some_and(|member| member.uuid() == self.subject);
                policy.admits(minimum, &proved, breaks_glass).is_ok()
            }
            None => proved.reaches(minimum).is_ok(),
        }
    }
}

/// The statement of introspecting a refresh token.
pub const STATEMENT: &str = concat!(
    "SELECT g.scope, g.audience, g.rotated_at, g.expires_at, g.organization_id,
            coalesce(g.membership_id, g.account_id) AS subject, o.policy, g.terms
     FROM oauth_grant g JOIN account a USING (account_id)
     LEFT JOIN organization o ON o.organization_id = g.organization_id
     WHERE g.grant_id = $1 AND g.account_id = $2 AND g.client_id = $3 AND g.current_hash = $4
       AND g.generation > 0 AND g.revoked_at IS NULL AND g.expires_at > now() AND a.state = 'active'
       AND g.created_at >= $5
       AND (g.organization_id IS NULL OR o.status = 'enabled') AND ",
    not_ended!(),
    " AND ",
    not_ended_there!()
);

/// The current token of a valid grant. Introspecting a superseded one is not reuse.
pub(super) async fn refresh_token(
    store: &Store,
    handle: &Presented,
    client: &Client,
) -> Result<Option<RefreshToken>, StoreError> {
    let rows = store
        .read(
            "introspection.refresh_token",
            STATEMENT,
            &[
                &handle.route.row,
                &handle.route.owner,
                &client.id,
                &handle.hash.as_slice(),
                &client.grants_from,
            ],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let grant = Decode::new("oauth_grant", handle.route.row, row);
    Ok(Some(RefreshToken {
        subject: grant.get("subject")?,
        organization: grant.get("organization_id")?,
        client_id: client.id.clone(),
        scope: grant.get("scope")?,
        audience: grant.get("audience")?,
        issued_at: grant.get("rotated_at")?,
        expires_at: grant.get("expires_at")?,
        terms: grant.json("terms")?,
        policy: match grant.get::<Option<Uuid>>("organization_id")? {
            Some(_) => Some(grant.json("policy")?),
            None => None,
        },
    }))
}

/// What became of a token that an API wants to use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consumed {
    Now,
    /// By another call, or the grant ended meanwhile.
    Before,
    /// It is not of an approval, and stays valid until it expires.
    Reusable,
}

/// Ends the grant of an approval; of any number of calls at once, one does. The person reads that it was used.
pub(super) async fn consume(
    store: &Store,
    grant: GrantId,
    account: AccountId,
) -> Result<Consumed, StoreError> {
    let rows = store
        .write(
            "introspection.consume",
            "WITH used AS (
                 UPDATE oauth_grant SET revoked_at = now(), revoke_reason = $3
                 WHERE grant_id = $1 AND account_id = $2 AND revoked_at IS NULL AND terms ? 'approval'
                 RETURNING account_id, terms->>'approval' AS approval_id
             ), marked AS (
                 UPDATE approval a SET used_at = now() FROM used u
                 WHERE a.account_id = u.account_id AND a.approval_id = u.approval_id::uuid)
             SELECT EXISTS (SELECT 1 FROM used) AS used, terms ? 'approval' AS once
             FROM oauth_grant WHERE grant_id = $1 AND account_id = $2",
            &[&grant.uuid(), &account.uuid(), &Why::Used.as_str()],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(Consumed::Before) };
    let row = Decode::new("oauth_grant", grant, row);
    Ok(match (row.get("used")?, row.get("once")?) {
        (true, _) => Consumed::Now,
        (false, true) => Consumed::Before,
        (false, false) => Consumed::Reusable,
    })
}
