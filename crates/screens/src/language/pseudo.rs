//! Two pseudo-languages made from English: one is longer, one runs from right to left. They show what a translation
//! would break before there is one, and exist with `--dev` only (docs/decisions/0066).

use std::borrow::Cow;

use super::Language;

/// The transformation of a message's text; inserted values stay unchanged.
pub(super) const fn transform(language: Language) -> Option<fn(&str) -> Cow<'_, str>> {
    match language {
        Language::English | Language::Portuguese => None,
        Language::Long => Some(longer),
        Language::Mirrored => Some(mirrored),
    }
}

/// Accents on all letters that have them, vowels doubled: about 40 % longer with the brackets.
fn longer(text: &str) -> Cow<'_, str> {
    let mut long = String::with_capacity(text.len() * 2);
    for letter in text.chars() {
        let accented = match letter {
            'a' => "áá",
            'e' => "éé",
            'i' => "íí",
            'o' => "óó",
            'u' => "úú",
            'A' => "ÁÁ",
            'E' => "ÉÉ",
            'I' => "ÍÍ",
            'O' => "ÓÓ",
            'U' => "ÚÚ",
            'c' => "ç",
            'n' => "ñ",
            's' => "š",
            'y' => "ýý",
            'C' => "Ç",
            'N' => "Ñ",
            'S' => "Š",
            'Y' => "ÝÝ",
            other => {
                long.push(other);
                continue;
            }
        };
        long.push_str(accented);
    }
    Cow::Owned(long)
}

/// Every word from right to left, as in Arabic (Unicode Standard Annex 9, RLO and PDF).
fn mirrored(text: &str) -> Cow<'_, str> {
    let words = text.split(' ').map(|word| {
        if word.chars().any(char::is_alphabetic) {
            Cow::Owned(format!("\u{202e}{word}\u{202c}"))
        } else {
            Cow::Borrowed(word)
        }
    });
    Cow::Owned(words.collect::<Vec<_>>().join(" "))
}

/// In brackets, so that a truncated message is visible.
pub(super) fn bracketed(language: Language, text: String) -> String {
    match language {
        Language::Long => format!("[{text}]"),
        Language::English | Language::Portuguese | Language::Mirrored => text,
    }
}
