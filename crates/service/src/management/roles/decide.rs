//! What a role may be, and who may shape it.

use std::collections::BTreeSet;

use porteiro_protocol::{
    permission::{Held, MAX_PART, Permission},
    plain_text,
};

use crate::permissions::built_in;

/// Most roles an organization makes for itself.
pub const MOST_ROLES: i64 = 200;
/// Most permissions in one.
pub const MOST_PERMISSIONS: usize = 200;
const LONGEST_NAME: usize = 100;

/// Why a role is not made, changed or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    NotFound,
    /// It was changed since the caller looked.
    Stale,
    Key,
    /// The built-in ones are code.
    BuiltIn,
    Name,
    Taken,
    TooMany,
    TooManyPermissions,
    NotAPermission(String),
    /// Held by name alone, never through a role.
    Reserved(Permission),
    /// Nothing here can be permitted by it.
    Unknown(Permission),
    /// The caller does not hold it.
    Exceeds(Vec<Permission>),
    /// Members wear it.
    Worn,
}

/// `[a-z][a-z0-9_-]{0,62}`, and none of ours.
///
/// # Errors
/// When it is anything else.
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
/// When it is empty, too long, or not text.
pub fn name(text: &str) -> Result<String, Refused> {
    plain_text::name(text, LONGEST_NAME).map(str::to_owned).ok_or(Refused::Name)
}

/// Permissions as they were sent, each once.
///
/// # Errors
/// When one is none, is reserved, or they are too many.
pub fn permissions(texts: &[String]) -> Result<BTreeSet<Permission>, Refused> {
    let parse = |text: &String| match Permission::parse(text) {
        Err(_) => Err(Refused::NotAPermission(text.chars().take(80).collect())),
        Ok(permission) if permission.is_reserved() => Err(Refused::Reserved(permission)),
        Ok(permission) => Ok(permission),
    };
    let permissions = texts.iter().map(parse).collect::<Result<BTreeSet<_>, _>>()?;
    if permissions.len() > MOST_PERMISSIONS { Err(Refused::TooManyPermissions) } else { Ok(permissions) }
}

/// Whoever shapes a role holds all it permits, before and after: what they do not hold they neither give nor take.
/// `known`: what can be permitted here; what a role has already may stay.
///
/// # Errors
/// When something new is unknown, or something in it is not held.
pub fn may_shape(
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

/// What somebody no longer holds. Whoever held everything is told what there is of it.
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
            let allowed = may_shape(&caller, &before, &after, &known()).is_ok();
            let holds = caller.covers_all(&Held::of(before.clone())) && caller.covers_all(&Held::of(after.clone()));
            prop_assert_eq!(allowed, holds);
        }

        /// What is lost was held and is not any more; whoever loses nothing can do all they could.
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
        let refused = may_shape(&Held::everything(), &BTreeSet::new(), &asked, &known()).unwrap_err();
        assert_eq!(refused, Refused::Unknown("membres:read".parse().unwrap()));
        // What it has already stays, even if its API is gone.
        assert_eq!(may_shape(&Held::everything(), &asked, &asked, &known()), Ok(()));
    }
}
