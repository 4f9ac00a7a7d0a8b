//! OpenAPI 3.1 of the management API, from the route table and the Rust types. What all operations share (access,
//! versions, idempotency keys, limits) is derived from the route and not repeated there.

mod refusals;

use std::collections::BTreeMap;

use axum::http::Method;
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::list;
use crate::http::{Access, Given, Operation, Parameter, ProblemCode, REASON, Route, Shape, Taken};
use refusals::refusals;

const SCHEMAS: &str = "#/components/schemas/";

/// The document of all routes with an operation or a description.
pub fn document<A>(routes: &[Route<A>]) -> Value {
    let mut writer = Writer::new();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in routes {
        if let Some(operation) = route.documented() {
            let method = route.method.as_str().to_ascii_lowercase();
            paths.entry(route.path).or_default().insert(method, writer.operation(route, operation));
        }
    }
    let paths: Map<String, Value> =
        paths.into_iter().map(|(path, methods)| (path.to_owned(), methods.into())).collect();
    let mut paths = Value::Object(paths);
    let schemas = writer.schemas(&mut paths);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Porteiro management API",
            "version": "1",
            "description": "docs/management-api.md describes what all operations have in common.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "api_key": {"type": "http", "scheme": "bearer", "description": "An API key: pt_key_…"},
                "access_token": {
                    "type": "openIdConnect",
                    "openIdConnectUrl": "/.well-known/openid-configuration",
                    "description": "An access token for this service, with the permission as a scope.",
                },
                "session": {"type": "apiKey", "in": "cookie", "name": "__Host-session"},
                "flow": {"type": "apiKey", "in": "cookie", "name": "__Host-bind"},
                "flow_token": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": "`Flow` and the `auth_session` of the last answer, for apps.",
                },
            },
        },
    })
}

struct Writer {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Writer {
    fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            requests: settings().for_deserialize().into_generator(),
            answers: settings().for_serialize().into_generator(),
        }
    }

    fn operation<A>(&mut self, route: &Route<A>, operation: &Operation) -> Value {
        let mut parameters: Vec<Value> = path_parameters(route.path).collect();
        parameters.extend(operation.query.iter().map(query_parameter));
        if operation.is_list() {
            parameters.push(
                json!({"name": "limit", "in": "query", "description": "Maximum number of items.",
                "schema": {"type": "integer", "minimum": 1, "maximum": list::MAX_LIMIT,
                    "default": list::DEFAULT_LIMIT}}),
            );
            parameters.push(json!({"name": "cursor", "in": "query", "schema": {"type": "string"},
                "description": "`next_cursor` of the previous page, with the same filters."}));
        }
        parameters.extend(headers(route, operation));
        let mut described = json!({
            "operationId": operation.id,
            "summary": operation.summary,
            "tags": [operation.id.split('.').next().unwrap_or_default()],
            "parameters": parameters,
            "responses": self.responses(route, operation),
            "security": security(route),
        });
        if let Access::Organization(permission) | Access::Platform(permission) = route.access {
            described["x-permission"] = permission.into();
        }
        if let Some(body) = self.body(operation) {
            described["requestBody"] = body;
        }
        described
    }

    fn body(&mut self, operation: &Operation) -> Option<Value> {
        let (mut schema, types) = match operation.takes {
            Taken::Nothing => return None,
            Taken::Json(of) => (of(&mut self.requests).to_value(), &["application/json"][..]),
            Taken::MergePatch(of) => {
                (of(&mut self.requests).to_value(), &["application/merge-patch+json", "application/json"][..])
            }
            // OpenAPI 3.1: binary content has an empty schema.
            Taken::Media(types) => (json!({}), types),
        };
        if let (Taken::MergePatch(_), Some(schema)) = (operation.takes, schema.as_object_mut()) {
            // Members that are not sent stay unchanged.
            schema.remove("required");
        }
        let mut one = json!({"schema": schema});
        if let Some(example) = &operation.example {
            one["example"] = example.clone();
        }
        let content: Map<String, Value> =
            types.iter().map(|media| ((*media).to_owned(), one.clone())).collect();
        Some(json!({"required": true, "content": content}))
    }

    fn responses<A>(&mut self, route: &Route<A>, operation: &Operation) -> Value {
        let mut responses = Map::new();
        let mut done = json!({"description": "Done."});
        let schema = match operation.gives {
            Given::Nothing | Given::Media(_) => None,
            Given::Json(of) => Some(of(&mut self.answers).to_value()),
            Given::List(of) => Some(json!({
                "type": "object",
                "required": ["items", "next_cursor"],
                "properties": {
                    "items": {"type": "array", "items": of(&mut self.answers).to_value()},
                    "next_cursor": {"type": ["string", "null"]},
                },
            })),
        };
        if let Some(schema) = schema {
            let mut content = Map::from_iter([("application/json".to_owned(), json!({"schema": schema}))]);
            content.extend(operation.also_as.iter().map(|media| ((*media).to_owned(), json!({}))));
            done["content"] = content.into();
        }
        if let Given::Media(types) = operation.gives {
            done["content"] = types
                .iter()
                .map(|media| ((*media).to_owned(), json!({})))
                .collect::<Map<String, Value>>()
                .into();
        }
        let mut told = Map::new();
        if operation.versioned && !matches!(operation.gives, Given::Nothing) {
            told.insert(
                "ETag".into(),
                json!({"schema": {"type": "string"}, "description": "The version of the resource."}),
            );
        }
        if operation.creates {
            told.insert("Location".into(), json!({"schema": {"type": "string"}}));
        }
        if operation.is_list() {
            told.insert(
                "Link".into(),
                json!({"schema": {"type": "string"}, "description": "The next page (RFC 8288)."}),
            );
        }
        if !told.is_empty() {
            done["headers"] = told.into();
        }
        responses.insert(operation.status.as_u16().to_string(), done);
        if answers_minimally(route, operation) {
            responses.insert(
                "204".to_owned(),
                json!({"description": "Done; the request had `Prefer: return=minimal`."}),
            );
        }
        for (status, codes) in refusals(route, operation) {
            responses.insert(status.to_string(), refusal(route, &codes));
        }
        Value::Object(responses)
    }

    /// All named schemas. If a type's input differs from its output, the input schema is named `…Input`.
    fn schemas(mut self, paths: &mut Value) -> Value {
        let mut all = self.answers.take_definitions(true);
        for schema in all.values_mut() {
            // Clients must tolerate unknown members.
            open(schema);
        }
        let mut requests = self.requests.take_definitions(true);
        let clashing: Vec<String> = requests
            .iter()
            .filter(|(name, schema)| all.get(*name).is_some_and(|other| other != *schema))
            .map(|(name, _)| name.clone())
            .collect();
        for schema in requests.values_mut() {
            rename(schema, &clashing);
        }
        if let Value::Object(paths) = paths {
            let operations = paths.values_mut().filter_map(Value::as_object_mut).flat_map(Map::values_mut);
            for body in operations.filter_map(|operation| operation.get_mut("requestBody")) {
                rename(body, &clashing);
            }
        }
        for (name, schema) in requests {
            let name = if clashing.contains(&name) { format!("{name}Input") } else { name };
            all.insert(name, schema);
        }
        let codes: Vec<&str> = ProblemCode::ALL.iter().map(|code| code.as_str()).collect();
        all.insert(
            "Problem".into(),
            json!({
                "type": "object",
                "description": "RFC 9457.",
                "required": ["type", "title", "status", "code"],
                "properties": {
                    "type": {"type": "string"},
                    "title": {"type": "string"},
                    "status": {"type": "integer"},
                    "detail": {"type": "string"},
                    "instance": {"type": "string"},
                    "code": {"enum": codes},
                },
            }),
        );
        all.insert(
            "OAuthError".into(),
            json!({
                "type": "object",
                "description": "RFC 6750: an error of the access token.",
                "required": ["error"],
                "properties": {"error": {"type": "string"}, "error_description": {"type": "string"}},
            }),
        );
        all.sort_keys();
        Value::Object(all)
    }
}

fn open(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("additionalProperties") == Some(&Value::Bool(false)) {
                members.remove("additionalProperties");
            }
            members.values_mut().for_each(open);
        }
        Value::Array(items) => items.iter_mut().for_each(open),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn rename(schema: &mut Value, names: &[String]) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(reference) if name == "$ref" => {
                        let target = reference.strip_prefix(SCHEMAS).unwrap_or_default();
                        if names.iter().any(|name| name == target) {
                            reference.push_str("Input");
                        }
                    }
                    other => rename(other, names),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn path_parameters(path: &'static str) -> impl Iterator<Item = Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
}

fn query_parameter(parameter: &Parameter) -> Value {
    let schema = match parameter.shape {
        Shape::Text => json!({"type": "string", "minLength": 1}),
        Shape::Time => json!({"type": "string", "format": "date-time"}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Choice(values) => json!({"type": "string", "enum": values}),
    };
    json!({"name": parameter.name, "in": "query", "description": parameter.meaning, "schema": schema})
}

fn headers<A>(route: &Route<A>, operation: &Operation) -> Vec<Value> {
    let header = |name: &str, required: bool, schema: Value, meaning: &str| json!({"name": name, "in": "header", "required": required, "schema": schema, "description": meaning});
    let mut headers = Vec::new();
    if operation.needs_version(&route.method) {
        headers.push(header(
            "If-Match",
            true,
            json!({"type": "string"}),
            "The ETag of the version that was read.",
        ));
    }
    if operation.creates {
        let schema = json!({"type": "string", "pattern": "^[!-~]{1,255}$"});
        headers.push(header(
            "Idempotency-Key",
            false,
            schema,
            "Requests with the same key create one resource; the key is kept for 24 hours.",
        ));
    }
    if answers_minimally(route, operation) {
        let schema = json!({"type": "string", "enum": ["return=minimal", "return=representation"]});
        headers.push(header(
            "Prefer",
            false,
            schema,
            "`return=minimal`: answer 204 without the resource (RFC 7240).",
        ));
    }
    if matches!(route.access, Access::Organization(_) | Access::Platform("organizations:administer")) {
        let schema = json!({"type": "string", "pattern": "^[!-~][ -~]{0,498}[!-~]$"});
        let meaning = "Why a platform administrator acts in the organization; required of platform administrators, and visible to the organization.";
        headers.push(header(REASON, false, schema, meaning));
    }
    headers
}

/// Whether `Prefer: return=minimal` has an effect: at operations that change something and return it.
fn answers_minimally<A>(route: &Route<A>, operation: &Operation) -> bool {
    route.operation.is_some() && route.method != Method::GET && operation.status.as_u16() != 204
}

fn security<A>(route: &Route<A>) -> Value {
    match route.access {
        Access::Organization(permission) => {
            let mut ways = vec![json!({"api_key": []}), json!({"access_token": [permission]})];
            if route.method == Method::GET {
                ways.push(json!({"session": []}));
            }
            ways.into()
        }
        Access::Platform(permission) | Access::Provisioning(permission) => {
            json!([{"api_key": []}, {"access_token": [permission]}])
        }
        Access::Session => json!([{"session": []}, {"access_token": ["account"]}]),
        Access::FlowOwner => json!([{"flow": []}, {"flow_token": []}]),
        Access::Public(_) | Access::Client | Access::RegistrationToken | Access::Token(_) => json!([]),
    }
}

fn refusal<A>(route: &Route<A>, codes: &[ProblemCode]) -> Value {
    let named: Vec<String> = codes.iter().map(|code| format!("`{}`", code.as_str())).collect();
    let mut content = json!({"application/problem+json": {"schema": {"$ref": format!("{SCHEMAS}Problem")}}});
    if route.access == Access::Session {
        content["application/json"] = json!({"schema": {"$ref": format!("{SCHEMAS}OAuthError")}});
    }
    json!({"description": named.join(", "), "content": content})
}
