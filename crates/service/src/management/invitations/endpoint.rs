use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use porteiro_protocol::{
    address::EmailAddress,
    id::{InvitationId, MembershipId, OrganizationId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{invite, take_back};
use crate::{
    App, accounts,
    api::{Listing, Operation, Time, created},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    invitations::{self, Accepted, Invitation, accept, mine},
    management::Caller,
    organizations::{self, Organization},
    secrets::HandleKind,
    sessions::SignedIn,
};

const READ: Access = Access::Organization("invitations:read");
const WRITE: Access = Access::Organization("invitations:write");
const HOLDER: Access = Access::Public("shows an invitation to the holder of its secret");

pub fn routes() -> Vec<Route> {
    let path = "/v1/organizations/{organization}/invitations";
    let one = "/v1/organizations/{organization}/invitations/{id}";
    vec![
        Route::get(path, READ, list).operation(
            Operation::new("invitations.list", "List the invitations of an organization")
                .lists::<InvitationView>(),
        ),
        Route::post(path, WRITE, create).operation(
            Operation::new("invitations.create", "Invite a person by mail, or send the invitation again")
                .takes::<Invite>()
                .example(serde_json::json!({"email": "ana@example.org", "role": "member"}))
                .creates::<InvitationView>()
                .refuses(&[ProblemCode::AuthorityExceeded]),
        ),
        Route::get(one, READ, show)
            .operation(Operation::new("invitations.get", "Get an invitation").gives::<InvitationView>()),
        Route::delete(one, WRITE, revoke)
            .operation(Operation::new("invitations.revoke", "Revoke an invitation")),
        Route::post("/v1/invitations/look", HOLDER, look).described(
            Operation::new("invitations.look", "Look at an invitation with its secret, before accepting it")
                .takes::<Look>()
                .gives::<Looked>()
                .refuses(&[ProblemCode::Refused]),
        ),
        Route::get("/v1/account/invitations", Access::Session, list_mine).operation(
            Operation::new("account_invitations.list", "List your pending invitations").gives::<Offers>(),
        ),
        Route::post("/v1/account/invitations/accept", Access::Session, accept_mine).operation(
            Operation::new("account_invitations.accept", "Accept an invitation to an organization")
                .takes::<Accept>()
                .gives::<Joined>()
                .refuses(&[ProblemCode::Refused, ProblemCode::OrganizationSuspended, ProblemCode::Conflict]),
        ),
    ]
}

/// An invitation, without its secret: the inviting member must not be able to accept it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Invitation")]
struct InvitationView {
    id: InvitationId,
    email: String,
    role: String,
    /// `pending`, `accepted`, `revoked` or `expired`.
    state: &'static str,
    /// Kind and id of the inviting actor, as in the audit trail.
    invited_by: String,
    /// The member who accepted it.
    membership: Option<MembershipId>,
    created_at: Time,
    expires_at: Time,
}

impl From<Invitation> for InvitationView {
    fn from(invitation: Invitation) -> Self {
        Self {
            id: invitation.id,
            email: invitation.email,
            role: invitation.role,
            state: if invitation.expired { "expired" } else { invitation.state.as_str() },
            invited_by: invitation.invited_by,
            membership: invitation.membership,
            created_at: invitation.created_at.into(),
            expires_at: invitation.expires_at.into(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InvitingOrganization")]
struct Place {
    id: OrganizationId,
    slug: String,
    name: String,
}

impl From<Organization> for Place {
    fn from(organization: Organization) -> Self {
        Self { id: organization.id, slug: organization.slug, name: organization.name }
    }
}

/// An invitation, as the invited person sees it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OwnInvitation")]
struct Offer {
    id: InvitationId,
    organization: Place,
    role: String,
    expires_at: Time,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OwnInvitations")]
struct Offers {
    items: Vec<Offer>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AcceptedInvitation")]
struct Joined {
    organization: Place,
    membership: MembershipId,
    role: String,
}

fn id(text: &str) -> Result<InvitationId, Problem> {
    text.parse().map_err(|_| ProblemCode::NotFound.into())
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    listing: Listing,
) -> Result<Response, Problem> {
    let after = listing.after_time().zip(listing.after_id()?);
    let found = invitations::list(&app.store, caller.organization()?.id, after, listing.rows()).await?;
    let key = |invitation: &Invitation| (invitation.created_at, invitation.id.to_string());
    Ok(listing.page(found, key, InvitationView::from))
}

async fn show(
    State(app): State<Arc<App>>,
    Path((_, text)): Path<(String, String)>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let found = invitations::show(&app.store, caller.organization()?.id, id(&text)?).await?;
    Ok(axum::Json(InvitationView::from(found.ok_or(ProblemCode::NotFound)?)).into_response())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewInvitation")]
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
    let invitation = Box::pin(invite(&app, &context, &caller, organization, &email, &request.role)).await?;
    let location = format!("/v1/organizations/{organization}/invitations/{}", invitation.id);
    Ok(created(&location, None, &InvitationView::from(invitation)))
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
    let offer = |(invitation, organization): (Invitation, Organization)| Offer {
        id: invitation.id,
        organization: organization.into(),
        role: invitation.role,
        expires_at: invitation.expires_at.into(),
    };
    Ok(axum::Json(Offers { items: found.into_iter().map(offer).collect() }).into_response())
}

/// Either the secret from the mail, or the id of a pending invitation to one of the person's addresses.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AcceptInvitation")]
struct Accept {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    id: Option<InvitationId>,
}

/// The secret from the mail.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LookAtInvitation")]
struct Look {
    token: String,
}

/// An invitation, as the holder of its secret sees it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PresentedInvitation")]
struct Looked {
    organization: Place,
    /// The address that it was sent to, masked.
    email: String,
    role: String,
    expires_at: Time,
}

fn refused() -> Problem {
    Problem::new(ProblemCode::Refused, "the invitation is unknown, used, revoked or expired")
}

/// A string that is no secret of ours does not reach the database.
async fn look(State(app): State<Arc<App>>, Json(request): Json<Look>) -> Result<Response, Problem> {
    let presented = app.secrets.handles.open(HandleKind::Invitation, &request.token).ok_or_else(refused)?;
    let invitation = invitations::presented(&app.store, &presented).await?.ok_or_else(refused)?;
    let place = organizations::find(&app.store, invitation.organization).await?.ok_or_else(refused)?;
    let email = EmailAddress::parse(&invitation.email).map_err(|_| refused())?.masked();
    let (role, expires_at) = (invitation.role, invitation.expires_at.into());
    Ok(axum::Json(Looked { organization: place.into(), email, role, expires_at }).into_response())
}

async fn accept_mine(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
    Json(request): Json<Accept>,
) -> Result<Response, Problem> {
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
            return Err(Problem::new(ProblemCode::FieldInvalid, "send either token or id"));
        }
    };
    let outcome = Box::pin(accept(&app, &context, me.account_id, organization, id, secret.as_ref())).await?;
    match outcome {
        Accepted::Joined { organization, membership, role } => {
            Ok(axum::Json(Joined { organization: (*organization).into(), membership, role }).into_response())
        }
        Accepted::NotTheirs => Err(refused()),
        Accepted::Suspended => Err(ProblemCode::OrganizationSuspended.into()),
        Accepted::Leaving => Err(accounts::being_deleted()),
        Accepted::Member => {
            Err(Problem::new(ProblemCode::Conflict, "you are already a member of this organization"))
        }
    }
}
