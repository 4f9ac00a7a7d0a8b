//! Renders a detail from a template of its API: `Pay {amount} to {creditor}`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::DetailTypeError;
use crate::plain_text::is_unseen;

const MAX_RENDERED: usize = 516;
const MAX_TEMPLATE: usize = 260;
/// With this maximum, each value has at least thirty characters.
const MAX_PLACEHOLDERS: usize = 8;
const ABSENT: &str = "—";
/// Stands before each value, and [`ISOLATE_END`] after it: letters of another direction in a value do not move what is
/// beside it (Unicode UAX #9, FSI and PDI). So a page can tell values from the words of the API, too.
pub const ISOLATE: char = '\u{2068}';
pub const ISOLATE_END: char = '\u{2069}';

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("must have 1 to {MAX_TEMPLATE} characters, without invisible or direction-changing ones")]
    Text,
    #[error("must have braces only around member names of letters, digits, - and _")]
    Braces,
    #[error("must not have more than {MAX_PLACEHOLDERS} placeholders")]
    TooMany,
    #[error("names {0}, which is not among the schema's properties")]
    Unknown(String),
}

/// One template per supported language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Display {
    pub en: String,
    pub pt: String,
}

enum Segment<'a> {
    Text(&'a str),
    Member(&'a str),
}

impl Display {
    pub(super) fn check(&self, properties: &Map<String, Value>) -> Result<(), DetailTypeError> {
        for (language, template) in [("en", &self.en), ("pt", &self.pt)] {
            check(template, properties).map_err(|error| DetailTypeError::Template { language, error })?;
        }
        Ok(())
    }

    pub(super) fn render(&self, detail: &Value, locale: &str) -> String {
        let portuguese =
            locale.split(['-', '_']).next().is_some_and(|language| language.eq_ignore_ascii_case("pt"));
        let template = if portuguese { &self.pt } else { &self.en };
        let segments = segments(template).unwrap_or_else(|| vec![Segment::Text(template)]);
        let (mut words, mut placeholders) = (0, 0);
        for segment in &segments {
            match segment {
                Segment::Text(text) => words += text.chars().count(),
                Segment::Member(_) => placeholders += 1,
            }
        }
        // Each value has its own share, so that a long one cannot displace another.
        let share = MAX_RENDERED.saturating_sub(words) / placeholders.max(1);
        let rendered: String = segments
            .iter()
            .map(|segment| match segment {
                Segment::Text(text) => clean(text),
                Segment::Member(name) => cut(&value_text(detail.get(name), portuguese), share),
            })
            .collect();
        cut(&rendered, MAX_RENDERED)
    }
}

fn check(template: &str, properties: &Map<String, Value>) -> Result<(), TemplateError> {
    let length = template.chars().count();
    if length == 0 || length > MAX_TEMPLATE || template.chars().any(is_unseen) {
        return Err(TemplateError::Text);
    }
    let segments = segments(template).ok_or(TemplateError::Braces)?;
    let members = segments.iter().filter_map(|segment| match segment {
        Segment::Member(name) => Some(*name),
        Segment::Text(_) => None,
    });
    if members.clone().count() > MAX_PLACEHOLDERS {
        return Err(TemplateError::TooMany);
    }
    match members.into_iter().find(|name| !properties.contains_key(*name)) {
        Some(unknown) => Err(TemplateError::Unknown(unknown.to_owned())),
        None => Ok(()),
    }
}

/// `None` when the braces are not paired around plain names.
fn segments(template: &str) -> Option<Vec<Segment<'_>>> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let mut segments = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once('{') {
        let (name, tail) = after.split_once('}')?;
        if text.contains('}') || name.is_empty() || !name.bytes().all(plain) {
            return None;
        }
        segments.extend([Segment::Text(text), Segment::Member(name)]);
        rest = tail;
    }
    segments.push(Segment::Text(rest));
    (!rest.contains('}')).then_some(segments)
}

fn value_text(value: Option<&Value>, portuguese: bool) -> String {
    match value {
        Some(Value::Array(items)) if !items.is_empty() => {
            items.iter().map(|item| isolated(&item_text(item, portuguese))).collect::<Vec<_>>().join(", ")
        }
        Some(Value::Array(_)) | None => isolated(ABSENT),
        Some(value) => isolated(&item_text(value, portuguese)),
    }
}

fn isolated(text: &str) -> String {
    let text = if text.trim().is_empty() { ABSENT } else { text };
    format!("{ISOLATE}{text}{ISOLATE_END}")
}

fn item_text(value: &Value, portuguese: bool) -> Cow<'_, str> {
    match (value, portuguese) {
        (Value::String(text), _) => Cow::from(clean(text)),
        (Value::Null, _) => Cow::from(ABSENT),
        (Value::Bool(true), true) => Cow::from("sim"),
        (Value::Bool(false), true) => Cow::from("não"),
        (Value::Bool(true), false) => Cow::from("yes"),
        (Value::Bool(false), false) => Cow::from("no"),
        (Value::Number(_), _) => Cow::from(value.to_string()),
        (Value::Array(_) | Value::Object(_), _) => Cow::from(isolating(value).to_string()),
    }
}

/// The same JSON with each text in it isolated.
fn isolating(value: &Value) -> Value {
    match value {
        Value::String(text) => isolated(&clean(text)).into(),
        Value::Array(items) => items.iter().map(isolating).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (isolated(&clean(name)), isolating(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Line breaks and other white space become spaces; invisible and bidirectional characters are removed.
fn clean(text: &str) -> String {
    let seen = |char: char| match char {
        space if space.is_whitespace() || space.is_control() => Some(' '),
        unseen if is_unseen(unseen) => None,
        other => Some(other),
    };
    text.chars().filter_map(seen).collect()
}

/// Whether a text in it has a character that [`clean`] removes: people would not read what the API gets. White space and
/// the variants of an emoji do no harm.
pub fn has_unseen(value: &Value) -> bool {
    let unseen =
        |char: char| is_unseen(char) && !char.is_whitespace() && !matches!(char, '\u{fe00}'..='\u{fe0f}');
    match value {
        Value::String(text) => text.chars().any(unseen),
        Value::Array(items) => items.iter().any(has_unseen),
        Value::Object(members) => {
            members.iter().any(|(name, value)| name.chars().any(unseen) || has_unseen(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A detail whose type nobody registered any more, for people.
pub fn unregistered(detail: &Value) -> String {
    cut(&isolating(detail).to_string(), MAX_RENDERED)
}

/// At most so many characters. What is isolated ends in what is left, too.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let (mut left, mut open) = (String::new(), 0_usize);
    for (number, char) in text.chars().enumerate() {
        let inside = match char {
            ISOLATE => open + 1,
            ISOLATE_END => open.saturating_sub(1),
            _ => open,
        };
        // Room for this one, the ellipsis, and the ends.
        if number + 2 + inside > most {
            break;
        }
        open = inside;
        left.push(char);
    }
    left.push('…');
    left.extend(std::iter::repeat_n(ISOLATE_END, open));
    left
}

#[cfg(test)]
mod tests;
