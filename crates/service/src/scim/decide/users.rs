//! Users of a directory.

use std::collections::BTreeSet;

use porteiro_protocol::{
    plain_text,
    scim::{Invalid, Operation, apply::apply_all, resource::Resource, schema::USERS},
};
use serde_json::Value;

use super::{LARGEST_PROFILE, LARGEST_RESOURCE, LONGEST_NAME, invalid, name};

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

fn emails(profile: &Resource) -> impl Iterator<Item = &str> {
    let emails = profile.get("emails").and_then(Value::as_array);
    emails.into_iter().flatten().filter_map(|email| email["value"].as_str())
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
        if emails(&resource).any(|email| email.chars().count() > LONGEST_NAME) {
            return Err(invalid(format!("a value of emails has at most {LONGEST_NAME} characters")));
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
        emails(&self.profile).map(str::to_lowercase).collect::<BTreeSet<_>>().into_iter().collect()
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
                let operations: Vec<&Operation> = operations.iter().collect();
                apply_all(&USERS, &mut resource, &operations, LARGEST_RESOURCE)?;
            }
        }
        UserForm::read(resource)
    }

    /// Whether the directory says that the user is not active; silence is no word.
    ///
    /// # Errors
    /// When an operation or its result is invalid.
    pub fn deactivates(&self, now: &UserForm) -> Result<bool, Invalid> {
        Ok(!self.user(&UserForm { active: true, ..now.clone() })?.active)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
    fn an_address_is_not_longer_than_addresses_are() {
        let with = |length: usize| {
            let user = json!({"userName": "ana", "emails": [{"value": "é".repeat(length)}]});
            UserForm::read(user.as_object().unwrap().clone())
        };
        assert!(with(LONGEST_NAME).is_ok());
        assert!(with(LONGEST_NAME + 1).is_err());
    }
}
