//! The operations of a PATCH request (RFC 7644 §3.5.2). [`super::apply`] applies them.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    ErrorKind, Invalid, Path, Schema,
    names::{Target, inside_of, left_out, member, target, unambiguous},
    resource::schema_member,
};

/// The largest number of operations in one request, each member of a value without a path counted as one.
pub const MOST_OPERATIONS: usize = 1_000;
/// The largest number of comparisons in the paths of one request.
pub const MOST_TERMS: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Add,
    Replace,
    Remove,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    pub op: Op,
    pub path: Path,
    pub value: Option<Value>,
}

fn syntax(text: &str) -> Invalid {
    Invalid::new(ErrorKind::InvalidSyntax, text)
}

/// The operations of a request. Those without a path become one operation for each member of their value, whose names
/// may be paths, as Entra sends them.
///
/// # Errors
/// When the body is not a `PatchOp`, or exceeds a bound.
pub fn operations(schema: &Schema, body: &Value) -> Result<Vec<Operation>, Invalid> {
    let members = body.as_object().ok_or_else(|| syntax("the body must be an object"))?;
    only(schema, members, &["schemas", "Operations"])?;
    let list = schema_member(members, "Operations").and_then(Value::as_array);
    let list = list.ok_or_else(|| syntax("the body has no array Operations"))?;
    let mut reading = Reading { schema, found: Vec::new(), terms: 0 };
    for item in list {
        let item = item.as_object().ok_or_else(|| syntax("an operation must be an object"))?;
        only(schema, item, &["op", "path", "value"])?;
        reading.operation(item)?;
    }
    Ok(reading.found)
}

/// Members that are not these are ignored, unless they may say what is never ignored.
fn only(schema: &Schema, members: &Map<String, Value>, names: &[&str]) -> Result<(), Invalid> {
    unambiguous(members)?;
    let known = |name: &str| names.iter().any(|one| one.eq_ignore_ascii_case(name));
    let mut others = members.iter().filter(|(name, _)| !known(name));
    others.try_for_each(|(name, value)| left_out(schema, name, value))
}

fn op_of(item: &Map<String, Value>) -> Result<Op, Invalid> {
    let op = schema_member(item, "op").and_then(Value::as_str).unwrap_or_default();
    match op.to_ascii_lowercase().as_str() {
        "add" => Ok(Op::Add),
        "replace" => Ok(Op::Replace),
        "remove" => Ok(Op::Remove),
        _ => Err(syntax("op must be add, replace or remove")),
    }
}

struct Reading<'a> {
    schema: &'a Schema,
    found: Vec<Operation>,
    terms: usize,
}

/// What one value without a path has named: extension, attribute and part.
type Named = BTreeSet<(Option<&'static str>, &'static str, Option<String>)>;

impl Reading<'_> {
    fn operation(&mut self, item: &Map<String, Value>) -> Result<(), Invalid> {
        let (op, value) = (op_of(item)?, schema_member(item, "value"));
        let path = schema_member(item, "path").filter(|path| !path.is_null() && path.as_str() != Some(""));
        let path = match path {
            Some(Value::String(path)) => Path::parse(path)?,
            Some(_) => return Err(Invalid::path("path must be text")),
            None if op == Op::Remove => {
                return Err(Invalid::new(ErrorKind::NoTarget, "an operation remove needs a path"));
            }
            None => return self.members(None, op, value, &mut Named::new()),
        };
        match (target(self.schema, &path.attr)?, op) {
            (Target::Core | Target::Extension(_), _) if path.filter.is_some() => {
                Err(Invalid::path("a schema cannot be filtered"))
            }
            (Target::Core, Op::Remove) => Err(Invalid::path("a resource is deleted, not removed")),
            (Target::Core, Op::Add | Op::Replace) => self.members(None, op, value, &mut Named::new()),
            (Target::Extension(inside), Op::Add | Op::Replace) => {
                self.members(Some(inside), op, value, &mut Named::new())
            }
            (Target::Extension(_), Op::Remove) | (Target::Attribute(_, _), _) => {
                self.push(Operation { op, path, value: value.cloned() })
            }
        }
    }

    /// One operation for each member of a value. A name that stands for a schema has an object with more of them.
    fn members(
        &mut self,
        inside: Option<&'static Schema>,
        op: Op,
        value: Option<&Value>,
        named: &mut Named,
    ) -> Result<(), Invalid> {
        let Some(Value::Object(members)) = value else {
            return Err(Invalid::value("an operation on a whole resource needs an object as its value"));
        };
        unambiguous(members)?;
        for (name, value) in members {
            let Some((path, target)) = member(self.schema, inside, name, value)? else { continue };
            match target {
                Target::Core => self.members(None, op, Some(value), named)?,
                Target::Extension(extension) => self.members(Some(extension), op, Some(value), named)?,
                Target::Attribute(attribute, extension) => {
                    let part = path.attr.sub.as_ref().map(|sub| sub.to_ascii_lowercase());
                    let key = (extension.map(|schema| schema.id), attribute.name, part);
                    if path.filter.is_none() && !named.insert(key) {
                        return Err(Invalid::value(format!("{} is given twice", attribute.name)));
                    }
                    self.push(Operation { op, path, value: Some(value.clone()) })?;
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, operation: Operation) -> Result<(), Invalid> {
        self.terms += operation.path.filter.as_ref().map_or(0, super::Filter::terms);
        if self.found.len() >= MOST_OPERATIONS {
            return Err(syntax(&format!("a request has at most {MOST_OPERATIONS} operations")));
        }
        if self.terms > MOST_TERMS {
            return Err(syntax(&format!("the paths of a request have at most {MOST_TERMS} comparisons")));
        }
        if let Some(value) = &operation.value {
            inside_of(self.schema, value)?;
        }
        self.found.push(operation);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::schema::USERS, *};

    fn read(list: &Value) -> Result<Vec<Operation>, Invalid> {
        operations(&USERS, &json!({"Operations": list}))
    }

    #[test]
    fn operations_and_comparisons_are_counted_after_expansion() {
        let many = |count: usize| {
            let emails = (0..count).map(|number| (format!("emails[type eq \"{number}\"].value"), json!("x")));
            json!([{"op": "replace", "value": Value::Object(emails.collect())}])
        };
        assert_eq!(read(&many(MOST_OPERATIONS)).unwrap().len(), MOST_OPERATIONS);
        assert!(read(&many(MOST_OPERATIONS + 1)).is_err());
        let path = format!("emails[{}].type", vec!["value eq \"a\""; 50].join(" or "));
        let filtered = |count: usize| Value::Array(vec![json!({"op": "remove", "path": path}); count]);
        assert_eq!(read(&filtered(20)).unwrap().len(), 20);
        assert!(read(&filtered(21)).is_err());
    }

    #[test]
    fn what_is_said_twice_is_refused() {
        let urn = super::super::schema::USER;
        for body in [
            json!({"Operations": [], "operations": [{"op": "replace", "path": "active", "value": false}]}),
            json!({"Operations": [{"op": "replace", "path": "active", "value": true, "Value": false}]}),
            json!({"Operations": [{"op": "replace", "path": "title", "Path": "active", "value": false}]}),
            json!({"Operations": [{"op": "replace", "value": {"active": true, "Active": false}}]}),
            json!({"Operations": [{"op": "replace", "value": {"active": false, urn: {"active": true}}}]}),
            json!({"Operations": [], "active": false}),
            json!({"Operations": [{"op": "replace", "path": "name", "value": {"active": false}}]}),
            json!({"Operations": [{"op": "add", "path": "emails", "value": [{"value": "a", "active": false}]}]}),
            json!({"Operations": [{"op": "replace", "path": "title", "value": "x", "active": false}]}),
        ] {
            assert!(operations(&USERS, &body).is_err(), "{body}");
        }
    }
}
