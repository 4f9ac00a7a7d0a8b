//! Valid roles, and which roles a caller may change.

use std::collections::BTreeSet;

use porteiro_protocol::{
    permission::{Held, MAX_PART, Permission},
    plain_text,
};

use crate::permissions::built_in;

/// The largest number of custom roles of an organization.
pub const MOST_ROLES: i64 = 200;
/// The largest number of permissions of a role.
pub const MOST_PERMISSIONS: usize = 200;
const LONGEST_NAME: usize = 100;

/// Why a role is not created, changed or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    NotFound,
    /// It was changed since the caller read it.
    Stale,
    Key,
    /// Built-in roles are defined in code.
    BuiltIn,
    Name,
    Taken,
    TooMany,
    TooManyPermissions,
    NotAPermission(String),
    /// It is given by name only, never through a role.
    Reserved(Permission),
    /// No API here knows this permission.
    Unknown(Permission),
    /// The caller does not hold these.
    Exceeds(Vec<Permission>),
    /// Members have the role.
    InUse,
}

/// `[a-z][a-z0-9_-]{0,62}`, and not the key of a built-in role.
///
/// # Errors
/// When it is malformed or that of a built-in role.
pub fn key(text: &str) -> Result<(), Refused> {
    let mut bytes = text.bytes();
    let well_formed = text.len() <= MAX_PART
        && bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
    match (well_formed, built_in(text)) {
        (false, _) => Err(Refused::Key),
        (true, Some(_)) => Err(Refused::BuiltIn),
        (true, None) => Ok(()),
    }
}

/// # Errors
/// When it is empty, too long, or has control characters.
pub fn name(text: &str) -> Result<String, Refused> {
    plain_text::name(text, LONGEST_NAME).map(str::to_owned).ok_or(Refused::Name)
}

/// Parses permissions and removes duplicates.
///
/// # Errors
/// When one is malformed or reserved, or there are too many.
pub fn permissions(texts: &[String]) -> Result<BTreeSet<Permission>, Refused> {
    let parse = |text: &String| match Permission::parse(text) {
        Err(_) => Err(Refused::NotAPermission(text.chars().take(80).collect())),
        Ok(permission) if permission.is_reserved() => Err(Refused::Reserved(permission)),
        Ok(permission) => Ok(permission),
    };
    let permissions = texts.iter().map(parse).collect::<Result<BTreeSet<_>, _>>()?;
    if permissions.len() > MOST_PERMISSIONS { Err(Refused::TooManyPermissions) } else { Ok(permissions) }
}

/// The caller must hold all permissions of the role, before and after the change: it neither gives nor takes others.
/// `known`: the permissions that exist here; a role may keep others it already has.
///
/// # Errors
/// When a new permission is unknown, or the caller does not hold one of the role's.
pub fn may_change(
    caller: &Held,
    before: &BTreeSet<Permission>,
    after: &BTreeSet<Permission>,
    known: &[Permission],
) -> Result<(), Refused> {
    let means_something = |asked: &Permission| {
        known.iter().any(|one| one == asked || (asked.is_wildcard() && asked.resource() == one.resource()))
    };
    if let Some(unknown) = after.difference(before).find(|asked| !means_something(asked)) {
        return Err(Refused::Unknown(unknown.clone()));
    }
    let missing: Vec<Permission> = caller.missing(before.union(after)).into_iter().cloned().collect();
    if missing.is_empty() { Ok(()) } else { Err(Refused::Exceeds(missing)) }
}

/// The permissions lost by a change. If every permission was held before, the known ones are compared.
pub fn lost(before: &Held, after: &Held, known: &[Permission]) -> Vec<Permission> {
    let everything = before.is_everything() && !after.is_everything();
    let of_everything = known.iter().filter(|_| everything);
    let lost: BTreeSet<&Permission> =
        before.named().chain(of_everything).filter(|one| !after.covers(one)).collect();
    lost.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::permissions::BUILT_IN;

    fn permission() -> impl Strategy<Value = Permission> {
        ("(members|roles|invoices)", "(read|write|\\*)")
            .prop_map(|(resource, action)| format!("{resource}:{action}").parse().unwrap())
    }

    fn set() -> impl Strategy<Value = BTreeSet<Permission>> {
        prop::collection::btree_set(permission(), 0..5)
    }

    fn known() -> Vec<Permission> {
        ["members:read", "members:write", "roles:read", "roles:write", "invoices:read", "invoices:write"]
            .map(|text| text.parse().unwrap())
            .to_vec()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn whoever_shapes_a_role_holds_it_before_and_after(
            caller in set(), everything in any::<bool>(), before in set(), after in set(),
        ) {
            let caller = if everything { Held::everything() } else { Held::of(caller) };
            let allowed = may_change(&caller, &before, &after, &known()).is_ok();
            let holds = caller.covers_all(&Held::of(before.clone())) && caller.covers_all(&Held::of(after.clone()));
            prop_assert_eq!(allowed, holds);
        }

        /// A lost permission was held before and is not held after; a member who loses none can do everything as
        /// before.
        #[test]
        fn what_is_lost_is_the_difference(before in set(), after in set(), owner in any::<bool>()) {
            let before = if owner { Held::everything() } else { Held::of(before) };
            let after = Held::of(after);
            let lost = lost(&before, &after, &known());
            prop_assert!(lost.iter().all(|one| before.covers(one) && !after.covers(one)));
            for one in known() {
                if before.covers(&one) && !after.covers(&one) {
                    prop_assert!(!lost.is_empty());
                }
            }
            if lost.is_empty() {
                prop_assert!(before.named().all(|one| after.covers(one)));
            }
        }
    }

    #[test]
    fn keys_have_a_grammar_and_ours_are_taken() {
        for good in ["a", "billing", "a1_b-c", &"x".repeat(63)] {
            assert_eq!(key(good), Ok(()), "{good}");
        }
        for bad in ["", "A", "1a", "_a", "a b", "a.b", "a:b", "á", &"x".repeat(64), "a\n"] {
            assert_eq!(key(bad), Err(Refused::Key), "{bad}");
        }
        for role in BUILT_IN {
            assert_eq!(key(role.key), Err(Refused::BuiltIn));
        }
    }

    #[test]
    fn a_role_never_holds_what_is_reserved_nor_what_means_nothing() {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        for reserved in porteiro_protocol::permission::RESERVED {
            let refused = permissions(&texts(&["members:read", reserved])).unwrap_err();
            assert_eq!(refused, Refused::Reserved(reserved.parse().unwrap()));
        }
        for wrong in ["members", "*:read", "members:", "Members:read", "members:re*"] {
            let refused = permissions(&texts(&[wrong])).unwrap_err();
            assert_eq!(refused, Refused::NotAPermission(wrong.to_owned()));
        }
        let many: Vec<String> = (0..=MOST_PERMISSIONS).map(|n| format!("members:r{n}")).collect();
        assert_eq!(permissions(&many), Err(Refused::TooManyPermissions));
        assert_eq!(permissions(&vec!["members:read".to_owned(); 300]).unwrap().len(), 1);
        let asked = permissions(&texts(&["membres:read"])).unwrap();
        let refused = may_change(&Held::everything(), &BTreeSet::new(), &asked, &known()).unwrap_err();
        assert_eq!(refused, Refused::Unknown("membres:read".parse().unwrap()));
        // The role keeps a permission even if its API is gone.
        assert_eq!(may_change(&Held::everything(), &asked, &asked, &known()), Ok(()));
    }
}
