//! Valid names and slugs of organizations.

use porteiro_protocol::plain_text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::organizations::{Language, Organization};

/// What of an organization its administrators may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OrganizationChange")]
pub struct Said {
    /// 1 to 100 characters.
    #[schemars(length(min = 1, max = 100))]
    pub name: String,
    /// How addresses and requests may call it.
    #[schemars(regex(pattern = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$"))]
    pub slug: String,
    #[serde(default = "english")]
    pub locale: Language,
}

pub const fn english() -> Language {
    Language::En
}

impl From<&Organization> for Said {
    fn from(organization: &Organization) -> Self {
        Self {
            name: organization.name.clone(),
            slug: organization.slug.clone(),
            locale: organization.locale.parse().unwrap_or(Language::En),
        }
    }
}

/// An invalid field, and why.
pub type Wrong = (&'static str, &'static str);

impl Said {
    /// Trims the name and checks all fields.
    ///
    /// # Errors
    /// The first invalid field.
    pub fn checked(mut self) -> Result<Self, Wrong> {
        let name =
            plain_text::name(&self.name, 100).ok_or(("name", "must have 1 to 100 printable characters"))?;
        self.name = name.to_owned();
        if !is_slug(&self.slug) {
            return Err((
                "slug",
                "must have 2 to 63 characters of a-z, 0-9 and '-', must not begin or end with '-', and must not look like an id",
            ));
        }
        Ok(self)
    }
}

/// A label as in a host name. It must not look like an id, which it would be taken for.
fn is_slug(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (2..=63).contains(&text.len())
        && text.bytes().all(fits)
        && !text.starts_with('-')
        && !text.ends_with('-')
        && uuid::Uuid::try_parse(text).is_err()
}

/// A code that the platform chooses, such as `unpaid`.
pub fn is_reason_code(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_reads_the_same_in_an_address() {
        for good in ["ab", "a1", "acme-br", "a--b", &"a".repeat(63)] {
            assert!(is_slug(good), "{good}");
        }
        let id = "0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f";
        for bad in ["", "a", "A1", "-a", "a-", "a_b", "a.b", "é1", &"a".repeat(64), id, &id.replace('-', "")]
        {
            assert!(!is_slug(bad), "{bad}");
        }
    }
}
