//! Tokens of filters and paths.

/// Why a text has no tokens of this grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, an operator, a number or a keyword.
    Word(String),
    Text(String),
    Open,
    Close,
    OpenBracket,
    CloseBracket,
}

/// The characters of names with a schema (`urn:…:2.0:User:name.familyName`), numbers and keywords.
const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'$' | b'+')
}

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Unreadable> {
    let (bytes, mut at, mut tokens) = (text.as_bytes(), 0, Vec::new());
    while let Some(&byte) = bytes.get(at) {
        let (token, length) = match byte {
            b' ' => {
                at += 1;
                continue;
            }
            b'(' => (Token::Open, 1),
            b')' => (Token::Close, 1),
            b'[' => (Token::OpenBracket, 1),
            b']' => (Token::CloseBracket, 1),
            b'"' => quoted(text.get(at..).ok_or(Unreadable)?)?,
            byte if is_word(byte) => {
                let length = bytes.iter().skip(at).take_while(|byte| is_word(**byte)).count();
                (Token::Word(text.get(at..at + length).ok_or(Unreadable)?.to_owned()), length)
            }
            _ => return Err(Unreadable),
        };
        at += length;
        tokens.push(token);
    }
    Ok(tokens)
}

/// A JSON string at the start of the text, and its length there.
fn quoted(text: &str) -> Result<(Token, usize), Unreadable> {
    let mut escaped = false;
    let end = text.bytes().enumerate().skip(1).find(|(_, byte)| match (escaped, byte) {
        (true, _) => {
            escaped = false;
            false
        }
        (false, b'\\') => {
            escaped = true;
            false
        }
        (false, byte) => *byte == b'"',
    });
    let (end, _) = end.ok_or(Unreadable)?;
    let literal = text.get(..=end).ok_or(Unreadable)?;
    let value: String = serde_json::from_str(literal).map_err(|_| Unreadable)?;
    // PostgreSQL cannot store it, so nothing equals it.
    if value.contains('\0') { Err(Unreadable) } else { Ok((Token::Text(value), end + 1)) }
}
