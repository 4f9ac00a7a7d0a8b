//! What the server can do (RFC 7644 §4).

use axum::{extract::Path, http::StatusCode, response::Response};
use porteiro_protocol::scim::{
    Schema,
    schema::{ALL, ENTERPRISE, GROUPS, USERS},
};
use serde_json::{Value, json};

use super::{
    super::{
        PERMISSION,
        listing::{DEFAULT_COUNT, MAX_COUNT},
        not_found,
    },
    door::{Door, document},
};
use crate::http::{Access, Route, ScimError};

const ACCESS: Access = Access::Provisioning(PERMISSION);

pub(super) fn routes() -> Vec<Route> {
    let get = [
        Route::get("/scim/v2/{organization}/ServiceProviderConfig", ACCESS, config),
        Route::get("/scim/v2/{organization}/ResourceTypes", ACCESS, resource_types),
        Route::get("/scim/v2/{organization}/ResourceTypes/{id}", ACCESS, resource_type),
        Route::get("/scim/v2/{organization}/Schemas", ACCESS, schemas),
        Route::get("/scim/v2/{organization}/Schemas/{id}", ACCESS, schema),
    ];
    get.into_iter().map(|route| route.standard("RFC 7644")).collect()
}

async fn config(door: Door) -> Response {
    let location = format!("{}/ServiceProviderConfig", door.call.base());
    let scheme = |kind: &str, name: &str, description: &str| json!({"type": kind, "name": name, "description": description});
    let config = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
        "patch": {"supported": true},
        "bulk": {"supported": false, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": true, "maxResults": MAX_COUNT},
        "changePassword": {"supported": false},
        "sort": {"supported": false},
        "etag": {"supported": true},
        "pagination": {
            "cursor": true,
            "index": true,
            "defaultPaginationMethod": "index",
            "defaultPageSize": DEFAULT_COUNT,
            "maxPageSize": MAX_COUNT,
        },
        "authenticationSchemes": [
            scheme("oauthbearertoken", "API key", "An API key of the organization with the permission scim:provision"),
            scheme("oauth2", "OAuth 2", "An access token by client credentials, with the scope scim:provision"),
        ],
        "meta": {"resourceType": "ServiceProviderConfig", "location": location},
    });
    door.answer(Ok(document(StatusCode::OK, &config))).await
}

fn list(resources: &[Value]) -> Response {
    document(
        StatusCode::OK,
        &json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
            "totalResults": resources.len(),
            "startIndex": 1,
            "itemsPerPage": resources.len(),
            "Resources": resources,
        }),
    )
}

/// RFC 7644 §4: a filter of these documents is refused, so that a client does not take them for what it asked.
fn unfiltered(door: &Door) -> Result<(), ScimError> {
    if door.query.split('&').any(|pair| pair.starts_with("filter=")) {
        return Err(ScimError::new(StatusCode::FORBIDDEN, "these resources cannot be filtered"));
    }
    Ok(())
}

fn type_of(base: &str, schema: &Schema) -> Value {
    let plural = format!("{}s", schema.name);
    let mut document = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
        "id": schema.name,
        "name": schema.name,
        "endpoint": format!("/{plural}"),
        "description": schema.description,
        "schema": schema.id,
        "meta": {"resourceType": "ResourceType", "location": format!("{base}/ResourceTypes/{}", schema.name)},
    });
    if !schema.extensions.is_empty() {
        document["schemaExtensions"] = json!([{"schema": ENTERPRISE, "required": false}]);
    }
    document
}

async fn resource_types(door: Door) -> Response {
    let base = door.call.base();
    let outcome = unfiltered(&door).map(|()| list(&[type_of(&base, &USERS), type_of(&base, &GROUPS)]));
    door.answer(outcome).await
}

async fn resource_type(door: Door, Path((_, id)): Path<(String, String)>) -> Response {
    let base = door.call.base();
    let found = [USERS, GROUPS].into_iter().find(|schema| schema.name == id);
    let found = found.map(|schema| document(StatusCode::OK, &type_of(&base, &schema)));
    door.answer(found.ok_or_else(not_found)).await
}

fn shown(base: &str, schema: &Schema) -> Value {
    let mut document = schema.document();
    let location = format!("{base}/Schemas/{}", schema.id);
    document["meta"] = json!({"resourceType": "Schema", "location": location});
    document
}

async fn schemas(door: Door) -> Response {
    let base = door.call.base();
    let all: Vec<Value> = ALL.iter().map(|schema| shown(&base, schema)).collect();
    let outcome = unfiltered(&door).map(|()| list(&all));
    door.answer(outcome).await
}

async fn schema(door: Door, Path((_, id)): Path<(String, String)>) -> Response {
    let base = door.call.base();
    let found = ALL.iter().find(|schema| schema.id.eq_ignore_ascii_case(&id));
    let found = found.map(|schema| document(StatusCode::OK, &shown(&base, schema)));
    door.answer(found.ok_or_else(not_found)).await
}
