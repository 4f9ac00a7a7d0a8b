//! Filters, paths and bodies that nobody sends.

use http::Method;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::driver::{ENTERPRISE, PATCH};

const USER: &str = "urn:ietf:params:scim:schemas:core:2.0:User";

fn word() -> impl Strategy<Value = String> {
    let words = [
        "userName",
        "emails",
        "value",
        "type",
        "active",
        "members",
        "name.givenName",
        "externalId",
        "id",
        "meta",
        "displayName",
        "eq",
        "ne",
        "co",
        "sw",
        "ew",
        "pr",
        "gt",
        "ge",
        "lt",
        "le",
        "and",
        "or",
        "not",
        "(",
        ")",
        "[",
        "]",
        ".value",
        "\"ana\"",
        "\"\\u0041\"",
        "\"",
        "\\",
        "true",
        "false",
        "null",
        "-1",
        "1e9",
        "$ref",
        "urn:x:y",
        "á",
        "%00",
        "groups",
        "manager",
    ];
    prop_oneof![
        8 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => Just(format!("{ENTERPRISE}:manager.value")),
        1 => "[ -~]{0,12}",
        1 => "\\PC{0,6}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::collection::vec(word(), 0..12).prop_map(|words| words.join(" ")),
        2 => prop::collection::vec(word(), 0..6).prop_map(|words| words.concat()),
        1 => (1..300_usize).prop_map(|depth| "(".repeat(depth)),
        1 => (1..80_usize).prop_map(|terms| vec!["title pr"; terms].join(" or ")),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        text().prop_map(Value::from),
        "\\PC{0,40}".prop_map(Value::from),
        Just(json!("False")),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn operations() -> impl Strategy<Value = Value> {
    let op = proptest::sample::select(vec!["add", "Replace", "REMOVE", "copy", ""]);
    let operation =
        (op, prop::option::of(text()), prop::option::of(value())).prop_map(|(op, path, value)| {
            let mut operation = json!({"op": op});
            if let Some(path) = path {
                operation["path"] = path.into();
            }
            if let Some(value) = value {
                operation["value"] = value;
            }
            operation
        });
    prop::collection::vec(operation, 0..4).prop_map(|list| json!({"schemas": [PATCH], "Operations": list}))
}

/// What the parsers are given.
#[derive(Debug)]
pub(super) enum Input {
    Filter(String),
    Path(String),
    Patch(Value),
    Whole(Value),
}

pub(super) fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        3 => text().prop_map(Input::Filter),
        2 => text().prop_map(Input::Path),
        4 => operations().prop_map(Input::Patch),
        4 => resource().prop_map(Input::Whole),
    ]
}

/// A body that is likely to be one of a user or a group.
fn resource() -> impl Strategy<Value = Value> {
    let names =
        vec!["userName", "displayName", "emails", "active", "members", "name", "roles", ENTERPRISE, USER];
    let member = (proptest::sample::select(names).prop_map(str::to_owned), value());
    let other = (word(), value());
    prop::collection::vec(prop_oneof![member, other], 0..6)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

/// A method, a path below the organization, and a body.
pub(super) fn request() -> impl Strategy<Value = (Method, String, Option<Value>)> {
    let encoded = |text: String| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let resource = || proptest::sample::select(vec!["Users", "Groups"]);
    prop_oneof![
        3 => (resource(), text()).prop_map(move |(resource, filter)| {
            (Method::GET, format!("{resource}?filter={}", encoded(filter)), None)
        }),
        1 => (resource(), text(), text()).prop_map(move |(resource, name, text)| {
            (Method::GET, format!("{resource}?{}={}", encoded(name), encoded(text)), None)
        }),
        1 => (resource(), proptest::sample::select(vec!["startIndex", "count", "cursor", "attributes",
            "excludedAttributes"]), text()).prop_map(move |(resource, name, text)| {
            (Method::GET, format!("{resource}?{name}={}", encoded(text)), None)
        }),
        4 => (resource(), operations()).prop_map(|(resource, body)| (Method::PATCH, format!("{resource}/ID"), Some(body))),
        2 => (resource(), value()).prop_map(|(resource, body)| (Method::PUT, format!("{resource}/ID"), Some(body))),
        2 => (resource(), value()).prop_map(|(resource, body)| (Method::POST, resource.to_owned(), Some(body))),
        1 => (resource(), value()).prop_map(|(resource, body)| {
            (Method::POST, format!("{resource}/.search"), Some(body))
        }),
        1 => (resource(), text()).prop_map(move |(resource, id)| {
            (Method::GET, format!("{resource}/{}", encoded(id)), None)
        }),
    ]
}
