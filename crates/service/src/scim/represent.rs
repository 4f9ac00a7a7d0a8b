//! Resources as directories see them (RFC 7643 §3.1).

use std::collections::BTreeMap;

use porteiro_protocol::{
    scim::{
        Attr,
        resource::Resource,
        schema::{ENTERPRISE, GROUP, USER},
    },
    time::OffsetDateTime,
};
use serde_json::{Map, Value, json};

use super::store::User;
use crate::{
    audit_trail,
    groups::{Belonging, Group},
};

fn meta(kind: &str, location: &str, version: i64, made: OffsetDateTime, changed: OffsetDateTime) -> Value {
    json!({
        "resourceType": kind,
        "created": audit_trail::at(made),
        "lastModified": audit_trail::at(changed),
        "location": location,
        "version": etag(version),
    })
}

pub(super) fn etag(version: i64) -> String {
    format!("W/\"{version}\"")
}

/// Members of groups, or groups of members, by one of the two.
pub(super) fn by<K: Ord>(
    belongings: &[Belonging],
    key: impl Fn(&Belonging) -> K,
) -> BTreeMap<K, Vec<&Belonging>> {
    let mut found: BTreeMap<K, Vec<&Belonging>> = BTreeMap::new();
    for one in belongings {
        found.entry(key(one)).or_default().push(one);
    }
    found
}

/// A user, with groups it is in.
pub(super) fn user(base: &str, user: &User, groups: &[&Belonging]) -> Resource {
    let mut resource = user.form.resource();
    let mut schemas = vec![USER];
    schemas.extend(resource.contains_key(ENTERPRISE).then_some(ENTERPRISE));
    let location = format!("{base}/Users/{}", user.id);
    resource.insert("schemas".into(), json!(schemas));
    resource.insert("id".into(), json!(user.id));
    resource.insert("meta".into(), meta("User", &location, user.version, user.created_at, user.modified_at));
    let groups: Vec<Value> = groups
        .iter()
        .map(|one| {
            let address = format!("{base}/Groups/{}", one.group);
            json!({"value": one.group, "$ref": address, "display": one.display_name, "type": "direct"})
        })
        .collect();
    if !groups.is_empty() {
        resource.insert("groups".into(), groups.into());
    }
    resource
}

/// A group; `members`: none where they are not asked for.
pub(super) fn group(base: &str, group: &Group, members: &[&Belonging]) -> Resource {
    let location = format!("{base}/Groups/{}", group.id);
    let members: Vec<Value> = members
        .iter()
        .map(|one| {
            let address = format!("{base}/Users/{}", one.member);
            json!({"value": one.member, "$ref": address, "display": one.display_name, "type": "User"})
        })
        .collect();
    let mut resource = Map::new();
    resource.insert("schemas".into(), json!([GROUP]));
    resource.insert("id".into(), json!(group.id));
    resource.insert("displayName".into(), json!(group.display_name));
    if let Some(external_id) = &group.external_id {
        resource.insert("externalId".into(), json!(external_id));
    }
    if !members.is_empty() {
        resource.insert("members".into(), members.into());
    }
    resource
        .insert("meta".into(), meta("Group", &location, group.version, group.created_at, group.modified_at));
    resource
}

/// Which attributes the directory wants to see: `attributes` and `excludedAttributes` (RFC 7644 §3.9).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Projection {
    pub only: Vec<Attr>,
    pub without: Vec<Attr>,
}

const ALWAYS: [&str; 2] = ["schemas", "id"];

impl Projection {
    /// Whether an attribute may be shown at all.
    pub(super) fn shows(&self, name: &str) -> bool {
        let named = |attr: &Attr| attr.name.eq_ignore_ascii_case(name);
        let without = self.without.iter().any(|attr| named(attr) && attr.sub.is_none());
        (self.only.is_empty() || self.only.iter().any(named)) && !without
    }

    pub(super) fn apply(&self, resource: Resource) -> Resource {
        let mut shown = if self.only.is_empty() { resource } else { self.chosen(&resource) };
        for attr in &self.without {
            let Some((object, name)) = place(&mut shown, attr) else { continue };
            match &attr.sub {
                None if ALWAYS.contains(&name.as_str()) => {}
                None => {
                    object.remove(&name);
                }
                Some(sub) => {
                    if let Some(value) = object.get_mut(&name) {
                        each(value, |members| members.retain(|key, _| !key.eq_ignore_ascii_case(sub)));
                    }
                }
            }
        }
        shown
    }

    /// Each member is looked at once and copied at most once, however many names were sent.
    fn chosen(&self, resource: &Resource) -> Resource {
        let mut shown = Resource::new();
        for (key, value) in resource {
            let value = match value {
                _ if ALWAYS.contains(&key.as_str()) => Some(value.clone()),
                Value::Object(members) if key.starts_with(URN) => self.chosen_extension(key, members),
                value => selected(value, self.only.iter().filter(|attr| is_of_core(attr) && is(attr, key))),
            };
            shown.extend(value.map(|value| (key.clone(), value)));
        }
        shown
    }

    fn chosen_extension(&self, id: &str, members: &Resource) -> Option<Value> {
        let same = |schema: &String| schema.eq_ignore_ascii_case(id);
        if self.only.iter().any(|attr| attr.as_schema().as_ref().is_some_and(same)) {
            return Some(members.clone().into());
        }
        let inside: Vec<&Attr> =
            self.only.iter().filter(|attr| attr.schema.as_ref().is_some_and(same)).collect();
        let mut shown = Resource::new();
        for (key, value) in members {
            let value = selected(value, inside.iter().copied().filter(|attr| is(attr, key)));
            shown.extend(value.map(|value| (key.clone(), value)));
        }
        (!shown.is_empty()).then(|| shown.into())
    }
}

/// How the names of schemas begin.
const URN: &str = "urn:";

fn is(attr: &Attr, name: &str) -> bool {
    attr.name.eq_ignore_ascii_case(name)
}

fn is_of_core(attr: &Attr) -> bool {
    let core = |schema: &String| [USER, GROUP].iter().any(|id| schema.eq_ignore_ascii_case(id));
    attr.schema.as_ref().is_none_or(core)
}

/// What these names of one attribute leave of its value.
fn selected<'a>(value: &Value, names: impl Iterator<Item = &'a Attr>) -> Option<Value> {
    let names: Vec<&Attr> = names.collect();
    if names.is_empty() {
        return None;
    }
    let mut value = value.clone();
    if names.iter().all(|attr| attr.sub.is_some()) {
        let wanted = |key: &String| {
            names.iter().any(|attr| attr.sub.as_ref().is_some_and(|sub| sub.eq_ignore_ascii_case(key)))
        };
        each(&mut value, |members| members.retain(|key, _| wanted(key)));
    }
    Some(value)
}

/// The object that has the attribute, and its name there.
fn place<'a>(resource: &'a mut Resource, attr: &Attr) -> Option<(&'a mut Resource, String)> {
    if let Some(id) = attr.as_schema().and_then(|id| key(resource, &id)) {
        return Some((resource, id));
    }
    let object = if is_of_core(attr) {
        resource
    } else {
        let id = key(resource, attr.schema.as_deref()?)?;
        resource.get_mut(&id)?.as_object_mut()?
    };
    let name = key(object, &attr.name)?;
    Some((object, name))
}

/// A name as the object spells it.
fn key(object: &Resource, name: &str) -> Option<String> {
    object.keys().find(|key| key.eq_ignore_ascii_case(name)).cloned()
}

/// Changes an object, or each object of an array.
fn each(value: &mut Value, change: impl Fn(&mut Resource)) {
    match value {
        Value::Object(members) => change(members),
        Value::Array(items) => items.iter_mut().filter_map(Value::as_object_mut).for_each(change),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projection_shows_what_was_asked_for_and_always_the_id() {
        let Value::Object(resource) = json!({
            "schemas": [USER], "id": "1", "userName": "ana", "name": {"givenName": "Ana", "familyName": "Sá"},
            "emails": [{"type": "work", "value": "a"}], ENTERPRISE: {"department": "Sales", "division": "X"},
        }) else {
            panic!("no object")
        };
        let attrs = |texts: &[&str]| texts.iter().map(|text| Attr::parse(text).unwrap()).collect::<Vec<_>>();
        let department = format!("{ENTERPRISE}:department");
        for (only, without, keys) in [
            (attrs(&[]), attrs(&["emails", "ID", ENTERPRISE]), json!(["id", "name", "schemas", "userName"])),
            (attrs(&["username"]), attrs(&[]), json!(["id", "schemas", "userName"])),
            (attrs(&["shoe", &department]), attrs(&[]), json!(["id", "schemas", ENTERPRISE])),
        ] {
            let shown = Projection { only, without }.apply(resource.clone());
            let mut names: Vec<&String> = shown.keys().collect();
            names.sort();
            assert_eq!(json!(names), keys);
        }
        let shown = Projection {
            only: attrs(&["name.givenName", "NAME.familyname", "emails.value", &department]),
            without: vec![],
        };
        let shown = Value::Object(shown.apply(resource.clone()));
        assert_eq!(shown["name"], json!({"givenName": "Ana", "familyName": "Sá"}));
        assert_eq!(shown["emails"], json!([{"value": "a"}]));
        assert_eq!(shown[ENTERPRISE], json!({"department": "Sales"}));
        let shown = Projection { only: vec![], without: attrs(&["name.givenName"]) }.apply(resource);
        assert_eq!(shown["name"], json!({"familyName": "Sá"}));
    }
}
