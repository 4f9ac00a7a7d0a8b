//! Grants on which an assertion about a member rests: what an ID token or a refresh token stands for now.

use std::sync::LazyLock;

use porteiro_protocol::id::{AccountId, MembershipId};

use super::{
    super::{GrantId, Live},
    live, not_ended, not_ended_there,
};
use crate::{
    sessions,
    store::{Reader, StoreError},
};

/// Which grants of a person to a client.
#[derive(Debug, Clone, Copy)]
pub struct Assertable<'a> {
    pub account: AccountId,
    pub client_id: &'a str,
    /// Only of this member, while the session is open.
    pub membership: Option<MembershipId>,
    pub grant: Option<GrantId>,
    /// Only with this as the current refresh token.
    pub hash: Option<[u8; 32]>,
}

/// Those that live, with their person, member, organization and client; the newest first. None for one action, derived, or
/// outside organizations.
pub async fn find_assertable(reader: &impl Reader, which: &Assertable<'_>) -> Result<Vec<Live>, StoreError> {
    let rows = reader
        .rows(
            "grants.find_assertable",
            &FIND,
            &[
                &which.account.uuid(),
                &which.client_id,
                &which.membership.map(MembershipId::uuid),
                &which.grant.map(GrantId::uuid),
                &which.hash.as_ref().map(<[u8; 32]>::as_slice),
            ],
        )
        .await?;
    rows.iter().map(|row| live(row).map_err(Into::into)).collect()
}

static FIND: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT g.grant_id, g.account_id, g.session_id, g.scope, g.audience, g.terms, g.created_at,
                g.organization_id, g.membership_id, g.authority_version, m.primary_role AS role
         FROM oauth_grant g JOIN account p ON p.account_id = g.account_id
         JOIN client c ON c.client_id = g.client_id
         JOIN organization o ON o.organization_id = g.organization_id
         JOIN membership m ON m.organization_id = g.organization_id AND m.membership_id = g.membership_id
         WHERE g.account_id = $1 AND g.client_id = $2 AND ($3::uuid IS NULL OR g.membership_id = $3)
           AND ($4::uuid IS NULL OR g.grant_id = $4) AND ($5::bytea IS NULL OR g.current_hash = $5)
           AND g.generation > 0 AND g.revoked_at IS NULL AND g.expires_at > now() AND g.ancestors IS NULL
           AND NOT g.terms ? 'approval' AND p.state = 'active' AND o.status = 'enabled' AND m.state = 'active'
           AND g.created_at >= m.grants_from AND c.disabled_at IS NULL AND g.created_at >= c.grants_from
           AND ($3::uuid IS NULL OR EXISTS (SELECT 1 FROM session s
                WHERE s.session_id = g.session_id AND s.account_id = g.account_id AND {open}))
           AND {not_ended} AND {not_ended_there}
         ORDER BY g.grant_id DESC LIMIT 100",
        open = sessions::ALIVE,
        not_ended = not_ended!(),
        not_ended_there = not_ended_there!(),
    )
});
