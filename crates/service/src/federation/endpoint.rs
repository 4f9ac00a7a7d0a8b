use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use porteiro_protocol::error::ErrorCode;

use super::{Refused, receive};
use crate::{
    App,
    http::{Access, Form, OAuthError, Problem, RequestContext, Route, unreadable_form},
};

pub fn routes() -> Vec<Route> {
    let public = Access::Public("verifies the signature of the connection's provider");
    let standard = "OpenID Connect Back-Channel Logout 1.0";
    vec![
        Route::post("/connect/federation/{connection}/logout", public, of_deployment).standard(standard),
        Route::post("/connect/federation/{organization}/{connection}/logout", public, of_organization)
            .standard(standard),
    ]
}

async fn of_deployment(
    State(app): State<Arc<App>>,
    Path(connection): Path<String>,
    context: RequestContext,
    form: Result<Form, Problem>,
) -> Response {
    answer(&app, &context, (None, &connection), form).await
}

async fn of_organization(
    State(app): State<Arc<App>>,
    Path((organization, connection)): Path<(String, String)>,
    context: RequestContext,
    form: Result<Form, Problem>,
) -> Response {
    answer(&app, &context, (Some(&organization), &connection), form).await
}

async fn answer(
    app: &Arc<App>,
    context: &RequestContext,
    whose: (Option<&str>, &str),
    form: Result<Form, Problem>,
) -> Response {
    let mut response = match form {
        Err(problem) => unreadable_form(problem),
        Ok(Form(form)) => match receive(app, context, whose, form.get("logout_token")).await {
            Ok(()) => StatusCode::OK.into_response(),
            Err(Refused::Unfit(why)) => OAuthError::new(ErrorCode::InvalidRequest, why).into_response(),
            Err(Refused::Limited(limited)) => Problem::from(limited).into_response(),
            Err(Refused::Store(error)) => Problem::from(error).into_response(),
        },
    };
    // §2.8
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
