//! Text without control characters: what databases, logs and headers can all carry. PostgreSQL takes no NUL in
//! `text` or `jsonb`, and says so only when it is written.

use serde_json::Value;

pub(crate) fn is_plain(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

/// For values that are stored as they came; names included.
pub(crate) fn is_plain_json(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => is_plain(text),
        Value::Array(items) => items.iter().all(is_plain_json),
        Value::Object(members) => members.iter().all(|(name, value)| is_plain(name) && is_plain_json(value)),
    }
}
