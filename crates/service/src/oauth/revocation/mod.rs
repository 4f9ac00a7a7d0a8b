//! Revocation (RFC 7009).
//!
//! 1. The client authenticates; it can end only its own grants.
//! 2. A refresh token or an access token ends its grant, with every token of it, in one transaction that commits
//!    before the response. Unknown, foreign and ended tokens get the same response.
//! 3. If the database is not available, the response is 503 and never 200 (CVE-2020-15223).

mod endpoint;

use std::sync::Arc;

use porteiro_protocol::{error::ErrorCode, form::Parameters, id::Id};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    access_token, client_auth,
    grants::{self, Why},
    logout,
};
use crate::{
    App,
    http::{OAuthError, RequestContext, Route},
    members::{self, Whom},
    secrets::HandleKind,
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

async fn revoke(app: &Arc<App>, context: &RequestContext, form: &Parameters) -> Result<Value, OAuthError> {
    let client = client_auth::authenticate(app, context, form).await?.client;
    let token =
        form.get("token").ok_or_else(|| OAuthError::new(ErrorCode::InvalidRequest, "token is missing"))?;
    let Some((grant, account)) = named(app, token).await? else { return Ok(json!({})) };
    let client_id = client.id.as_str();
    app.store
        .run_tx("revocation.revoke", |tx| async move {
            match grants::revoke_one(&tx, grant, account, client_id, Why::Client).await? {
                Some(revoked) => logout::note(app, &tx, context, &revoked, Why::Client).await,
                None => Ok(()),
            }
        })
        .await?;
    Ok(json!({}))
}

/// The grant of a token, if it is a token of ours.
async fn named(app: &App, token: &str) -> Result<Option<(Uuid, Uuid)>, OAuthError> {
    if let Some(handle) = app.secrets.handles.open(HandleKind::Refresh, token) {
        return Ok(Some((handle.route.row, handle.route.owner)));
    }
    let Some(claims) = access_token::own(app, token) else { return Ok(None) };
    let account = match (claims.organization, claims.subject.parse::<Uuid>()) {
        (_, Err(_)) => None,
        (None, Ok(account)) => Some(account),
        (Some(organization), Ok(member)) => {
            let member = members::find(&app.store, organization, Whom::Id(member.into())).await?;
            member.and_then(|member| member.account).map(Id::uuid)
        }
    };
    match (claims.grant, account) {
        (Some(grant), Some(account)) => Ok(Some((grant.uuid(), account))),
        (Some(_), None) => Ok(None),
        // Such a token has no grant that could be ended (§2.2.1).
        (None, _) => Err(OAuthError::new(
            ErrorCode::UnsupportedTokenType,
            "an access token from the client_credentials grant cannot be revoked; it expires within minutes",
        )),
    }
}
