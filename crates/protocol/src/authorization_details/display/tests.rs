use proptest::prelude::*;
use serde_json::json;

use super::*;

fn render(template: &str, detail: &Value) -> String {
    Display { en: template.to_owned(), pt: String::new() }.render(detail, "en")
}

#[test]
fn values_are_written_for_a_person() {
    let detail = json!({
        "text": "Padaria Pão", "number": 12.5, "list": ["a", 1, null, [2], {"b": 3}], "object": {"c": [1, 2]},
        "yes": true, "null": null, "empty": "", "blank": "\u{200b}\n", "none": [], "braces": "{number}"
    });
    for (template, expected) in [
        ("Pay {number} to {text}.", "Pay <12.5> to <Padaria Pão>."),
        ("{list}", "<a>, <1>, <—>, <[2]>, <{\"<b>\":3}>"),
        ("{object}", "<{\"<c>\":[1,2]}>"),
        ("{yes}", "<yes>"),
        ("{null} {empty} {blank} {none} {absent}", "<—> <—> <—> <—> <—>"),
        ("{braces}", "<{number}>"),
        ("plain", "plain"),
    ] {
        assert_eq!(visible(&render(template, &detail)), expected, "{template}");
    }
    assert_eq!(visible(&render("{a}", &json!({"a": "x\r\ny\u{202e}z\u{2066}\u{2069}\u{7}"}))), "<x  yz >");
    assert_eq!(visible(&render("{a}", &json!(null))), "<—>");
    assert_eq!(
        visible(&unregistered(&json!({"to": "אבג\u{2069}", "n": [1]}))),
        r#"{"<to>":"<אבג>","<n>":[1]}"#
    );
}

/// With isolates that can be seen.
fn visible(text: &str) -> String {
    text.replace(ISOLATE, "<").replace(ISOLATE_END, ">")
}

/// Whether every isolate ends, and none ends that did not begin.
fn is_balanced(text: &str) -> bool {
    let depth = text.chars().try_fold(0_u32, |depth, char| match char {
        ISOLATE => Some(depth + 1),
        ISOLATE_END => depth.checked_sub(1),
        _ => Some(depth),
    });
    depth == Some(0)
}

#[test]
fn each_language_has_its_own_words() {
    let display = Display { en: "May {a}".into(), pt: "Pode {a}".into() };
    for (locale, expected) in [
        ("en", "May <no>"),
        ("pt", "Pode <não>"),
        ("pt-BR", "Pode <não>"),
        ("PT_PT", "Pode <não>"),
        ("ptx", "May <no>"),
        ("", "May <no>"),
    ] {
        assert_eq!(visible(&display.render(&json!({"a": false}), locale)), expected, "{locale}");
    }
}

#[test]
fn a_long_value_does_not_hide_another() {
    let detail = json!({"creditor": "a".repeat(5000), "amount": "1000000.00"});
    let text = render("To {creditor}: {amount}", &detail);
    assert!(visible(&text).ends_with("a…>: <1000000.00>"), "{text}");
    assert!(text.chars().count() <= MAX_RENDERED);
    // A template that was not checked is bounded too.
    assert_eq!(render(&"{".repeat(2000), &detail).chars().count(), MAX_RENDERED);
    assert_eq!(
        render(&format!("{}{{amount}}", "b".repeat(MAX_RENDERED - 1)), &detail).chars().count(),
        MAX_RENDERED
    );
}

proptest! {
    #[test]
    fn whatever_the_value_the_text_is_short_and_plain(
        one in any::<String>(), two in "(a|\\{two\\}|[\u{202a}-\u{202e}\u{2066}-\u{2069}]|\n){0,600}", nested in any::<Vec<String>>(),
    ) {
        let detail = json!({"one": one, "two": two, "nested": {"n": nested}, "list": nested});
        let text = render("A {one} B {two} C {nested} D {list} E", &detail);
        prop_assert!(text.chars().count() <= MAX_RENDERED);
        let unseen = |char: char| is_unseen(char) && char != ISOLATE && char != ISOLATE_END;
        prop_assert!(!text.chars().any(unseen), "{:?}", text);
        prop_assert!(is_balanced(&text), "{:?}", text);
        prop_assert!(is_balanced(&unregistered(&detail)));
        prop_assert!(text.starts_with("A ") && text.ends_with(" E"));
        for words in [" B ", " C ", " D "] {
            prop_assert!(text.contains(words));
        }
    }

    #[test]
    fn a_template_that_passes_is_rendered_in_full(template in "([a-z ]|\\{a\\}|[{}]){0,60}", value in "[a-z]{1,20}") {
        let properties = json!({"a": {}});
        if check(&template, properties.as_object().unwrap()).is_ok() {
            prop_assert_eq!(render(&template, &json!({"a": value})), template.replace("{a}", &format!("{ISOLATE}{value}{ISOLATE_END}")));
        }
    }
}
