//! Groups of a directory, and changes of their members.

use std::collections::BTreeSet;

use porteiro_protocol::scim::{
    Attr, ErrorKind, Filter, Invalid, Literal, Op, Operation, Operator,
    apply::apply_all,
    names::{Target, target, unambiguous},
    resource::{Resource, attributes, normal_of, schema_member},
    schema::GROUPS,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{LARGEST_RESOURCE, invalid, name};
use crate::groups::MemberChange;

/// A group, but for its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupForm {
    pub display_name: String,
    pub external_id: Option<String>,
}

impl GroupForm {
    /// # Errors
    /// When `displayName` is missing, or a value is too long.
    pub fn read(resource: &Resource) -> Result<Self, Invalid> {
        let display_name = name(resource, "displayName")?;
        let display_name = display_name.ok_or_else(|| invalid("displayName is required"))?;
        Ok(Self { display_name, external_id: name(resource, "externalId")? })
    }

    pub fn resource(&self) -> Resource {
        let resource = json!({"displayName": self.display_name, "externalId": self.external_id});
        match resource {
            Value::Object(mut members) => {
                members.retain(|_, value| !value.is_null());
                members
            }
            _ => Resource::new(),
        }
    }

    pub fn key(&self) -> String {
        self.display_name.to_lowercase()
    }
}

/// The ids of members, as directories send them: an array of objects with `value`, one object, or bare ids.
///
/// # Errors
/// When one is not the id of a user.
pub fn member_ids(value: &Value) -> Result<BTreeSet<Uuid>, Invalid> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    items.iter().map(member_id).collect()
}

fn member_id(item: &Value) -> Result<Uuid, Invalid> {
    let part = |name: &str| item.as_object().and_then(|members| schema_member(members, name));
    item.as_object().map_or(Ok(()), unambiguous)?;
    let is_group =
        part("type").and_then(Value::as_str).is_some_and(|kind| kind.eq_ignore_ascii_case("group"));
    if is_group {
        return Err(invalid("a group cannot be a member of a group here"));
    }
    let text = part("value").or(Some(item)).and_then(Value::as_str);
    let id = text.and_then(|text| Uuid::try_parse(text).ok());
    id.ok_or_else(|| invalid("a value of members is not the id of a user"))
}

/// A whole group, as POST and PUT send it.
#[derive(Debug)]
pub struct WholeGroup<'a> {
    /// What was sent but for the members, in its normal form.
    pub sent: Resource,
    pub form: GroupForm,
    /// What it says about the members, if anything.
    pub members: Option<&'a Value>,
}

impl<'a> WholeGroup<'a> {
    /// # Errors
    /// When it is not a group.
    pub fn read(sent: &'a Resource) -> Result<Self, Invalid> {
        let is_members = |name: &str| name == GROUPS.guarded;
        let (members, others): (Vec<_>, Vec<_>) =
            attributes(&GROUPS, sent)?.into_iter().partition(|(attribute, _, _)| is_members(attribute.name));
        let sent = normal_of(&others)?;
        let form = GroupForm::read(&sent)?;
        Ok(Self { sent, form, members: members.first().map(|(_, _, value)| *value) })
    }

    /// Whom a new group has: null is nobody.
    ///
    /// # Errors
    /// When a member is not a user's id.
    pub fn first_members(&self) -> Result<BTreeSet<Uuid>, Invalid> {
        self.members.filter(|value| !value.is_null()).map_or_else(|| Ok(BTreeSet::new()), member_ids)
    }
}

/// The changes of a group by PATCH: its attributes, and its members as one change.
///
/// # Errors
/// When an operation is invalid.
pub fn patch_group(now: &GroupForm, operations: &[Operation]) -> Result<(GroupForm, MemberChange), Invalid> {
    let (mut others, mut change) = (Vec::new(), MemberChange::default());
    for operation in operations {
        match target(&GROUPS, &operation.path.attr)? {
            Target::Attribute(attribute, _) if attribute.name == GROUPS.guarded => {
                patch_members(&mut change, operation)?;
            }
            Target::Attribute(_, _) | Target::Extension(_) | Target::Core => others.push(operation),
        }
    }
    let mut resource = now.resource();
    apply_all(&GROUPS, &mut resource, &others, LARGEST_RESOURCE)?;
    Ok((GroupForm::read(&resource)?, change))
}

fn patch_members(change: &mut MemberChange, operation: &Operation) -> Result<(), Invalid> {
    let path = &operation.path;
    if path.attr.sub.is_some() {
        return Err(Invalid::new(ErrorKind::InvalidPath, "a part of a member cannot be changed"));
    }
    // Removing what is null is removing without a value.
    let is_none = |value: &&Value| operation.op == Op::Remove && (value.is_null() || path.filter.is_some());
    let sent = operation.value.as_ref().filter(|value| !is_none(value)).map(member_ids).transpose()?;
    let named = path.filter.as_ref().map(filtered).transpose()?;
    match (operation.op, named, sent) {
        // Entra: those members, not all. An empty list is nobody.
        (Op::Remove, Some(ids), _) | (Op::Remove, None, Some(ids)) => change.removing(ids),
        (Op::Remove, None, None) => change.replacing(BTreeSet::new()),
        (Op::Add, None, Some(ids)) => change.adding(ids),
        (Op::Replace, None, Some(ids)) => change.replacing(ids),
        (Op::Add | Op::Replace, Some(_), _) => {
            return Err(Invalid::new(
                ErrorKind::InvalidPath,
                "members are added by their value, not by a filter",
            ));
        }
        (Op::Add | Op::Replace, None, None) => return Err(invalid("members need a value")),
    }
    Ok(())
}

/// `members[value eq "…"]`, or several of them with `or`.
fn filtered(filter: &Filter) -> Result<BTreeSet<Uuid>, Invalid> {
    let wrong = || Invalid::new(ErrorKind::InvalidPath, "members are selected by: value eq \"…\"");
    match filter {
        Filter::Compare(one) if one.operator == Operator::Eq && is_value(&one.attr) => {
            match &one.literal {
                // What is no id is nobody's.
                Literal::Text(text) => Ok(Uuid::try_parse(text).into_iter().collect()),
                Literal::Boolean(_) | Literal::Number(_) | Literal::Null => Err(wrong()),
            }
        }
        Filter::Or(parts) => {
            let all = parts.iter().map(filtered).collect::<Result<Vec<_>, _>>()?;
            Ok(all.into_iter().flatten().collect())
        }
        Filter::Compare(_) | Filter::And(_) | Filter::Not(_) | Filter::Present(_) | Filter::Values(_, _) => {
            Err(wrong())
        }
    }
}

fn is_value(attr: &Attr) -> bool {
    attr.name.eq_ignore_ascii_case("value") && attr.sub.is_none() && attr.schema.is_none()
}

#[cfg(test)]
mod tests {
    use porteiro_protocol::scim::{patch::operations, schema::GROUP};

    use super::*;

    const ONE: &str = "2819c223-7f76-453a-919d-413861904646";
    const TWO: &str = "902c246b-6245-4190-8e05-00816be7344a";

    #[test]
    fn members_are_changed_in_every_shape_that_directories_send() {
        let now = GroupForm { display_name: "Sales".into(), external_id: None };
        let ids = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<BTreeSet<Uuid>>();
        let adds = |texts: &[&str]| MemberChange { add: ids(texts), ..MemberChange::default() };
        let removes = |texts: &[&str]| MemberChange { remove: ids(texts), ..MemberChange::default() };
        let only = |texts: &[&str]| MemberChange { only: true, add: ids(texts), remove: BTreeSet::new() };
        for (operation, change) in [
            (
                json!({"op": "add", "path": "members", "value": [{"value": ONE}, {"value": TWO}]}),
                adds(&[ONE, TWO]),
            ),
            (json!({"op": "Add", "path": "members", "value": [{"$ref": null, "value": ONE}]}), adds(&[ONE])),
            (json!({"op": "add", "value": {"members": [{"value": ONE}]}}), adds(&[ONE])),
            (json!({"op": "Add", "path": "members", "value": ONE}), adds(&[ONE])),
            (json!({"op": "remove", "path": format!("members[value eq \"{ONE}\"]")}), removes(&[ONE])),
            (json!({"op": "Remove", "path": "members", "value": [{"value": ONE}]}), removes(&[ONE])),
            (json!({"op": "remove", "path": "members"}), only(&[])),
            (json!({"op": "remove", "path": "members", "value": null}), only(&[])),
            (json!({"op": "remove", "path": "members", "value": []}), MemberChange::default()),
            (json!({"op": "replace", "path": "members", "value": []}), only(&[])),
            (json!({"op": "replace", "value": {GROUP: {"Members": []}}}), only(&[])),
            (json!({"op": "replace", "path": GROUP, "value": {"members": [{"value": ONE}]}}), only(&[ONE])),
            (
                json!({"op": "remove", "path": format!("{GROUP}:members[value eq \"{ONE}\"]")}),
                removes(&[ONE]),
            ),
            (json!({"op": "replace", "value": {"id": "x", "displayName": "Sales"}}), MemberChange::default()),
            (json!({"op": "replace", "path": "members", "value": [{"value": TWO}]}), only(&[TWO])),
        ] {
            let operations = operations(&GROUPS, &json!({"Operations": [operation]})).unwrap();
            assert_eq!(patch_group(&now, &operations).unwrap().1, change, "{operation}");
        }
        for operation in [
            json!({"op": "add", "path": "members", "value": [{"value": "nobody"}]}),
            json!({"op": "add", "path": "members", "value": [{"value": ONE, "type": "Group"}]}),
            json!({"op": "add", "path": "members"}),
            json!({"op": "add", "path": "members", "value": [null]}),
            json!({"op": "remove", "path": "members", "value": [null]}),
            json!({"op": "replace", "path": "members", "value": null}),
            json!({"op": "replace", "path": "members", "value": [{"value": ONE, "Value": TWO}]}),
            json!({"op": "replace", "path": "urn:ietf:params:scim:schemas:core:2.0:User:members", "value": []}),
            json!({"op": "replace", "value": {"members.value": []}}),
            json!({"op": "replace", "value": {"/members": []}}),
            json!({"op": "replace", "value": {"members": [], "Members": [{"value": ONE}]}}),
            json!({"op": "add", "path": "members", "value": [[]]}),
            json!({"op": "remove", "path": "members[display eq \"Ana\"]"}),
            json!({"op": "replace", "path": "members.value", "value": ONE}),
            json!({"op": "remove", "path": "displayName"}),
        ] {
            let parsed = operations(&GROUPS, &json!({"Operations": [operation]}));
            assert!(parsed.and_then(|list| patch_group(&now, &list)).is_err(), "{operation}");
        }
    }

    #[test]
    fn a_whole_group_names_its_members_in_any_spelling_and_once() {
        let read = |value: &Value| {
            let group = WholeGroup::read(value.as_object().unwrap())?;
            group.members.map(member_ids).transpose()
        };
        let one = BTreeSet::from([ONE.parse().unwrap()]);
        let members = json!([{"value": ONE}]);
        for group in [
            json!({"displayName": "Sales", "MEMBERS": members}),
            json!({"displayName": "Sales", GROUP: {"members": members}}),
            json!({"displayName": "Sales", (format!("{GROUP}:members")): members}),
        ] {
            assert_eq!(read(&group).unwrap().as_ref(), Some(&one), "{group}");
        }
        for group in [
            json!({"displayName": "Sales", "members": null}),
            json!({"displayName": "Sales", "members": [null]}),
            json!({"displayName": "Sales", "members": {"value": null}}),
            json!({"displayName": "Sales", "members": members, "Members": []}),
            json!({"displayName": "Sales", "members": members, GROUP: {"members": []}}),
            json!({"displayName": "Sales", "members.value": []}),
            json!({"displayName": "Sales", "urn:unknown": {"members": []}}),
        ] {
            assert!(read(&group).is_err(), "{group}");
        }
        assert_eq!(read(&json!({"displayName": "Sales", "members": []})).unwrap(), Some(BTreeSet::new()));
        assert_eq!(read(&json!({"displayName": "Sales"})).unwrap(), None);
    }
}
