//! Whether what was asked for is still allowed, as everything involved is defined now.

use porteiro_protocol::error::ErrorCode;

use super::Approval;
use crate::{
    App, client_policies,
    http::OAuthError,
    members::{self, Member, Whom},
    oauth::{acting, authority::still_allowed, clients::Client},
    organizations::Agents,
};

/// Whether approving can lead to a token: a type of details, or what client and member may have, may have changed since
/// the client asked.
///
/// # Errors
/// When that cannot be found out now.
pub async fn is_possible(app: &App, approval: &Approval) -> Result<bool, OAuthError> {
    let Some(client) = app.directory.client(&app.store, &approval.client_id).await? else { return Ok(false) };
    match still_held(app, &client, approval).await {
        Ok(_) => Ok(true),
        Err(error) if error.code == ErrorCode::TemporarilyUnavailable => Err(error),
        Err(_) => Ok(false),
    }
}

pub(super) fn no_longer() -> OAuthError {
    OAuthError::new(ErrorCode::InvalidGrant, "what was approved is not allowed any more")
}

/// Whether client and member may still have it, as they, the API and the organization are now.
pub(super) async fn still_held(
    app: &App,
    client: &Client,
    approval: &Approval,
) -> Result<Option<Member>, OAuthError> {
    let apis = app.directory.apis(&app.store).await?;
    let authority = approval.frozen.authority();
    let api = apis.find(authority.audience());
    if api.is_none() && authority.audience() != app.issuer() {
        return Err(no_longer());
    }
    still_allowed(client, api, &authority).map_err(|_| no_longer())?;
    app.details.check(&apis, &authority).await?;
    let (Some(organization), Some(membership)) = (approval.organization, approval.membership) else {
        return Ok(None);
    };
    let member = members::find(&app.store, organization, Whom::Id(membership)).await?;
    let member = member.ok_or_else(no_longer)?;
    acting::check(&member, &authority, api).map_err(|_| no_longer())?;
    match member.organization.policy.agents {
        Agents::Frozen => return Err(no_longer()),
        Agents::Allowed => {}
    }
    if !client_policies::allows(&app.store, &member.organization, client).await? {
        return Err(no_longer());
    }
    Ok(Some(member))
}
