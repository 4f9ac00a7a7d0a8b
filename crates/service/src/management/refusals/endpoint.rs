use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
};
use porteiro_protocol::id::{OrganizationId, RequestId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    App,
    api::{Operation, Time},
    audit_trail::Actor,
    http::{Access, Problem, ProblemCode, Route},
    management::Caller,
    refusals::{Found, HeldBy, RefusalId, Rule, find},
};

/// A refusal, with its reason.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Refusal")]
struct Explained {
    reference: RefusalId,
    at: Time,
    request_id: RequestId,
    organization: Option<OrganizationId>,
    client_id: Option<String>,
    /// Who was refused.
    subject: Option<Actor>,
    /// The name of the rule (`docs/refusals.md`).
    rule: &'static str,
    sentence: &'static str,
    asked: Vec<String>,
    /// The permissions held at that time, by role or credential.
    held: Vec<HeldBy>,
    would_pass: String,
}

impl From<Found> for Explained {
    fn from(found: Found) -> Self {
        Self {
            reference: found.id,
            at: found.at.into(),
            request_id: found.request_id.into(),
            organization: found.organization,
            client_id: found.client_id,
            subject: found.subject,
            rule: Rule::as_str(found.rule),
            sentence: found.rule.sentence(),
            asked: found.asked,
            held: found.held,
            would_pass: found.would_pass,
        }
    }
}

pub fn routes() -> Vec<Route> {
    vec![
        Route::get(
            "/v1/organizations/{organization}/refusals/{reference}",
            Access::Organization("audit:read"),
            in_organization,
        )
        .operation(
            Operation::new("refusals.get", "Get a refusal of an organization with its reason")
                .gives::<Explained>(),
        ),
        Route::get("/v1/platform/refusals/{reference}", Access::Platform("platform.log:read"), anywhere)
            .operation(
                Operation::new("platform_refusals.get", "Get any refusal with its reason")
                    .gives::<Explained>(),
            ),
    ]
}

async fn in_organization(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path((_, reference)): Path<(String, String)>,
) -> Result<axum::Json<Explained>, Problem> {
    let organization = caller.organization()?.id;
    show(&app, &reference, Some(organization)).await
}

async fn anywhere(
    State(app): State<Arc<App>>,
    Path(reference): Path<String>,
) -> Result<axum::Json<Explained>, Problem> {
    show(&app, &reference, None).await
}

async fn show(
    app: &App,
    reference: &str,
    organization: Option<OrganizationId>,
) -> Result<axum::Json<Explained>, Problem> {
    let reference: RefusalId = reference.parse().map_err(|_| ProblemCode::NotFound)?;
    let found = find(app, reference, organization).await?.ok_or(ProblemCode::NotFound)?;
    Ok(axum::Json(found.into()))
}
