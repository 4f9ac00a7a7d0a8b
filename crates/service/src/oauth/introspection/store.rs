use porteiro_protocol::{id::AccountId, time::OffsetDateTime};

use super::super::clients::Client;
use crate::{
    secrets::Presented,
    store::{Decode, Store, StoreError},
};

#[derive(Debug)]
pub(super) struct RefreshToken {
    pub(super) account: AccountId,
    pub(super) client_id: String,
    pub(super) scope: String,
    pub(super) audience: String,
    pub(super) issued_at: OffsetDateTime,
    pub(super) expires_at: OffsetDateTime,
}

/// What introspecting a refresh token asks, in one statement.
pub const STATEMENT: &str = "SELECT g.scope, g.audience, g.rotated_at, g.expires_at
     FROM oauth_grant g JOIN account a USING (account_id)
     WHERE g.grant_id = $1 AND g.account_id = $2 AND g.client_id = $3 AND g.current_hash = $4
       AND g.generation > 0 AND g.revoked_at IS NULL AND g.expires_at > now() AND a.state = 'active'
       AND g.created_at >= $5";

/// The current token of a living grant. Looking at one that was used does not count as using it.
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
        account: handle.route.owner.into(),
        client_id: client.id.clone(),
        scope: grant.get("scope")?,
        audience: grant.get("audience")?,
        issued_at: grant.get("rotated_at")?,
        expires_at: grant.get("expires_at")?,
    }))
}
