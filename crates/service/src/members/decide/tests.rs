use proptest::prelude::*;

use super::*;
use crate::roles::BUILT_IN;

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
