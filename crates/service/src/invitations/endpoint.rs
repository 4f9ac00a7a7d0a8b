use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use porteiro_protocol::{
    address::EmailAddress,
    id::{InvitationId, OrganizationId},
};
use serde::Deserialize;
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{Accepted, Invitation, accept, invite, mine, store, take_back};
use crate::{
    App,
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
    organizations::Organization,
    secrets::HandleKind,
    sessions::SignedIn,
};

const READ: Access = Access::Organization("invitations:read");
const WRITE: Access = Access::Organization("invitations:write");

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/organizations/{organization}/invitations", READ, list),
        Route::post("/v1/organizations/{organization}/invitations", WRITE, create),
        Route::get("/v1/organizations/{organization}/invitations/{id}", READ, show),
        Route::delete("/v1/organizations/{organization}/invitations/{id}", WRITE, revoke),
        Route::get("/v1/account/invitations", Access::Session, list_mine),
        Route::post("/v1/account/invitations/accept", Access::Session, accept_mine),
    ]
}

fn at(when: OffsetDateTime) -> String {
    when.format(&Rfc3339).unwrap_or_default()
}

/// Never the secret: whoever invites must not be able to accept.
fn described(invitation: &Invitation) -> Value {
    let state = if invitation.expired { "expired" } else { invitation.state.as_str() };
    json!({
        "id": invitation.id,
        "email": invitation.email,
        "role": invitation.role,
        "state": state,
        "invited_by": invitation.invited_by,
        "membership": invitation.membership,
        "created_at": at(invitation.created_at),
        "expires_at": at(invitation.expires_at),
    })
}

/// As the person sees it to whom it is.
fn offered(invitation: &Invitation, organization: &Organization) -> Value {
    json!({
        "id": invitation.id,
        "organization": {"id": organization.id, "slug": organization.slug, "name": organization.name},
        "role": invitation.role,
        "expires_at": at(invitation.expires_at),
    })
}

fn id(text: &str) -> Result<InvitationId, Problem> {
    text.parse().map_err(|_| ProblemCode::NotFound.into())
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let found = store::list(&app.store, caller.organization()?.id, None, 500).await?;
    let items: Vec<Value> = found.iter().map(described).collect();
    Ok(axum::Json(json!({"items": items})).into_response())
}

async fn show(
    State(app): State<Arc<App>>,
    Path((_, text)): Path<(String, String)>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let found = store::show(&app.store, caller.organization()?.id, id(&text)?).await?;
    Ok(axum::Json(described(&found.ok_or(ProblemCode::NotFound)?)).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Invite {
    email: String,
    role: String,
}

async fn create(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    Json(request): Json<Invite>,
) -> Result<Response, Problem> {
    let email = EmailAddress::parse(&request.email)
        .map_err(|_| Problem::new(ProblemCode::FieldInvalid, "email is not a mail address"))?;
    let organization = caller.organization()?.id;
    let (invitation, new) =
        Box::pin(invite(&app, &context, &caller, organization, &email, &request.role)).await?;
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    let mut response = (status, axum::Json(described(&invitation))).into_response();
    let location = format!("/v1/organizations/{organization}/invitations/{}", invitation.id);
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

async fn revoke(
    State(app): State<Arc<App>>,
    Path((_, text)): Path<(String, String)>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    if take_back(&app, &context, &caller, caller.organization()?.id, id(&text)?).await? {
        Ok(StatusCode::NO_CONTENT.into_response())
    } else {
        Err(ProblemCode::NotFound.into())
    }
}

async fn list_mine(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let found = mine(&app, me.account_id).await?;
    let items: Vec<Value> =
        found.iter().map(|(invitation, organization)| offered(invitation, organization)).collect();
    Ok(axum::Json(json!({"items": items})).into_response())
}

/// One of both: the secret from the mail, or the id of one that waits for an address of theirs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Accept {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    id: Option<InvitationId>,
}

async fn accept_mine(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
    Json(request): Json<Accept>,
) -> Result<Response, Problem> {
    let refused = || {
        let text = "the invitation is unknown, was used or taken back, or has expired";
        Problem::new(ProblemCode::Refused, text)
    };
    let (organization, id, secret) = match (request.token.as_deref(), request.id) {
        (Some(token), None) => {
            let presented = app.secrets.handles.open(HandleKind::Invitation, token).ok_or_else(refused)?;
            (presented.route.owner.into(), presented.route.row.into(), Some(presented.hash))
        }
        (None, Some(id)) => {
            let found = mine(&app, me.account_id).await?.into_iter().find(|(one, _)| one.id == id);
            let (_, organization) = found.ok_or_else(refused)?;
            (organization.id, id, None)
        }
        (Some(_), Some(_)) | (None, None) => {
            return Err(Problem::new(ProblemCode::FieldInvalid, "send token or id"));
        }
    };
    let outcome = Box::pin(accept(&app, &context, me.account_id, organization, id, secret.as_ref())).await?;
    match outcome {
        Accepted::Joined { organization, membership, role } => Ok(axum::Json(json!({
            "organization": {"id": organization.id, "slug": organization.slug, "name": organization.name},
            "membership": membership,
            "role": role,
        }))
        .into_response()),
        Accepted::NotTheirs => Err(refused()),
        Accepted::Suspended => Err(ProblemCode::OrganizationSuspended.into()),
        Accepted::Member => {
            Err(Problem::new(ProblemCode::Conflict, "you belong to this organization already"))
        }
    }
}
