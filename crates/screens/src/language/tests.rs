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
    let catalogues = Catalogues::read();
    for language in Language::ALL {
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
    let catalogues = Catalogues::read();
    let moment = |language| catalogues.words(language).moment("2026-11-05T09:07:00Z");
    assert_eq!(moment(Language::English), "5 Nov 2026, 09:07 UTC");
    assert_eq!(moment(Language::Portuguese), "5 de nov. de 2026, 09:07 UTC");
}
