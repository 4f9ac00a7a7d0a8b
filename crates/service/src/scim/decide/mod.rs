//! What a resource of a directory means here.

mod groups;
mod users;

use porteiro_protocol::{
    plain_text,
    scim::{ErrorKind, Invalid, resource::Resource},
};
use serde_json::Value;

pub use groups::{GroupForm, WholeGroup, member_ids, patch_group};
pub use users::{UserForm, Wanted};

/// The longest name and key of a resource.
pub const LONGEST_NAME: usize = 320;
/// What a directory may say about one member, in bytes of JSON.
pub const LARGEST_PROFILE: usize = 65_536;
/// The same with names and keys, while a PATCH changes it.
const LARGEST_RESOURCE: usize = LARGEST_PROFILE + 4_096;

fn invalid(detail: impl Into<String>) -> Invalid {
    Invalid::new(ErrorKind::InvalidValue, detail)
}

/// A name or a key: visible characters only.
fn name(resource: &Resource, attribute: &str) -> Result<Option<String>, Invalid> {
    let Some(text) = resource.get(attribute).and_then(Value::as_str) else { return Ok(None) };
    let wrong = || invalid(format!("{attribute} must have 1 to {LONGEST_NAME} printable characters"));
    plain_text::name(text, LONGEST_NAME).map(|name| Some(name.to_owned())).ok_or_else(wrong)
}
