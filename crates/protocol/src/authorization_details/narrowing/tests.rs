use proptest::{prelude::*, sample::subsequence};
use serde_json::json;

use super::*;

fn kind() -> DetailType {
    serde_json::from_value(json!({
        "name": "payment",
        "schema": {},
        "display": {"en": "", "pt": ""},
        "narrowing": {"actions": "subset", "amount": "at_most", "until": "earlier"}
    }))
    .unwrap()
}
fn payment(amount: &str) -> Value {
    json!({"type": "payment", "amount": amount})
}
const RULES: [Rule; 4] = [Rule::Equal, Rule::Subset, Rule::AtMost, Rule::Earlier];

fn values() -> Vec<Value> {
    let text = r#"[null, true, false, 0, -0.0, 1, 1.0, -1, -1.0, -2, 0.5, 2, 1e21, 9007199254740992.0,
        9007199254740993, 9007199254740992, "0", "-0", "1", "1.0", "1.00", "-1", "-2.0", "2", "01", "x", "",
        "2026-01-01", "2026-01-02", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00",
        "2026-01-01T00:00:00.5Z", "2027-01-01T00:00:00Z", [], [1], [1, 1], [1, 2], [2, 1], ["1"], [[1]],
        [1, [1], "1"], {}, {"a": 1}, {"a": [1]}]"#;
    serde_json::from_str(text).unwrap()
}

#[test]
fn every_rule_is_a_partial_order() {
    let values = values();
    for rule in RULES {
        for a in &values {
            assert!(rule.allows(a, a), "{rule:?} {a}");
            for b in values.iter().filter(|b| rule.allows(a, b)) {
                // Both directions hold only for values that allow the same.
                if rule.allows(b, a) {
                    assert!(
                        values.iter().all(|c| rule.allows(a, c) == rule.allows(b, c)),
                        "{rule:?} {a} {b}"
                    );
                }
                for c in values.iter().filter(|c| rule.allows(b, c)) {
                    assert!(rule.allows(a, c), "{rule:?} {a} {b} {c}");
                }
            }
        }
    }
}

#[test]
fn each_rule_by_example() {
    for (rule, parent, child, narrower) in [
        (Rule::Equal, json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}), true),
        (Rule::Equal, json!(2), json!(1), false),
        (Rule::Subset, json!(["a", "b"]), json!(["b"]), true),
        (Rule::Subset, json!(["a", "b"]), json!([]), true),
        (Rule::Subset, json!(["a", "b"]), json!(["b", "c"]), false),
        (Rule::Subset, json!("ab"), json!("a"), false),
        (Rule::Subset, json!(vec![1; 101]), json!(vec![1; 101]), true),
        (Rule::Subset, json!(vec![1; 101]), json!([1]), false),
        (Rule::AtMost, json!(100), json!(99.99), true),
        (Rule::AtMost, json!("100.00"), json!("99"), true),
        (Rule::AtMost, json!("9"), json!("10"), false),
        (Rule::AtMost, json!(100), json!("1"), false),
        (Rule::AtMost, json!(100), json!(-1), false),
        (Rule::AtMost, json!("100"), json!("0"), true),
        (Rule::AtMost, json!("100"), json!("1e1"), false),
        (Rule::Earlier, json!("2026-01-01T00:00:00Z"), json!("2026-01-01T00:30:00+01:00"), true),
        (Rule::Earlier, json!("2026-01-01T00:00:00Z"), json!("2026-01-01T00:30:00Z"), false),
        (Rule::Earlier, json!("2026-01-02"), json!("2026-01-01"), true),
        (Rule::Earlier, json!("2026-01-02"), json!("2026-01-01T00:00:00Z"), false),
        (Rule::Earlier, json!(1_800_000_000), json!(1_700_000_000), true),
        (Rule::Earlier, json!(1_800_000_000), json!("2020-01-01T00:00:00Z"), false),
    ] {
        assert_eq!(rule.allows(&parent, &child), narrower, "{rule:?} {parent} {child}");
    }
}

#[test]
fn no_member_comes_or_goes() {
    let kind = kind();
    let parent = json!({"type": "payment", "amount": "10", "account": "a", "actions": ["x"]});
    assert!(kind.narrows(&parent, &parent));
    for (member, value) in [("note", json!(1)), ("account", json!("b")), ("type", json!("other"))] {
        let mut child = parent.clone();
        child[member] = value;
        assert!(!kind.narrows(&parent, &child), "{member}");
        assert!(!kind.narrows(&child, &parent), "{member}");
    }
    for member in ["amount", "account", "actions", "type"] {
        let mut child = parent.clone();
        child.as_object_mut().unwrap().remove(member);
        assert!(!kind.narrows(&parent, &child), "{member}");
        assert!(!kind.narrows(&child, &parent), "{member}");
    }
    for other in [json!(null), json!([]), json!({})] {
        assert!(!kind.narrows(&other, &other));
    }
    // A rule about `type` would turn a detail into one of another type.
    let mut loose = kind.clone();
    loose.narrowing.insert("type".into(), Rule::AtMost);
    assert!(!loose.narrows(&json!({"type": "z"}), &json!({"type": "payment"})));
}

#[test]
fn one_grant_is_not_spent_twice() {
    let types = [kind()];
    let list = |amounts: &[&str]| amounts.iter().map(|amount| payment(amount)).collect::<Vec<_>>();
    for (parent, child, narrower) in [
        (vec!["10"], vec!["10"], true),
        (vec!["10"], vec![], true),
        (vec![], vec!["1"], false),
        (vec!["10"], vec!["5", "5"], false),
        (vec!["10", "1"], vec!["5", "5"], false),
        (vec!["10", "5"], vec!["5", "10"], true),
        // The first child has to give up its first match.
        (vec!["10", "5", "1"], vec!["1", "5", "10"], true),
        (vec!["10", "5", "1"], vec!["1", "5", "11"], false),
    ] {
        assert_eq!(list_narrows(&types, &list(&parent), &list(&child)), narrower, "{parent:?} {child:?}");
    }
    let other = [json!({"type": "other"})];
    assert!(!list_narrows(&types, &other, &other));
    let many = vec![payment("1"); MAX_DETAILS + 1];
    assert!(list_narrows(&types, &many[1..], &many[1..]));
    assert!(!list_narrows(&types, &many, &many[..1]));
}

/// Brute force: every assignment of children to parents.
fn any_assignment(kind: &DetailType, parent: &mut Vec<Value>, child: &[Value]) -> bool {
    let Some((first, rest)) = child.split_first() else { return true };
    (0..parent.len()).any(|index| {
        let taken = parent.remove(index);
        let fits = kind.narrows(&taken, first) && any_assignment(kind, parent, rest);
        parent.insert(index, taken);
        fits
    })
}

fn detail() -> impl Strategy<Value = Value> {
    let actions = subsequence(vec!["read", "pay", "cancel"], 0..=3).prop_shuffle();
    let until =
        prop_oneof![Just(json!("2026-01-01T00:00:00Z")), Just(json!("2026-06-01T00:00:00Z")), Just(json!(7))];
    (0..3_u32, actions, prop::option::of(until), any::<bool>()).prop_map(|(amount, actions, until, cents)| {
        let amount = if cents { format!("{amount}.00") } else { amount.to_string() };
        let mut detail = json!({"type": "payment", "amount": amount, "actions": actions});
        if let Some(until) = until {
            detail["until"] = until;
        }
        detail
    })
}

proptest! {
    #[test]
    fn details_are_partially_ordered(a in detail(), b in detail(), c in detail()) {
        let kind = kind();
        prop_assert!(kind.narrows(&a, &a));
        if kind.narrows(&a, &b) && kind.narrows(&b, &c) {
            prop_assert!(kind.narrows(&a, &c));
        }
        if kind.narrows(&a, &b) && kind.narrows(&b, &a) {
            prop_assert_eq!(kind.narrows(&a, &c), kind.narrows(&b, &c));
            prop_assert_eq!(kind.narrows(&c, &a), kind.narrows(&c, &b));
        }
    }

    #[test]
    fn lists_match_when_some_assignment_does(
        mut parent in prop::collection::vec(detail(), 0..5),
        child in prop::collection::vec(detail(), 0..4),
    ) {
        let kind = kind();
        let expected = any_assignment(&kind, &mut parent, &child);
        prop_assert_eq!(list_narrows(std::slice::from_ref(&kind), &parent, &child), expected);
    }

    #[test]
    fn lists_are_partially_ordered(amounts in prop::array::uniform3(prop::collection::vec(0..4_u32, 0..4))) {
        let types = [kind()];
        let [a, b, c] = amounts.map(|list| list.iter().map(|amount| payment(&amount.to_string())).collect::<Vec<_>>());
        prop_assert!(list_narrows(&types, &a, &a));
        if list_narrows(&types, &a, &b) && list_narrows(&types, &b, &c) {
            prop_assert!(list_narrows(&types, &a, &c));
        }
    }

    #[test]
    fn nothing_wider_passes(limit in 0..1_000_000_u64, asked in 0..1_000_000_u64) {
        prop_assert_eq!(Rule::AtMost.allows(&json!(limit), &json!(asked)), asked <= limit);
        prop_assert_eq!(Rule::Earlier.allows(&json!(limit), &json!(asked)), asked <= limit);
    }
}
