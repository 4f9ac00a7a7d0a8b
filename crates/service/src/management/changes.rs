//! The changes of the API, for programs: `GET /v1/changes`. A commit that changes the API adds a row here.

use schemars::JsonSchema;
use serde::Serialize;

/// What a change means for callers of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ChangeKind")]
pub enum Kind {
    /// An addition; existing operations behave as before.
    Added,
    /// Still available; move to the replacement before it is removed.
    Deprecated,
    /// No longer available.
    Removed,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Change {
    /// The date (RFC 3339).
    pub date: &'static str,
    pub kind: Kind,
    /// The path or operation that changed.
    pub subject: &'static str,
    pub text: &'static str,
    /// The date of removal, where it is deprecated (RFC 8594).
    pub sunset: Option<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Changes {
    pub items: &'static [Change],
}

/// Newest first.
pub const CHANGES: &[Change] = &[
    Change {
        date: "2026-11-16",
        kind: Kind::Added,
        subject: "/v1/organizations/{organization}/groups",
        text: "Groups of an organization's directory and the roles they give; refused requests of a directory.",
        sunset: None,
    },
    Change {
        date: "2026-11-15",
        kind: Kind::Added,
        subject: "/v1/organizations",
        text: "The management API: organizations, members, roles, API keys, audit trails, and the platform.",
        sunset: None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_comes_first_and_what_is_deprecated_says_until_when() {
        assert!(CHANGES.windows(2).all(|pair| pair[0].date >= pair[1].date));
        for change in CHANGES {
            assert_eq!(change.kind == Kind::Deprecated, change.sunset.is_some(), "{}", change.subject);
        }
    }
}
