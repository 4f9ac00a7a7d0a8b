//! What the names in a request stand for.
//!
//! A member of a body that nobody understands is left out, as RFC 7644 §3.3 allows. One attribute of each schema is never
//! left out ([`Schema::guarded`]): a name that is not understood but may mean it is refused, wherever it stands.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Attr, Attribute, ErrorKind, Invalid, Kind, Path, Schema, schema};

/// What a name stands for.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// An attribute, and the extension it belongs to.
    Attribute(&'static Attribute, Option<&'static Schema>),
    Extension(&'static Schema),
    /// The schema of the resource itself.
    Core,
}

/// # Errors
/// When the schema has no such attribute.
pub fn target(schema: &Schema, attr: &Attr) -> Result<Target, Invalid> {
    let unknown = || Invalid::path("the schema has no such attribute");
    if let Some(id) = attr.as_schema() {
        if id.eq_ignore_ascii_case(schema.id) {
            return Ok(Target::Core);
        }
        if let Some(extension) = schema.extension(&id) {
            return Ok(Target::Extension(extension));
        }
    }
    let (attribute, extension) = match &attr.schema {
        None => (schema.attribute(&attr.name), None),
        Some(id) if id.eq_ignore_ascii_case(schema.id) => (schema.attribute(&attr.name), None),
        Some(id) => {
            let extension = schema.extension(id).ok_or_else(unknown)?;
            (extension.attribute(&attr.name), Some(extension))
        }
    };
    let attribute = match attribute {
        Some(attribute) => attribute,
        None if ["id", "meta", "schemas"].iter().any(|name| attr.name.eq_ignore_ascii_case(name)) => {
            return Err(Invalid::new(ErrorKind::Mutability, format!("{} is read-only", attr.name)));
        }
        None => return Err(unknown()),
    };
    match (attribute.kind, &attr.sub) {
        (Kind::Complex(parts), Some(sub)) if schema::find(parts, sub).is_none() => Err(unknown()),
        (Kind::Text | Kind::Boolean | Kind::Reference(_) | Kind::Binary, Some(_)) => Err(unknown()),
        (_, _) => Ok(Target::Attribute(attribute, extension)),
    }
}

/// What a member of a body stands for; `inside`: the extension whose object it is in. `None`: it is left out.
pub(super) fn member(
    schema: &Schema,
    inside: Option<&Schema>,
    name: &str,
    value: &Value,
) -> Result<Option<(Path, Target)>, Invalid> {
    let text = inside.map_or_else(|| name.to_owned(), |extension| format!("{}:{name}", extension.id));
    let understood =
        Path::parse(&text).and_then(|path| target(schema, &path.attr).map(|target| (path, target)));
    match understood {
        Ok((_, Target::Attribute(attribute, _))) if attribute.is_read_only() => {
            inside_of(schema, value).map(|()| None)
        }
        Ok((path, Target::Attribute(attribute, extension))) => {
            inside_of(schema, value)?;
            Ok(Some((path, Target::Attribute(attribute, extension))))
        }
        Ok(found @ (_, Target::Core | Target::Extension(_))) => Ok(Some(found)),
        Err(_) => left_out(schema, name, value).map(|()| None),
    }
}

/// Checks that what is left out says nothing about the attribute that is never ignored.
pub(super) fn left_out(schema: &Schema, name: &str, value: &Value) -> Result<(), Invalid> {
    if name.eq_ignore_ascii_case("Operations") {
        return Err(Invalid::new(
            ErrorKind::InvalidSyntax,
            "a whole resource has no Operations; send them by PATCH",
        ));
    }
    if means(schema.guarded, name) {
        return Err(hidden(schema));
    }
    inside_of(schema, value)
}

/// Checks that the value of an attribute has no member that may mean the one that is never ignored.
pub(super) fn inside_of(schema: &Schema, value: &Value) -> Result<(), Invalid> {
    if speaks_of(schema.guarded, value) {
        return Err(hidden(schema));
    }
    Ok(())
}

fn hidden(schema: &Schema) -> Invalid {
    Invalid::path(format!("a member that is not understood may mean {}; name it plainly", schema.guarded))
}

/// Whether a word of the name is this one.
fn means(guarded: &str, name: &str) -> bool {
    let between = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '-';
    name.split(between).any(|word| word.eq_ignore_ascii_case(guarded))
}

/// Bodies are parsed with a bounded depth, so this ends.
fn speaks_of(guarded: &str, value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.iter().any(|(name, value)| means(guarded, name) || speaks_of(guarded, value))
        }
        Value::Array(items) => items.iter().any(|item| speaks_of(guarded, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Names are compared without case, so two members that differ only in case are two values for one attribute.
///
/// # Errors
/// When there are such members.
pub fn unambiguous(members: &Map<String, Value>) -> Result<(), Invalid> {
    let mut seen = BTreeSet::new();
    if members.keys().all(|name| seen.insert(name.to_ascii_lowercase())) {
        return Ok(());
    }
    Err(Invalid::new(ErrorKind::InvalidSyntax, "two members have the same name but for its case"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::schema::USERS, *};

    #[test]
    fn what_may_mean_the_guarded_attribute_is_not_left_out() {
        for (name, value) in [
            ("active.value", json!(false)),
            ("/Active", json!(false)),
            ("$.active", json!(false)),
            ("urn:unknown:active", json!(false)),
            ("\u{200b}active", json!(false)),
            ("urn:unknown", json!({"active": false})),
            ("user", json!([{"attributes": {"ACTIVE": false}}])),
            ("name", json!({"active": false})),
            ("emails", json!([{"value": "a", "active": false}])),
            ("groups", json!([{"active": false}])),
            ("schemas", json!({"active": false})),
            ("active", json!({"value": true, "x": {"active": false}})),
            ("Operations", json!([{"op": "replace", "path": "active", "value": false}])),
        ] {
            assert!(member(&USERS, None, name, &value).is_err(), "{name}");
        }
        for (name, value) in [
            ("shoe", json!(42)),
            ("isActive", json!(false)),
            ("active-directory-id", json!("x")),
            ("urn:example:custom", json!({"a": ["active"]})),
            ("groups", json!([])),
            ("id", json!("x")),
        ] {
            assert!(member(&USERS, None, name, &value).unwrap().is_none(), "{name}");
        }
        assert!(member(&USERS, Some(&schema::ENTERPRISE_USERS), "active", &json!(false)).is_err());
    }

    #[test]
    fn names_that_differ_in_case_only_are_one_name() {
        let Value::Object(members) = json!({"active": true, "Active": false}) else { panic!("no object") };
        assert_eq!(unambiguous(&members).unwrap_err().kind, ErrorKind::InvalidSyntax);
    }
}
