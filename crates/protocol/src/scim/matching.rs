//! Which resources and values pass a filter (RFC 7644 §3.4.2.2).

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{
    Attr, Attribute, Comparison, ErrorKind, Filter, Invalid, Kind, Literal, Operator, Schema,
    resource::{Resource, boolean, schema_member},
    schema,
};

/// Every attribute of the filter must be known: a filter that nobody understands selects nothing, never everything.
///
/// # Errors
/// When one is unknown.
pub fn check(schema: &Schema, filter: &Filter) -> Result<(), Invalid> {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().try_for_each(|part| check(schema, part)),
        Filter::Not(inner) => check(schema, inner),
        Filter::Compare(comparison) => known(schema, &comparison.attr).map(|_| ()),
        Filter::Present(attr) => known(schema, attr).map(|_| ()),
        Filter::Values(attr, inner) => match known(schema, attr)? {
            Known::Attribute(Attribute { kind: Kind::Complex(parts), multi_valued: true, .. }, _) => {
                parts_known(parts, inner)
            }
            Known::Attribute(_, _) | Known::Common => Err(unknown()),
        },
    }
}

fn unknown() -> Invalid {
    Invalid::new(ErrorKind::InvalidFilter, "the filter names an attribute that the schema does not have")
}

/// # Errors
/// When the filter names a part that the attribute does not have.
pub(super) fn parts_known(parts: &'static [Attribute], filter: &Filter) -> Result<(), Invalid> {
    match filter {
        Filter::And(inner) | Filter::Or(inner) => inner.iter().try_for_each(|one| parts_known(parts, one)),
        Filter::Not(inner) => parts_known(parts, inner),
        Filter::Compare(Comparison { attr, .. }) | Filter::Present(attr) => {
            let known = attr.schema.is_none() && attr.sub.is_none();
            schema::find(parts, &attr.name).filter(|_| known).map(|_| ()).ok_or_else(unknown)
        }
        Filter::Values(_, _) => Err(unknown()),
    }
}

/// An attribute, and the extension it belongs to; or `id` and `meta`, which every resource has.
enum Known {
    Attribute(&'static Attribute, Option<&'static Schema>),
    Common,
}

/// Directories name attributes of an extension without its schema too: `manager eq "…"`.
fn known(schema: &Schema, attr: &Attr) -> Result<Known, Invalid> {
    let common = ["id", "meta", "schemas"].iter().any(|name| attr.name.eq_ignore_ascii_case(name));
    let inside = |extension: &'static Schema| {
        extension.attribute(&attr.name).map(|attribute| Known::Attribute(attribute, Some(extension)))
    };
    let core = || schema.attribute(&attr.name).map(|attribute| Known::Attribute(attribute, None));
    let found = match &attr.schema {
        None if common => Some(Known::Common),
        None => core().or_else(|| schema.extensions.iter().find_map(inside)),
        Some(id) if id.eq_ignore_ascii_case(schema.id) => core(),
        Some(id) => schema.extension(id).and_then(inside),
    };
    match (found, &attr.sub) {
        (Some(Known::Attribute(attribute, extension)), Some(sub)) => match attribute.kind {
            Kind::Complex(parts) if schema::find(parts, sub).is_some() => {
                Ok(Known::Attribute(attribute, extension))
            }
            Kind::Complex(_) | Kind::Text | Kind::Boolean | Kind::Reference(_) | Kind::Binary => {
                Err(unknown())
            }
        },
        (Some(found), _) => Ok(found),
        (None, _) => Err(unknown()),
    }
}

/// Whether a whole resource passes.
pub fn matches(schema: &Schema, filter: &Filter, resource: &Resource) -> bool {
    match filter {
        Filter::And(parts) => parts.iter().all(|part| matches(schema, part, resource)),
        Filter::Or(parts) => parts.iter().any(|part| matches(schema, part, resource)),
        Filter::Not(inner) => !matches(schema, inner, resource),
        Filter::Present(attr) => !values(schema, attr, resource).0.is_empty(),
        Filter::Compare(comparison) => {
            let (found, case_exact) = values(schema, &comparison.attr, resource);
            match (found.is_empty(), comparison.operator) {
                (true, _) => compares(comparison, None, case_exact),
                // Not equal: no value is.
                (false, Operator::Ne) => {
                    found.iter().all(|value| compares(comparison, Some(value), case_exact))
                }
                (false, _) => found.iter().any(|value| compares(comparison, Some(value), case_exact)),
            }
        }
        Filter::Values(attr, inner) => {
            let Some(object) = object_of(schema, attr, resource) else { return false };
            let items = schema_member(object, &attr.name).and_then(Value::as_array);
            items.into_iter().flatten().any(|item| passes(inner, item))
        }
    }
}

/// The object that has the attribute: the resource, or its extension.
fn object_of<'a>(schema: &Schema, attr: &Attr, resource: &'a Resource) -> Option<&'a Map<String, Value>> {
    match known(schema, attr).ok()? {
        Known::Attribute(_, Some(extension)) => resource.get(extension.id)?.as_object(),
        Known::Attribute(_, None) | Known::Common => Some(resource),
    }
}

/// The values that a name stands for, and whether their case matters. A complex attribute stands for its `value`.
fn values<'a>(schema: &Schema, attr: &Attr, resource: &'a Resource) -> (Vec<&'a Value>, bool) {
    let part = attr.sub.as_deref().unwrap_or("value");
    let case_exact = match known(schema, attr) {
        Ok(Known::Attribute(attribute, _)) => match attribute.kind {
            Kind::Complex(parts) => schema::find(parts, part).is_some_and(|part| part.case_exact),
            Kind::Text | Kind::Boolean | Kind::Reference(_) | Kind::Binary => attribute.case_exact,
        },
        Ok(Known::Common) => false,
        Err(_) => return (Vec::new(), false),
    };
    let object = object_of(schema, attr, resource);
    let found = match object.and_then(|object| schema_member(object, &attr.name)) {
        None => Vec::new(),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.as_object().map_or(Some(item), |members| schema_member(members, part)))
            .collect(),
        Some(Value::Object(members)) => schema_member(members, part).into_iter().collect(),
        Some(one) => vec![one],
    };
    (found, case_exact)
}

/// Whether one value of a multi-valued attribute passes a filter.
pub fn passes(filter: &Filter, item: &Value) -> bool {
    let member = |attr: &Attr| item.as_object().and_then(|members| schema_member(members, &attr.name));
    match filter {
        Filter::And(parts) => parts.iter().all(|part| passes(part, item)),
        Filter::Or(parts) => parts.iter().any(|part| passes(part, item)),
        Filter::Not(inner) => !passes(inner, item),
        Filter::Present(attr) => member(attr).is_some(),
        Filter::Compare(comparison) => compares(comparison, member(&comparison.attr), false),
        Filter::Values(_, _) => false,
    }
}

/// In lower case. Most values are already, and are not copied.
fn folded(text: &str) -> Cow<'_, str> {
    let is_folded = text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_folded { Cow::Borrowed(text) } else { Cow::Owned(text.to_lowercase()) }
}

fn compares(comparison: &Comparison, value: Option<&Value>, case_exact: bool) -> bool {
    let wanted = match &comparison.literal {
        Literal::Text(text) if case_exact => text.as_str(),
        Literal::Text(_) | Literal::Boolean(_) | Literal::Number(_) => comparison.folded.as_str(),
        Literal::Null => return value.is_none() == (comparison.operator == Operator::Eq),
    };
    let found = match value {
        Some(Value::String(text)) if case_exact => Cow::Borrowed(text.as_str()),
        Some(Value::String(text)) => folded(text),
        Some(value) => boolean(value).map_or_else(|| value.to_string(), |value| value.to_string()).into(),
        // An absent boolean is false: `primary eq false`.
        None if comparison.literal == Literal::Boolean(false) => Cow::Borrowed("false"),
        None => return comparison.operator == Operator::Ne,
    };
    let found = found.as_ref();
    match comparison.operator {
        Operator::Eq => found == wanted,
        Operator::Ne => found != wanted,
        Operator::Co => found.contains(wanted),
        Operator::Sw => found.starts_with(wanted),
        Operator::Ew => found.ends_with(wanted),
        Operator::Gt => found > wanted,
        Operator::Ge => found >= wanted,
        Operator::Lt => found < wanted,
        Operator::Le => found <= wanted,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::schema::USERS, *};

    #[test]
    fn filters_select_what_they_say() {
        let Value::Object(user) = json!({
            "id": "5a", "userName": "Ana@Example.test", "externalId": "X1", "active": true,
            "name": {"familyName": "Sá"}, "meta": {"lastModified": "2026-11-16T00:00:00Z"},
            "emails": [{"type": "work", "value": "ana@example.test"}, {"type": "home", "value": "a@h.test"}],
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"manager": {"value": "m1"}},
        }) else {
            panic!("no object")
        };
        for (text, passes) in [
            ("userName eq \"ana@example.test\"", true),
            ("externalId eq \"X1\"", true),
            ("externalId eq \"x1\"", false),
            ("id eq \"5a\" and manager eq \"m1\"", true),
            ("id eq \"5a\" and manager eq \"m2\"", false),
            ("emails[type eq \"work\"].value eq \"ANA@example.test\"", true),
            ("emails[type eq \"home\"].value eq \"ana@example.test\"", false),
            ("emails.value ew \"h.test\"", true),
            ("emails eq \"a@h.test\"", true),
            ("active eq \"True\"", true),
            ("active eq false", false),
            ("name.familyName sw \"s\"", true),
            ("title pr", false),
            ("not (title pr) and userName co \"@\"", true),
            ("title eq null or title ne \"x\"", true),
            ("meta.lastModified gt \"2025-01-01T00:00:00Z\"", true),
        ] {
            let filter = Filter::parse(text).unwrap();
            check(&USERS, &filter).unwrap();
            assert_eq!(matches(&USERS, &filter, &user), passes, "{text}");
        }
        for text in
            ["shoe eq 1", "name.shoe pr", "emails[shoe eq 1]", "title[a pr]", "title.a pr", "urn:x:title pr"]
        {
            assert!(check(&USERS, &Filter::parse(text).unwrap()).is_err(), "{text}");
        }
    }
}
