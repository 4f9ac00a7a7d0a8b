//! The client name that a person sees at consent (docs/decisions/0032): its appearance must not mislead.

use unicode_normalization::UnicodeNormalization;

use super::{Member, MetadataError, read};
use crate::plain_text::is_unseen;

const MAX_CHARACTERS: usize = 80;

pub(super) fn display_name(member: Member<'_>) -> Result<Option<String>, MetadataError> {
    let Some(text) = read::text(member)? else { return Ok(None) };
    let name: String = text.trim_matches(' ').nfc().collect();
    if name.is_empty() || name.chars().count() > MAX_CHARACTERS {
        return Err(member.refused("must have 1 to 80 characters"));
    }
    if name.chars().any(is_unseen) {
        return Err(member.refused("must not contain invisible or direction-changing characters"));
    }
    let mut scripts = name.chars().filter_map(script);
    if let Some(first) = scripts.next()
        && scripts.any(|other| other != first)
    {
        return Err(member.refused("must not mix Latin, Greek and Cyrillic letters"));
    }
    Ok(Some(name))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
}

/// The three scripts with letters that look alike. Other scripts may be mixed with Latin, as in ordinary Japanese,
/// Arabic or Hindi product names.
fn script(char: char) -> Option<Script> {
    if !char.is_alphabetic() {
        return None;
    }
    match char {
        'A'..='Z'
        | 'a'..='z'
        | '\u{aa}'
        | '\u{ba}'
        | '\u{c0}'..='\u{2b8}'
        | '\u{1d00}'..='\u{1d25}'
        | '\u{1e00}'..='\u{1eff}'
        | '\u{2c60}'..='\u{2c7f}'
        | '\u{a722}'..='\u{a7ff}'
        | '\u{ab30}'..='\u{ab64}'
        | '\u{ff21}'..='\u{ff3a}'
        | '\u{ff41}'..='\u{ff5a}' => Some(Script::Latin),
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(Script::Greek),
        '\u{400}'..='\u{52f}'
        | '\u{1c80}'..='\u{1c8f}'
        | '\u{2de0}'..='\u{2dff}'
        | '\u{a640}'..='\u{a69f}' => Some(Script::Cyrillic),
        _ => None,
    }
}
