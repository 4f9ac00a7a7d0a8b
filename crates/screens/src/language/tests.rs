//! The catalogues say the same things, and nothing that nobody shows.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::{Catalogues, Language, catalogue::source};

/// Every message with the variables it uses.
fn messages(language: Language) -> BTreeMap<String, BTreeSet<String>> {
    let mut messages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut current = String::new();
    for line in source(language).lines().filter(|line| !line.starts_with('#')) {
        if let Some((key, _)) = line.split_once(" =").filter(|_| !line.starts_with(' ')) {
            key.clone_into(&mut current);
            assert!(messages.insert(key.to_owned(), BTreeSet::new()).is_none(), "{key} is there twice");
        }
        for variable in line.split('$').skip(1) {
            let name = variable.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
            messages.entry(current.clone()).or_default().insert(name.to_owned());
        }
    }
    messages
}

fn read(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            read(&path, text);
        } else if path.file_name().is_some_and(|name| name != "tests.rs") {
            text.push_str(&fs::read_to_string(&path).expect("text"));
        }
    }
}

/// All templates and all code.
fn everything() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    read(&root.join("templates"), &mut text);
    read(&root.join("src"), &mut text);
    text
}

#[test]
fn both_languages_say_the_same_things() {
    let (english, portuguese) = (messages(Language::English), messages(Language::Portuguese));
    assert_eq!(english, portuguese);
    assert!(english.len() > 100);
}

#[test]
fn every_message_is_used() {
    let text = everything();
    let unused: Vec<String> =
        messages(Language::English).into_keys().filter(|key| !text.contains(&format!("\"{key}\""))).collect();
    assert_eq!(unused, Vec::<String>::new());
}

#[test]
fn every_message_that_is_asked_for_exists() {
    let known = messages(Language::English);
    let text = everything();
    let mut asked = 0;
    for call in [".t(\"", ".t1(\"", ".t2(\"", ".count(\"", ".say(\""] {
        for rest in text.split(call).skip(1) {
            let key = rest.split('"').next().unwrap_or_default();
            assert!(known.contains_key(key), "there is no message {key}");
            asked += 1;
        }
    }
    assert!(asked > 100);
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

/// A page that runs the other way needs nothing but `dir`.
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
        // Of four values the second is the right and the fourth the left.
        if ["padding", "margin", "inset", "border-radius"].contains(&name) {
            assert!(value.split_whitespace().count() < 4, "{declaration}");
        }
    }
}
