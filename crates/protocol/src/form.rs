//! Untrusted `application/x-www-form-urlencoded` input: each name once, every part bounded, nothing repaired.

/// RFC 6749 §3.1 and §3.2: parameters must not be included more than once.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    pairs: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    #[error("there are more than {MAX_PARAMETERS} parameters")]
    TooMany,
    #[error("a parameter is too long")]
    TooLong,
    #[error("a parameter is repeated")]
    Repeated,
    #[error("a parameter is not percent-encoded UTF-8")]
    Malformed,
    /// No standard parameter contains it, and PostgreSQL cannot store it in text.
    #[error("a parameter contains the character U+0000")]
    Nul,
}

pub const MAX_PARAMETERS: usize = 64;
const MAX_VALUE: usize = 4 * 1024;
/// For parameters that carry a whole token or request object.
const MAX_TOKEN: usize = 16 * 1024;
const TOKENS: &[&str] = &[
    "actor_token",
    "assertion",
    "authorization_details",
    "claims",
    "client_assertion",
    "id_token_hint",
    "logout_hint",
    "request",
    "subject_token",
    "token",
];

impl Parameters {
    /// # Errors
    /// When a parameter is repeated, malformed, too long, or there are too many.
    pub fn parse(text: &[u8]) -> Result<Self, FormError> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for part in text.split(|byte| *byte == b'&').filter(|part| !part.is_empty()) {
            if pairs.len() == MAX_PARAMETERS {
                return Err(FormError::TooMany);
            }
            let equals = part.iter().position(|byte| *byte == b'=').unwrap_or(part.len());
            let name = decode(&part[..equals])?;
            let value = decode(part.get(equals + 1..).unwrap_or_default())?;
            let limit = if TOKENS.contains(&name.as_str()) { MAX_TOKEN } else { MAX_VALUE };
            if value.len() > limit || name.len() > MAX_VALUE {
                return Err(FormError::TooLong);
            }
            if pairs.iter().any(|(known, _)| *known == name) {
                return Err(FormError::Repeated);
            }
            pairs.push((name, value));
        }
        Ok(Self { pairs })
    }

    /// A parameter without a value counts as omitted (RFC 6749 §3.1).
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(known, value)| known == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(name, _)| name.as_str())
    }
}

fn decode(text: &[u8]) -> Result<String, FormError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || rest.next().and_then(|digit| (*digit as char).to_digit(16));
                let (Some(high), Some(low)) = (digit(), digit()) else { return Err(FormError::Malformed) };
                u8::try_from(high * 16 + low).map_err(|_| FormError::Malformed)?
            }
            other => *other,
        });
    }
    if bytes.contains(&0) {
        return Err(FormError::Nul);
    }
    String::from_utf8(bytes).map_err(|_| FormError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_forms_are_read() {
        let form = Parameters::parse(b"grant_type=authorization_code&code=a%2Bb+c&empty=&&bare").unwrap();
        assert_eq!(form.get("grant_type"), Some("authorization_code"));
        assert_eq!(form.get("code"), Some("a+b c"));
        assert_eq!((form.get("empty"), form.get("bare"), form.get("absent")), (None, None, None));
    }

    #[test]
    fn nothing_is_repaired() {
        for (text, error) in [
            ("a=1&a=2", FormError::Repeated),
            ("a=1&%61=1", FormError::Repeated),
            ("a=&a=1", FormError::Repeated),
            ("a=%zz", FormError::Malformed),
            ("a=%4", FormError::Malformed),
            ("a=%ff", FormError::Malformed),
            ("a=%c0%80", FormError::Malformed),
            ("a=%00", FormError::Nul),
            ("a=1%00", FormError::Nul),
            ("a\0=1", FormError::Nul),
            ("%00", FormError::Nul),
        ] {
            assert_eq!(Parameters::parse(text.as_bytes()), Err(error), "{text}");
        }
    }

    #[test]
    fn everything_is_bounded() {
        let many = (0..=MAX_PARAMETERS).map(|index| format!("p{index}=1")).collect::<Vec<_>>().join("&");
        assert_eq!(Parameters::parse(many.as_bytes()), Err(FormError::TooMany));
        let long = |name: &str, length| format!("{name}={}", "x".repeat(length));
        assert!(Parameters::parse(long("state", MAX_VALUE).as_bytes()).is_ok());
        assert_eq!(Parameters::parse(long("state", MAX_VALUE + 1).as_bytes()), Err(FormError::TooLong));
        assert!(Parameters::parse(long("token", MAX_TOKEN).as_bytes()).is_ok());
        assert_eq!(Parameters::parse(long("token", MAX_TOKEN + 1).as_bytes()), Err(FormError::TooLong));
    }
}
