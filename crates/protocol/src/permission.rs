//! Permissions: `resource:action`, with a wildcard for all actions of a resource. A held permission covers a requested
//! one only if both are equal, byte for byte, or the held one is its wildcard.

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Longest resource or action.
pub const MAX_PART: usize = 63;

/// Not covered by any wildcard: held only if given by name.
pub const RESERVED: &[&str] = &["organizations:administer", "members:impersonate"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a permission must be resource:action, each of a-z, 0-9, '_', '.' and '-' and beginning with a letter; the action may be '*'"
)]
pub struct PermissionError;

/// One permission. `r:*` is every action of `r` but the reserved ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Permission {
    text: String,
    colon: usize,
}

fn is_part(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() <= MAX_PART
        && bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-'))
}

impl Permission {
    /// # Errors
    /// When the text is anything else than `resource:action` or `resource:*`.
    pub fn parse(text: &str) -> Result<Self, PermissionError> {
        let (resource, action) = text.split_once(':').ok_or(PermissionError)?;
        if !is_part(resource) || !(action == "*" || is_part(action)) {
            return Err(PermissionError);
        }
        Ok(Self { text: text.to_owned(), colon: resource.len() })
    }

    #[must_use]
    pub fn resource(&self) -> &str {
        &self.text[..self.colon]
    }

    #[must_use]
    pub fn action(&self) -> &str {
        &self.text[self.colon + 1..]
    }

    #[must_use]
    pub fn is_wildcard(&self) -> bool {
        self.action() == "*"
    }

    #[must_use]
    pub fn is_reserved(&self) -> bool {
        RESERVED.contains(&self.text.as_str())
    }

    /// Whether holding this permission suffices for `asked`. One action never covers the wildcard.
    #[must_use]
    pub fn covers(&self, asked: &Self) -> bool {
        self == asked || (self.is_wildcard() && self.resource() == asked.resource() && !asked.is_reserved())
    }

    /// The wildcard that covers this permission; `None` for a reserved one.
    #[must_use]
    pub fn wildcard(&self) -> Option<String> {
        (!self.is_reserved()).then(|| format!("{}:*", self.resource()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
impl FromStr for Permission {
    type Err = PermissionError;
    fn from_str(text: &str) -> Result<Self, PermissionError> {
        Self::parse(text)
    }
}
impl TryFrom<String> for Permission {
    type Error = PermissionError;
    fn try_from(text: String) -> Result<Self, PermissionError> {
        Self::parse(&text)
    }
}
impl schemars::JsonSchema for Permission {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Permission".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let pattern = r"^[a-z][a-z0-9_.-]{0,62}:([a-z][a-z0-9_.-]{0,62}|\*)$";
        schemars::json_schema!({"type": "string", "pattern": pattern})
    }
}
impl From<Permission> for String {
    fn from(permission: Permission) -> Self {
        permission.text
    }
}

/// All permissions held in one organization: the union of the roles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    /// Every permission, also future ones, except the reserved: what owners hold.
    everything: bool,
    named: BTreeSet<Permission>,
}

impl Held {
    #[must_use]
    pub const fn nothing() -> Self {
        Self { everything: false, named: BTreeSet::new() }
    }

    #[must_use]
    pub const fn everything() -> Self {
        Self { everything: true, named: BTreeSet::new() }
    }

    #[must_use]
    pub fn of(permissions: impl IntoIterator<Item = Permission>) -> Self {
        Self { everything: false, named: permissions.into_iter().collect() }
    }

    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.everything |= other.everything;
        self.named.extend(other.named);
        self
    }

    /// The same without the reserved permissions, except those that `keeps` accepts.
    #[must_use]
    pub fn without_reserved(mut self, keeps: impl Fn(&Permission) -> bool) -> Self {
        self.named.retain(|held| !held.is_reserved() || keeps(held));
        self
    }

    /// The intersection: authority that is delegated only narrows.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        let named = self.named.union(&other.named);
        let named = named.filter(|one| self.covers(one) && other.covers(one)).cloned().collect();
        Self { everything: self.everything && other.everything, named }
    }

    #[must_use]
    pub fn covers(&self, asked: &Permission) -> bool {
        (self.everything && !asked.is_reserved()) || self.named.iter().any(|held| held.covers(asked))
    }

    /// Whether this covers everything `other` holds: required for giving `other` or impersonating its holder.
    #[must_use]
    pub fn covers_all(&self, other: &Self) -> bool {
        (self.everything || !other.everything) && other.named.iter().all(|asked| self.covers(asked))
    }

    /// The permissions of `asked` that are not held, in order.
    #[must_use]
    pub fn missing<'a>(&self, asked: impl IntoIterator<Item = &'a Permission>) -> Vec<&'a Permission> {
        asked.into_iter().filter(|asked| !self.covers(asked)).collect()
    }

    #[must_use]
    pub const fn is_everything(&self) -> bool {
        self.everything
    }

    pub fn named(&self) -> impl Iterator<Item = &Permission> {
        self.named.iter()
    }
}

#[cfg(test)]
mod tests;
