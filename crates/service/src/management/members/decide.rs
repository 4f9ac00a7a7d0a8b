//! Decides which members a caller may change, and how.

use std::collections::BTreeSet;

use porteiro_protocol::{
    permission::{Held, Permission},
    plain_text,
};

use crate::{permissions::OWNER, roles::Definitions};

/// The largest number of roles of a member.
pub const MOST_ROLES: usize = 20;
pub const LONGEST_NAME: usize = 100;
pub const LONGEST_REASON: usize = 500;

/// Why a change of a member is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// No such member is visible to the caller.
    NotFound,
    /// The member was changed since the caller read it.
    Stale,
    /// The member holds permissions that the caller does not hold.
    Above,
    /// The caller would give permissions it does not hold.
    Exceeds(Vec<Permission>),
    /// The role does not exist.
    UnknownRole(String),
    /// No role, too many roles, or a duplicate.
    Roles,
    /// The primary role is not among the roles.
    PrimaryRole,
    DisplayName,
    Reason,
    LastOwner,
    /// The person or client is already a member.
    AlreadyMember,
    /// The caller may not add this account or client, or it does not exist.
    Whom(&'static str),
    /// A disabled member cannot leave.
    Disabled,
    /// Removed members return by being added or invited, not by a change.
    Removed,
}

/// The requested change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub display_name: Option<String>,
    pub roles: Option<Vec<String>>,
    pub primary_role: Option<String>,
}

/// The member after the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Becomes {
    pub display_name: String,
    pub roles: Vec<String>,
    pub primary_role: String,
}

/// The member before the change, as far as the decision needs it.
#[derive(Debug, Clone, Copy)]
pub struct Now<'a> {
    pub display_name: &'a str,
    pub roles: &'a [String],
    pub primary_role: &'a str,
    pub held: &'a Held,
}

/// A caller changes only members whose permissions it holds itself.
///
/// # Errors
/// When the member holds a permission that the caller does not.
pub fn outranks(caller: &Held, member: &Held) -> Result<(), Refused> {
    if caller.covers_all(member) { Ok(()) } else { Err(Refused::Above) }
}

/// A caller gives only roles whose permissions it holds itself.
///
/// # Errors
/// When the role does not exist, or the caller does not hold all of its permissions.
pub fn may_give(caller: &Held, definitions: &Definitions, role: &str) -> Result<(), Refused> {
    let gives = definitions.get(role).ok_or_else(|| Refused::UnknownRole(role.to_owned()))?;
    if caller.covers_all(gives) {
        return Ok(());
    }
    Err(Refused::Exceeds(caller.missing(gives.named()).into_iter().cloned().collect()))
}

/// The member after the requested change.
///
/// # Errors
/// When the request is invalid, or gives or takes more than the caller holds.
pub fn change(
    caller: &Held,
    definitions: &Definitions,
    now: Now<'_>,
    wanted: &Wanted,
) -> Result<Becomes, Refused> {
    outranks(caller, now.held)?;
    let display_name = wanted.display_name.as_deref().unwrap_or(now.display_name);
    let display_name = name(display_name).ok_or(Refused::DisplayName)?;
    let roles = wanted.roles.as_deref().unwrap_or(now.roles);
    let distinct: BTreeSet<&String> = roles.iter().collect();
    // Groups may have given more roles: those stay, and do not keep the rest of the member from being changed.
    let most = MOST_ROLES.max(now.roles.len());
    if roles.is_empty() || roles.len() > most || distinct.len() != roles.len() {
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

/// An organization keeps an owner. `another`: whether there is another active owner.
///
/// # Errors
/// When the last owner would lose the role.
pub fn keeps_an_owner(before: &[String], after: &[String], another: bool) -> Result<(), Refused> {
    let owns = |roles: &[String]| roles.iter().any(|role| role == OWNER);
    if owns(before) && !owns(after) && !another { Err(Refused::LastOwner) } else { Ok(()) }
}

/// A display name: visible characters only, no control characters.
pub fn name(text: &str) -> Option<String> {
    plain_text::name(text, LONGEST_NAME).map(str::to_owned)
}

/// The reason for disabling a member, if there is one.
///
/// # Errors
/// When it is too long or contains control characters.
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

    /// Roles of an organization: built-in and custom.
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

        /// Whatever the request: a member gains only permissions that the caller holds; a member with more permissions
        /// than the caller is not changed; and all roles afterwards exist.
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

        /// Two members who may change each other hold the same permissions.
        #[test]
        fn authority_over_each_other_is_equality(definitions in definitions(), one in roles(), other in roles()) {
            let (one, other) = (held(&definitions, &one), held(&definitions, &other));
            if outranks(&one, &other).is_ok() && outranks(&other, &one).is_ok() {
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
        assert_eq!(outranks(&admin, &owner), Err(Refused::Above));
        assert_eq!(outranks(&owner, &admin), Ok(()));
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
        let many = (0..=MOST_ROLES).map(|n| format!("r{n}")).collect::<Vec<_>>();
        let by_groups = Now { roles: &many, primary_role: "r0", ..now };
        let renamed = Wanted { display_name: Some("Bia".into()), ..Wanted::default() };
        assert!(change(&owner, &definitions, by_groups, &renamed).is_ok());
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
