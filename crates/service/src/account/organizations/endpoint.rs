use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;

use crate::{
    App,
    http::{Access, Problem, ProblemCode, RequestContext, Route},
    members::{self, Member},
    sessions::SignedIn,
};

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/account/organizations", Access::Session, list),
        Route::delete("/v1/account/organizations/{organization}", Access::Session, leave),
    ]
}

/// Suspended ones too: a person sees why they cannot act there.
fn described(member: &Member) -> Value {
    let organization = &member.organization;
    json!({
        "organization": {
            "id": organization.id,
            "slug": organization.slug,
            "name": organization.name,
            "status": organization.status,
        },
        "membership": member.id,
        "state": member.state,
        "display_name": member.display_name,
        "roles": member.roles,
        "primary_role": member.primary_role,
        "joined_at": member.created_at.format(&Rfc3339).unwrap_or_default(),
    })
}

async fn list(State(app): State<Arc<App>>, Extension(me): Extension<SignedIn>) -> Result<Response, Problem> {
    let found = members::of_account(&app.store, me.account_id).await?;
    let items: Vec<Value> = found.iter().map(described).collect();
    Ok(axum::Json(json!({"items": items})).into_response())
}

/// Leaving needs no proof beyond being signed in: it gives nobody anything.
async fn leave(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
    Path(organization): Path<String>,
    context: RequestContext,
) -> Result<Response, Problem> {
    let organization = organization.parse().map_err(|_| ProblemCode::NotFound)?;
    Box::pin(members::leave(&app, &context, me.account_id, organization)).await??;
    Ok(StatusCode::NO_CONTENT.into_response())
}
