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

/// Controls, spaces other than the plain and the ideographic one, and what Unicode calls default-ignorable:
/// bidirectional controls, zero-width characters, fillers, tags.
pub fn is_unseen(char: char) -> bool {
    char.is_control()
        || (char.is_whitespace() && !matches!(char, ' ' | '\u{3000}'))
        || matches!(
            char,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffd}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}
