use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{identifier, list, name, put, remove, version};
use crate::{
    App,
    api::{self, Operation, Seen, created},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
    oauth::apis::Api,
};

const READ: Access = Access::Platform("platform.apis:read");
const WRITE: Access = Access::Platform(super::WRITE);

pub fn routes() -> Vec<Route> {
    let wrong = [ProblemCode::FieldInvalid];
    vec![
        Route::get("/v1/platform/apis", READ, all)
            .operation(Operation::new("apis.list", "List all APIs, by identifier").gives::<All>()),
        Route::post("/v1/platform/apis", WRITE, register).operation(
            Operation::new("apis.create", "Register an API")
                .takes::<Document>()
                .example(
                    serde_json::json!({"identifier": "https://api.example.org", "name": "Example", "scopes": [
    {"name": "things:read", "description": {"en": "See things", "pt": "Ver coisas"}}]}),
                )
                .creates::<Shown>()
                .refuses(&[ProblemCode::FieldInvalid, ProblemCode::Conflict]),
        ),
        Route::get("/v1/platform/apis/{api}", READ, one)
            .operation(Operation::new("apis.get", "Get an API").gives::<Shown>().versioned()),
        Route::put("/v1/platform/apis/{api}", WRITE, replace).operation(
            Operation::new("apis.update", "Replace the definition of an API")
                .takes::<Document>()
                .gives::<Shown>()
                .versioned()
                .refuses(&wrong),
        ),
        Route::delete("/v1/platform/apis/{api}", WRITE, removed)
            .operation(Operation::new("apis.delete", "Delete an API").versioned()),
    ]
}

/// The definition of an API; `porteiro apis register` takes the same.
#[derive(Debug, JsonSchema)]
#[expect(
    dead_code,
    reason = "only its schema is used: requests are read as what the rest of the service reads"
)]
#[schemars(rename = "ApiDefinition")]
struct Document {
    /// An absolute URI: the value of `aud` and `resource` (RFC 8707).
    identifier: String,
    name: String,
    /// URLs at which the API is reached: each is understood as `resource`, and its metadata are published (RFC 9728).
    resources: Option<Vec<String>>,
    /// `{"name", "open_to_unverified", "description": {"en", "pt"}}`.
    scopes: Vec<Value>,
    /// Types of authorization details (RFC 9396).
    details: Option<Vec<Value>>,
    /// Clients that may introspect its tokens.
    introspected_by: Option<Vec<String>>,
    /// Whether its scopes are permissions, which members hold through roles in an organization.
    organizational: Option<bool>,
    token_seconds: Option<i32>,
    algorithm: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Api")]
struct Shown {
    /// The id of the API in paths: its identifier in base64url.
    id: String,
    #[serde(flatten)]
    #[schemars(with = "Document")]
    api: Api,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Apis")]
struct All {
    items: Vec<Shown>,
}

impl From<Api> for Shown {
    fn from(api: Api) -> Self {
        Self { id: name(&api.identifier), api }
    }
}

async fn all(State(app): State<Arc<App>>) -> Result<axum::Json<All>, Problem> {
    let items = list(&app).await?.into_iter().map(|(api, _)| api.into()).collect();
    Ok(axum::Json(All { items }))
}

async fn one(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, Problem> {
    shown(&app, &named(&id)?).await
}

async fn shown(app: &App, identifier: &str) -> Result<Response, Problem> {
    let found = list(app).await?.into_iter().find(|(api, _)| api.identifier == identifier);
    let (api, changed_at) = found.ok_or(ProblemCode::NotFound)?;
    Ok(api::one(version(changed_at), &Shown::from(api)))
}

fn named(id: &str) -> Result<String, Problem> {
    identifier(id).ok_or_else(|| ProblemCode::NotFound.into())
}

async fn checked(app: &App, api: &Api) -> Result<(), Problem> {
    let checked = app.details.check_api(api, app.issuer()).await;
    let checked = checked.map_err(|_| Problem::from(ProblemCode::Unavailable))?;
    checked.map_err(|text| Problem::new(ProblemCode::FieldInvalid, text))
}

async fn register(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    context: RequestContext,
    Json(api): Json<Api>,
) -> Result<Response, Problem> {
    checked(&app, &api).await?;
    put(&app, &context, &caller, &api, None).await?;
    let location = format!("/v1/platform/apis/{}", name(&api.identifier));
    Ok(created(&location, None, &Shown::from(api)))
}

async fn replace(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    context: RequestContext,
    Seen(seen): Seen,
    Json(api): Json<Api>,
) -> Result<Response, Problem> {
    if named(&id)? != api.identifier {
        return Err(Problem::new(ProblemCode::FieldInvalid, "identifier does not match the API in the path"));
    }
    checked(&app, &api).await?;
    put(&app, &context, &caller, &api, Some(seen)).await?;
    shown(&app, &api.identifier).await
}

async fn removed(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    context: RequestContext,
    Seen(seen): Seen,
) -> Result<Response, Problem> {
    remove(&app, &context, &caller, &named(&id)?, seen).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
