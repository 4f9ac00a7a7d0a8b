//! Scope (RFC 6749 §3.3): a set of case-sensitive tokens in the order of the request.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::permission::Permission;

pub const MAX_SCOPE_TOKENS: usize = 64;
pub const MAX_SCOPE_TOKEN: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    #[error("scope contains a character that is not allowed")]
    Character,
    #[error("a scope must have at most {MAX_SCOPE_TOKEN} characters")]
    TooLong,
    #[error("scope must have at most {MAX_SCOPE_TOKENS} values")]
    TooMany,
}

/// Each token once. Equality compares sets: the order is only for display.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scope {
    tokens: Vec<String>,
}

impl Scope {
    /// Additional spaces are skipped; any other invalid character is refused.
    ///
    /// # Errors
    /// When a token has a character that RFC 6749 §3.3 does not allow, or there are too many or too long tokens.
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

    /// Whether this scope covers `token`: it contains the token or a wildcard that covers it (decision record 0078).
    #[must_use]
    pub fn covers(&self, token: &str) -> bool {
        self.contains(token) || wildcard(token).is_some_and(|wildcard| self.contains(&wildcard))
    }

    /// Whether this scope covers all of `other`.
    #[must_use]
    pub fn covers_all(&self, other: &Self) -> bool {
        self.first_uncovered(other).is_none()
    }

    /// The first token of `other` that this scope does not cover.
    #[must_use]
    pub fn first_uncovered<'a>(&self, other: &'a Self) -> Option<&'a str> {
        other.iter().find(|token| !self.covers(token))
    }

    /// Each token with the wildcard that would cover it, for comparison in SQL: `invoices:read"invoices:*`. No token
    /// contains a quotation mark.
    #[must_use]
    pub fn with_wildcards(&self) -> String {
        let ways = |token: &str| match wildcard(token) {
            Some(wildcard) => format!("{token}\"{wildcard}"),
            None => token.to_owned(),
        };
        self.iter().map(ways).collect::<Vec<_>>().join(" ")
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(String::as_str)
    }
}

/// Only scopes that are permissions have wildcards.
fn wildcard(token: &str) -> Option<String> {
    Permission::parse(token).ok()?.wildcard()
}

impl PartialEq for Scope {
    fn eq(&self, other: &Self) -> bool {
        self.tokens.len() == other.tokens.len() && other.iter().all(|token| self.contains(token))
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

    fn some() -> impl Strategy<Value = String> {
        let token = "(a|b|openid|(a|b|members)[.:](c|d|impersonate|\\*))";
        prop::collection::vec(token, 0..5).prop_map(|tokens| tokens.join(" "))
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
        assert_eq!(scope("openid email").first_uncovered(&scope("openid Email profile")), Some("Email"));
        assert!(!scope("invoices:*").contains("invoices:read"));
        assert_ne!(scope("invoices:* invoices:read"), scope("invoices:* invoices:write"));
        assert!(!scope("invoices:read").contains("invoices"));
    }

    #[test]
    fn a_wildcard_covers_the_actions_of_its_resource_and_nothing_else() {
        let held = scope("openid invoices:* members:* https://a.example/*");
        assert!(held.covers_all(&scope("openid invoices:read invoices:* members:read")));
        for beyond in [
            "invoices",
            "invoices:",
            "Invoices:read",
            "invoices:read:all",
            "invoices.old:read",
            "accounts:read",
            "members:impersonate",
            "https://a.example/b",
            "*",
            "*:*",
            "*:read",
        ] {
            assert!(!held.covers(beyond), "{beyond}");
        }
        assert!(!scope("invoices:read invoices:write").covers("invoices:*"));
        assert!(scope("members:impersonate").covers("members:impersonate"));
        assert_eq!(
            scope("openid a:b a:* members:impersonate").with_wildcards(),
            "openid a:b\"a:* a:*\"a:* members:impersonate"
        );
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
        fn covering_is_reflexive_and_transitive(a in some(), b in some(), c in some()) {
            let (a, b, c) = (scope(&a), scope(&b), scope(&c));
            prop_assert!(a.covers_all(&a) && a.covers_all(&Scope::default()));
            prop_assert!(!(a.covers_all(&b) && b.covers_all(&c)) || a.covers_all(&c));
            prop_assert!(a != b || (a.covers_all(&b) && b.covers_all(&a)));
            prop_assert_eq!(a.first_uncovered(&b).is_none(), b.iter().all(|token| a.covers(token)));
        }

        #[test]
        fn whoever_compares_with_wildcards_finds_the_same(a in some(), b in some()) {
            let (a, b) = (scope(&a), scope(&b));
            let ways = b.with_wildcards();
            let mut each = ways.split(' ').filter(|ways| !ways.is_empty());
            prop_assert_eq!(each.all(|ways| ways.split('"').any(|way| a.contains(way))), a.covers_all(&b));
        }
    }
}
