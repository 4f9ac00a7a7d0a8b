use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{super::view::OwnAccount, Profile, update};
use crate::{
    App,
    api::{Operation, Patch},
    http::{Access, Problem, ProblemCode, RequestContext, Route},
    sessions::SignedIn,
};

pub fn routes() -> Vec<Route> {
    vec![
        Route::patch("/v1/account", Access::Session, change).operation(
            Operation::new("account.update", "Change the name or the language of your account")
                .patches::<Profile>()
                .example(json!({"display_name": "Ana Souza", "locale": "pt-BR"}))
                .gives::<OwnAccount>()
                .refuses(&[ProblemCode::FieldInvalid]),
        ),
    ]
}

async fn change(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
    patch: Patch<Profile>,
) -> Result<Response, Problem> {
    let account = update(&app, &context, &me, &patch).await?;
    Ok(axum::Json(OwnAccount::new(account, &me)).into_response())
}
