//! A text of the service in which values are marked: each stands between two isolates of Unicode (UAX #9), and becomes an
//! element of its own on the page.

use std::fmt;

use porteiro_protocol::authorization_details::{ISOLATE, ISOLATE_END};

/// The words of a text, and the values in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub text: String,
    pub is_value: bool,
}

impl Phrase {
    pub fn parts(&self) -> &[Part] {
        &self.0
    }
}

impl From<&str> for Phrase {
    fn from(text: &str) -> Self {
        let (mut parts, mut depth, mut begun) = (Vec::new(), 0_usize, 0);
        let mut add = |text: &str, is_value| {
            if !text.is_empty() {
                parts.push(Part { text: text.to_owned(), is_value });
            }
        };
        for (at, char) in text.char_indices() {
            let outside = match char {
                ISOLATE => depth == 0,
                ISOLATE_END => depth == 1,
                _ => continue,
            };
            if outside {
                add(&text[begun..at], char == ISOLATE_END);
                begun = at + char.len_utf8();
            }
            depth = if char == ISOLATE { depth + 1 } else { depth.saturating_sub(1) };
        }
        add(&text[begun..], depth > 0);
        Self(parts)
    }
}

impl From<String> for Phrase {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

/// Without the marks.
impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| f.write_str(&part.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_part_of_its_own() {
        let read = |text: &str| -> Vec<(String, bool)> {
            let phrase = Phrase::from(text.replace('<', "\u{2068}").replace('>', "\u{2069}"));
            phrase.parts().iter().map(|part| (part.text.clone(), part.is_value)).collect()
        };
        let part = |text: &str, is_value| (text.replace('<', "\u{2068}").replace('>', "\u{2069}"), is_value);
        assert_eq!(read("Read"), [part("Read", false)]);
        assert_eq!(
            read("Pay <10> to <Bea>"),
            [part("Pay ", false), part("10", true), part(" to ", false), part("Bea", true)]
        );
        assert_eq!(read("<{\"<b>\":3}>."), [part("{\"<b>\":3}", true), part(".", false)]);
        assert_eq!(read("a <b"), [part("a ", false), part("b", true)]);
        assert_eq!(read("a> b"), [part("a> b", false)]);
    }
}
