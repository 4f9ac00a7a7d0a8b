//! Two languages nobody speaks, made from English as it is read: one is longer, one runs the other way. They show what a
//! translation would break before there is one, and exist with `--dev` only (docs/decisions/0066).

use std::borrow::Cow;

use super::Language;

/// What happens to the words of a message; what is put into it stays as it is.
pub(super) const fn transform(language: Language) -> Option<fn(&str) -> Cow<'_, str>> {
    match language {
        Language::English | Language::Portuguese => None,
        Language::Long => Some(longer),
        Language::Mirrored => Some(mirrored),
    }
}

/// Accents on every letter that can carry one, vowels twice: about 40 % longer with the brackets.
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

/// Every word from right to left, as Arabic letters would stand (Unicode Standard Annex 9, RLO and PDF).
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

/// A message in brackets that is cut off lacks one.
pub(super) fn bracketed(language: Language, text: String) -> String {
    match language {
        Language::Long => format!("[{text}]"),
        Language::English | Language::Portuguese | Language::Mirrored => text,
    }
}
