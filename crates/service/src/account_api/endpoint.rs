use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::plain_text;

use super::{
    Removed, SIGNED_IN, end_other_sessions, end_session, remove_credential, rename_credential, stop_recovery,
    view::{
        EndedSessions, OwnAccount, OwnActivity, OwnClient, OwnClients, OwnCredential, OwnCredentials,
        OwnGrant, OwnSession, OwnSessions, Rename, Signals,
    },
    withdraw,
};
use crate::{
    App, accounts,
    api::Operation,
    connections,
    credentials::{self, CredentialKind, recovery_code},
    http::{Json, Problem, ProblemCode, RequestContext, Route, forget_person},
    management::require_fresh,
    oauth::{apis, authorization, clients, grants},
    security_log,
    sessions::{self, Ended, SignedIn},
};

pub fn routes() -> Vec<Route> {
    let operation = Operation::new;
    vec![
        Route::get("/v1/account", SIGNED_IN, show).operation(
            operation("account.get", "Get the account of the signed-in person").gives::<OwnAccount>(),
        ),
        Route::get("/v1/account/credentials", SIGNED_IN, list_credentials).operation(
            operation(
                "account_credentials.list",
                "List your credentials, including mail addresses and phone numbers",
            )
            .gives::<OwnCredentials>(),
        ),
        Route::patch("/v1/account/credentials/{id}", SIGNED_IN, rename).operation(
            operation("account_credentials.update", "Change the label of a credential").takes::<Rename>(),
        ),
        Route::delete("/v1/account/credentials/{id}", SIGNED_IN, remove).operation(
            operation(
                "account_credentials.delete",
                "Delete a credential; the last one that can sign in stays",
            )
            .refuses(&[ProblemCode::Conflict]),
        ),
        Route::get("/v1/account/sessions", SIGNED_IN, list_sessions)
            .operation(operation("account_sessions.list", "List your sessions").gives::<OwnSessions>()),
        Route::delete("/v1/account/sessions", SIGNED_IN, end_others).operation(
            operation("account_sessions.end_others", "End all your sessions except the current one")
                .gives::<EndedSessions>(),
        ),
        Route::delete("/v1/account/sessions/{id}", SIGNED_IN, end_one)
            .operation(operation("account_sessions.end", "End a session; ending the current one signs out")),
        Route::get("/v1/account/activity", SIGNED_IN, activity).operation(
            operation("account_activity.list", "List the security events of your account, newest first")
                .gives::<OwnActivity>(),
        ),
        Route::delete("/v1/account/recovery", SIGNED_IN, stop)
            .operation(operation("account_recovery.cancel", "Cancel a pending account recovery")),
        Route::get("/v1/account/grants", SIGNED_IN, list_grants).operation(
            operation("account_grants.list", "List the clients you granted access, with their scopes")
                .gives::<OwnClients>(),
        ),
        Route::delete("/v1/account/grants/{client_id}", SIGNED_IN, withdraw_grants)
            .operation(operation("account_grants.revoke", "Revoke all your grants to a client")),
    ]
}

async fn show(State(app): State<Arc<App>>, Extension(me): Extension<SignedIn>) -> Result<Response, Problem> {
    let account = accounts::find(&app.store, me.account_id).await?.ok_or(ProblemCode::NotFound)?;
    Ok(axum::Json(OwnAccount::new(account, &me)).into_response())
}

async fn list_credentials(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let mut items = Vec::new();
    let all = credentials::find_all(&app.store, me.account_id).await?;
    for credential in &all {
        let remaining = if credential.kind == CredentialKind::RecoveryCodes {
            Some(recovery_code::remaining(&app.store, me.account_id).await?)
        } else {
            None
        };
        items.push(OwnCredential::new(credential, remaining));
    }
    let account = accounts::find(&app.store, me.account_id).await?.ok_or(ProblemCode::NotFound)?;
    let connections = connections::offered(&app).await?;
    let signals = signals(&app, account, &all);
    Ok(axum::Json(OwnCredentials { items, connections, signals }).into_response())
}

fn signals(app: &App, account: accounts::Account, all: &[credentials::Credential]) -> Signals {
    Signals {
        rp_id: app.passkeys.id().to_owned(),
        user_id: URL_SAFE_NO_PAD.encode(&account.user_handle),
        all_accepted_credential_ids: all
            .iter()
            .filter(|credential| credential.kind == CredentialKind::Passkey)
            .map(|credential| credential.body["passkey"]["credential_id"].clone())
            .collect(),
        display_name: account.display_name,
    }
}

async fn rename(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
    Json(change): Json<Rename>,
) -> Result<Response, Problem> {
    require_fresh(&app, &me).await?;
    let label = plain_text::name(&change.label, 60).ok_or_else(|| {
        Problem::new(ProblemCode::FieldInvalid, "label must have 1 to 60 printable characters")
    })?;
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
            "this is the last credential that can sign in to the account; add another first",
        )),
    }
}

async fn list_sessions(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let all = sessions::list(&app.store, me.account_id).await?;
    let items = all.into_iter().map(|session| OwnSession::new(session, &me)).collect();
    Ok(axum::Json(OwnSessions { items }).into_response())
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
    Ok(axum::Json(EndedSessions { ended }).into_response())
}

async fn activity(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let entries = security_log::recent(&app.store, me.account_id.uuid(), 100).await?;
    Ok(axum::Json(OwnActivity { items: entries.into_iter().map(Into::into).collect() }).into_response())
}

/// One entry per client: its name, its trust, what it may do, since when, and when it was last used.
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
        let of_client = held.iter().filter(|grant| grant.client_id == id);
        let grants = of_client.map(|grant| {
            let api = apis.iter().find(|api| api.identifier == grant.audience);
            let may = authorization::in_words(api, &grant.scope, &grant.details);
            OwnGrant::new(grant, api.map(|api| api.name.as_str()), may)
        });
        items.push(OwnClient {
            grants: grants.collect(),
            name: client.as_ref().and_then(|client| client.metadata.client_name.clone()),
            trust: client.as_ref().map(|client| client.trust),
            client_id: id,
        });
    }
    Ok(axum::Json(OwnClients { items }).into_response())
}

/// Withdrawing a consent needs no step-up: it can only make the account safer.
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
