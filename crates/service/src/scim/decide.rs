//! What a resource of a directory means here.

use std::collections::BTreeSet;

use porteiro_protocol::{
    plain_text,
    scim::{
        ErrorKind, Filter, Invalid, Literal, Operation, Operator,
        patch::{self, Target},
        resource::Resource,
        schema::{GROUPS, USERS},
    },
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::groups::MemberChange;

/// The longest name and key of a resource.
pub const LONGEST_NAME: usize = 320;
/// What a directory may say about one member, in bytes of JSON.
pub const LARGEST_PROFILE: usize = 65_536;
/// The longest name of a member elsewhere in the product.
const LONGEST_DISPLAY: usize = 100;

/// A user, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct UserForm {
    pub user_name: String,
    pub external_id: Option<String>,
    pub active: bool,
    /// All other attributes.
    pub profile: Resource,
}

fn invalid(detail: impl Into<String>) -> Invalid {
    Invalid::new(ErrorKind::InvalidValue, detail)
}

/// A name or a key: visible characters only.
fn name(resource: &Resource, attribute: &str) -> Result<Option<String>, Invalid> {
    let Some(text) = resource.get(attribute).and_then(Value::as_str) else { return Ok(None) };
    let wrong = || invalid(format!("{attribute} must have 1 to {LONGEST_NAME} printable characters"));
    plain_text::name(text, LONGEST_NAME).map(|name| Some(name.to_owned())).ok_or_else(wrong)
}

impl UserForm {
    /// # Errors
    /// When `userName` is missing, or a value is too long.
    pub fn read(mut resource: Resource) -> Result<Self, Invalid> {
        let user_name = name(&resource, "userName")?.ok_or_else(|| invalid("userName is required"))?;
        let external_id = name(&resource, "externalId")?;
        let active = resource.get("active").and_then(Value::as_bool).unwrap_or(true);
        for attribute in ["userName", "externalId", "active"] {
            resource.remove(attribute);
        }
        if Value::Object(resource.clone()).to_string().len() > LARGEST_PROFILE {
            return Err(invalid(format!("the attributes of a user have at most {LARGEST_PROFILE} bytes")));
        }
        Ok(Self { user_name, external_id, active, profile: resource })
    }

    /// The whole resource again.
    pub fn resource(&self) -> Resource {
        let mut resource = self.profile.clone();
        resource.insert("userName".into(), self.user_name.clone().into());
        resource.insert("active".into(), self.active.into());
        if let Some(external_id) = &self.external_id {
            resource.insert("externalId".into(), external_id.clone().into());
        }
        resource
    }

    pub fn key(&self) -> String {
        self.user_name.to_lowercase()
    }

    /// The member's name in the product: what the directory displays, else the person's name, else the user name.
    pub fn display_name(&self) -> String {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let of_name = |part: &str| text(self.profile.get("name").and_then(|name| name.get(part)));
        let parts = [of_name("givenName"), of_name("familyName")];
        let joined = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let choices = [text(self.profile.get("displayName")), of_name("formatted"), Some(joined)];
        let seen = |text: &String| plain_text::is_seen(text) && !text.trim().is_empty();
        let chosen = choices.into_iter().flatten().find(seen).unwrap_or_else(|| self.user_name.clone());
        chosen.trim().chars().take(LONGEST_DISPLAY).collect::<String>().trim().to_owned()
    }

    /// The addresses by which the directory looks the user up.
    pub fn email_keys(&self) -> Vec<String> {
        let emails = self.profile.get("emails").and_then(Value::as_array);
        let values = emails.into_iter().flatten().filter_map(|email| email["value"].as_str());
        values.map(str::to_lowercase).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The names of the attributes that differ, without their values, which are personal data.
    pub fn changes(&self, after: &Self) -> Vec<String> {
        let (before, after) = (self.resource(), after.resource());
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differs = |name: &&String| before.get(*name) != after.get(*name) && *name != "active";
        names.into_iter().filter(differs).cloned().collect()
    }
}

/// How a resource is to change.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// PUT: everything but what is missing and must not be lost by mistake.
    Whole(&'a Resource),
    Patch(&'a [Operation]),
}

impl Wanted<'_> {
    /// The user after the change.
    ///
    /// # Errors
    /// When an operation or its result is invalid.
    pub fn user(&self, now: &UserForm) -> Result<UserForm, Invalid> {
        let mut resource = match self {
            Self::Whole(whole) => (*whole).clone(),
            Self::Patch(_) => now.resource(),
        };
        match self {
            // A wizard of Okta sends neither when they did not change (docs/decisions/0125).
            Self::Whole(_) => {
                for (name, value) in now.resource() {
                    if name == "active" || name == "externalId" {
                        resource.entry(name).or_insert(value);
                    }
                }
            }
            Self::Patch(operations) => {
                for operation in *operations {
                    patch::apply(&USERS, &mut resource, operation)?;
                }
            }
        }
        UserForm::read(resource)
    }
}

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
        Value::Null => &[],
        one => std::slice::from_ref(one),
    };
    let mut ids = BTreeSet::new();
    for item in items.iter().filter(|item| !item.is_null()) {
        let is_group = item["type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("group"));
        if is_group {
            return Err(invalid("a group cannot be a member of a group here"));
        }
        let value = item.as_object().and_then(|members| patch_member(members, "value"));
        let text = value.or(Some(item)).and_then(Value::as_str);
        let id = text.and_then(|text| Uuid::try_parse(text).ok());
        ids.insert(id.ok_or_else(|| invalid("a value of members is not the id of a user"))?);
    }
    Ok(ids)
}

fn patch_member<'a>(members: &'a serde_json::Map<String, Value>, name: &str) -> Option<&'a Value> {
    porteiro_protocol::scim::resource::schema_member(members, name)
}

/// A whole group, as POST and PUT send it: its members, if it says anything about them.
///
/// # Errors
/// When a member is not a user's id.
pub fn whole_members(sent: &Resource) -> Result<Option<BTreeSet<Uuid>>, Invalid> {
    patch_member(sent, "members").filter(|value| !value.is_null()).map(member_ids).transpose()
}

/// The changes of a group by PATCH: its attributes, and its members as one change.
///
/// # Errors
/// When an operation is invalid.
pub fn patch_group(now: &GroupForm, operations: &[Operation]) -> Result<(GroupForm, MemberChange), Invalid> {
    let (mut resource, mut change) = (now.resource(), MemberChange::default());
    for operation in operations {
        let Some(path) = &operation.path else { continue };
        match patch::target(&GROUPS, &path.attr)? {
            Target::Attribute(attribute, _) if attribute.name == "members" => {
                patch_members(&mut change, operation)?;
            }
            Target::Attribute(_, _) | Target::Extension(_) | Target::Elsewhere => {
                patch::apply(&GROUPS, &mut resource, operation)?;
            }
        }
    }
    Ok((GroupForm::read(&resource)?, change))
}

fn patch_members(change: &mut MemberChange, operation: &Operation) -> Result<(), Invalid> {
    use patch::Op;
    let Some(path) = &operation.path else { return Ok(()) };
    if path.attr.sub.is_some() {
        return Err(Invalid::new(ErrorKind::InvalidPath, "a part of a member cannot be changed"));
    }
    let sent = operation.value.as_ref().map(member_ids).transpose()?.filter(|_| path.filter.is_none());
    let named = path.filter.as_ref().map(filtered).transpose()?;
    match (operation.op, named, sent) {
        (Op::Remove, Some(ids), _) => change.removing(ids),
        // Entra: those members, not all.
        (Op::Remove, None, Some(ids)) if !ids.is_empty() => change.removing(ids),
        (Op::Remove, None, Some(_) | None) => change.replacing(BTreeSet::new()),
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
        Filter::Compare(one)
            if one.operator == Operator::Eq && one.attr.name.eq_ignore_ascii_case("value") =>
        {
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

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "2819c223-7f76-453a-919d-413861904646";
    const TWO: &str = "902c246b-6245-4190-8e05-00816be7344a";

    fn form(value: Value) -> UserForm {
        let Value::Object(resource) = value else { panic!("no object") };
        UserForm::read(resource).unwrap()
    }

    #[test]
    fn a_put_without_active_or_external_id_leaves_them() {
        let now = form(json!({"userName": "ana", "externalId": "x", "active": false, "title": "Boss"}));
        let Value::Object(whole) = json!({"userName": "ana"}) else { panic!("no object") };
        let after = Wanted::Whole(&whole).user(&now).unwrap();
        assert_eq!((after.active, after.external_id.as_deref()), (false, Some("x")));
        assert!(after.profile.is_empty());
        assert_eq!(now.changes(&after), ["title"]);
    }

    #[test]
    fn a_member_is_called_as_the_directory_calls_the_person() {
        for (value, name) in [
            (json!({"userName": "ana", "displayName": "Ana S."}), "Ana S."),
            (json!({"userName": "ana", "name": {"formatted": "Ana Sá"}}), "Ana Sá"),
            (json!({"userName": "ana", "name": {"givenName": "Ana", "familyName": "Sá"}}), "Ana Sá"),
            (json!({"userName": "ana", "displayName": "\u{7}"}), "ana"),
            (json!({"userName": "ana", "displayName": " "}), "ana"),
        ] {
            assert_eq!(form(value).display_name(), name);
        }
    }

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
            (json!({"op": "replace", "path": "members", "value": []}), only(&[])),
            (json!({"op": "replace", "value": {"id": "x", "displayName": "Sales"}}), MemberChange::default()),
            (json!({"op": "replace", "path": "members", "value": [{"value": TWO}]}), only(&[TWO])),
        ] {
            let operations = patch::operations(&GROUPS, &json!({"Operations": [operation]})).unwrap();
            assert_eq!(patch_group(&now, &operations).unwrap().1, change, "{operation}");
        }
        for operation in [
            json!({"op": "add", "path": "members", "value": [{"value": "nobody"}]}),
            json!({"op": "add", "path": "members", "value": [{"value": ONE, "type": "Group"}]}),
            json!({"op": "add", "path": "members"}),
            json!({"op": "add", "path": "members", "value": [[]]}),
            json!({"op": "remove", "path": "members[display eq \"Ana\"]"}),
            json!({"op": "replace", "path": "members.value", "value": ONE}),
            json!({"op": "remove", "path": "displayName"}),
        ] {
            let parsed = patch::operations(&GROUPS, &json!({"Operations": [operation]}));
            assert!(parsed.and_then(|list| patch_group(&now, &list)).is_err(), "{operation}");
        }
    }
}
