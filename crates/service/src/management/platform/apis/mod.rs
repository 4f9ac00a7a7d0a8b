//! The platform registers and removes APIs. Their identifiers are URIs; in a path an API is named by the base64url of
//! its identifier, which lists return as `id` (`docs/decisions/0053-identifiers-and-filters-of-the-platform-api.md`).

mod endpoint;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::time::OffsetDateTime;
use serde_json::json;
use uuid::Uuid;

use crate::{
    App,
    api::stale,
    http::{Problem, ProblemCode, RequestContext, Route, TxProblem},
    management::{Caller, standing},
    oauth::apis::{self, Api},
    security_log::{self, EventKind},
    store::StoreError,
};

const WRITE: &str = "platform.apis:write";

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

fn name(identifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(identifier)
}

fn identifier(name: &str) -> Option<String> {
    URL_SAFE_NO_PAD.decode(name).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}

fn version(changed_at: OffsetDateTime) -> i64 {
    i64::try_from(changed_at.unix_timestamp_nanos() / 1_000).unwrap_or_default()
}

async fn list(app: &App) -> Result<Vec<(Api, OffsetDateTime)>, StoreError> {
    apis::list_dated(&app.store).await
}

/// Registers a new API (without `seen`), or replaces the version that the caller has seen.
async fn put(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    api: &Api,
    seen: Option<i64>,
) -> Result<(), TxProblem> {
    app.store
        .try_tx("platform.put_api", |tx| async move {
            let known = apis::lock(&tx, &api.identifier).await?.map(version);
            match (known, seen) {
                (None, None) => {}
                (Some(known), Some(seen)) if known == seen => {}
                (None, Some(_)) => return Err(ProblemCode::NotFound.into()),
                (Some(_), None) => {
                    let text = "an API with this identifier exists";
                    return Err(Problem::new(ProblemCode::Conflict, text).into());
                }
                (Some(_), Some(_)) => return Err(stale().into()),
            }
            standing::still(&tx, caller, WRITE).await?;
            apis::register_in(&tx, api).await?;
            let payload = json!({"identifier": api.identifier, "by": caller.key()});
            let event = security_log::Event { kind: EventKind::ApiChanged, subject: Uuid::nil(), payload };
            security_log::record(app, &tx, context, event).await?;
            Ok(())
        })
        .await
}

async fn remove(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    identifier: &str,
    seen: i64,
) -> Result<(), TxProblem> {
    app.store
        .try_tx("platform.remove_api", |tx| async move {
            match apis::lock(&tx, identifier).await?.map(version) {
                None => return Err(ProblemCode::NotFound.into()),
                Some(known) if known != seen => return Err(stale().into()),
                Some(_) => {}
            }
            standing::still(&tx, caller, WRITE).await?;
            apis::remove_in(&tx, identifier).await?;
            let payload = json!({"identifier": identifier, "by": caller.key()});
            let event = security_log::Event { kind: EventKind::ApiRemoved, subject: Uuid::nil(), payload };
            security_log::record(app, &tx, context, event).await?;
            Ok(())
        })
        .await
}
