use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use porteiro_protocol::{id::ConnectionId, jose::Algorithm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{create, find, replace};
use crate::{
    App,
    api::{self, Operation, Seen, created},
    connections::{self, ClientAuthentication, Connection, Definition, Examined},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
};

const READ: Access = Access::Platform("platform.connections:read");
const WRITE: Access = Access::Platform(super::WRITE);

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/platform/connections", READ, all)
            .operation(Operation::new("connections.list", "List all connections, by name").gives::<All>()),
        Route::post("/v1/platform/connections", WRITE, make).operation(
            Operation::new("connections.create", "Create a connection to another OpenID provider")
                .takes::<Document>()
                .example(json!({"name": "Example", "issuer": "https://login.example.org", "client_id": "porteiro",
                    "client_authentication": "client_secret_basic", "client_secret": "…", "algorithm": "RS256"}))
                .creates::<Shown>()
                .refuses(&[ProblemCode::FieldInvalid]),
        ),
        Route::get("/v1/platform/connections/{connection}", READ, one)
            .operation(Operation::new("connections.get", "Get a connection").gives::<Shown>().versioned()),
        Route::put("/v1/platform/connections/{connection}", WRITE, change).operation(
            Operation::new("connections.update", "Replace a connection, except its issuer")
                .takes::<Document>()
                .gives::<Shown>()
                .versioned()
                .refuses(&[ProblemCode::FieldInvalid]),
        ),
        Route::post("/v1/platform/connections/{connection}/test", WRITE, test).operation(
            Operation::new("connections.test", "Test a connection, step by step").gives::<Tested>(),
        ),
    ]
}

/// A connection to another OpenID provider.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ConnectionDefinition")]
struct Document {
    /// What people see: "Sign in with …".
    name: String,
    /// The provider's issuer, as in its metadata. It cannot be changed later.
    issuer: String,
    /// The id that the provider gave to this service.
    client_id: String,
    client_authentication: ClientAuthentication,
    /// Never shown again. Without it, the present one stays.
    #[serde(default)]
    client_secret: Option<String>,
    /// The one algorithm of the provider's ID tokens; with `private_key_jwt` also of ours.
    #[schemars(with = "String")]
    algorithm: Algorithm,
    /// Whether people can sign in by it; true by default.
    #[serde(default = "yes")]
    enabled: bool,
}

const fn yes() -> bool {
    true
}

impl From<Document> for Definition {
    fn from(document: Document) -> Self {
        Self {
            name: document.name,
            issuer: document.issuer,
            client_id: document.client_id,
            client_authentication: document.client_authentication,
            client_secret: document.client_secret,
            algorithm: document.algorithm,
            enabled: document.enabled,
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Connection")]
struct Shown {
    id: ConnectionId,
    name: String,
    issuer: String,
    client_id: String,
    client_authentication: ClientAuthentication,
    #[schemars(with = "String")]
    algorithm: Algorithm,
    enabled: bool,
    /// To be registered at the provider, exactly; null where this service has no page for answers.
    redirect_uri: Option<String>,
    /// To be registered at the provider, if it supports back-channel logout.
    backchannel_logout_uri: String,
    /// Our public keys, for `private_key_jwt`.
    jwks_uri: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Connections")]
struct All {
    items: Vec<Shown>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConnectionTest")]
struct Tested {
    /// Whether every step passed.
    ok: bool,
    steps: Vec<Examined>,
}

fn show(app: &App, connection: Connection) -> Shown {
    Shown {
        redirect_uri: connections::redirect_uri(app, connection.id),
        backchannel_logout_uri: format!("{}/connect/federation/{}/logout", app.issuer(), connection.id),
        jwks_uri: format!("{}/.well-known/jwks.json", app.issuer()),
        id: connection.id,
        name: connection.name,
        issuer: connection.issuer,
        client_id: connection.client_id,
        client_authentication: connection.client_authentication,
        algorithm: connection.algorithm,
        enabled: connection.enabled,
    }
}

fn named(id: &str) -> Result<ConnectionId, Problem> {
    id.parse().map_err(|_| ProblemCode::NotFound.into())
}

async fn all(State(app): State<Arc<App>>) -> Result<axum::Json<All>, Problem> {
    let items = connections::list(&app.store).await?.into_iter().map(|it| show(&app, it)).collect();
    Ok(axum::Json(All { items }))
}

async fn one(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, Problem> {
    let connection = find(&app, named(&id)?).await?;
    Ok(api::one(connection.version, &show(&app, connection)))
}

async fn make(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    context: RequestContext,
    Json(document): Json<Document>,
) -> Result<Response, Problem> {
    let connection = create(&app, &context, &caller, &document.into()).await?;
    let location = format!("/v1/platform/connections/{}", connection.id);
    Ok(created(&location, Some(connection.version), &show(&app, connection)))
}

async fn change(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    context: RequestContext,
    Seen(seen): Seen,
    Json(document): Json<Document>,
) -> Result<Response, Problem> {
    let connection = replace(&app, &context, &caller, named(&id)?, &document.into(), seen).await?;
    Ok(api::one(connection.version, &show(&app, connection)))
}

/// It changes nothing, but sends requests: so it needs the permission to write.
async fn test(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<axum::Json<Tested>, Problem> {
    let connection = find(&app, named(&id)?).await?;
    let steps = connections::examine(&app, &connection).await;
    Ok(axum::Json(Tested { ok: steps.iter().all(|step| step.ok), steps }))
}
