//! Grants for an organization: listed for its administrators, and rechecked when roles change.

use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};

use super::{
    super::{super::clients::Client, GrantId},
    Held, ancestors_live, are_many, given_to, held, not_ended, not_ended_there,
};
use crate::{
    members::{MEMBERS, Member},
    organizations::Entrance,
    store::{Decode, Reader, StoreError, Tx},
};

/// Valid grants of one member.
pub async fn list_of_membership(
    reader: &impl Reader,
    account: AccountId,
    organization: OrganizationId,
    membership: MembershipId,
) -> Result<Vec<Held>, StoreError> {
    let rows = reader
        .rows(
            "grants.list_of_membership",
            concat!(
                "SELECT grant_id, client_id, organization_id, audience, scope, terms, offline, created_at, rotated_at,
                    expires_at
             FROM oauth_grant g
             WHERE account_id = $1 AND organization_id = $2 AND membership_id = $3 AND generation > 0
               AND revoked_at IS NULL AND expires_at > now() AND ",
                not_ended!(),
                " AND ",
                not_ended_there!(),
                " AND ",
                ancestors_live!(),
                " ORDER BY (g.ancestors IS NOT NULL), grant_id DESC LIMIT 500"
            ),
            &[&account.uuid(), &organization.uuid(), &membership.uuid()],
        )
        .await?;
    rows.iter().map(|row| held(row).map_err(Into::into)).collect()
}

/// Whether the grant, or one that it derives from, rests on the word of a directory alone.
pub async fn is_confined(
    reader: &impl Reader,
    grant: GrantId,
    account: AccountId,
) -> Result<bool, StoreError> {
    let rows = reader
        .rows(
            "grants.is_confined",
            "SELECT 1 FROM oauth_grant g WHERE g.grant_id = $1 AND g.account_id = $2 AND (g.terms ? 'confined'
                 OR g.ancestors IS NOT NULL AND EXISTS (
                     SELECT 1 FROM oauth_grant p WHERE p.grant_id = ANY(g.ancestors) AND p.account_id = g.account_id
                       AND p.terms ? 'confined'))",
            &[&grant.uuid(), &account.uuid()],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// The member's roles changed: its grants must be rechecked before their next use. Each call stores another number,
/// so that a concurrent recheck does not miss the next change. `false`: there are too many, and the caller has all
/// grants of the organization rechecked instead.
pub async fn look_again(
    tx: &Tx,
    account: AccountId,
    organization: OrganizationId,
    membership: MembershipId,
) -> Result<bool, StoreError> {
    if are_many(tx, account).await? {
        return Ok(false);
    }
    tx.execute(
        "UPDATE oauth_grant SET authority_version = least(authority_version, 0) - 1
         WHERE account_id = $1 AND organization_id = $2 AND membership_id = $3 AND revoked_at IS NULL
           AND expires_at > now()",
        &[&account.uuid(), &organization.uuid(), &membership.uuid()],
    )
    .await
    .map(|_| true)
}

/// The number of valid grants per scope and API, of members who have one of these sets of roles, or of one member. A
/// set is its role keys in order, separated by spaces.
pub async fn refusable(
    reader: &impl Reader,
    organization: OrganizationId,
    sets: &[String],
    member: Option<MembershipId>,
) -> Result<Vec<(String, String, String, i64)>, StoreError> {
    let rows = reader
        .rows(
            "grants.refusable",
            "SELECT worn.roles, g.scope, g.audience, count(*) AS number
             FROM oauth_grant g CROSS JOIN LATERAL (
                 SELECT string_agg(mr.role_key, ' ' ORDER BY mr.role_key) AS roles FROM membership_role mr
                 WHERE mr.organization_id = g.organization_id AND mr.membership_id = g.membership_id) worn
             WHERE g.organization_id = $1 AND g.revoked_at IS NULL AND g.expires_at > now() AND g.generation > 0
               AND worn.roles = ANY($2) AND ($3::uuid IS NULL OR g.membership_id = $3)
             GROUP BY worn.roles, g.scope, g.audience",
            &[&organization.uuid(), &sets, &member.map(porteiro_protocol::id::Id::<_>::uuid)],
        )
        .await?;
    let read = |row| {
        let row = Decode::new("oauth_grant", organization, row);
        Ok((row.get("roles")?, row.get("scope")?, row.get("audience")?, row.get("number")?))
    };
    rows.iter().map(read).collect()
}

/// How the person of a grant came.
pub async fn entrance(
    reader: &impl Reader,
    grant: GrantId,
    account: AccountId,
) -> Result<Entrance, StoreError> {
    let rows = reader
        .rows(
            "grants.entrance",
            "SELECT coalesce(terms->'entrance', '{}') AS entrance FROM oauth_grant
             WHERE grant_id = $1 AND account_id = $2",
            &[&grant.uuid(), &account.uuid()],
        )
        .await?;
    let read = |row| Decode::new("oauth_grant", grant, row).json("entrance").map_err(StoreError::from);
    rows.first().map_or_else(|| Ok(Entrance::default()), read)
}

/// The member of a token, if the token's grant belongs to it and is valid. One statement, and another for a derived
/// grant.
pub async fn find_member(
    reader: &impl Reader,
    organization: OrganizationId,
    id: MembershipId,
    grant: GrantId,
    client: &Client,
) -> Result<Option<Member>, StoreError> {
    let found = find_member_of(reader, organization, id, grant, client, "g.ancestors IS NULL").await?;
    if found.is_some() {
        return Ok(found);
    }
    let derived = concat!("g.ancestors IS NOT NULL AND ", ancestors_live!());
    find_member_of(reader, organization, id, grant, client, derived).await
}

/// Separate for derived grants: their condition would double the cost for all others.
async fn find_member_of(
    reader: &impl Reader,
    organization: OrganizationId,
    id: MembershipId,
    grant: GrantId,
    client: &Client,
    lineage: &'static str,
) -> Result<Option<Member>, StoreError> {
    let sql = format!(
        "{MEMBERS} JOIN oauth_grant g ON g.account_id = m.account_id AND g.organization_id = m.organization_id
              AND g.membership_id = m.membership_id
         WHERE m.organization_id = $1 AND m.membership_id = $2 AND g.grant_id = $3 AND {given_to}
           AND g.generation > 0 AND g.revoked_at IS NULL AND g.expires_at > now()
           AND g.created_at >= m.grants_from AND {not_ended} AND {not_ended_there} AND {lineage}",
        given_to = given_to!("$4", "$5"),
        not_ended = not_ended!(),
        not_ended_there = not_ended_there!(),
    );
    let params: crate::store::Params<'_> =
        &[&organization.uuid(), &id.uuid(), &grant.uuid(), &client.id, &client.grants_from];
    let rows = reader.rows("members.find_with_grant", &sql, params).await?;
    rows.first().map(Member::try_from).transpose().map_err(Into::into)
}
