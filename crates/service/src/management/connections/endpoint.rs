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

use super::{Wanted, create, find, remove, replace, stored};
use crate::{
    App,
    api::{self, Operation, Seen, created, deleted},
    connections::{self, ClientAuthentication, Connection, Definition, Entry, Examined, Owner},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
};

const READ: Access = Access::Organization("connections:read");
const WRITE: Access = Access::Organization(super::WRITE);
const ALL: &str = "/v1/organizations/{organization}/connections";
const ONE: &str = "/v1/organizations/{organization}/connections/{connection}";
const TEST: &str = "/v1/organizations/{organization}/connections/{connection}/test";

pub fn routes() -> Vec<Route> {
    vec![
        Route::get(ALL, READ, all).operation(
            Operation::new(
                "organization_connections.list",
                "List the connections of an organization to its directories",
            )
            .gives::<All>(),
        ),
        Route::post(ALL, WRITE, make).operation(
            Operation::new("organization_connections.create", "Connect an organization to its directory")
                .takes::<Document>()
                .example(json!({"name": "Example", "issuer": "https://login.example.org", "client_id": "porteiro",
                    "client_authentication": "client_secret_basic", "client_secret": "…", "algorithm": "RS256",
                    "subject_claim": "sub"}))
                .creates::<Shown>()
                .refuses(&[ProblemCode::FieldInvalid, ProblemCode::Conflict, ProblemCode::Quota]),
        ),
        Route::get(ONE, READ, one).operation(
            Operation::new("organization_connections.get", "Get a connection of an organization")
                .gives::<Shown>()
                .versioned(),
        ),
        Route::put(ONE, WRITE, put).operation(
            Operation::new(
                "organization_connections.update",
                "Replace a connection of an organization, except its issuer",
            )
            .takes::<Document>()
            .gives::<Shown>()
            .versioned()
            .refuses(&[ProblemCode::FieldInvalid, ProblemCode::Conflict]),
        ),
        Route::delete(ONE, WRITE, delete).operation(
            Operation::new(
                "organization_connections.delete",
                "Delete a connection by which nobody has signed in",
            )
            .refuses(&[ProblemCode::Conflict]),
        ),
        Route::post(TEST, WRITE, test).operation(
            Operation::new(
                "organization_connections.test",
                "Test a connection of an organization, step by step",
            )
            .gives::<Tested>(),
        ),
    ]
}

/// A connection of an organization to its directory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OrganizationConnectionDefinition")]
struct Document {
    /// What people see: "Sign in with …". No two connections of an organization have the same, in any case.
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
    /// Whether members can sign in by it; true by default. Disabling it ends all sessions and grants that rest on it, for
    /// ever.
    #[serde(default = "yes")]
    enabled: bool,
    /// The claim of its ID tokens that is compared with the `externalId` of provisioned members: `sub` by default, `oid`
    /// for Microsoft Entra ID.
    #[serde(default = "sub")]
    subject_claim: String,
    /// The role with which people join at their first sign-in, if a verified domain of the organization vouches for their
    /// address; null: nobody joins that way.
    #[serde(default)]
    jit_role: Option<String>,
    /// Whether the addresses that it asserts count as verified although it does not say `email_verified`.
    #[serde(default)]
    authoritative: bool,
    /// Whether people claim, at their first sign-in, the membership that SCIM provisioned with their `subject_claim` as
    /// `externalId`. Only an owner can set it, because such a membership may have any role.
    #[serde(default)]
    match_provisioned: bool,
}

const fn yes() -> bool {
    true
}

fn sub() -> String {
    "sub".into()
}

impl From<Document> for Wanted {
    fn from(document: Document) -> Self {
        Self {
            definition: Definition {
                name: document.name,
                issuer: document.issuer,
                client_id: document.client_id,
                client_authentication: document.client_authentication,
                client_secret: document.client_secret,
                algorithm: document.algorithm,
                enabled: document.enabled,
            },
            entry: Entry {
                subject_claim: document.subject_claim,
                jit_role: document.jit_role,
                authoritative: document.authoritative,
                match_provisioned: document.match_provisioned,
            },
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationConnection")]
struct Shown {
    id: ConnectionId,
    name: String,
    issuer: String,
    client_id: String,
    client_authentication: ClientAuthentication,
    #[schemars(with = "String")]
    algorithm: Algorithm,
    enabled: bool,
    subject_claim: String,
    jit_role: Option<String>,
    authoritative: bool,
    match_provisioned: bool,
    /// To be registered at the provider, exactly; null where this service has no page for answers.
    redirect_uri: Option<String>,
    /// To be registered at the provider, if it supports back-channel logout.
    backchannel_logout_uri: String,
    /// Our public keys, for `private_key_jwt`.
    jwks_uri: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationConnections")]
struct All {
    items: Vec<Shown>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationConnectionTest")]
struct Tested {
    /// Whether every step passed.
    ok: bool,
    steps: Vec<Examined>,
}

/// `None` for a connection of the deployment, which no organization has.
fn show(app: &App, connection: Connection) -> Option<Shown> {
    let Owner::Organization(organization, entry) = connection.owner else { return None };
    Some(Shown {
        redirect_uri: connections::redirect_uri(app, connection.id),
        backchannel_logout_uri: format!(
            "{}/connect/federation/{organization}/{}/logout",
            app.issuer(),
            connection.id
        ),
        jwks_uri: format!("{}/.well-known/jwks.json", app.issuer()),
        id: connection.id,
        name: connection.name,
        issuer: connection.issuer,
        client_id: connection.client_id,
        client_authentication: connection.client_authentication,
        algorithm: connection.algorithm,
        enabled: connection.enabled,
        subject_claim: entry.subject_claim,
        jit_role: entry.jit_role,
        authoritative: entry.authoritative,
        match_provisioned: entry.match_provisioned,
    })
}

fn shown(app: &App, connection: Connection) -> Result<Shown, Problem> {
    Ok(show(app, connection).ok_or(ProblemCode::NotFound)?)
}

fn named(id: &str) -> Result<ConnectionId, Problem> {
    id.parse().map_err(|_| ProblemCode::NotFound.into())
}

async fn all(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<axum::Json<All>, Problem> {
    let all = stored::list(&app.store, caller.organization()?.id).await?;
    Ok(axum::Json(All { items: all.into_iter().filter_map(|it| show(&app, it)).collect() }))
}

async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, id)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let connection = find(&app, &caller, named(&id)?).await?;
    Ok(api::one(connection.version, &shown(&app, connection)?))
}

async fn make(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    context: RequestContext,
    Json(document): Json<Document>,
) -> Result<Response, Problem> {
    let place = caller.organization()?.id;
    let connection = Box::pin(create(&app, &context, &caller, &document.into())).await?;
    let location = format!("/v1/organizations/{place}/connections/{}", connection.id);
    Ok(created(&location, Some(connection.version), &shown(&app, connection)?))
}

async fn put(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, id)): Path<(String, String)>,
    context: RequestContext,
    Seen(seen): Seen,
    Json(document): Json<Document>,
) -> Result<Response, Problem> {
    let id = named(&id)?;
    let connection = Box::pin(replace(&app, &context, &caller, id, &document.into(), seen)).await?;
    Ok(api::one(connection.version, &shown(&app, connection)?))
}

async fn delete(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, id)): Path<(String, String)>,
    context: RequestContext,
) -> Result<Response, Problem> {
    deleted(Box::pin(remove(&app, &context, &caller, named(&id)?)).await?)
}

/// It changes nothing, but sends requests: so it needs the permission to write.
async fn test(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, id)): Path<(String, String)>,
) -> Result<axum::Json<Tested>, Problem> {
    let connection = find(&app, &caller, named(&id)?).await?;
    let steps = connections::examine(&app, &connection).await;
    Ok(axum::Json(Tested { ok: steps.iter().all(|step| step.ok), steps }))
}
