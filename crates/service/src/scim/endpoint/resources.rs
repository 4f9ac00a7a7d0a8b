//! Users and groups (RFC 7644 §3).

use axum::{
    extract::{Path, Request},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value};

use super::{
    super::{PERMISSION, groups, listing, not_found, store::User, users},
    door::Door,
    query,
};
use crate::{
    groups::Group,
    http::{Access, Route, ScimError},
};

const ACCESS: Access = Access::Provisioning(PERMISSION);
const USERS: &str = "/scim/v2/{organization}/Users";
const USER: &str = "/scim/v2/{organization}/Users/{id}";
const GROUPS: &str = "/scim/v2/{organization}/Groups";
const GROUP: &str = "/scim/v2/{organization}/Groups/{id}";

type Ids = Path<(String, String)>;

pub(super) fn routes() -> Vec<Route> {
    let all = [
        Route::post("/scim/v2/{organization}/.search", ACCESS, search_all),
        Route::get(USERS, ACCESS, list_users),
        Route::post(USERS, ACCESS, create_user),
        Route::post("/scim/v2/{organization}/Users/.search", ACCESS, search_users),
        Route::get(USER, ACCESS, get_user),
        Route::put(USER, ACCESS, replace_user),
        Route::patch(USER, ACCESS, patch_user),
        Route::delete(USER, ACCESS, delete_user),
        Route::get(GROUPS, ACCESS, list_groups),
        Route::post(GROUPS, ACCESS, create_group),
        Route::post("/scim/v2/{organization}/Groups/.search", ACCESS, search_groups),
        Route::get(GROUP, ACCESS, get_group),
        Route::put(GROUP, ACCESS, replace_group),
        Route::patch(GROUP, ACCESS, patch_group),
        Route::delete(GROUP, ACCESS, delete_group),
    ];
    all.into_iter().map(|route| route.standard("RFC 7644")).collect()
}

/// A malformed id is nobody's.
fn id<T: std::str::FromStr>(text: &str) -> Result<T, ScimError> {
    text.parse().map_err(|_| not_found())
}

fn object(body: Value) -> Map<String, Value> {
    match body {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

async fn user(door: &Door, status: StatusCode, user: User) -> Result<Response, ScimError> {
    let projection = query::projection(&query::sent(&door.query)?)?;
    let version = user.version;
    let shown = users::shown(&door.call, &[user], &projection).await?;
    Ok(door.one(status, version, shown.first().unwrap_or(&Value::Null)))
}

async fn group(door: &Door, status: StatusCode, group: Group) -> Result<Response, ScimError> {
    let projection = query::projection(&query::sent(&door.query)?)?;
    let version = group.version;
    let shown = groups::shown(&door.call, &[group], &projection).await?;
    Ok(door.one(status, version, shown.first().unwrap_or(&Value::Null)))
}

async fn users_of(door: &Door, sent: &Map<String, Value>) -> Result<Response, ScimError> {
    let query = query::read(&door.call, "Users", sent)?;
    let page = Box::pin(listing::users(&door.call, &query)).await?;
    Ok(query::answer(&door.call, "Users", &query, &page))
}

async fn groups_of(door: &Door, sent: &Map<String, Value>) -> Result<Response, ScimError> {
    let query = query::read(&door.call, "Groups", sent)?;
    let page = Box::pin(listing::groups(&door.call, &query)).await?;
    Ok(query::answer(&door.call, "Groups", &query, &page))
}

/// A server may leave out searching all types at once (RFC 7644 §3.4.2.1), and says so (§3.12).
async fn search_all(door: Door) -> Response {
    let text = "search users or groups; both at once is not supported";
    door.answer(Err(ScimError::new(StatusCode::NOT_IMPLEMENTED, text))).await
}

async fn list_users(door: Door) -> Response {
    let outcome = async { users_of(&door, &query::sent(&door.query)?).await }.await;
    door.answer(outcome).await
}

async fn search_users(door: Door, request: Request) -> Response {
    let outcome = async { users_of(&door, &object(door.body(request).await?)).await }.await;
    door.answer(outcome).await
}

async fn create_user(door: Door, request: Request) -> Response {
    let outcome = async {
        let body = door.body(request).await?;
        let made = Box::pin(users::create(&door.call, &body)).await?;
        let projection = query::projection(&query::sent(&door.query)?)?;
        let shown = users::shown_new(&door.call, &made, &projection);
        Ok(door.one(StatusCode::CREATED, made.version, &shown))
    };
    let outcome = outcome.await;
    door.answer(outcome).await
}

async fn get_user(door: Door, Path((_, text)): Ids) -> Response {
    let outcome = async { user(&door, StatusCode::OK, users::find(&door.call, id(&text)?).await?).await };
    let outcome = outcome.await;
    door.answer(outcome).await
}

async fn replace_user(door: Door, Path((_, text)): Ids, request: Request) -> Response {
    let outcome = async {
        let body = door.body(request).await?;
        let changed = users::replace(&door.call, id(&text)?, &door.seen(), &body).await?;
        user(&door, StatusCode::OK, changed).await
    };
    let outcome = outcome.await;
    door.answer(outcome).await
}

async fn patch_user(door: Door, Path((_, text)): Ids, request: Request) -> Response {
    let outcome = async {
        let body = door.body(request).await?;
        let changed = users::patch(&door.call, id(&text)?, &door.seen(), &body).await?;
        user(&door, StatusCode::OK, changed).await
    };
    let outcome = outcome.await;
    door.answer(outcome).await
}

async fn delete_user(door: Door, Path((_, text)): Ids) -> Response {
    let outcome = async {
        Box::pin(users::delete(&door.call, id(&text)?, &door.seen())).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    };
    let outcome = outcome.await;
    door.answer(outcome).await
}

async fn list_groups(door: Door) -> Response {
    let outcome = async { groups_of(&door, &query::sent(&door.query)?).await }.await;
    door.answer(outcome).await
}

async fn search_groups(door: Door, request: Request) -> Response {
    let outcome = async { groups_of(&door, &object(door.body(request).await?)).await }.await;
    door.answer(outcome).await
}

async fn create_group(door: Door, request: Request) -> Response {
    let outcome = async {
        let body = door.body(request).await?;
        let made = Box::pin(groups::create(&door.call, &body)).await?;
        group(&door, StatusCode::CREATED, made).await
    };
    let outcome = outcome.await;
    door.answer(outcome).await
}

async fn get_group(door: Door, Path((_, text)): Ids) -> Response {
    let outcome = async { group(&door, StatusCode::OK, groups::find(&door.call, id(&text)?).await?).await };
    let outcome = outcome.await;
    door.answer(outcome).await
}

async fn replace_group(door: Door, Path((_, text)): Ids, request: Request) -> Response {
    let outcome = async {
        let body = door.body(request).await?;
        let changed = groups::replace(&door.call, id(&text)?, &door.seen(), &body).await?;
        group(&door, StatusCode::OK, changed).await
    };
    let outcome = outcome.await;
    door.answer(outcome).await
}

/// 204, unless attributes are asked for: a group may be large (RFC 7644 §3.5.2).
async fn patch_group(door: Door, Path((_, text)): Ids, request: Request) -> Response {
    let outcome = async {
        let body = door.body(request).await?;
        let changed = groups::patch(&door.call, id(&text)?, &door.seen(), &body).await?;
        let sent = query::sent(&door.query)?;
        if sent.contains_key("attributes") || sent.contains_key("excludedAttributes") {
            return group(&door, StatusCode::OK, changed).await;
        }
        let version = changed.version;
        Ok(door.one(StatusCode::NO_CONTENT, version, &Value::Null))
    };
    let outcome = outcome.await;
    door.answer(outcome).await
}

async fn delete_group(door: Door, Path((_, text)): Ids) -> Response {
    let outcome = async {
        Box::pin(groups::delete(&door.call, id(&text)?, &door.seen())).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    };
    let outcome = outcome.await;
    door.answer(outcome).await
}
