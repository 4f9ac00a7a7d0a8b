//! PATCH (RFC 7644 §3.5.2), on resources in their normal form.

use serde_json::{Map, Value};

use super::{
    Attr, Attribute, Comparison, ErrorKind, Filter, Invalid, Kind, Literal, Operator, Path, Schema,
    matching::passes,
    resource::{self, Resource, one_primary, put, schema_member, values, whole},
    schema,
};

/// The largest number of operations in one request.
pub const MOST_OPERATIONS: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Add,
    Replace,
    Remove,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    pub op: Op,
    pub path: Option<Path>,
    pub value: Option<Value>,
}

/// The operations of a request. Those without a path become one operation for each member of their value, whose names
/// may be paths, as Entra sends them.
///
/// # Errors
/// When the body is not a `PatchOp`.
pub fn operations(schema: &Schema, body: &Value) -> Result<Vec<Operation>, Invalid> {
    let syntax = |text: &str| Invalid::new(ErrorKind::InvalidSyntax, text);
    let members = body.as_object().ok_or_else(|| syntax("the body must be an object"))?;
    let list = schema_member(members, "Operations").and_then(Value::as_array);
    let list = list.ok_or_else(|| syntax("the body has no array Operations"))?;
    if list.len() > MOST_OPERATIONS {
        return Err(syntax(&format!("a request has at most {MOST_OPERATIONS} operations")));
    }
    let mut found = Vec::new();
    for item in list {
        let item = item.as_object().ok_or_else(|| syntax("an operation must be an object"))?;
        let op = schema_member(item, "op").and_then(Value::as_str).unwrap_or_default();
        let op = match op.to_ascii_lowercase().as_str() {
            "add" => Op::Add,
            "replace" => Op::Replace,
            "remove" => Op::Remove,
            _ => return Err(syntax("op must be add, replace or remove")),
        };
        let value = schema_member(item, "value");
        let path = schema_member(item, "path").filter(|path| !path.is_null() && path.as_str() != Some(""));
        match path {
            Some(Value::String(path)) => {
                found.push(Operation { op, path: Some(Path::parse(path)?), value: value.cloned() });
            }
            Some(_) => return Err(Invalid::path("path must be text")),
            None => without_path(schema, op, value, &mut found)?,
        }
    }
    Ok(found)
}

fn without_path(
    schema: &Schema,
    op: Op,
    value: Option<&Value>,
    found: &mut Vec<Operation>,
) -> Result<(), Invalid> {
    match op {
        Op::Remove => return Err(Invalid::new(ErrorKind::NoTarget, "an operation remove needs a path")),
        Op::Add | Op::Replace => {}
    }
    let Some(Value::Object(members)) = value else {
        return Err(Invalid::value("an operation without a path needs an object as its value"));
    };
    for (name, value) in members {
        if let (Some(extension), Value::Object(inner)) = (schema.extension(name), value) {
            for (name, value) in inner {
                let text = format!("{}:{name}", extension.id);
                found.extend(named(schema, op, &text, value));
            }
            continue;
        }
        found.extend(named(schema, op, name, value));
    }
    Ok(())
}

/// A member of a value is read as a path; unknown and read-only attributes are left out, as in a whole resource.
fn named(schema: &Schema, op: Op, name: &str, value: &Value) -> Option<Operation> {
    let path = Path::parse(name).ok()?;
    let known = match target(schema, &path.attr).ok()? {
        Target::Attribute(attribute, _) => !attribute.is_read_only(),
        Target::Extension(_) => true,
        Target::Elsewhere => false,
    };
    known.then(|| Operation { op, path: Some(path), value: Some(value.clone()) })
}

/// What a name stands for.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// An attribute, and the extension it belongs to.
    Attribute(&'static Attribute, Option<&'static Schema>),
    Extension(&'static Schema),
    /// Of a schema that is not known here.
    Elsewhere,
}

/// # Errors
/// When the schema has no such attribute.
pub fn target(schema: &Schema, attr: &Attr) -> Result<Target, Invalid> {
    let unknown = || Invalid::path("the schema has no such attribute");
    if let Some(extension) = attr.as_schema().and_then(|id| schema.extension(&id)) {
        return Ok(Target::Extension(extension));
    }
    let (attributes, extension) = match &attr.schema {
        None => (schema.attribute(&attr.name), None),
        Some(id) if id.eq_ignore_ascii_case(schema.id) => (schema.attribute(&attr.name), None),
        Some(id) => match schema.extension(id) {
            None => return Ok(Target::Elsewhere),
            Some(extension) => (extension.attribute(&attr.name), Some(extension)),
        },
    };
    let attribute = match attributes {
        Some(attribute) => attribute,
        None if ["id", "meta", "schemas"].iter().any(|name| attr.name.eq_ignore_ascii_case(name)) => {
            return Err(Invalid::new(ErrorKind::Mutability, format!("{} is read-only", attr.name)));
        }
        None => return Err(unknown()),
    };
    match (attribute.kind, &attr.sub) {
        (Kind::Complex(parts), Some(sub)) if schema::find(parts, sub).is_none() => Err(unknown()),
        (Kind::Text | Kind::Boolean | Kind::Reference | Kind::Binary, Some(_)) => Err(unknown()),
        (_, _) => Ok(Target::Attribute(attribute, extension)),
    }
}

/// Applies one operation.
///
/// # Errors
/// When its path or value does not fit the schema.
pub fn apply(schema: &Schema, resource: &mut Resource, operation: &Operation) -> Result<(), Invalid> {
    let Some(path) = &operation.path else { return Ok(()) };
    match target(schema, &path.attr)? {
        // Kept by nobody, so there is nothing to change.
        Target::Elsewhere => Ok(()),
        Target::Extension(extension) => whole_extension(extension, resource, operation),
        Target::Attribute(attribute, _) if attribute.is_read_only() => {
            Err(Invalid::new(ErrorKind::Mutability, format!("{} is read-only", attribute.name)))
        }
        Target::Attribute(attribute, None) => change(attribute, resource, path, operation),
        Target::Attribute(attribute, Some(extension)) => {
            let mut inner = taken(resource, extension.id);
            change(attribute, &mut inner, path, operation)?;
            put(resource, extension.id, Some(inner.into()));
            Ok(())
        }
    }
}

fn taken(object: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match object.remove(name) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

fn whole_extension(
    extension: &Schema,
    resource: &mut Resource,
    operation: &Operation,
) -> Result<(), Invalid> {
    let mut now = taken(resource, extension.id);
    match (operation.op, &operation.value) {
        (Op::Remove, _) => now.clear(),
        (Op::Add | Op::Replace, Some(Value::Object(members))) => {
            now.append(&mut resource::normal(extension, members)?);
        }
        (Op::Add | Op::Replace, _) => return Err(Invalid::value("the value must be an object")),
    }
    put(resource, extension.id, Some(now.into()));
    Ok(())
}

fn change(
    attribute: &Attribute,
    object: &mut Map<String, Value>,
    path: &Path,
    operation: &Operation,
) -> Result<(), Invalid> {
    if path.filter.is_some() && !attribute.multi_valued {
        return Err(Invalid::path("a filter needs an attribute with several values"));
    }
    if attribute.kind == Kind::Boolean && operation.op == Op::Remove && attribute.name == "active" {
        return Err(Invalid::value("active must be true or false"));
    }
    if attribute.multi_valued {
        return several(attribute, object, path, operation);
    }
    match (operation.op, &path.attr.sub, attribute.kind) {
        (Op::Remove, None, _) => {
            object.remove(attribute.name);
        }
        (op, Some(sub), Kind::Complex(parts)) => {
            let mut inner = taken(object, attribute.name);
            part(parts, &mut inner, sub, op, operation.value.as_ref())?;
            put(object, attribute.name, Some(inner.into()));
        }
        (Op::Add | Op::Replace, None, Kind::Complex(_)) => {
            let value = whole(attribute, needed(attribute, operation)?)?;
            let mut inner = taken(object, attribute.name);
            match value {
                Some(Value::Object(mut members)) => inner.append(&mut members),
                _ => inner.clear(),
            }
            put(object, attribute.name, Some(inner.into()));
        }
        (Op::Add | Op::Replace, _, _) => {
            let value = whole(attribute, needed(attribute, operation)?)?;
            if attribute.kind == Kind::Boolean && value.is_none() {
                return Err(Invalid::value(format!("{} must be true or false", attribute.name)));
            }
            put(object, attribute.name, value);
        }
        (Op::Remove, Some(_), _) => return Err(Invalid::path("the attribute has no parts")),
    }
    Ok(())
}

fn needed<'a>(attribute: &Attribute, operation: &'a Operation) -> Result<&'a Value, Invalid> {
    operation.value.as_ref().ok_or_else(|| Invalid::value(format!("{} needs a value", attribute.name)))
}

/// Changes one part of a complex value.
fn part(
    parts: &'static [Attribute],
    object: &mut Map<String, Value>,
    name: &str,
    op: Op,
    value: Option<&Value>,
) -> Result<(), Invalid> {
    let part = schema::find(parts, name).ok_or_else(|| Invalid::path("the schema has no such attribute"))?;
    let value = match op {
        Op::Remove => None,
        Op::Add | Op::Replace => whole(part, value.unwrap_or(&Value::Null))?,
    };
    put(object, part.name, value);
    Ok(())
}

/// Changes an attribute with several values.
fn several(
    attribute: &Attribute,
    object: &mut Map<String, Value>,
    path: &Path,
    operation: &Operation,
) -> Result<(), Invalid> {
    let Kind::Complex(parts) = attribute.kind else {
        return Err(Invalid::path("the attribute has no parts"));
    };
    let mut now = match object.remove(attribute.name) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let matches = |item: &Value| path.filter.as_ref().is_none_or(|filter| passes(filter, item));
    let value = operation.value.as_ref();
    match (operation.op, &path.attr.sub, &path.filter) {
        (Op::Remove, None, None) => match value.filter(|value| !value.is_null()) {
            None => now.clear(),
            // Entra: those values, not all.
            Some(value) => {
                let gone = values(attribute, value)?;
                now.retain(|item| !gone.iter().any(|gone| is_same(gone, item)));
            }
        },
        (Op::Remove, None, Some(_)) => now.retain(|item| !matches(item)),
        (Op::Add, None, None) => {
            for added in values(attribute, needed(attribute, operation)?)? {
                if !now.contains(&added) {
                    now.push(added);
                }
            }
        }
        (Op::Replace, None, None) => now = values(attribute, needed(attribute, operation)?)?,
        (op, sub, filter) => {
            if !now.iter().any(matches) && op != Op::Remove {
                now.push(implied(attribute, filter.as_ref())?);
            }
            for item in now.iter_mut().filter(|item| matches(item)) {
                let Value::Object(members) = item else { continue };
                match sub {
                    Some(sub) => part(parts, members, sub, op, value)?,
                    None => {
                        if let Some(Value::Object(mut given)) = whole_element(attribute, value)? {
                            members.append(&mut given);
                        }
                    }
                }
            }
        }
    }
    now.retain(|item| item.as_object().is_none_or(|members| !members.is_empty()));
    if now.len() > resource::MOST_VALUES {
        return Err(Invalid::value(format!(
            "{} has at most {} values",
            attribute.name,
            resource::MOST_VALUES
        )));
    }
    one_primary(&mut now);
    put(object, attribute.name, Some(now.into()));
    Ok(())
}

fn whole_element(attribute: &Attribute, value: Option<&Value>) -> Result<Option<Value>, Invalid> {
    let value = value.ok_or_else(|| Invalid::value(format!("{} needs a value", attribute.name)))?;
    let one = match value {
        Value::Array(items) if items.len() == 1 => items.first(),
        other => Some(other),
    };
    one.map_or(Ok(None), |one| resource::element(attribute, one))
}

/// The value that a filter such as `type eq "work"` describes, to be added where there is none.
fn implied(attribute: &Attribute, filter: Option<&Filter>) -> Result<Value, Invalid> {
    let none = || Invalid::new(ErrorKind::NoTarget, "no value passes the filter of the path");
    let mut members = Map::new();
    let comparisons = match filter {
        None => Vec::new(),
        Some(Filter::Compare(one)) => vec![one],
        Some(Filter::And(parts)) => parts
            .iter()
            .map(|part| match part {
                Filter::Compare(one) => Ok(one),
                _ => Err(none()),
            })
            .collect::<Result<_, _>>()?,
        Some(_) => return Err(none()),
    };
    for Comparison { attr, operator, literal } in comparisons {
        if *operator != Operator::Eq || attr.sub.is_some() {
            return Err(none());
        }
        members.insert(
            attr.name.clone(),
            match literal {
                Literal::Text(text) => text.clone().into(),
                Literal::Boolean(value) => (*value).into(),
                Literal::Number(number) => number.to_string().into(),
                Literal::Null => return Err(none()),
            },
        );
    }
    let made = resource::element(attribute, &Value::Object(members))?;
    // Without a filter, the part that is set makes the value.
    Ok(made.unwrap_or_else(|| Map::new().into()))
}

/// The same value: equal in `value`, or in everything where that is absent.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one.get("value").and_then(Value::as_str), other.get("value").and_then(Value::as_str)) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        (_, _) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{super::schema::USERS, *};

    const ENTERPRISE: &str = schema::ENTERPRISE;

    fn patched(before: Value, list: &Value) -> Result<Value, Invalid> {
        let Value::Object(mut resource) = before else { panic!("no object") };
        for operation in operations(&USERS, &json!({"Operations": list}))? {
            apply(&USERS, &mut resource, &operation)?;
        }
        Ok(resource.into())
    }

    #[expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]
    fn becomes(before: Value, list: Value, after: Value) {
        let what = list.to_string();
        assert_eq!(patched(before, &list), Ok(after), "{what}");
    }

    #[test]
    fn active_is_understood_in_every_shape() {
        for value in [json!(false), json!("False"), json!("false"), json!([{"$ref": null, "value": "False"}])]
        {
            for operation in [
                json!({"op": "replace", "value": {"active": value}}),
                json!({"op": "Replace", "path": "active", "value": value}),
                json!({"op": "add", "path": "ACTIVE", "value": value}),
                json!({"op": "Add", "path": "urn:ietf:params:scim:schemas:core:2.0:User:active", "value": value}),
                json!({"OP": "REPLACE", "PATH": "", "VALUE": {"Active": value}}),
            ] {
                becomes(json!({"active": true}), json!([operation]), json!({"active": false}));
            }
        }
        for operation in [
            json!({"op": "replace", "path": "active", "value": "no"}),
            json!({"op": "replace", "path": "active", "value": null}),
            json!({"op": "replace", "path": "active", "value": []}),
            json!({"op": "replace", "path": "active"}),
            json!({"op": "remove", "path": "active"}),
            json!({"op": "replace", "value": {"active": 0}}),
            json!({"op": "replace", "value": false}),
            json!({"op": "remove", "value": {"active": false}}),
            json!({"op": "replace", "path": "active.value", "value": false}),
            json!({"op": "replace", "path": "active[value eq true]", "value": false}),
            json!({"op": "replace", "path": "actve", "value": false}),
            json!({"op": "disable", "path": "active", "value": false}),
        ] {
            assert!(patched(json!({"active": true}), &json!([operation])).is_err(), "{operation}");
        }
    }

    #[test]
    fn parts_and_values_are_set_added_and_removed() {
        let work =
            json!({"op": "Replace", "path": "emails[type eq \"work\"].value", "value": "a@example.test"});
        let made = json!({"emails": [{"type": "work", "value": "a@example.test"}]});
        becomes(json!({}), json!([work]), made.clone());
        becomes(made.clone(), json!([work]), made.clone());
        let primary = json!({"op": "add", "path": "roles[primary eq \"True\"].value", "value": "x"});
        becomes(json!({}), json!([primary]), json!({"roles": [{"primary": true, "value": "x"}]}));
        let dotted = json!({"op": "replace", "value": {
            "name.givenName": "Ana", "name.familyName": "Sá", "unknown.attribute": 1, "id": "x",
            format!("{ENTERPRISE}:department"): "Sales", ENTERPRISE: {"manager": "m1"},
            "emails[type eq \"home\"].value": "h@example.test"}});
        becomes(
            json!({}),
            json!([dotted]),
            json!({
                "name": {"givenName": "Ana", "familyName": "Sá"},
                ENTERPRISE: {"department": "Sales", "manager": {"value": "m1"}},
                "emails": [{"type": "home", "value": "h@example.test"}]}),
        );
        let two = json!({"emails": [{"type": "work", "value": "a"}, {"type": "home", "value": "b"}]});
        let gone = json!([{"op": "remove", "path": "emails[type eq \"work\"]"}]);
        becomes(two.clone(), gone, json!({"emails": [{"type": "home", "value": "b"}]}));
        let those = json!([{"op": "Remove", "path": "emails", "value": [{"value": "A"}]}]);
        becomes(two.clone(), those, json!({"emails": [{"type": "home", "value": "b"}]}));
        becomes(two.clone(), json!([{"op": "remove", "path": "emails"}]), json!({}));
        becomes(two, json!([{"op": "replace", "path": "emails", "value": []}]), json!({}));
        let manager = json!([{"op": "remove", "path": format!("{ENTERPRISE}:manager")}]);
        becomes(json!({ENTERPRISE: {"manager": {"value": "m"}}}), manager, json!({}));
        let merged = json!([{"op": "replace", "path": "name", "value": {"givenName": "B"}}]);
        becomes(
            json!({"name": {"givenName": "A", "familyName": "C"}}),
            merged,
            json!({"name": {"givenName": "B", "familyName": "C"}}),
        );
        let foreign = json!([{"op": "add", "path": "urn:example:2.0:User:shoe", "value": 42}]);
        becomes(json!({}), foreign, json!({}));
    }

    #[test]
    fn what_cannot_be_done_says_why() {
        for (operation, kind) in [
            (json!({"op": "replace", "path": "id", "value": "x"}), ErrorKind::Mutability),
            (json!({"op": "replace", "path": "groups", "value": []}), ErrorKind::Mutability),
            (json!({"op": "replace", "path": "shoeSize", "value": 42}), ErrorKind::InvalidPath),
            (json!({"op": "replace", "path": "name.shoeSize", "value": 42}), ErrorKind::InvalidPath),
            (json!({"op": "replace", "path": "emails[", "value": 42}), ErrorKind::InvalidPath),
            (json!({"op": "remove"}), ErrorKind::NoTarget),
            (
                json!({"op": "replace", "path": "emails[type ne \"x\"].value", "value": "a"}),
                ErrorKind::NoTarget,
            ),
            (json!({"op": "replace", "path": "userName"}), ErrorKind::InvalidValue),
            (json!({"op": "copy", "path": "userName"}), ErrorKind::InvalidSyntax),
            (json!([]), ErrorKind::InvalidSyntax),
        ] {
            let refused = patched(json!({}), &json!([operation])).unwrap_err();
            assert_eq!(refused.kind, kind, "{operation}");
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
            let before = json!({"userName": "ana", "active": true, "emails": [{"value": "a", "type": "work"}]});
            let list = json!([{"op": "replace", "path": path, "value": value}]);
            if let Ok(once) = patched(before, &list) {
                prop_assert_eq!(patched(once.clone(), &list), Ok(once.clone()));
                let normal = resource::normal(&USERS, once.as_object().unwrap());
                prop_assert_eq!(normal.map(Value::Object), Ok(once));
            }
        }
    }
}
