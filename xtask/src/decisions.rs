//! Decision records: each has the same four headings, and one that is named exists.

use std::path::Path;

use crate::{Finding, files};

const FOLDER: &str = "docs/decisions";
const HEADINGS: &[&str] = &["Context", "Decision", "Consequences", "How it is tested"];

pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in records(root)? {
        let text = files::read(root, &path)?;
        for heading in HEADINGS.iter().filter(|heading| !has_heading(&text, heading)) {
            findings.push(Finding::new(&path, 1, format!("has no heading '{heading}'; add it")));
        }
    }
    // The tests of these checks plant numbers that are not there.
    for path in files::under(root, "")?.into_iter().filter(|path| !path.starts_with("xtask/")) {
        let Ok(text) = files::read(root, &path) else { continue };
        for (index, line) in text.lines().enumerate() {
            for number in line.split("docs/decisions/").skip(1).filter_map(number_at_start) {
                if !exists(root, &number)? {
                    let what = format!("names docs/decisions/{number}, which is not there; write it");
                    findings.push(Finding::new(&path, index + 1, what));
                }
            }
        }
    }
    Ok(findings)
}

pub fn exists(root: &Path, number: &str) -> anyhow::Result<bool> {
    let beginning = format!("{FOLDER}/{number}-");
    Ok(records(root)?.iter().any(|path| path.starts_with(&beginning)))
}

/// Every four-digit number in a text.
pub fn numbers_in(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_ascii_digit()).filter(|part| part.len() == 4).map(str::to_owned).collect()
}

/// `docs/decisions/NNNN-*.md`; other files of the folder are none.
fn records(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = files::under(root, FOLDER)?;
    found.retain(|path| {
        let name = path.rsplit('/').next().unwrap_or_default();
        files::has_extension(path, "md") && number_at_start(name).is_some()
    });
    Ok(found)
}

fn number_at_start(text: &str) -> Option<String> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    (digits.len() == 4).then_some(digits)
}

fn has_heading(text: &str, heading: &str) -> bool {
    text.lines().any(|line| line.starts_with('#') && line.trim_start_matches('#').trim() == heading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    #[test]
    fn a_record_has_four_headings() {
        let whole = "# 1. Paper\n\n## Context\n\n## Decision\n\n## Consequences\n\n## How it is tested\n";
        let root = tree(&[
            ("docs/decisions/0001-paper.md", whole),
            ("docs/decisions/0002-scissors.md", &whole.replace("## How it is tested", "How it is tested")),
            ("docs/decisions/README.md", ""),
        ]);
        let found: Vec<_> = check(root.path()).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, ["docs/decisions/0002-scissors.md:1: has no heading 'How it is tested'; add it"]);
    }

    #[test]
    fn a_record_that_is_named_exists() {
        let root = tree(&[("crates/a.rs", &format!("\n// Why: {FOLDER}/0009.\n"))]);
        let found = check(root.path()).unwrap();
        assert_eq!(found.len(), 1);
        assert!(
            found[0].to_string().starts_with("crates/a.rs:2: names docs/decisions/0009, which is not there")
        );
    }
}
