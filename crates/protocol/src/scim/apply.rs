//! Applies PATCH operations (RFC 7644 §3.5.2) to resources in their normal form, within bounds: paths may contain filters,
//! and a request may contain many of them.

use serde_json::{Map, Value};

use super::{
    Attribute, Comparison, ErrorKind, Filter, Invalid, Kind, Literal, Op, Operation, Operator, Path, Schema,
    matching::{parts_known, passes},
    names::{Target, target},
    resource::{self, Resource, one_primary, put, values, whole},
    schema,
};

/// The largest number of values that the operations of one request may change together.
pub const MOST_CHANGES: usize = 2_000;

/// Applies operations one after the other. `largest`: the size of a resource, in bytes, after each of them.
///
/// # Errors
/// When a path or value does not fit the schema, or a bound is exceeded.
pub fn apply_all(
    schema: &Schema,
    resource: &mut Resource,
    operations: &[&Operation],
    largest: usize,
) -> Result<(), Invalid> {
    let values = operations.iter().filter_map(|operation| operation.value.as_ref()?.as_array());
    if values.map(Vec::len).sum::<usize>() > MOST_CHANGES {
        return Err(Invalid::value(format!("a request changes at most {MOST_CHANGES} values")));
    }
    for operation in operations {
        apply(schema, resource, operation)?;
        if resource.iter().map(|(name, value)| name.len() + size(value)).sum::<usize>() > largest {
            return Err(Invalid::value(format!("the attributes of a resource have at most {largest} bytes")));
        }
    }
    Ok(())
}

/// About as many bytes as it has in JSON.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() + size(value) + 4).sum::<usize>() + 2
        }
    }
}

/// Applies one operation.
///
/// # Errors
/// When its path or value does not fit the schema.
fn apply(schema: &Schema, resource: &mut Resource, operation: &Operation) -> Result<(), Invalid> {
    let path = &operation.path;
    match target(schema, &path.attr)? {
        Target::Core => Err(Invalid::path("an operation needs an attribute")),
        // Others became operations on its attributes.
        Target::Extension(extension) => {
            resource.remove(extension.id);
            Ok(())
        }
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

fn change(
    attribute: &Attribute,
    object: &mut Map<String, Value>,
    path: &Path,
    operation: &Operation,
) -> Result<(), Invalid> {
    match (&path.filter, attribute.kind) {
        (None, _) => {}
        (Some(filter), Kind::Complex(parts)) if attribute.multi_valued => {
            parts_known(parts, filter).map_err(|_| Invalid::path("the attribute has no such part"))?;
        }
        (Some(_), _) => return Err(Invalid::path("a filter needs an attribute with several values")),
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
    for Comparison { attr, operator, literal, .. } in comparisons {
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
    use serde_json::json;

    use super::{
        super::{patch::operations, schema::USERS},
        *,
    };

    const ENTERPRISE: &str = schema::ENTERPRISE;

    fn patched(before: Value, list: &Value) -> Result<Value, Invalid> {
        let Value::Object(mut resource) = before else { panic!("no object") };
        let operations = operations(&USERS, &json!({"Operations": list}))?;
        apply_all(&USERS, &mut resource, &operations.iter().collect::<Vec<_>>(), 65_536)?;
        Ok(resource.into())
    }

    #[expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]
    fn becomes(before: Value, list: Value, after: Value) {
        let what = list.to_string();
        assert_eq!(patched(before, &list), Ok(after), "{what}");
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
        let foreign = json!([{"op": "add", "value": {"urn:example:2.0:User:shoe": 42}}]);
        becomes(json!({}), foreign, json!({}));
        let all = json!([{"op": "add", "path": ENTERPRISE, "value": {"department": "Sales", "shoe": 42}}]);
        becomes(json!({}), all, json!({ENTERPRISE: {"department": "Sales"}}));
        let none = json!([{"op": "remove", "path": ENTERPRISE}]);
        becomes(json!({ENTERPRISE: {"department": "Sales"}}), none, json!({}));
    }

    #[test]
    fn what_cannot_be_done_says_why() {
        for (operation, kind) in [
            (json!({"op": "replace", "path": "id", "value": "x"}), ErrorKind::Mutability),
            (json!({"op": "replace", "path": "groups", "value": []}), ErrorKind::Mutability),
            (json!({"op": "replace", "path": "shoeSize", "value": 42}), ErrorKind::InvalidPath),
            (json!({"op": "add", "path": "urn:example:2.0:User:shoe", "value": 42}), ErrorKind::InvalidPath),
            (
                json!({"op": "add", "path": format!("{ENTERPRISE}[a pr]"), "value": {}}),
                ErrorKind::InvalidPath,
            ),
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
}
