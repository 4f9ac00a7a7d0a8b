use std::sync::Arc;

use axum::{
    Extension,
    body::Body,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{deletion, export};
use crate::{
    App,
    api::{Operation, Time},
    flow,
    http::{Access, Problem, ProblemCode, RequestContext, Route, forget_person},
    limits::{self, ACCOUNT_EXPORT, Bucket},
    mail::templates,
    management::require_fresh,
    security_log::EventKind,
    sessions::SignedIn,
    store::StoreError,
};

const JSON: &str = "application/json";

pub fn routes() -> Vec<Route> {
    vec![
        Route::post("/v1/account/export", Access::Session, exported).operation(
            Operation::new("account.export", "Export everything that is stored about you")
                .gives_media(&[JSON])
                .refuses(&[ProblemCode::SlowDown]),
        ),
        Route::delete("/v1/account", Access::Session, delete).operation(
            Operation::new(
                "account.delete",
                "Delete your account: everything it opened or allowed ends at once, and you have fourteen days to keep it",
            )
            .gives::<Deletion>()
            .refuses(&[ProblemCode::LastOwner, ProblemCode::Conflict]),
        ),
        Route::delete("/v1/account/deletion", Access::Session, keep).operation(Operation::new(
            "account_deletion.cancel",
            "Keep your account, whose deletion was requested",
        )),
    ]
}

/// A requested deletion.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccountDeletion")]
struct Deletion {
    /// When the account is deleted. Until then the person can sign in and keep it.
    deletion_at: Time,
}

async fn exported(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    require_fresh(&app, &me).await?;
    let key = app.secrets.limit_key(ACCOUNT_EXPORT.name, me.account_id.uuid().as_bytes());
    if let Some(limited) = limits::take(&app.store, &[Bucket { rule: ACCOUNT_EXPORT, key }]).await? {
        return Err(limited.into());
    }
    tell(&app, &context, &me).await?;
    let mut response = Response::new(Body::new(export::begin(&app, &me)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    let name = HeaderValue::from_static("attachment; filename=\"account.json\"");
    headers.insert(header::CONTENT_DISPOSITION, name);
    Ok(response)
}

/// The log and the person's mailboxes learn of an export before it begins.
async fn tell(app: &Arc<App>, context: &RequestContext, me: &SignedIn) -> Result<(), StoreError> {
    app.store
        .run_tx("personal_data.export", |tx| async move {
            let payload = json!({"session_id": me.session_id});
            deletion::log(app, &tx, context, me.account_id, EventKind::AccountExported, payload).await?;
            let what = flow::happening(app, Some(&context.user_agent));
            flow::tell(app, &tx, me.account_id, "en", |locale| templates::account_exported(locale, &what))
                .await
        })
        .await
}

async fn delete(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    require_fresh(&app, &me).await?;
    let at = Box::pin(deletion::request(&app, &context, &me)).await?;
    let mut response = axum::Json(Deletion { deletion_at: at.into() }).into_response();
    forget_person(response.headers_mut());
    Ok(response)
}

/// Keeping the account requires no step-up: it makes nothing less safe, and its sessions ended with the request.
async fn keep(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    if deletion::cancel(&app, &context, &me).await? {
        Ok(StatusCode::NO_CONTENT.into_response())
    } else {
        Err(ProblemCode::NotFound.into())
    }
}
