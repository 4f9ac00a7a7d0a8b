use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use porteiro_protocol::{id::AssertionIssuerId, jose::Algorithm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Wanted, remove, trust};
use crate::{
    App,
    api::{Listing, Operation, Time, created, deleted},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
    trusts::{AssertionIssuer, issuers},
};

const READ: Access = Access::Organization("trusts:read");
const WRITE: Access = Access::Organization(super::WRITE);
const ALL: &str = "/v1/organizations/{organization}/assertion-issuers";
const ONE: &str = "/v1/organizations/{organization}/assertion-issuers/{id}";

pub fn routes() -> Vec<Route> {
    vec![
        Route::get(ALL, READ, list).operation(
            Operation::new("assertion_issuers.list", "List the servers whose assertions clients may redeem")
                .lists::<IssuerView>(),
        ),
        Route::post(ALL, WRITE, create).operation(
            Operation::new(
                "assertion_issuers.create",
                "Let a client redeem another server's assertions about members (ID-JAG)",
            )
            .takes::<NewIssuer>()
            .creates::<IssuerView>()
            .refuses(&[ProblemCode::Conflict, ProblemCode::Quota])
            .example(
                json!({"issuer": "https://idp.example.com", "client_id": "wiki", "algorithms": ["ES256"]}),
            ),
        ),
        Route::delete(ONE, WRITE, delete).operation(Operation::new(
            "assertion_issuers.delete",
            "Trust an issuer no more; tokens that were issued for its assertions end at once",
        )),
    ]
}

/// A server whose assertions about members one client may redeem.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AssertionIssuer")]
struct IssuerView {
    id: AssertionIssuerId,
    issuer: String,
    /// The only tenant of the issuer that is trusted; null: its assertions name none.
    tenant: Option<String>,
    client_id: String,
    /// By which assertions may be signed.
    algorithms: Vec<&'static str>,
    /// Whether `auth_time` and `acr` of its assertions are believed.
    believes_authentication: bool,
    created_at: Time,
}

impl From<AssertionIssuer> for IssuerView {
    fn from(issuer: AssertionIssuer) -> Self {
        Self {
            id: issuer.id,
            issuer: issuer.issuer,
            tenant: issuer.tenant,
            client_id: issuer.client_id,
            algorithms: issuer.algorithms.into_iter().map(Algorithm::as_str).collect(),
            believes_authentication: issuer.believes_authentication,
            created_at: issuer.created_at.into(),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "NewAssertionIssuer")]
#[serde(deny_unknown_fields)]
struct NewIssuer {
    /// Byte by byte as its OpenID configuration has it, where its keys are found.
    issuer: String,
    /// The only tenant of the issuer to trust. Leave it out if its assertions name none.
    #[serde(default)]
    tenant: Option<String>,
    /// A confidential client here.
    client_id: String,
    /// By which assertions may be signed: ES256, EdDSA, RS256, PS256.
    algorithms: Vec<String>,
    /// Whether to believe `auth_time` and `acr` of its assertions. If not, they count as the least.
    #[serde(default)]
    believes_authentication: bool,
}

impl From<NewIssuer> for Wanted {
    fn from(new: NewIssuer) -> Self {
        Self {
            issuer: new.issuer,
            tenant: new.tenant,
            client_id: new.client_id,
            algorithms: new.algorithms,
            believes_authentication: new.believes_authentication,
        }
    }
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    listing: Listing,
) -> Result<Response, Problem> {
    let all =
        issuers::list(&app.store, caller.organization()?.id, listing.position()?, listing.rows()).await?;
    Ok(listing.page(all, |one| (one.created_at, one.id.to_string()), IssuerView::from))
}

async fn create(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    Json(request): Json<NewIssuer>,
) -> Result<Response, Problem> {
    let place = caller.organization()?.id;
    let made = Box::pin(trust(&app, &context, &caller, &request.into())).await?;
    let location = format!("/v1/organizations/{place}/assertion-issuers/{}", made.id);
    Ok(created(&location, None, &IssuerView::from(made)))
}

async fn delete(
    State(app): State<Arc<App>>,
    Path((_, id)): Path<(String, String)>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let id = id.parse().map_err(|_| ProblemCode::NotFound)?;
    deleted(Box::pin(remove(&app, &context, &caller, id)).await?)
}
