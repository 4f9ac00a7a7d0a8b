//! Decision records: each has a title, a status, a date and the same four headings, and one row in the index.

use std::path::Path;

use crate::{
    Finding,
    claims::{self, Row},
    files, markdown,
};

const FOLDER: &str = "docs/decisions";
const INDEX: &str = "docs/decisions/README.md";
const HEADINGS: &[&str] = &["Context", "Decision", "Consequences", "How it is tested"];
const STATUSES: &[&str] = &["Accepted", "Proposed", "Rejected", "Superseded by ["];

pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let index = claims::rows(&files::read(root, INDEX).unwrap_or_default());
    for path in records(root)? {
        let text = files::read(root, &path)?;
        let name = path.rsplit('/').next().unwrap_or_default();
        for what in [header(name, &text), listed(name, &text, &index)].concat() {
            findings.push(Finding::new(&path, 1, what));
        }
        for heading in HEADINGS.iter().filter(|heading| !has_heading(&text, heading)) {
            findings.push(Finding::new(&path, 1, format!("has no heading '{heading}'; add it")));
        }
    }
    Ok(findings)
}

/// Mistakes in the title and the line below it: `# NNNN. Title`, then `Status: Accepted. Date: 2026-11-15.`
fn header(name: &str, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let number = number_at_start(name).unwrap_or_default();
    let wanted = title(text).map(|title| file_name(&number, title));
    if !text.starts_with(&format!("# {number}. ")) {
        wrong.push(format!("must begin with '# {number}. ' and a title"));
    } else if wanted.as_deref() != Some(name) {
        wrong.push(format!("is named differently from its title; call it {}", wanted.unwrap_or_default()));
    }
    if !status(text).is_some_and(|status| STATUSES.iter().any(|known| status.starts_with(known))) {
        wrong.push(format!("has no status; add a line 'Status: …. Date: ….', one of {STATUSES:?}"));
    }
    if !date(text).is_some_and(is_date) {
        wrong.push("has no date; add it to the status, as in 'Date: 2026-11-15.'".to_owned());
    }
    wrong
}

/// The record's row in the index: `| [NNNN](file) | title | status |`.
fn listed(name: &str, text: &str, index: &[Row]) -> Vec<String> {
    let link = format!("({name})");
    let named = |row: &&Row| row.cells.first().is_some_and(|cell| cell.ends_with(&link));
    let rows: Vec<&Row> = index.iter().filter(named).collect();
    let [row] = rows.as_slice() else {
        return vec![format!("stands in {INDEX} {} times; list it once", rows.len())];
    };
    let same = |cell: usize, own: Option<&str>| row.cells.get(cell).map(String::as_str) == own;
    let mut wrong = Vec::new();
    for (cell, what, own) in [(1, "title", title(text)), (2, "status", status(text))] {
        if !same(cell, own) {
            wrong.push(format!("has another {what} in {INDEX}; write the same"));
        }
    }
    wrong
}

fn title(text: &str) -> Option<&str> {
    text.lines().next()?.split_once(". ").map(|(_, title)| title)
}

fn status_line(text: &str) -> Option<&str> {
    text.lines().nth(2)?.strip_prefix("Status: ")
}

fn status(text: &str) -> Option<&str> {
    status_line(text)?.split_once(". Date: ").map(|(status, _)| status)
}

fn date(text: &str) -> Option<&str> {
    status_line(text)?.split_once(". Date: ")?.1.split('.').next()
}

fn is_date(text: &str) -> bool {
    let digits = |c: char| if c.is_ascii_digit() { '0' } else { c };
    text.chars().map(digits).eq("0000-00-00".chars())
}

fn file_name(number: &str, title: &str) -> String {
    let slug = markdown::slug(title);
    let words: Vec<&str> = slug.split('-').filter(|word| !word.is_empty()).collect();
    format!("{number}-{}.md", words.join("-"))
}

pub fn exists(root: &Path, number: &str) -> anyhow::Result<bool> {
    Ok(numbers(root)?.iter().any(|one| one == number))
}

/// The numbers of all records.
pub fn numbers(root: &Path) -> anyhow::Result<Vec<String>> {
    let names = records(root)?;
    Ok(names.iter().filter_map(|path| number_at_start(path.rsplit('/').next()?)).collect())
}

/// All four-digit numbers in a text.
pub fn numbers_in(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_ascii_digit()).filter(|part| part.len() == 4).map(str::to_owned).collect()
}

/// `docs/decisions/NNNN-*.md`; other files of the folder are not records.
fn records(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = files::under(root, FOLDER)?;
    found.retain(|path| {
        let name = path.rsplit('/').next().unwrap_or_default();
        files::has_extension(path, "md") && number_at_start(name).is_some()
    });
    Ok(found)
}

/// Exactly four digits.
pub fn number_at_start(text: &str) -> Option<String> {
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

    const WHOLE: &str = "# 0001. Paper, not `stone`\n\nStatus: Accepted. Date: 2026-11-15.\n\n## Context\n\n\
                         ## Decision\n\n## Consequences\n\n## How it is tested\n";
    const ROW: &str = "| [0001](0001-paper-not-stone.md) | Paper, not `stone` | Accepted |\n";

    fn found(record: &str, rows: &str) -> Vec<String> {
        let index = format!("# Records\n\n| Number | Title | Status |\n|---|---|---|\n{rows}");
        let root = tree(&[(&format!("{FOLDER}/0001-paper-not-stone.md"), record), (INDEX, &index)]);
        check(root.path()).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_record_is_whole() {
        assert_eq!(found(WHOLE, ROW), [""; 0]);
        for (from, to, part) in [
            ("## How it is tested", "How it is tested", "has no heading 'How it is tested'"),
            ("# 0001. ", "# 1. ", "must begin with '# 0001. '"),
            ("Paper, not", "Paper and", "call it 0001-paper-and-stone.md"),
            ("Accepted", "Agreed", "has no status"),
            ("Status: Accepted. ", "", "has no status"),
            ("2026-11-15", "November", "has no date"),
        ] {
            let found = found(&WHOLE.replace(from, to), ROW);
            assert!(found.iter().any(|one| one.contains(part)), "{part}: {found:?}");
        }
    }

    #[test]
    fn a_record_stands_in_the_index_once() {
        for (rows, part) in [
            (String::new(), "stands in docs/decisions/README.md 0 times"),
            (ROW.repeat(2), "stands in docs/decisions/README.md 2 times"),
            (ROW.replace("Paper", "Scissors"), "has another title in docs/decisions/README.md"),
            (ROW.replace("Accepted", "Proposed"), "has another status in docs/decisions/README.md"),
        ] {
            let found = found(WHOLE, &rows);
            assert_eq!(found.len(), 1, "{rows}: {found:?}");
            assert!(found[0].contains(part), "{found:?}");
        }
    }
}
