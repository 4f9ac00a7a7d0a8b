use proptest::prelude::*;

use super::*;
use crate::roles::BUILT_IN;

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
