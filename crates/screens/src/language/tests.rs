//! The build's checks of the catalogues, and that every message can be formatted.

#[path = "../../build/catalogues.rs"]
mod catalogues;

use std::collections::{BTreeMap, BTreeSet};

use super::{Catalogues, Language, catalogue::source};

fn messages(language: Language) -> BTreeMap<String, BTreeSet<String>> {
    catalogues::messages(source(language)).0
}

/// The findings of the build for these catalogues.
fn said(english: &str, portuguese: &str, users: &[(&str, &str)]) -> Vec<String> {
    let catalogues = [("en", "en.ftl", english.to_owned()), ("pt", "pt.ftl", portuguese.to_owned())];
    let users: Vec<_> = users.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    catalogues::check(&catalogues, &users)
}

#[test]
fn a_message_that_is_missing_unused_or_different_stops_the_build() {
    let page = ("a.html", "{{ s.t(\"hello\") }}\n{{ s.t1(\n  \"to\", \"app\", x) }}");
    let (english, portuguese) = ("hello = Hello\nto = To { $app }\n", "hello = Olá\nto = Para { $app }\n");
    assert_eq!(said(english, portuguese, &[page]), [""; 0]);
    for (english, portuguese, users, expected) in [
        (
            english,
            "hello = Olá\n",
            [page].as_slice(),
            "pt.ftl (pt): there is no message to, and a.html:3 asks for it",
        ),
        (
            english,
            portuguese,
            &[page, ("b.rs", "match x { _ => \"event-x\" }")],
            "en.ftl (en): there is no message event-x, and b.rs:1 asks for it",
        ),
        (
            english,
            "hello = Olá\nto = Para { $aplicativo }\n",
            &[page],
            "pt.ftl (pt): the message to has other variables",
        ),
        (english, "hello = Olá\nto = Para { $app\n", &[page], "pt.ftl (pt): line 2: "),
        (
            "hello = Hello\nto = To { $app }\nold = Old\n",
            portuguese,
            &[page],
            "en.ftl (en): nobody uses the message old; remove it",
        ),
        (
            "hello = Hello\nto = To { $app }\nold = Old\n",
            portuguese,
            &[page],
            "pt.ftl (pt): there is no message old, and en.ftl has it",
        ),
        (
            "hello = Hello\nto = To { $app }\nto = { $app }\n",
            portuguese,
            &[page],
            "en.ftl (en): the message to is there twice",
        ),
    ] {
        let said = said(english, portuguese, users);
        assert!(said.iter().any(|finding| finding.starts_with(expected)), "{expected}: {said:?}");
    }
}

#[test]
fn every_message_can_be_read() {
    let catalogues = Catalogues::read(true);
    for language in Language::ALL.iter().chain(Language::PSEUDO) {
        let words = catalogues.words(*language);
        for (key, variables) in messages(*language) {
            let mut arguments = fluent_bundle::FluentArgs::new();
            for variable in &variables {
                arguments.set(variable.clone(), 2);
            }
            let said = words.say(&key, Some(&arguments));
            assert!(said != key || key.len() < 8, "{key} is not in {}", language.tag());
            assert!(!said.contains('{') && !said.contains('$'), "{key}: {said}");
        }
    }
}

#[test]
fn a_language_is_found_by_weight_and_order() {
    assert_eq!(Language::among("fr, pt-BR;q=0.8, en;q=0.7"), Some(Language::Portuguese));
    assert_eq!(Language::among("de en-GB"), Some(Language::English));
    assert_eq!(Language::among("pt;q=0"), None);
    assert_eq!(Language::among("de"), None);
}

#[test]
fn a_moment_is_written_as_people_do() {
    let catalogues = Catalogues::read(true);
    let moment = |language| catalogues.words(language).moment("2026-11-05T09:07:00Z");
    assert_eq!(moment(Language::English), "5 Nov 2026, 09:07 UTC");
    assert_eq!(moment(Language::Portuguese), "5 de nov. de 2026, 09:07 UTC");
}

#[test]
fn a_pseudo_language_is_longer_or_runs_the_other_way() {
    let catalogues = Catalogues::read(true);
    let said = |language| catalogues.words(language).t1("sign-in-for", "app", "Ledger");
    assert_eq!(said(Language::Long), "[tóó çóóñtííñúúéé tóó Ledger]");
    let mirrored = "\u{202e}to\u{202c} \u{202e}continue\u{202c} \u{202e}to\u{202c} \u{2068}Ledger\u{2069}";
    assert_eq!(said(Language::Mirrored), mirrored);
    let all = |language| {
        let words = catalogues.words(language);
        messages(language).keys().map(|key| words.t(key).chars().count()).sum::<usize>()
    };
    let percent = all(Language::Long) * 100 / all(Language::English);
    assert!((130..150).contains(&percent), "{percent} %");
}

#[test]
fn nobody_is_offered_a_pseudo_language() {
    let catalogues = Catalogues::read(false);
    for tag in ["en-XA", "ar-XB"] {
        let chosen = Language::named(tag).expect("a name");
        assert_eq!(chosen.service(), "en");
        assert_eq!(catalogues.words(chosen).language, Language::English);
        assert_ne!(Language::among(tag), Some(chosen));
        assert!(!Language::ALL.contains(&chosen));
    }
}

/// A right-to-left page needs only `dir`.
#[test]
fn the_style_names_no_side() {
    let style = include_str!("../../assets/screens.css");
    for declaration in style.split(['{', '}', ';']) {
        let Some((name, value)) = declaration.split_once(':') else { continue };
        let (name, value) = (name.trim(), value.trim());
        let sided = ["left", "right"].iter().any(|side| {
            name.split('-').any(|part| part == *side) || value.split_whitespace().any(|part| part == *side)
        });
        assert!(!sided, "{declaration}");
        assert!(!["width", "height", "min-width", "max-height"].contains(&name), "{declaration}");
        // Of four values the second is for the right and the fourth for the left side.
        if ["padding", "margin", "inset", "border-radius"].contains(&name) {
            assert!(value.split_whitespace().count() < 4, "{declaration}");
        }
    }
}
