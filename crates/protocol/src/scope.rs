//! Scope (RFC 6749 §3.3): a set of case-sensitive tokens in the order they were asked for.

use std::fmt;

use serde::{Deserialize, Serialize};

pub const MAX_SCOPE_TOKENS: usize = 64;
pub const MAX_SCOPE_TOKEN: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    #[error("scope has a character that is not allowed in a scope")]
    Character,
    #[error("a scope is longer than {MAX_SCOPE_TOKEN} characters")]
    TooLong,
    #[error("there are more than {MAX_SCOPE_TOKENS} scopes")]
    TooMany,
}

/// Each token once. Equality is of the sets: order is for showing only.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scope {
    tokens: Vec<String>,
}

impl Scope {
    /// Spare spaces carry no authority and are skipped; any other stray character is refused.
    ///
    /// # Errors
    /// When a token has a character RFC 6749 §3.3 does not allow, or there is too much of it.
    pub fn parse(text: &str) -> Result<Self, ScopeError> {
        let mut tokens: Vec<String> = Vec::new();
        for token in text.split(' ').filter(|token| !token.is_empty()) {
            if !token.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e)) {
                return Err(ScopeError::Character);
            }
            if token.len() > MAX_SCOPE_TOKEN {
                return Err(ScopeError::TooLong);
            }
            if tokens.iter().any(|known| known == token) {
                continue;
            }
            if tokens.len() == MAX_SCOPE_TOKENS {
                return Err(ScopeError::TooMany);
            }
            tokens.push(token.to_owned());
        }
        Ok(Self { tokens })
    }

    #[must_use]
    pub fn contains(&self, token: &str) -> bool {
        self.tokens.iter().any(|known| known == token)
    }

    /// Whether `other` asks for nothing beyond this.
    #[must_use]
    pub fn contains_all(&self, other: &Self) -> bool {
        self.first_missing(other).is_none()
    }

    /// The first token of `other` that is not in this one.
    #[must_use]
    pub fn first_missing<'a>(&self, other: &'a Self) -> Option<&'a str> {
        other.iter().find(|token| !self.contains(token))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(String::as_str)
    }
}

impl PartialEq for Scope {
    fn eq(&self, other: &Self) -> bool {
        self.tokens.len() == other.tokens.len() && self.contains_all(other)
    }
}
impl Eq for Scope {}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tokens.join(" "))
    }
}
impl std::str::FromStr for Scope {
    type Err = ScopeError;
    fn from_str(text: &str) -> Result<Self, ScopeError> {
        Self::parse(text)
    }
}
impl TryFrom<String> for Scope {
    type Error = ScopeError;
    fn try_from(text: String) -> Result<Self, ScopeError> {
        Self::parse(&text)
    }
}
impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scope(text: &str) -> Scope {
        Scope::parse(text).unwrap()
    }

    #[test]
    fn order_is_kept_and_repeats_are_not() {
        assert_eq!(scope("openid profile openid invoices:read").to_string(), "openid profile invoices:read");
        assert_eq!(scope("  a   b ").to_string(), "a b");
        assert!(scope("").is_empty() && scope(" ").is_empty());
        assert_eq!(serde_json::to_value(scope("b a")).unwrap(), "b a");
        assert_eq!(serde_json::from_value::<Scope>("b a".into()).unwrap(), scope("a b"));
        assert!(serde_json::from_value::<Scope>("a\tb".into()).is_err());
    }

    #[test]
    fn case_and_prefixes_tell_scopes_apart() {
        assert_eq!(scope("openid email").first_missing(&scope("openid Email profile")), Some("Email"));
        assert!(!scope("invoices:*").contains("invoices:read"));
        assert!(!scope("invoices:read").contains("invoices"));
    }

    #[test]
    fn alphabet_and_bounds() {
        for bad in ["a\tb", "a\nb", "a\"b", "a\\b", "é", "a\u{a0}b", "\0", "a\u{7f}"] {
            assert_eq!(Scope::parse(bad), Err(ScopeError::Character), "{bad:?}");
        }
        assert!(Scope::parse(&"a".repeat(MAX_SCOPE_TOKEN)).is_ok());
        assert_eq!(Scope::parse(&"a".repeat(MAX_SCOPE_TOKEN + 1)), Err(ScopeError::TooLong));
        let many = |count: usize| (0..count).map(|index| format!("s{index}")).collect::<Vec<_>>().join(" ");
        assert!(Scope::parse(&many(MAX_SCOPE_TOKENS)).is_ok());
        assert_eq!(Scope::parse(&many(MAX_SCOPE_TOKENS + 1)), Err(ScopeError::TooMany));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(text in "[ -~]{0,80}") {
            if let Ok(scope) = Scope::parse(&text) {
                let written = scope.to_string();
                prop_assert_eq!(&Scope::parse(&written).unwrap().to_string(), &written);
            }
        }

        #[test]
        fn containing_is_a_partial_order(a in "[a-d ]{0,8}", b in "[a-d ]{0,8}", c in "[a-d ]{0,8}") {
            let (a, b, c) = (scope(&a), scope(&b), scope(&c));
            prop_assert!(a.contains_all(&a) && a.contains_all(&Scope::default()));
            prop_assert!(!(a.contains_all(&b) && b.contains_all(&c)) || a.contains_all(&c));
            prop_assert_eq!(a.contains_all(&b) && b.contains_all(&a), a == b);
            prop_assert_eq!(a.first_missing(&b).is_none(), b.iter().all(|token| a.contains(token)));
        }
    }
}
