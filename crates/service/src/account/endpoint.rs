use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;

use super::{
    Removed, SIGNED_IN, end_other_sessions, end_session, remove_credential, rename_credential, require_fresh,
    stop_recovery, withdraw,
};
use crate::{
    App, accounts, audit,
    credentials::{self, CredentialKind, recovery_code},
    http::{Json, Problem, ProblemCode, RequestContext, Route, forget_person},
    oauth::{apis, authorization, clients, grants},
    sessions::{self, Ended, SignedIn},
};

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/account", SIGNED_IN, show),
        Route::get("/v1/account/credentials", SIGNED_IN, list_credentials),
        Route::patch("/v1/account/credentials/{id}", SIGNED_IN, rename),
        Route::delete("/v1/account/credentials/{id}", SIGNED_IN, remove),
        Route::get("/v1/account/sessions", SIGNED_IN, list_sessions),
        Route::delete("/v1/account/sessions", SIGNED_IN, end_others),
        Route::delete("/v1/account/sessions/{id}", SIGNED_IN, end_one),
        Route::get("/v1/account/activity", SIGNED_IN, activity),
        Route::delete("/v1/account/recovery", SIGNED_IN, stop),
        Route::get("/v1/account/grants", SIGNED_IN, list_grants),
        Route::delete("/v1/account/grants/{client_id}", SIGNED_IN, withdraw_grants),
    ]
}

fn at(when: time::OffsetDateTime) -> String {
    when.format(&Rfc3339).unwrap_or_default()
}

async fn show(State(app): State<Arc<App>>, Extension(me): Extension<SignedIn>) -> Result<Response, Problem> {
    let account = accounts::find(&app.store, me.account_id).await?.ok_or(ProblemCode::NotFound)?;
    Ok(axum::Json(json!({
        "id": account.id,
        "display_name": account.display_name,
        "locale": account.locale,
        "created_at": at(account.created_at),
        "platform_administrator": account.platform_administrator,
        "recovery_hold_until": account.recovery_hold_until.map(at),
        "assurance": {"have": me.level(), "fresh": me.is_fresh()},
    }))
    .into_response())
}

/// Never the body: hashes and sealed secrets stay where they are.
async fn list_credentials(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let mut items = Vec::new();
    let all = credentials::find_all(&app.store, me.account_id).await?;
    for credential in &all {
        let mut item = json!({
            "id": credential.id,
            "kind": credential.kind,
            "label": credential.label,
            "state": credential.state,
            "created_at": at(credential.created_at),
            "last_used_at": credential.last_used_at.map(at),
        });
        if credential.kind == CredentialKind::RecoveryCodes {
            item["remaining"] = json!(recovery_code::remaining(&app.store, me.account_id).await?);
        }
        items.push(item);
    }
    let account = accounts::find(&app.store, me.account_id).await?.ok_or(ProblemCode::NotFound)?;
    Ok(axum::Json(json!({"items": items, "signals": signals(&app, &account, &all)})).into_response())
}

/// What a browser may tell its passkey provider, so that it forgets what we forgot (WebAuthn Level 3 §5.1.10).
fn signals(app: &App, account: &accounts::Account, all: &[credentials::Credential]) -> Value {
    let accepted: Vec<Value> = all
        .iter()
        .filter(|credential| credential.kind == CredentialKind::Passkey)
        .map(|credential| credential.body["passkey"]["credential_id"].clone())
        .collect();
    json!({
        "rp_id": app.passkeys.id(),
        "user_id": URL_SAFE_NO_PAD.encode(&account.user_handle),
        "all_accepted_credential_ids": accepted,
        "display_name": account.display_name,
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rename {
    label: String,
}

async fn rename(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
    Json(change): Json<Rename>,
) -> Result<Response, Problem> {
    require_fresh(&app, &me).await?;
    let label = change.label.trim();
    if !(1..=60).contains(&label.chars().count()) || label.chars().any(char::is_control) {
        return Err(Problem::new(ProblemCode::FieldInvalid, "label has 1 to 60 printable characters"));
    }
    let id = id.parse().map_err(|_| ProblemCode::NotFound)?;
    if rename_credential(&app, &context, &me, id, label).await? {
        Ok(StatusCode::NO_CONTENT.into_response())
    } else {
        Err(ProblemCode::NotFound.into())
    }
}

async fn remove(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    require_fresh(&app, &me).await?;
    let id = id.parse().map_err(|_| ProblemCode::NotFound)?;
    match remove_credential(&app, &context, &me, id).await? {
        Removed::Yes => Ok(StatusCode::NO_CONTENT.into_response()),
        Removed::NotFound => Err(ProblemCode::NotFound.into()),
        Removed::LastWayIn => Err(Problem::new(
            ProblemCode::Conflict,
            "it is the last way into your account; add another first",
        )),
    }
}

async fn list_sessions(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let items: Vec<Value> = sessions::list(&app.store, me.account_id)
        .await?
        .into_iter()
        .map(|session| {
            json!({
                "id": session.id,
                "current": session.id == me.session_id,
                "created_at": at(session.created_at),
                "seen_at": at(session.seen_at),
                "address": session.address,
                "user_agent": session.user_agent,
                "methods": session.proofs.iter().map(|proof| proof.method).collect::<Vec<_>>(),
            })
        })
        .collect();
    Ok(axum::Json(json!({"items": items})).into_response())
}

async fn end_one(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let id = id.parse().map_err(|_| ProblemCode::NotFound)?;
    let own = id == me.session_id;
    if !own {
        require_fresh(&app, &me).await?;
    }
    let reason = if own { Ended::SignedOut } else { Ended::EndedByOwner };
    if !end_session(&app, &context, &me, id, reason).await? {
        return Err(ProblemCode::NotFound.into());
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    if own {
        forget_person(response.headers_mut());
    }
    Ok(response)
}

async fn end_others(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    require_fresh(&app, &me).await?;
    let ended = end_other_sessions(&app, &context, &me).await?;
    Ok(axum::Json(json!({"ended": ended})).into_response())
}

async fn activity(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let items = audit::recent(&app.store, me.account_id.uuid(), 100).await?;
    Ok(axum::Json(json!({"items": items})).into_response())
}

/// One entry per client: who, how far we trust them, what they may do, since when, used when.
async fn list_grants(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let held = grants::list(&app.store, me.account_id).await?;
    let apis = apis::list(&app.store).await?;
    let mut ids = authorization::allowed_clients(&app.store, me.account_id).await?;
    ids.extend(held.iter().map(|grant| grant.client_id.clone()));
    ids.sort();
    ids.dedup();
    let mut items = Vec::new();
    for id in ids {
        let client = clients::find(&app.store, &id).await?;
        let grants: Vec<Value> = held
            .iter()
            .filter(|grant| grant.client_id == id)
            .map(|grant| {
                let api = apis.iter().find(|api| api.identifier == grant.audience);
                json!({
                    "organization": grant.organization,
                    "audience": grant.audience,
                    "audience_name": api.map(|api| api.name.as_str()),
                    "may": authorization::in_words(api, &grant.scope, &grant.details),
                    "scope": grant.scope,
                    "details": grant.details,
                    "offline": grant.offline,
                    "created_at": at(grant.created_at),
                    "used_at": at(grant.used_at),
                    "expires_at": at(grant.expires_at),
                })
            })
            .collect();
        items.push(json!({
            "client_id": id,
            "name": client.as_ref().and_then(|client| client.metadata.client_name.clone()),
            "trust": client.as_ref().map(|client| client.trust),
            "grants": grants,
        }));
    }
    Ok(axum::Json(json!({"items": items})).into_response())
}

/// Taking something back needs no proof beyond being signed in: it only ever makes the account safer.
async fn withdraw_grants(
    State(app): State<Arc<App>>,
    Path(client_id): Path<String>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    if withdraw(&app, &context, &me, &client_id).await? {
        Ok(StatusCode::NO_CONTENT.into_response())
    } else {
        Err(ProblemCode::NotFound.into())
    }
}

async fn stop(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    require_fresh(&app, &me).await?;
    stop_recovery(&app, &context, &me).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
