//! Filters, paths and bodies that nobody sends: never a 500, and never a list of everybody.
//!
//! `PORTEIRO_TEST_SCIM_FUZZ=500000` sends as many requests.

use http::Method;
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Value, json};

use super::driver::{Directory, ENTERPRISE, PATCH, directory};

const SHORT: u32 = 400;

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

/// A method, a path below the organization, and a body.
fn request() -> impl Strategy<Value = (Method, String, Option<Value>)> {
    let encoded = |text: String| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let resource = || proptest::sample::select(vec!["Users", "Groups"]);
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
    let operations = prop::collection::vec(operation, 0..4);
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
        4 => (resource(), operations).prop_map(|(resource, operations)| {
            let body = json!({"schemas": [PATCH], "Operations": operations});
            (Method::PATCH, format!("{resource}/ID"), Some(body))
        }),
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

async fn round(directory: &Directory, runner: &mut TestRunner, requests: u32) {
    let (user, group) = (directory.user("ana").await, directory.group("Sales", &[]).await);
    let strategy = request();
    for number in 0..requests {
        let (method, path, body) = strategy.new_tree(runner).unwrap().current();
        let id = if path.starts_with("Users") { &user } else { &group };
        let path = path.replace("ID", id);
        if number % 50 == 0 {
            directory.app.forget_limits().await;
        }
        let answer = directory.send(method.clone(), &path, body.as_ref(), &[]).await;
        assert!(!answer.status.is_server_error(), "{method} {path} {body:?}: {}", answer.text());
        let told = answer.text();
        assert!(!told.contains("secret") && !told.contains("SELECT"), "{told}");
    }
}

fn asked() -> Option<u32> {
    porteiro_testkit::variable("PORTEIRO_TEST_SCIM_FUZZ")?.parse().ok()
}

#[tokio::test]
async fn nothing_a_directory_sends_is_an_internal_error() {
    let requests = asked().unwrap_or(SHORT);
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let directory = directory().await;
    round(&directory, &mut runner, requests).await;
    // Everybody who was made has a name, and nobody is left without one.
    let nameless = "SELECT count(*) FROM membership WHERE user_name IS NULL";
    assert_eq!(directory.app.count(nameless).await, 0);
}
