use proptest::prelude::*;

use super::*;

fn permission() -> impl Strategy<Value = Permission> {
    // Few resources, so that equal ones, prefixes of one another and reserved ones are frequent.
    let resource = prop::sample::select(vec!["a", "ab", "a.b", "organizations", "members"]);
    let action = prop::sample::select(vec!["*", "x", "xy", "administer", "impersonate"]);
    (resource, action).prop_map(|(resource, action)| format!("{resource}:{action}").parse().unwrap())
}

fn held() -> impl Strategy<Value = Held> {
    (prop::bool::weighted(0.1), prop::collection::vec(permission(), 0..5)).prop_map(|(everything, named)| {
        let named = Held::of(named);
        if everything { Held::everything().and(named) } else { named }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn p4_covering_is_an_order(a in permission(), b in permission(), c in permission()) {
        prop_assert!(a.covers(&a));
        if a.covers(&b) && b.covers(&c) {
            prop_assert!(a.covers(&c));
        }
        if a.covers(&b) && b.covers(&a) {
            prop_assert_eq!(a, b);
        }
    }

    #[test]
    fn p4_never_across_resources_and_never_upwards(a in permission(), b in permission()) {
        if a.covers(&b) {
            prop_assert_eq!(a.resource(), b.resource());
            prop_assert!(a == b || a.is_wildcard());
            prop_assert!(!b.is_reserved() || a == b);
        }
        if b.is_wildcard() && !a.is_wildcard() {
            prop_assert!(!a.covers(&b));
        }
    }

    #[test]
    fn p4_whatever_parses_is_written_the_same(text in "[a-zA-Z0-9_.:*\u{e9}\u{430} -]{0,12}") {
        if let Ok(permission) = Permission::parse(&text) {
            prop_assert_eq!(permission.to_string(), text);
            prop_assert_eq!(permission.to_string().parse::<Permission>().unwrap(), permission);
        }
    }

    #[test]
    fn p4_holding_more_never_covers_less(a in held(), b in held(), asked in permission()) {
        let both = a.clone().and(b.clone());
        prop_assert_eq!(both.covers(&asked), a.covers(&asked) || b.covers(&asked));
        prop_assert!(both.covers_all(&a) && both.covers_all(&b));
    }

    #[test]
    fn p4_what_passes_through_another_hand_is_what_both_hold(a in held(), b in held(), asked in permission()) {
        let both = a.within(&b);
        prop_assert_eq!(both.covers(&asked), a.covers(&asked) && b.covers(&asked));
        prop_assert!(a.covers_all(&both) && b.covers_all(&both));
        prop_assert_eq!(&both, &b.within(&a));
    }

    #[test]
    fn covering_everything_of_another_is_covering_each_of_it(a in held(), b in held(), asked in permission()) {
        if a.covers_all(&b) && b.covers(&asked) {
            prop_assert!(a.covers(&asked));
        }
        let missing = a.missing(b.named());
        prop_assert_eq!(missing.is_empty() && (a.is_everything() || !b.is_everything()), a.covers_all(&b));
    }
}

#[test]
fn only_the_grammar_is_a_permission() {
    for good in ["a:b", "invoices:read", "a.b-c_d:*", "a1:b2"] {
        assert!(Permission::parse(good).is_ok(), "{good}");
    }
    let long = "a".repeat(64);
    for bad in [
        "",
        ":",
        "a",
        "a:",
        ":a",
        "*:a",
        "*:*",
        "*",
        "a:*b",
        "a:b*",
        "A:b",
        "a:B",
        "a:b:c",
        "1a:b",
        "a:1b",
        " a:b",
        "a:b ",
        "a b:c",
        "a:\u{430}",
        "a:b\n",
        "a:b\0",
        "-a:b",
        &format!("{long}:a"),
        &format!("a:{long}"),
    ] {
        assert!(Permission::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn reserved_ones_are_outside_every_wildcard() {
    for text in RESERVED {
        let reserved: Permission = text.parse().unwrap();
        let wildcard: Permission = format!("{}:*", reserved.resource()).parse().unwrap();
        assert!(!wildcard.covers(&reserved));
        assert!(!Held::everything().covers(&reserved));
        assert!(Held::of([reserved.clone()]).covers(&reserved));
        assert!(wildcard.covers(&format!("{}:read", reserved.resource()).parse().unwrap()));
    }
}
