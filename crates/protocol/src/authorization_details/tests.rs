use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::json;

use super::{
    schema::{MAX_NODES, MAX_PATTERN, MAX_PATTERNS},
    *,
};

fn payment() -> Value {
    json!({
        "name": "payment_initiation",
        "schema": {
            "type": "object",
            "properties": {
                "actions": {"type": "array", "items": {"enum": ["initiate", "status", "cancel"]}},
                "amount": {"$ref": "#/$defs/amount"},
                "creditor": {"type": "string", "maxLength": 70},
                "until": {"type": "string", "format": "date-time"},
                "reference": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"},
                "debtor": {"type": "object"}
            },
            "required": ["actions", "amount"],
            "additionalProperties": false,
            "$defs": {"amount": {"type": "string", "pattern": "^[0-9]{1,9}\\.[0-9]{2}$"}}
        },
        "display": {"en": "Pay {amount} to {creditor}", "pt": "Pagar {amount} a {creditor}"},
        "narrowing": {"actions": "subset", "amount": "at_most", "until": "earlier"}
    })
}
fn read(registration: Value) -> DetailType {
    serde_json::from_value(registration).unwrap()
}
/// The registration with one value replaced.
fn changed(pointer: &str, value: Value) -> Result<(), DetailTypeError> {
    let mut registration = payment();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    registration.pointer_mut(parent).unwrap()[name] = value;
    read(registration).check()
}
fn schema_error(pointer: &str, value: Value) -> SchemaError {
    match changed(&format!("/schema{pointer}"), value) {
        Err(DetailTypeError::Schema(error)) => error,
        other => panic!("{pointer}: {other:?}"),
    }
}

#[test]
fn a_registration_keeps_its_form() {
    let kind = read(payment());
    assert_eq!(kind.check(), Ok(()));
    assert_eq!(serde_json::to_value(&kind).unwrap(), payment());
    assert!(!kind.irreversible, "unless the registration says so");
    let mut final_one = payment();
    final_one["irreversible"] = json!(true);
    let kind = read(final_one.clone());
    assert!(kind.irreversible && kind.check().is_ok());
    assert_eq!(serde_json::to_value(&kind).unwrap(), final_one);
    for (pointer, value) in
        [("/extra", json!(1)), ("/narrowing/amount", json!("less")), ("/display/fr", json!("a"))]
    {
        let mut registration = payment();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        registration.pointer_mut(parent).unwrap()[name] = value;
        assert!(serde_json::from_value::<DetailType>(registration).is_err(), "{pointer}");
    }
}

#[test]
fn names_templates_and_rules_are_checked() {
    for name in ["", "a b", "a\"", "é", "a\n", &"a".repeat(257)] {
        assert_eq!(changed("/name", json!(name)), Err(DetailTypeError::Name), "{name}");
    }
    assert!(changed("/name", json!("https://api.example.com/payment")).is_ok());
    let template = |error| Err(DetailTypeError::Template { language: "pt", error });
    for text in ["", "a\u{202e}b", "a\nb", &"a".repeat(261)] {
        assert_eq!(changed("/display/pt", json!(text)), template(TemplateError::Text), "{text}");
    }
    for text in ["{", "}", "{}", "{amount", "amount}", "{{amount}}", "{a.b}", "{a b}", "{amount}}"] {
        assert_eq!(changed("/display/pt", json!(text)), template(TemplateError::Braces), "{text}");
    }
    assert_eq!(changed("/display/pt", json!("{amount}".repeat(9))), template(TemplateError::TooMany));
    for text in ["{amonut}", "{type}"] {
        let name = text.trim_matches(['{', '}']).to_owned();
        assert_eq!(changed("/display/pt", json!(text)), template(TemplateError::Unknown(name)));
    }
    assert_eq!(
        changed("/narrowing/amonut", json!("at_most")),
        Err(DetailTypeError::Narrowing("amonut".into()))
    );
    assert_eq!(changed("/narrowing/type", json!("equal")), Err(DetailTypeError::NarrowingType));
}

#[test]
fn schemas_are_closed_objects_of_the_one_draft() {
    for (pointer, value, error) in [
        ("/type", json!("array"), SchemaError::NotAnObject),
        ("/type", json!(["object", "null"]), SchemaError::NotAnObject),
        ("/properties", json!([]), SchemaError::NotAnObject),
        ("/additionalProperties", json!(true), SchemaError::Open),
        ("/additionalProperties", json!({}), SchemaError::Open),
        ("/$schema", json!("http://json-schema.org/draft-07/schema#"), SchemaError::Draft),
        ("/properties/amount", json!({"$schema": "https://a.example"}), SchemaError::Draft),
        ("/description", json!("a".repeat(MAX_SCHEMA)), SchemaError::TooLong),
    ] {
        assert_eq!(schema_error(pointer, value), error, "{pointer}");
    }
    assert!(changed("/schema/$schema", json!("https://json-schema.org/draft/2020-12/schema")).is_ok());
    for (pointer, value) in [
        ("/properties/amount", json!({"type": "nothing"})),
        ("/properties/amount", json!({"minimum": "1"})),
        ("/properties/amount", json!({"pattern": "("})),
        // Requires backtracking.
        ("/properties/amount", json!({"pattern": r"^(a+)+\1$"})),
        ("/properties/amount", json!({"pattern": "^(?=a)"})),
        ("/properties/amount", json!({"pattern": "(a{1000}){1000}"})),
        ("/properties/amount", json!({"format": "dat"})),
        ("/required", json!("amount")),
    ] {
        assert!(matches!(schema_error(pointer, value.clone()), SchemaError::Invalid(_)), "{value}");
    }
}

#[test]
fn references_stay_inside_and_end() {
    for target in [
        "https://example.com/schema.json",
        "file:///etc/passwd",
        "other.json#/$defs/amount",
        "#",
        "#amount",
        "#/properties/creditor",
        "#/$defs/none",
        "#/$defs/amount/pattern",
        "#/$defs/%61mount",
    ] {
        assert_eq!(
            schema_error("/properties/amount", json!({"$ref": target})),
            SchemaError::Reference,
            "{target}"
        );
    }
    for keyword in ["$id", "$anchor", "$dynamicRef", "$dynamicAnchor"] {
        assert_eq!(schema_error("/properties/amount", json!({keyword: "x"})), SchemaError::Reference);
    }
    // As a property name it is not a keyword.
    assert!(changed("/schema/properties/$id", json!({"type": "string"})).is_ok());
    let around =
        json!({"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}, "amount": true});
    assert_eq!(schema_error("/$defs", around), SchemaError::Circular);
    assert_eq!(
        schema_error("/$defs/amount", json!({"items": {"$ref": "#/$defs/amount"}})),
        SchemaError::Circular
    );
    let doubling: Map<String, Value> = (0..20)
        .map(|level| {
            let next = json!({"$ref": format!("#/$defs/{}", if level == 19 { "amount".into() } else { format!("d{}", level + 1) })});
            (format!("d{level}"), json!({"allOf": [next, next]}))
        })
        .chain([("amount".to_owned(), json!(true))])
        .collect();
    assert_eq!(schema_error("/$defs", json!(doubling)), SchemaError::TooComplex);
    let deep = (0..40).fold(json!(true), |inner, _| json!({"not": inner}));
    assert_eq!(schema_error("/properties/amount", deep), SchemaError::TooComplex);
    let wide: Vec<Value> = (0..MAX_NODES).map(|_| json!(1)).collect();
    assert_eq!(schema_error("/properties/amount", json!({"enum": wide})), SchemaError::TooComplex);
}

/// The cost of a schema at the bounds, with the largest detail of a request. The limit is generous, for an
/// unoptimised build on a busy machine; unbounded growth still exceeds it.
#[test]
fn hostile_schemas_within_the_bounds_are_cheap() {
    let object = |properties: Value| json!({"type": "object", "properties": properties, "additionalProperties": false});
    let nest = |keyword: &str, closing: Value| {
        (0..14).fold(json!({"properties": {"items": true}}), |inner, _| {
            let mut outer = json!({keyword: [inner]});
            for (name, value) in closing.as_object().unwrap() {
                outer[name] = value.clone();
            }
            outer
        })
    };
    let mut unevaluated = nest("allOf", json!({"unevaluatedProperties": false}));
    unevaluated["type"] = json!("object");
    unevaluated["properties"] = json!({"items": true});
    let any: Vec<Value> = (0..450).map(|number| json!({"const": [number]})).collect();
    let patterns: Vec<Value> = (0..MAX_PATTERNS)
        .map(|number| json!({"pattern": format!("^(\\w{{1,6}}a?){{1,5}}{number}$")}))
        .collect();
    for (name, schema, items) in [
        ("unevaluated", unevaluated, json!(vec![1; 900])),
        (
            "unevaluated inside",
            object(json!({"items": nest("anyOf", json!({"unevaluatedItems": false}))})),
            json!(vec![1; 900]),
        ),
        (
            "alternatives",
            object(json!({"items": {"items": {"not": {"anyOf": any}}}})),
            json!(vec![json!([1]); 400]),
        ),
        ("unique", object(json!({"items": {"uniqueItems": true}})), json!((0..900).collect::<Vec<_>>())),
        (
            "contains",
            object(json!({"items": {"contains": {"const": 1}, "minContains": 0}})),
            json!(vec![1; 900]),
        ),
        (
            "patterns",
            object(json!({"items": {"items": {"not": {"anyOf": patterns}}}})),
            json!(vec!["aaaaaaaaaaaa"; 900]),
        ),
    ] {
        let started = std::time::Instant::now();
        let validator = DetailValidator::compile("payment", &schema).unwrap();
        let compiled = started.elapsed();
        let started = std::time::Instant::now();
        let _ = validator.validate(&json!({"type": "payment", "items": items}));
        let applied = started.elapsed();
        assert!(compiled.as_secs() < 20 && applied.as_secs() < 20, "{name}: {compiled:?}, {applied:?}");
    }
}

#[test]
fn patterns_are_few_and_short() {
    let many = |count: usize| {
        let any: Vec<Value> = (0..count).map(|index| json!({"pattern": format!("^{index}$")})).collect();
        json!({"anyOf": any})
    };
    // The registration has two patterns of its own, one of them expanded at a reference.
    assert!(changed("/schema/properties/debtor", many(MAX_PATTERNS - 3)).is_ok());
    assert_eq!(schema_error("/properties/debtor", many(MAX_PATTERNS)), SchemaError::Patterns);
    let names: Map<String, Value> =
        (0..=MAX_PATTERNS).map(|index| (format!("^{index}$"), json!(true))).collect();
    let named = json!({"patternProperties": names});
    assert_eq!(schema_error("/properties/debtor", named), SchemaError::Patterns);
    let long = json!({"pattern": "a".repeat(MAX_PATTERN + 1)});
    assert_eq!(schema_error("/properties/debtor", long), SchemaError::Patterns);
}

fn validated(kind: &DetailType, detail: &Value) -> Result<(), String> {
    kind.validator().unwrap().validate(detail)
}

fn detail() -> Value {
    json!({"type": "payment_initiation", "actions": ["initiate"], "amount": "10.00"})
}

#[test]
fn details_are_held_against_their_schema() {
    let kind = read(payment());
    assert_eq!(validated(&kind, &detail()), Ok(()));
    for (member, value, reason) in [
        ("type", json!("other"), "type payment_initiation"),
        ("type", json!(1), "type payment_initiation"),
        ("amount", json!("10"), "/amount"),
        ("amount", json!(10), "/amount"),
        ("actions", json!(["erase-everything"]), "/actions/0"),
        ("actions", json!([]), ""),
        ("until", json!("tomorrow"), "/until"),
        ("until", json!("2026-03-01T12:00:00Z"), ""),
        ("reference", json!("B2"), "/reference"),
        ("locations", json!(["https://a.example"]), "locations"),
        ("\u{202e}\"\\", json!(1), "Additional"),
        ("creditor", json!("a\u{0}"), "control"),
    ] {
        let mut detail = detail();
        detail[member] = value.clone();
        match validated(&kind, &detail) {
            Ok(()) => assert_eq!(reason, "", "{member}"),
            Err(text) => {
                assert!(!reason.is_empty() && text.contains(reason), "{member} {value}: {text}");
                assert!(
                    text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\')
                );
                assert!(!text.contains("erase-everything") && !text.contains("tomorrow"), "{text}");
            }
        }
    }
    for not_one in [json!(null), json!([]), json!("payment_initiation"), json!({})] {
        assert!(validated(&kind, &not_one).is_err());
    }
}

#[test]
fn type_may_be_named_by_the_schema_or_not() {
    for (pointer, value) in [
        ("/schema/properties/type", json!({"const": "payment_initiation"})),
        ("/schema/required", json!(["type", "amount"])),
        ("/schema/minProperties", json!(3)),
    ] {
        let mut registration = payment();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        registration.pointer_mut(parent).unwrap()[name] = value;
        let kind = read(registration);
        assert_eq!((kind.check(), validated(&kind, &detail())), (Ok(()), Ok(())), "{pointer}");
    }
    let mut unevaluated = payment();
    unevaluated["schema"].as_object_mut().unwrap().remove("additionalProperties");
    unevaluated["schema"]["unevaluatedProperties"] = json!(false);
    unevaluated["schema"]["allOf"] = json!([{"properties": {"identifier": {"type": "string"}}}]);
    let kind = read(unevaluated);
    let mut detail = detail();
    detail["identifier"] = json!("a");
    assert_eq!((kind.check(), validated(&kind, &detail)), (Ok(()), Ok(())));
    detail["other"] = json!("a");
    assert!(validated(&kind, &detail).is_err());
}

#[test]
fn an_unchecked_registration_validates_nothing() {
    let mut registration = payment();
    registration["schema"] = json!(true);
    assert!(read(registration).validator().is_err());
}

static VALIDATOR: LazyLock<DetailValidator> = LazyLock::new(|| read(payment()).validator().unwrap());

proptest! {
    #[test]
    fn no_unknown_member_passes(name in "[a-z]{1,12}") {
        let known = ["type", "actions", "amount", "creditor", "until", "reference", "debtor"];
        prop_assume!(!known.contains(&name.as_str()));
        let mut detail = detail();
        detail[&name] = json!(1);
        prop_assert!(VALIDATOR.validate(&detail).is_err());
    }
}
