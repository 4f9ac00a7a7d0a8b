//! Who may change whom, and how far.

use std::collections::BTreeSet;

use porteiro_protocol::{
    permission::{Held, Permission},
    plain_text,
};

use crate::{permissions::OWNER, roles::Definitions};

/// Most roles one member wears.
pub const MOST_ROLES: usize = 20;
pub const LONGEST_NAME: usize = 100;
pub const LONGEST_REASON: usize = 500;

/// Why a change of a member is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Nobody of that id is here, as far as the caller may know.
    NotFound,
    /// It was changed since the caller looked.
    Stale,
    /// The member may do what the caller may not.
    Above,
    /// The caller does not hold what they would give.
    Exceeds(Vec<Permission>),
    /// There is no such role.
    UnknownRole(String),
    /// None, too many, or one twice.
    Roles,
    /// The primary role is not among the roles.
    PrimaryRole,
    DisplayName,
    Reason,
    LastOwner,
    /// They are one already.
    AlreadyMember,
    /// Whom the caller may not add, or who is not there to be added.
    Whom(&'static str),
    /// Removed members come back by being added or invited, not by a change.
    Removed,
}

/// What is to be different.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub display_name: Option<String>,
    pub roles: Option<Vec<String>>,
    pub primary_role: Option<String>,
}

/// What a member becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Becomes {
    pub display_name: String,
    pub roles: Vec<String>,
    pub primary_role: String,
}

/// A member before a change, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub struct Now<'a> {
    pub display_name: &'a str,
    pub roles: &'a [String],
    pub primary_role: &'a str,
    pub held: &'a Held,
}

/// Nobody changes whoever may do more than they.
///
/// # Errors
/// When the member holds something the caller does not.
pub fn stands_above(caller: &Held, member: &Held) -> Result<(), Refused> {
    if caller.covers_all(member) { Ok(()) } else { Err(Refused::Above) }
}

/// Nobody gives a role that permits what they do not hold.
///
/// # Errors
/// When there is no such role, or the caller does not hold all of it.
pub fn may_give(caller: &Held, definitions: &Definitions, role: &str) -> Result<(), Refused> {
    let gives = definitions.get(role).ok_or_else(|| Refused::UnknownRole(role.to_owned()))?;
    if caller.covers_all(gives) {
        return Ok(());
    }
    Err(Refused::Exceeds(caller.missing(gives.named()).into_iter().cloned().collect()))
}

/// What a change comes to.
///
/// # Errors
/// When it says nothing sensible, or gives or takes more than the caller holds.
pub fn change(
    caller: &Held,
    definitions: &Definitions,
    now: Now<'_>,
    wanted: &Wanted,
) -> Result<Becomes, Refused> {
    stands_above(caller, now.held)?;
    let display_name = wanted.display_name.as_deref().unwrap_or(now.display_name);
    let display_name = name(display_name).ok_or(Refused::DisplayName)?;
    let roles = wanted.roles.as_deref().unwrap_or(now.roles);
    let distinct: BTreeSet<&String> = roles.iter().collect();
    if roles.is_empty() || roles.len() > MOST_ROLES || distinct.len() != roles.len() {
        return Err(Refused::Roles);
    }
    for added in roles.iter().filter(|role| !now.roles.contains(role)) {
        may_give(caller, definitions, added)?;
    }
    let worn = |role: &&str| roles.iter().any(|one| one == role);
    let primary_role = match wanted.primary_role.as_deref() {
        Some(asked) => Some(asked).filter(worn),
        None => Some(now.primary_role).filter(worn).or_else(|| roles.first().map(String::as_str)),
    };
    let primary_role = primary_role.ok_or(Refused::PrimaryRole)?.to_owned();
    Ok(Becomes { display_name, roles: distinct.into_iter().cloned().collect(), primary_role })
}

/// An organization keeps an owner. `another`: whether somebody else is one, and active.
///
/// # Errors
/// When the last one would stop being it.
pub fn keeps_an_owner(before: &[String], after: &[String], another: bool) -> Result<(), Refused> {
    let owns = |roles: &[String]| roles.iter().any(|role| role == OWNER);
    if owns(before) && !owns(after) && !another { Err(Refused::LastOwner) } else { Ok(()) }
}

/// A name as people read it: something to see, nothing that plays with the screen.
pub fn name(text: &str) -> Option<String> {
    plain_text::name(text, LONGEST_NAME).map(str::to_owned)
}

/// Why somebody was disabled, if it was said.
///
/// # Errors
/// When it is too long or has what no text has.
pub fn reason(text: Option<&str>) -> Result<Option<&str>, Refused> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let fits = text.chars().count() <= LONGEST_REASON && plain_text::is_seen(text);
    if fits { Ok(Some(text)) } else { Err(Refused::Reason) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::permissions::BUILT_IN;

    /// Roles of an organization: ours, and some of its own.
    fn definitions() -> impl Strategy<Value = Definitions> {
        prop::collection::btree_map("[a-d]", prop::collection::vec(permission(), 0..4), 0..4)
            .prop_map(|own| Definitions::new(own.into_iter().map(|(key, held)| (key, Held::of(held)))))
    }

    fn permission() -> impl Strategy<Value = Permission> {
        ("(members|roles|invoices|audit)", "(read|write|\\*)")
            .prop_map(|(resource, action)| format!("{resource}:{action}").parse().unwrap())
    }

    fn roles() -> impl Strategy<Value = Vec<String>> {
        prop::collection::btree_set("(owner|admin|member|a|b|c|d)", 0..4)
            .prop_map(|keys| keys.into_iter().collect())
    }

    fn held(definitions: &Definitions, roles: &[String]) -> Held {
        definitions.held(roles.iter().map(String::as_str))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Whatever is asked: nobody ends up with more than whoever changed them holds, beyond what they had; nobody who
        /// held more is touched; and what they become is made of roles there are.
        #[test]
        fn a_change_gives_and_takes_only_what_the_caller_holds(
            definitions in definitions(), caller in roles(), before in roles(), wanted in roles(),
            primary in prop::option::of("(owner|admin|member|a|b)"),
        ) {
            let (caller, member) = (held(&definitions, &caller), held(&definitions, &before));
            let now = Now { display_name: "Ana", roles: &before, primary_role: "member", held: &member };
            let wanted = Wanted { roles: Some(wanted), primary_role: primary, display_name: None };
            let outcome = change(&caller, &definitions, now, &wanted);
            if let Ok(becomes) = &outcome {
                let after = held(&definitions, &becomes.roles);
                prop_assert!(caller.covers_all(&member), "changed somebody above");
                prop_assert!(caller.covers_all(&after), "gave more than held");
                prop_assert!(becomes.roles.contains(&becomes.primary_role));
                prop_assert_eq!(Some(&becomes.roles), wanted.roles.as_ref());
                let added = becomes.roles.iter().filter(|role| !before.contains(role));
                prop_assert!(added.into_iter().all(|role| definitions.get(role).is_some()));
            }
            let above = !caller.covers_all(&member);
            prop_assert_eq!(above, outcome == Err(Refused::Above));
        }

        /// Two who may change each other hold the same.
        #[test]
        fn authority_over_each_other_is_equality(definitions in definitions(), one in roles(), other in roles()) {
            let (one, other) = (held(&definitions, &one), held(&definitions, &other));
            if stands_above(&one, &other).is_ok() && stands_above(&other, &one).is_ok() {
                let asked: Vec<Permission> = one.named().chain(other.named()).cloned().collect();
                prop_assert_eq!(one.is_everything(), other.is_everything());
                prop_assert!(one.missing(&asked).is_empty() && other.missing(&asked).is_empty());
            }
        }
    }

    fn owned(keys: &[&str]) -> Vec<String> {
        keys.iter().map(|key| (*key).to_owned()).collect()
    }

    #[test]
    fn an_administrator_neither_makes_nor_touches_owners() {
        let definitions = Definitions::new([]);
        let admin = held(&definitions, &owned(&["admin"]));
        let owner = held(&definitions, &owned(&["owner"]));
        assert_eq!(stands_above(&admin, &owner), Err(Refused::Above));
        assert_eq!(stands_above(&owner, &admin), Ok(()));
        assert_eq!(may_give(&admin, &definitions, "owner"), Err(Refused::Exceeds(Vec::new())));
        for role in BUILT_IN {
            assert_eq!(may_give(&owner, &definitions, role.key), Ok(()), "{}", role.key);
        }
        let unknown = may_give(&owner, &definitions, "nobody");
        assert_eq!(unknown, Err(Refused::UnknownRole("nobody".into())));
        let member = held(&definitions, &owned(&["member"]));
        assert_eq!(
            may_give(&member, &definitions, "admin").unwrap_err(),
            Refused::Exceeds(admin.named().cloned().collect())
        );
    }

    #[test]
    fn the_last_owner_stays() {
        let (owner, both, member) = (owned(&["owner"]), owned(&["member", "owner"]), owned(&["member"]));
        for (before, after, another, kept) in [
            (&owner, &member, false, false),
            (&both, &member, false, false),
            (&owner, &Vec::new(), false, false),
            (&owner, &member, true, true),
            (&owner, &both, false, true),
            (&member, &Vec::new(), false, true),
        ] {
            let outcome = keeps_an_owner(before, after, another);
            assert_eq!(outcome.is_ok(), kept, "{before:?} to {after:?}, another: {another}");
        }
    }

    #[test]
    fn what_says_nothing_sensible_is_refused() {
        let definitions = Definitions::new([]);
        let (owner, roles) = (Held::everything(), owned(&["member"]));
        let held = held(&definitions, &roles);
        let now = Now { display_name: "Ana", roles: &roles, primary_role: "member", held: &held };
        let ask = |wanted: Wanted| change(&owner, &definitions, now, &wanted).unwrap_err();
        let wanted = |roles: Vec<String>| Wanted { roles: Some(roles), ..Wanted::default() };
        assert_eq!(ask(wanted(Vec::new())), Refused::Roles);
        assert_eq!(ask(wanted(owned(&["admin", "admin"]))), Refused::Roles);
        assert_eq!(ask(wanted(vec!["member".into(); 2])), Refused::Roles);
        assert_eq!(ask(wanted((0..=MOST_ROLES).map(|n| format!("r{n}")).collect())), Refused::Roles);
        let primary = Wanted { primary_role: Some("admin".into()), ..Wanted::default() };
        assert_eq!(ask(primary), Refused::PrimaryRole);
        for name in ["", "  ", "a\u{0}b", &"x".repeat(101)] {
            assert_eq!(
                ask(Wanted { display_name: Some(name.into()), ..Wanted::default() }),
                Refused::DisplayName
            );
        }
        assert_eq!(reason(Some("  ")), Ok(None));
        assert_eq!(reason(Some(" left ")), Ok(Some("left")));
        assert_eq!(reason(Some(&"x".repeat(501))), Err(Refused::Reason));
    }
}
