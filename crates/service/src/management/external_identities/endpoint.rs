use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use porteiro_protocol::id::{ExternalIdentityId, MembershipId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Wanted, link, unlink};
use crate::{
    App,
    api::{Listing, Operation, Time, created, deleted},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
    trusts::{ExternalIdentity, identities},
};

const READ: Access = Access::Organization("trusts:read");
const WRITE: Access = Access::Organization(super::WRITE);
const ALL: &str = "/v1/organizations/{organization}/external-identities";
const ONE: &str = "/v1/organizations/{organization}/external-identities/{id}";

pub fn routes() -> Vec<Route> {
    vec![
        Route::get(ALL, READ, list).operation(
            Operation::new("external_identities.list", "List which members subjects of other servers are")
                .lists::<IdentityView>(),
        ),
        Route::post(ALL, WRITE, create).operation(
            Operation::new("external_identities.create", "Link a subject of another server to a member")
                .takes::<NewIdentity>()
                .creates::<IdentityView>()
                .refuses(&[ProblemCode::AuthorityExceeded, ProblemCode::Conflict, ProblemCode::Quota])
                .example(json!({"issuer": "https://idp.example.com", "subject": "U019488227",
                    "membership": "0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f"})),
        ),
        Route::delete(ONE, WRITE, delete).operation(Operation::new(
            "external_identities.delete",
            "Unlink a subject of another server; tokens that were issued by the link end at once",
        )),
    ]
}

/// A subject of another server, and the member that it is.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ExternalIdentity")]
struct IdentityView {
    id: ExternalIdentityId,
    issuer: String,
    /// The tenant of the issuer in which the subject is unique; null: none.
    tenant: Option<String>,
    subject: String,
    membership: MembershipId,
    created_at: Time,
}

impl From<ExternalIdentity> for IdentityView {
    fn from(identity: ExternalIdentity) -> Self {
        Self {
            id: identity.id,
            issuer: identity.issuer,
            tenant: Some(identity.tenant).filter(|tenant| !tenant.is_empty()),
            subject: identity.subject,
            membership: identity.membership,
            created_at: identity.created_at.into(),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "NewExternalIdentity")]
#[serde(deny_unknown_fields)]
struct NewIdentity {
    /// Byte by byte as in the assertions.
    issuer: String,
    /// The tenant of the issuer, if its assertions name one.
    #[serde(default)]
    tenant: Option<String>,
    /// `sub` of the assertions. Never an address, unless that is what the issuer says there.
    subject: String,
    /// A person's membership in this organization.
    membership: MembershipId,
}

impl From<NewIdentity> for Wanted {
    fn from(new: NewIdentity) -> Self {
        Self { issuer: new.issuer, tenant: new.tenant, subject: new.subject, membership: new.membership }
    }
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    listing: Listing,
) -> Result<Response, Problem> {
    let all =
        identities::list(&app.store, caller.organization()?.id, listing.position()?, listing.rows()).await?;
    Ok(listing.page(all, |one| (one.created_at, one.id.to_string()), IdentityView::from))
}

async fn create(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    Json(request): Json<NewIdentity>,
) -> Result<Response, Problem> {
    let place = caller.organization()?.id;
    let made = Box::pin(link(&app, &context, &caller, &request.into())).await?;
    let location = format!("/v1/organizations/{place}/external-identities/{}", made.id);
    Ok(created(&location, None, &IdentityView::from(made)))
}

async fn delete(
    State(app): State<Arc<App>>,
    Path((_, id)): Path<(String, String)>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let id = id.parse().map_err(|_| ProblemCode::NotFound)?;
    deleted(Box::pin(unlink(&app, &context, &caller, id)).await?)
}
