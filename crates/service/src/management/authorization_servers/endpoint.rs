use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use porteiro_protocol::id::AuthorizationServerId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Wanted, register, remove};
use crate::{
    App,
    api::{Listing, Operation, Time, created, deleted},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
    trusts::{AuthorizationServer, servers},
};

const READ: Access = Access::Organization("trusts:read");
const WRITE: Access = Access::Organization(super::WRITE);
const ALL: &str = "/v1/organizations/{organization}/authorization-servers";
const ONE: &str = "/v1/organizations/{organization}/authorization-servers/{id}";

pub fn routes() -> Vec<Route> {
    vec![
        Route::get(ALL, READ, list).operation(
            Operation::new(
                "authorization_servers.list",
                "List the servers for which clients get assertions about members",
            )
            .lists::<ServerView>(),
        ),
        Route::post(ALL, WRITE, create).operation(
            Operation::new(
                "authorization_servers.create",
                "Let a client get assertions about members for another server (ID-JAG)",
            )
            .takes::<NewServer>()
            .creates::<ServerView>()
            .refuses(&[ProblemCode::Conflict, ProblemCode::Quota])
            .example(json!({"issuer": "https://login.chat.example", "client_id": "wiki", "remote_client_id": "f53f191f",
                "scope": "chat.read", "resources": ["https://api.chat.example/"]})),
        ),
        Route::delete(ONE, WRITE, delete).operation(Operation::new(
            "authorization_servers.delete",
            "Let a client get no more assertions for a server",
        )),
    ]
}

/// Another authorization server, for which one client may get assertions about members.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AuthorizationServer")]
struct ServerView {
    id: AuthorizationServerId,
    /// The `audience` of the token exchange, and `aud` of the assertions.
    issuer: String,
    /// The client here.
    client_id: String,
    /// The id of the same client there.
    remote_client_id: String,
    /// All that an assertion may carry. A request for more is refused.
    scope: String,
    /// The resources that an assertion may name.
    resources: Vec<String>,
    created_at: Time,
}

impl From<AuthorizationServer> for ServerView {
    fn from(server: AuthorizationServer) -> Self {
        Self {
            id: server.id,
            issuer: server.issuer,
            client_id: server.client_id,
            remote_client_id: server.remote_client_id,
            scope: server.scope.to_string(),
            resources: server.resources,
            created_at: server.created_at.into(),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "NewAuthorizationServer")]
#[serde(deny_unknown_fields)]
struct NewServer {
    /// The issuer of the other server, byte by byte as its metadata have it.
    issuer: String,
    /// A confidential client here.
    client_id: String,
    /// The id of the same client there.
    remote_client_id: String,
    /// All that an assertion may carry, separated by spaces.
    #[serde(default)]
    scope: String,
    /// The resources that an assertion may name (RFC 8707).
    #[serde(default)]
    resources: Vec<String>,
}

impl From<NewServer> for Wanted {
    fn from(new: NewServer) -> Self {
        Self {
            issuer: new.issuer,
            client_id: new.client_id,
            remote_client_id: new.remote_client_id,
            scope: new.scope,
            resources: new.resources,
        }
    }
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    listing: Listing,
) -> Result<Response, Problem> {
    let all =
        servers::list(&app.store, caller.organization()?.id, listing.position()?, listing.rows()).await?;
    Ok(listing.page(all, |one| (one.created_at, one.id.to_string()), ServerView::from))
}

async fn create(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    Json(request): Json<NewServer>,
) -> Result<Response, Problem> {
    let place = caller.organization()?.id;
    let made = Box::pin(register(&app, &context, &caller, &request.into())).await?;
    let location = format!("/v1/organizations/{place}/authorization-servers/{}", made.id);
    Ok(created(&location, None, &ServerView::from(made)))
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
