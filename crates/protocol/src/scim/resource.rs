//! The normal form of a resource: names as the schema spells them, values of the schema's types, nothing else.
//!
//! Understood besides the standard: `"True"` for a boolean; one object, or a bare value, for an array of one; an array of
//! one, or `{"value": …}`, for a single value (older versions of Entra's provisioning service); null for an absent value.
//! Attributes may stand in an object under the name of their schema, or have its name before their own. Unknown attributes
//! are left out, and so are read-only ones (RFC 7644 §3.3, §3.5.1), but for what [`super::names`] refuses.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    Attribute, Invalid, Kind, Schema,
    names::{Target, left_out, member, unambiguous},
    schema::{self},
};

/// The longest value, in bytes.
pub const LONGEST_VALUE: usize = 16_384;
/// The largest number of values of an attribute, except members of groups.
pub const MOST_VALUES: usize = 200;

pub type Resource = Map<String, Value>;

/// An attribute that a whole resource names, the extension it belongs to, and its value.
pub type Given<'a> = (&'static Attribute, Option<&'static Schema>, &'a Value);

/// The attributes that a whole resource names, each once.
///
/// # Errors
/// When one is named twice, or a name that is not understood may mean one that is never ignored.
pub fn attributes<'a>(schema: &Schema, sent: &'a Resource) -> Result<Vec<Given<'a>>, Invalid> {
    let mut found = Vec::new();
    collect(schema, None, sent, &mut found)?;
    let mut seen = BTreeSet::new();
    for (attribute, extension, _) in &found {
        if !seen.insert((extension.map(|extension| extension.id), attribute.name)) {
            return Err(Invalid::value(format!("{} is given twice", attribute.name)));
        }
    }
    Ok(found)
}

/// Bodies are parsed with a bounded depth, so this ends.
fn collect<'a>(
    schema: &Schema,
    inside: Option<&'static Schema>,
    members: &'a Resource,
    found: &mut Vec<Given<'a>>,
) -> Result<(), Invalid> {
    unambiguous(members)?;
    for (name, value) in members {
        let Some((path, target)) = member(schema, inside, name, value)? else { continue };
        match (target, value) {
            (Target::Core, Value::Object(inner)) => collect(schema, None, inner, found)?,
            (Target::Extension(extension), Value::Object(inner)) => {
                collect(schema, Some(extension), inner, found)?;
            }
            (Target::Core | Target::Extension(_), Value::Null) => {}
            (Target::Core | Target::Extension(_), _) => {
                return Err(Invalid::value("the attributes of a schema must be an object"));
            }
            (Target::Attribute(attribute, extension), value)
                if path.attr.sub.is_none() && path.filter.is_none() =>
            {
                found.push((attribute, extension, value));
            }
            // A part of an attribute, which only PATCH names.
            (Target::Attribute(_, _), value) => left_out(schema, name, value)?,
        }
    }
    Ok(())
}

/// The normal form of a whole resource.
///
/// # Errors
/// When a value is not of its attribute's type, or too large.
pub fn normal(schema: &Schema, sent: &Resource) -> Result<Resource, Invalid> {
    normal_of(&attributes(schema, sent)?)
}

/// The same of attributes that were found already.
///
/// # Errors
/// When a value is not of its attribute's type, or too large.
pub fn normal_of(given: &[Given<'_>]) -> Result<Resource, Invalid> {
    let mut resource = Map::new();
    for (attribute, extension, value) in given {
        let value = whole(attribute, value)?;
        // No value is no statement, and this one is never lost.
        if attribute.kind == Kind::Boolean && value.is_none() {
            return Err(Invalid::value(format!("{} must be true or false", attribute.name)));
        }
        match extension {
            None => put(&mut resource, attribute.name, value),
            Some(extension) => {
                let mut inner = match resource.remove(extension.id) {
                    Some(Value::Object(inner)) => inner,
                    _ => Map::new(),
                };
                put(&mut inner, attribute.name, value);
                put(&mut resource, extension.id, Some(inner.into()));
            }
        }
    }
    Ok(resource)
}

/// Sets or, for an absent or empty value, removes a member.
pub(super) fn put(object: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    let empty = |value: &Value| match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    match value.filter(|value| !empty(value)) {
        Some(value) => object.insert(name.to_owned(), value),
        None => object.remove(name),
    };
}

/// The value of an attribute; `None` for an absent one.
pub(super) fn whole(attribute: &Attribute, value: &Value) -> Result<Option<Value>, Invalid> {
    if attribute.multi_valued {
        return Ok(Some(Value::Array(values(attribute, value)?)));
    }
    single(attribute, value)
}

/// The values of a multi-valued attribute.
pub(super) fn values(attribute: &Attribute, value: &Value) -> Result<Vec<Value>, Invalid> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        Value::Null => &[],
        one => std::slice::from_ref(one),
    };
    if items.len() > MOST_VALUES {
        return Err(Invalid::value(format!("{} has at most {MOST_VALUES} values", attribute.name)));
    }
    let mut found = Vec::new();
    for item in items {
        found.extend(element(attribute, item)?);
    }
    one_primary(&mut found);
    Ok(found)
}

/// One value of a multi-valued attribute.
pub(super) fn element(attribute: &Attribute, value: &Value) -> Result<Option<Value>, Invalid> {
    let empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    Ok(match (attribute.kind, value) {
        (Kind::Complex(parts), Value::Object(members)) => Some(object(parts, members)?.into()),
        (Kind::Complex(parts), Value::String(_)) => {
            Some(object(parts, &Map::from_iter([("value".to_owned(), value.clone())]))?.into())
        }
        (Kind::Complex(_), Value::Null) => None,
        (Kind::Complex(_), Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
            return Err(wrong(attribute, "objects"));
        }
        (Kind::Text | Kind::Boolean | Kind::Reference(_) | Kind::Binary, value) => simple(attribute, value)?,
    }
    .filter(|value| !empty(value)))
}

fn single(attribute: &Attribute, value: &Value) -> Result<Option<Value>, Invalid> {
    match (attribute.kind, value) {
        (_, Value::Null) => Ok(None),
        (_, Value::Array(items)) => match items.as_slice() {
            [] => Ok(None),
            [Value::Array(_)] => Err(wrong(attribute, "one value")),
            [one] => single(attribute, one),
            _ => Err(wrong(attribute, "one value")),
        },
        (Kind::Complex(_), value) => element(attribute, value),
        (Kind::Text | Kind::Boolean | Kind::Reference(_) | Kind::Binary, Value::Object(members)) => {
            unambiguous(members)?;
            match schema_member(members, "value") {
                Some(Value::Object(_) | Value::Array(_)) | None => Err(wrong(attribute, "one value")),
                Some(inner) => simple(attribute, inner),
            }
        }
        (Kind::Text | Kind::Boolean | Kind::Reference(_) | Kind::Binary, value) => simple(attribute, value),
    }
}

fn object(parts: &'static [Attribute], members: &Map<String, Value>) -> Result<Map<String, Value>, Invalid> {
    unambiguous(members)?;
    let mut found = Map::new();
    for (name, value) in members {
        if let Some(part) = schema::find(parts, name) {
            put(&mut found, part.name, single(part, value)?);
        }
    }
    Ok(found)
}

fn simple(attribute: &Attribute, value: &Value) -> Result<Option<Value>, Invalid> {
    match (attribute.kind, value) {
        (_, Value::Null) => Ok(None),
        (Kind::Boolean, value) => boolean(value)
            .map(|value| Some(value.into()))
            .ok_or_else(|| Invalid::value(format!("{} must be true or false", attribute.name))),
        (_, Value::String(text)) if text.len() > LONGEST_VALUE => {
            Err(Invalid::value(format!("{} is longer than {LONGEST_VALUE} bytes", attribute.name)))
        }
        (_, Value::String(text)) => Ok(Some(text.clone().into())),
        (_, Value::Number(number)) => Ok(Some(number.to_string().into())),
        (_, Value::Bool(value)) => Ok(Some(value.to_string().into())),
        (_, Value::Array(_) | Value::Object(_)) => Err(wrong(attribute, "text")),
    }
}

/// A boolean, also as text in any case.
pub fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        Value::String(_) | Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn wrong(attribute: &Attribute, wanted: &str) -> Invalid {
    Invalid::value(format!("{} must be {wanted}", attribute.name))
}

/// A member by its name in any spelling.
pub fn schema_member<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    members
        .get(name)
        .or_else(|| members.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value))
}

/// At most one value is the primary one (RFC 7643 §2.4): the last that says so.
pub(super) fn one_primary(values: &mut [Value]) {
    let primary = |value: &Value| value.get("primary") == Some(&Value::Bool(true));
    let last = values.iter().rposition(primary);
    for (index, value) in values.iter_mut().enumerate() {
        if Some(index) != last && primary(value) {
            value["primary"] = false.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::schema::USERS, *};

    fn read(value: &Value) -> Result<Value, Invalid> {
        normal(&USERS, value.as_object().unwrap()).map(Value::Object)
    }

    #[test]
    fn spellings_of_directories_become_one() {
        let sent = json!({
            "schemas": ["urn:unknown"],
            "id": "ignored",
            "USERNAME": "ana",
            "Active": "False",
            "password": "secret",
            "groups": [{"value": "x"}],
            "emails": {"Value": "ana@example.test", "type": "work", "primary": "True", "$ref": null},
            "phoneNumbers": "+1 555",
            "title": null,
            "name": {"givenName": "Ana", "unknown": 1, "familyName": null},
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:user": {"manager": ["m1"], "department": 7},
            "urn:example:unknown": {"a": 1},
        });
        let expected = json!({
            "userName": "ana",
            "active": false,
            "emails": [{"value": "ana@example.test", "type": "work", "primary": true}],
            "phoneNumbers": [{"value": "+1 555"}],
            "name": {"givenName": "Ana"},
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":
                {"manager": {"value": "m1"}, "department": "7"},
        });
        assert_eq!(read(&sent), Ok(expected));
        for inactive in [
            json!({"active": [{"$ref": null, "value": "False"}]}),
            json!({(schema::USER): {"Active": "false"}}),
            json!({"urn:ietf:params:scim:schemas:core:2.0:user:ACTIVE": false}),
        ] {
            assert_eq!(read(&inactive), Ok(json!({"active": false})));
        }
        let name = format!("{}:department", schema::ENTERPRISE);
        let sales = json!({(schema::ENTERPRISE): {"department": "Sales"}});
        assert_eq!(read(&json!({name: "Sales"})), Ok(sales));
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        for wrong in [
            json!({"active": "no"}),
            json!({"active": 0}),
            json!({"active": ""}),
            json!({"active": {"value": {}}}),
            json!({"active": [true, false]}),
            json!({"active": [[true]]}),
            json!({"active": null}),
            json!({"active": []}),
            json!({"active": [null]}),
            json!({"active": {"value": null}}),
            json!({"active": {"value": true, "Value": false}}),
            json!({"active": false, "Active": true}),
            json!({"active": true, (schema::USER): {"active": false}}),
            json!({(schema::ENTERPRISE): {"active": false}}),
            json!({(schema::ENTERPRISE): "x"}),
            json!({"active.value": false}),
            json!({"urn:unknown": {"active": false}}),
            json!({"userName": {"a": 1}}),
            json!({"userName": ["a", "b"]}),
            json!({"emails": [1]}),
            json!({"emails": [[{"value": "a"}]]}),
            json!({"name": true}),
            json!({"title": "x".repeat(LONGEST_VALUE + 1)}),
            json!({"emails": vec![json!({"value": "a"}); MOST_VALUES + 1]}),
        ] {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_value_is_the_primary_one() {
        let two = json!({"emails": [{"value": "a", "primary": true}, {"value": "b", "primary": true}]});
        let emails = &read(&two).unwrap()["emails"];
        assert_eq!((&emails[0]["primary"], &emails[1]["primary"]), (&json!(false), &json!(true)));
    }
}
