//! Every shape in which a directory may say that somebody is not active any more is understood or refused.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    Invalid,
    apply::apply_all,
    patch::operations,
    resource::{Resource, normal},
    schema::{ENTERPRISE, USER, USERS},
};

fn active() -> Resource {
    Resource::from_iter([("userName".to_owned(), json!("ana")), ("active".to_owned(), json!(true))])
}

fn apply(resource: &mut Resource, body: &Value) -> Result<(), Invalid> {
    let operations = operations(&USERS, body)?;
    apply_all(&USERS, resource, &operations.iter().collect::<Vec<_>>(), 65_536)
}

fn patched(body: &Value) -> Result<Resource, Invalid> {
    let mut resource = active();
    apply(&mut resource, body)?;
    Ok(resource)
}

fn patched_by(operation: &Value) -> Result<Resource, Invalid> {
    patched(&json!({"Operations": [operation]}))
}

#[test]
fn active_is_understood_in_every_shape_that_says_it() {
    let core = format!("{USER}:active");
    for value in [
        json!(false),
        json!("False"),
        json!("FALSE"),
        json!([false]),
        json!({"value": false}),
        json!([{"$ref": null, "value": "False"}]),
    ] {
        for operation in [
            json!({"op": "replace", "value": {"active": value}}),
            json!({"op": "Replace", "path": "active", "value": value}),
            json!({"op": "add", "path": "ACTIVE", "value": value}),
            json!({"op": "Add", "path": core, "value": value}),
            json!({"op": "replace", "value": {(core.as_str()): value}}),
            json!({"op": "replace", "value": {USER: {"active": value}}}),
            json!({"op": "replace", "path": USER, "value": {"Active": value}}),
            json!({"op": "replace", "path": USER.to_lowercase(), "value": {"Active": value}}),
            json!({"OP": "REPLACE", "PATH": "", "VALUE": {"Active": value, "shoe": 42}}),
        ] {
            let after = patched_by(&operation).unwrap_or_else(|error| panic!("{operation}: {error}"));
            assert_eq!(after["active"], json!(false), "{operation}");
        }
    }
}

#[test]
fn what_may_mean_active_and_is_not_understood_is_refused() {
    for operation in [
        json!({"op": "replace", "path": "active", "value": "no"}),
        json!({"op": "replace", "path": "active", "value": " false"}),
        json!({"op": "replace", "path": "active", "value": null}),
        json!({"op": "replace", "path": "active", "value": []}),
        json!({"op": "replace", "path": "active", "value": [null]}),
        json!({"op": "replace", "path": "active", "value": {"value": null}}),
        json!({"op": "replace", "path": "active", "value": {"value": true, "Value": false}}),
        json!({"op": "replace", "path": "active"}),
        json!({"op": "remove", "path": "active"}),
        json!({"op": "remove", "path": USER}),
        json!({"op": "replace", "path": USER, "value": false}),
        json!({"op": "replace", "value": {"active": 0}}),
        json!({"op": "replace", "value": {"active": null}}),
        json!({"op": "replace", "value": {"active": true, "Active": false}}),
        json!({"op": "replace", "value": {"active.value": false}}),
        json!({"op": "replace", "value": {"/active": false}}),
        json!({"op": "replace", "value": {ENTERPRISE: {"active": false}}}),
        json!({"op": "replace", "value": {"urn:unknown": {"active": false}}}),
        json!({"op": "replace", "value": false}),
        json!({"op": "replace", "value": [{"active": false}]}),
        json!({"op": "remove", "value": {"active": false}}),
        json!({"op": "replace", "path": "active.value", "value": false}),
        json!({"op": "replace", "path": "/active", "value": false}),
        json!({"op": "replace", "path": "$.active", "value": false}),
        json!({"op": "replace", "path": "active[value eq true]", "value": false}),
        json!({"op": "replace", "path": "actve", "value": false}),
        json!({"op": "replace", "path": "urn:scim:schemas:core:1.0:active", "value": false}),
        json!({"op": "replace", "path": "urn:ietf:params:scim:schemas:core:2.0:Users:active", "value": false}),
        json!({"op": "replace", "path": format!("{ENTERPRISE}:active"), "value": false}),
        json!({"op": "disable", "path": "active", "value": false}),
    ] {
        assert!(patched_by(&operation).is_err(), "{operation}");
    }
}

fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::select(texts).prop_map(str::to_owned)
}

/// `active`, spelt and decorated in some way.
fn name() -> impl Strategy<Value = String> {
    let letters = prop::collection::vec(any::<bool>(), 6);
    let before = one_of(&["", "", " ", "/", "$.", "user.", "urn:unknown:2.0:User:", "URN:X:"]);
    let before = prop_oneof![before, Just(format!("{USER}:")), Just(format!("{ENTERPRISE}:"))];
    (before, letters, one_of(&["", "", " ", ".value", "[value eq true]", ".", "\u{200b}"])).prop_map(
        |(before, capitals, after)| {
            let spelt = "active".chars().zip(capitals);
            let spelt = spelt.map(|(letter, big)| if big { letter.to_ascii_uppercase() } else { letter });
            format!("{before}{}{after}", spelt.collect::<String>())
        },
    )
}

fn is_false() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![Just(json!(false)), Just(json!("false")), Just(json!("False"))];
    plain.prop_flat_map(|value| {
        let inner = value.clone();
        prop_oneof![
            Just(value.clone()),
            Just(json!([value])),
            Just(json!({"value": inner})),
            Just(json!([{"$ref": null, "Value": value}]))
        ]
    })
}

/// A PATCH operation (`true`), or a whole resource.
fn request() -> impl Strategy<Value = (bool, Value)> {
    let container = prop_oneof![
        Just(USER.to_owned()),
        Just(ENTERPRISE.to_owned()),
        Just("urn:x:y".to_owned()),
        Just("user".to_owned()),
        Just(USER.to_uppercase())
    ];
    (name(), is_false(), container, 0..6).prop_map(|(name, value, container, form)| match form {
        0 => (true, json!({"op": "replace", "path": name, "value": value})),
        1 => (true, json!({"op": "Add", "value": {name: value, "title": "x"}})),
        2 => (true, json!({"op": "replace", "value": {container: {name: value}, "title": "x"}})),
        3 => (true, json!({"op": "replace", "path": container, "value": {name: value}})),
        4 => (false, json!({"userName": "ana", name: value})),
        _ => (false, json!({"userName": "ana", container: {name: value}})),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// Never accepted and ignored.
    #[test]
    fn whoever_is_said_to_be_inactive_is_inactive_or_the_request_is_refused((patch, sent) in request()) {
        let after = match (patch, &sent) {
            (true, operation) => patched_by(operation),
            (false, Value::Object(whole)) => normal(&USERS, whole),
            (false, _) => unreachable!("a whole resource is an object"),
        };
        if let Ok(after) = after {
            prop_assert_eq!(&after["active"], &json!(false), "{}", sent);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever happens, the result is in its normal form, and doing it again changes nothing where it replaces.
    #[test]
    fn a_replacement_is_idempotent_and_its_result_normal(
        path in "(active|userName|name\\.givenName|emails|emails\\[type eq \"work\"\\]\\.value|title)",
        value in prop_oneof![Just(json!(true)), Just(json!("False")), Just(json!("x")), Just(json!([])),
                             Just(json!({"value": "y", "type": "work"})), Just(json!(null))],
    ) {
        let body = json!({"Operations": [{"op": "replace", "path": path, "value": value}]});
        if let Ok(once) = patched(&body) {
            let mut twice = once.clone();
            apply(&mut twice, &body).unwrap();
            prop_assert_eq!(&twice, &once);
            prop_assert_eq!(normal(&USERS, &once), Ok(once));
        }
    }
}

/// Filters in paths are work for each value; this much is the most that a request may cause.
#[test]
fn the_work_of_a_request_is_bounded() {
    let values = |count: usize| vec![json!({"value": "É".repeat(100)}); count];
    let large = json!([{"op": "replace", "path": "emails", "value": values(200)},
                       {"op": "replace", "path": "ims", "value": values(200)},
                       {"op": "remove", "path": "emails"}, {"op": "remove", "path": "ims"}]);
    assert!(patched(&json!({"Operations": large})).is_err(), "too large in between");
    let many = json!({"op": "remove", "path": "emails", "value": values(200)});
    assert!(patched(&json!({"Operations": vec![&many; 10]})).is_ok());
    assert!(patched(&json!({"Operations": vec![&many; 11]})).is_err(), "too many values");
}
