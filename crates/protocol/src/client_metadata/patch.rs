//! Changes of single members.

use serde_json::{Map, Value};

use super::{Allowed, ClientMetadata, MetadataError, invalid};
use crate::merge_patch::merge;

impl ClientMetadata {
    /// The metadata after a merge patch (RFC 7396). Every rule applies to the result, as at registration.
    ///
    /// # Errors
    /// As [`Self::parse`], and when the patch names an unknown member: an administrator who misspells one would not notice.
    pub fn patched(&self, patch: &Map<String, Value>, allowed: &Allowed<'_>) -> Result<Self, MetadataError> {
        if patch.keys().any(|name| !Self::MEMBERS.contains(&name.as_str())) {
            return Err(invalid("metadata contains an unknown member"));
        }
        let mut whole = self.as_object()?;
        // They are derived from the grant types unless the patch names them.
        if patch.contains_key("grant_types") {
            whole.remove("response_types");
        }
        let mut whole = Value::Object(whole);
        merge(&mut whole, &Value::Object(patch.clone()));
        Self::parse(&whole, allowed)
    }

    /// The names of the members in which two registrations differ.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let (Ok(one), Ok(other)) = (self.as_object(), other.as_object()) else { return Vec::new() };
        Self::MEMBERS.iter().copied().filter(|name| one.get(*name) != other.get(*name)).collect()
    }

    fn as_object(&self) -> Result<Map<String, Value>, MetadataError> {
        match serde_json::to_value(self) {
            Ok(Value::Object(members)) => Ok(members),
            Ok(_) | Err(_) => Err(invalid("client metadata must be a JSON object")),
        }
    }
}
