//! Which permissions raise: with them somebody gets authority, or a way in, that stays after the change
//! (docs/decisions/0140).

use porteiro_protocol::permission::{Held, Permission};

/// What changes made with a permission leave behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaves {
    /// Nothing by which anybody gets authority.
    Nothing,
    /// Authority, if what is given has it: decided where it is given.
    What,
    /// Authority or a way in, always.
    Always,
}

/// Every permission of an organization with which something can be changed.
const LEAVES: &[(&str, Leaves)] = &[
    ("organization:write", Leaves::What),
    ("members:write", Leaves::What),
    ("roles:write", Leaves::What),
    ("invitations:write", Leaves::Always),
    // Members still consent to what an app may do.
    ("client-policies:write", Leaves::Nothing),
    ("api-keys:write", Leaves::Always),
    ("delegations:write", Leaves::Always),
    ("domains:write", Leaves::Always),
    ("trusts:write", Leaves::Always),
    ("connections:write", Leaves::Always),
    // Only programs provision (docs/decisions/0124).
    ("scim:provision", Leaves::Always),
];

/// Whether every change made with this permission leaves authority or a way in behind.
pub fn always_raises(asked: &Permission) -> bool {
    LEAVES.iter().any(|(name, leaves)| *leaves == Leaves::Always && *name == asked.as_str())
}

/// Whether the holder of these permissions can raise somebody.
pub fn raises(held: &Held) -> bool {
    let raising = LEAVES.iter().filter(|(_, leaves)| *leaves != Leaves::Nothing);
    held.is_everything()
        || raising.filter_map(|(name, _)| Permission::parse(name).ok()).any(|one| held.covers(&one))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{BUILT_IN, OWN, Reach, built_in},
        *,
    };

    #[test]
    fn every_permission_to_change_something_is_in_the_table_once() {
        let changing =
            OWN.iter().filter(|own| own.reach == Reach::Organization && !own.name.ends_with(":read"));
        for own in changing.clone() {
            assert_eq!(LEAVES.iter().filter(|(name, _)| *name == own.name).count(), 1, "{}", own.name);
        }
        assert_eq!(changing.count(), LEAVES.len());
    }

    #[test]
    fn roles_that_administer_raise_and_others_do_not() {
        let raising: Vec<&str> = BUILT_IN
            .iter()
            .map(|role| role.key)
            .filter(|key| built_in(key).is_some_and(|held| raises(&held)))
            .collect();
        assert_eq!(raising, ["owner", "admin"]);
        for (name, wanted) in [
            ("members:*", true),
            ("members:write", true),
            ("members:read", false),
            ("scim:provision", true),
            ("client-policies:write", false),
            ("salaries:write", false),
        ] {
            assert_eq!(raises(&Held::of([name.parse().unwrap()])), wanted, "{name}");
        }
    }
}
