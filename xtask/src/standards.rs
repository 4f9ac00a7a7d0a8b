//! `docs/standards.md` lists where each standard is implemented. A standard named in the first lines of a file must
//! have a row, and everything a row names must exist.

use std::{collections::BTreeSet, path::Path};

use crate::{
    Finding, decisions,
    files::{self, is_rust},
};

const TABLE: &str = "docs/standards.md";
/// Words that follow "OpenID" without naming a specification.
const NO_SPECIFICATION: &[&str] =
    &["OpenID Connect", "OpenID Provider", "OpenID Providers", "OpenID Foundation"];

/// `served`: the standards that the routes name.
pub fn check(root: &Path, served: &[&str]) -> anyhow::Result<Vec<Finding>> {
    let Ok(table) = files::read(root, TABLE) else {
        return Ok(vec![Finding::new(
            TABLE,
            1,
            "is missing; write a table: standard, folder, tests, decision record",
        )]);
    };
    let mut findings = Vec::new();
    let mut known = BTreeSet::new();
    for (line, cells) in rows(&table) {
        known.extend(cells.first().map(|standard| named_in(standard)).unwrap_or_default());
        findings.extend(row(root, line, &cells)?);
    }
    for path in files::under(root, "crates")?.into_iter().filter(|path| is_rust(path)) {
        for standard in named_in(&first_doc_comment(&files::read(root, &path)?)) {
            if !known.contains(&standard) {
                findings.push(Finding::new(&path, 1, format!("names {standard}; give it a row in {TABLE}")));
            }
        }
    }
    for standard in served.iter().flat_map(|text| named_in(text)).collect::<BTreeSet<_>>() {
        if !known.contains(&standard) {
            findings.push(Finding::new(
                TABLE,
                1,
                format!("has no row for {standard}, which a route answers for"),
            ));
        }
    }
    Ok(findings)
}

/// A row's line and its cells: standard, folders, tests, decision records.
fn rows(table: &str) -> Vec<(usize, Vec<&str>)> {
    table
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with("| ") && !line.starts_with("| Standard "))
        .map(|(index, line)| (index + 1, line.trim_matches('|').split('|').map(str::trim).collect()))
        .collect()
}

fn row(root: &Path, line: usize, cells: &[&str]) -> anyhow::Result<Vec<Finding>> {
    let &[_, folders, tests, records] = cells else {
        return Ok(vec![Finding::new(
            TABLE,
            line,
            "a row has four cells: standard, folder, tests, decision record",
        )]);
    };
    let mut findings = Vec::new();
    if quoted(folders).is_empty() {
        findings.push(Finding::new(TABLE, line, "the row names no folder; say where the standard lives"));
    }
    for path in quoted(folders).into_iter().chain(quoted(tests)).filter(|path| !root.join(path).exists()) {
        findings.push(Finding::new(TABLE, line, format!("there is no {path}; correct the path")));
    }
    for number in decisions::numbers_in(records) {
        if !decisions::exists(root, &number)? {
            let what = format!("there is no docs/decisions/{number}-*.md; write it or correct the number");
            findings.push(Finding::new(TABLE, line, what));
        }
    }
    Ok(findings)
}

/// The texts between back quotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn first_doc_comment(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// `RFC 8414`, `OAuth 2.1` and `OpenID Connect Core`: sections and versions do not matter.
fn named_in(text: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    let words: Vec<&str> =
        text.split_whitespace().map(|word| word.trim_start_matches(['(', '*', '`'])).collect();
    for (index, word) in words.iter().enumerate() {
        let rest = &words[index + 1..];
        if *word == "RFC" {
            // `RFC 7591/7592` names two.
            let numbers = rest.first().into_iter().flat_map(|next| next.split('/'));
            let numbers = numbers.map(|part| part.trim_end_matches(|c: char| !c.is_ascii_digit()));
            named.extend(numbers.filter(|part| is_number(part)).map(|number| format!("RFC {number}")));
        } else if *word == "OAuth" && rest.first().is_some_and(|next| next.starts_with("2.1")) {
            named.insert("OAuth 2.1".to_owned());
        } else if *word == "OpenID" {
            named.insert(open_id(rest));
        }
    }
    named.retain(|name| name != "OpenID" && !NO_SPECIFICATION.contains(&name.as_str()));
    named
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.chars().all(|c| c.is_ascii_digit())
}

/// The capitalised words that follow, up to the first punctuation.
fn open_id(words: &[&str]) -> String {
    let mut name = "OpenID".to_owned();
    for word in words {
        let plain = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        if !plain.starts_with(char::is_uppercase) {
            break;
        }
        name = format!("{name} {plain}");
        if plain != *word {
            break;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    const HEAD: &str = "| Standard | Folder | Tests | Decision record |\n|---|---|---|---|\n";

    fn found(code: &str, row: &str, served: &[&str]) -> Vec<String> {
        let root = tree(&[
            ("crates/service/src/device/mod.rs", code),
            ("docs/decisions/0007-device.md", ""),
            (TABLE, &format!("{HEAD}{row}\n")),
        ]);
        check(root.path(), served).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_are_read_without_sections_and_versions() {
        let text = "Discovery (RFC 8414 §2, RFC 7591/7592): OpenID Connect Core 1.0 §5.4, OpenID CIBA. One more \
                    OpenID document for OpenID Connect, OAuth 2.1 §3.2.";
        let expected =
            ["OAuth 2.1", "OpenID CIBA", "OpenID Connect Core", "RFC 7591", "RFC 7592", "RFC 8414"];
        assert_eq!(named_in(text).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_standard_without_a_row_is_found() {
        let row = "| RFC 8628 | `crates/service/src/device` | — | 0007 |";
        assert_eq!(found("//! RFC 8628 in\n//! steps.\n", row, &["RFC 8628"]), [""; 0]);
        let missing = found("//! Steps of RFC\n//! 8693.\n\n//! RFC 1\n", row, &["OpenID Connect Core 1.0"]);
        assert_eq!(missing.len(), 2, "{missing:?}");
        assert!(missing[0].starts_with("crates/service/src/device/mod.rs:1: names RFC 8693;"));
        assert!(missing[1].contains("no row for OpenID Connect Core, which a route"));
    }

    #[test]
    fn a_row_that_names_what_is_not_there_is_found() {
        let row = "| RFC 8628 | `crates/service/src/devise` | `tests/src/device.rs` | 0008 |";
        let found = found("//! A.\n", row, &[]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("docs/standards.md:3: there is no crates/service/src/devise;"));
        assert!(found[1].contains("there is no tests/src/device.rs"));
        assert!(found[2].contains("there is no docs/decisions/0008-*.md"));
    }
}
