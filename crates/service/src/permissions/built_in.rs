//! Roles defined in code.

use porteiro_protocol::permission::{Held, Permission};

/// A role of every organization. Its permissions are defined in code and change only with a release.
#[derive(Debug)]
pub struct BuiltIn {
    pub key: &'static str,
    pub name: &'static str,
    /// `None`: every permission but the reserved ones.
    pub permissions: Option<&'static [&'static str]>,
}

pub const OWNER: &str = "owner";

pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { key: OWNER, name: "Owner", permissions: None },
    BuiltIn {
        key: "admin",
        name: "Administrator",
        permissions: Some(&[
            "organization:*",
            "members:*",
            "roles:*",
            "invitations:*",
            "client-policies:*",
            "api-keys:*",
            "delegations:*",
            "approvals:*",
            "audit:*",
        ]),
    },
    BuiltIn { key: "member", name: "Member", permissions: Some(&["organization:read"]) },
];

/// The permissions of a built-in role; `None` if there is no such role.
pub fn built_in(key: &str) -> Option<Held> {
    let role = BUILT_IN.iter().find(|role| role.key == key)?;
    Some(role.permissions.map_or_else(Held::everything, |texts| {
        Held::of(texts.iter().filter_map(|text| Permission::parse(text).ok()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_roles_hold_what_their_table_says_and_nothing_reserved() {
        for role in BUILT_IN {
            let held = built_in(role.key).unwrap();
            for text in porteiro_protocol::permission::RESERVED {
                assert!(!held.covers(&text.parse().unwrap()), "{} covers {text}", role.key);
            }
            assert_eq!(held.named().count(), role.permissions.map_or(0, <[_]>::len), "{}", role.key);
        }
        assert!(built_in("nobody").is_none());
    }
}
