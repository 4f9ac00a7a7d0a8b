//! Text without control characters: what databases, logs and headers can all carry. PostgreSQL refuses NUL in `text`
//! or `jsonb`, and only when it is written.

use serde_json::Value;

pub(crate) fn is_plain(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

/// For JSON that is stored as received, member names included.
pub(crate) fn is_plain_json(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => is_plain(text),
        Value::Array(items) => items.iter().all(is_plain_json),
        Value::Object(members) => members.iter().all(|(name, value)| is_plain(name) && is_plain_json(value)),
    }
}

/// A display name, trimmed: 1 to `longest` characters, all visible.
#[must_use]
pub fn name(text: &str, longest: usize) -> Option<&str> {
    let text = text.trim();
    ((1..=longest).contains(&text.chars().count()) && is_seen(text)).then_some(text)
}

/// Whether a line of text has no invisible or bidirectional control characters. The joiners of RFC 5892 appendix A
/// are meaningful in Persian and in Indic scripts: they are allowed between two letters of such a script only.
#[must_use]
pub fn is_seen(text: &str) -> bool {
    let (mut before, mut rest) = (None, text.chars().peekable());
    while let Some(char) = rest.next() {
        let joins = matches!(char, '\u{200c}' | '\u{200d}')
            && before.is_some_and(is_joined)
            && rest.peek().copied().is_some_and(is_joined);
        if is_unseen(char) && !joins {
            return false;
        }
        before = Some(char);
    }
    true
}

/// Arabic, Syriac and related scripts; Devanagari to Sinhala; Mongolian.
const fn is_joined(char: char) -> bool {
    matches!(char, '\u{620}'..='\u{6ff}' | '\u{710}'..='\u{74f}' | '\u{750}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}'
        | '\u{900}'..='\u{dff}' | '\u{1820}'..='\u{18aa}')
}

/// Controls, spaces other than the plain and the ideographic one, and default-ignorable characters of Unicode:
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_nothing_hidden_in_it() {
        for good in ["Ana", "José da Silva", "李 小龙", "می\u{200c}خواهم", "क्\u{200d}ष", "محمد", "🙂"]
        {
            assert_eq!(name(&format!("  {good} "), 60), Some(good));
        }
        for bad in [
            "",
            " ",
            "A\u{200b}na",
            "A\u{200d}na",
            "\u{200c}می",
            "می\u{200c}",
            "می\u{200c}\u{200c}خ",
            "\u{202e}anA",
            "Ana\u{2066}",
            "A\u{ad}na",
            "A\u{0}na",
            "\u{3164}",
            "A\u{e0041}",
            "A\u{feff}",
            "A\nB",
            "A\u{61c}",
        ] {
            assert_eq!(name(bad, 60), None, "{bad:?}");
        }
        assert_eq!(name(&"a".repeat(61), 60), None);
    }
}
