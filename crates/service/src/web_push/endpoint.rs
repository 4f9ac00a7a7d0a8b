//! `/v1/account/push-subscriptions`.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{Refused, Subscription, SubscriptionId, is_on, store, subscribe};
use crate::{
    App,
    api::{Operation, Time},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    sessions::SignedIn,
};

pub fn routes() -> Vec<Route> {
    let path = "/v1/account/push-subscriptions";
    vec![
        Route::get(path, Access::Session, list).operation(
            Operation::new(
                "account_push_subscriptions.list",
                "List the browsers that tell you that something waits, and the key with which they subscribe",
            )
            .gives::<PushSubscriptions>(),
        ),
        Route::post(path, Access::Session, create).standard("RFC 8030").operation(
            Operation::new(
                "account_push_subscriptions.create",
                "Let a browser tell you that something waits",
            )
            .creates::<PushSubscription>()
            .takes::<NewPushSubscription>()
            .refuses(&[ProblemCode::Quota]),
        ),
        Route::delete("/v1/account/push-subscriptions/{id}", Access::Session, remove).operation(
            Operation::new("account_push_subscriptions.delete", "Let a browser tell you nothing any more"),
        ),
    ]
}

#[derive(Serialize, JsonSchema)]
struct PushSubscriptions {
    /// `applicationServerKey` for `PushManager.subscribe`; null where Web Push is switched off.
    public_key: Option<String>,
    items: Vec<PushSubscription>,
}

/// A browser by which a person is told.
#[derive(Serialize, JsonSchema)]
struct PushSubscription {
    id: SubscriptionId,
    /// The host of the push service.
    host: Option<String>,
    user_agent: String,
    /// Whether it was made in this session.
    current: bool,
    created_at: Time,
}

impl PushSubscription {
    fn new(one: Subscription, me: &SignedIn) -> Self {
        let url = Url::parse(&one.endpoint).ok();
        Self {
            id: one.id,
            host: url.and_then(|url| url.host_str().map(ToOwned::to_owned)),
            user_agent: one.user_agent,
            current: one.session == me.session_id,
            created_at: one.created_at.into(),
        }
    }
}

/// What `PushManager.subscribe` gave. Messages have no body, so the keys of the subscription are not needed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewPushSubscription {
    /// The address at the push service: https with a host name.
    endpoint: String,
}

async fn list(State(app): State<Arc<App>>, Extension(me): Extension<SignedIn>) -> Result<Response, Problem> {
    let found = store::list(&app.store, me.account_id).await?;
    let items = found.into_iter().map(|one| PushSubscription::new(one, &me)).collect();
    let public_key = is_on(&app).then(|| app.push_key.public().to_owned());
    Ok(axum::Json(PushSubscriptions { public_key, items }).into_response())
}

async fn create(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
    Json(new): Json<NewPushSubscription>,
) -> Result<Response, Problem> {
    if !is_on(&app) {
        return Err(Problem::new(ProblemCode::NotFound, "Web Push is switched off here"));
    }
    let made = subscribe(&app, &context, &me, &new.endpoint).await?.map_err(|refused| match refused {
        Refused::Address(why) => Problem::new(ProblemCode::FieldInvalid, format!("endpoint {why}")),
        Refused::TooMany => {
            Problem::new(ProblemCode::Quota, "too many browsers are subscribed; remove one first")
        }
    })?;
    Ok((StatusCode::CREATED, axum::Json(PushSubscription::new(made, &me))).into_response())
}

async fn remove(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let id = id.parse().map_err(|_| ProblemCode::NotFound)?;
    if store::remove(&app.store, me.account_id, id).await? {
        Ok(StatusCode::NO_CONTENT.into_response())
    } else {
        Err(ProblemCode::NotFound.into())
    }
}
