//! Documents whose table rows make claims, each with its evidence: `path::test_name` or a path, in back quotes. The
//! evidence must exist.

use std::path::Path;

use crate::{Finding, decisions, files, source::Source};

/// A row of a table: its line and its cells.
#[derive(Debug)]
pub struct Row {
    pub line: usize,
    pub cells: Vec<String>,
}

/// All rows below a table's header.
pub fn rows(text: &str) -> Vec<Row> {
    let lines: Vec<&str> = text.lines().collect();
    let is_row = |line: &str| line.starts_with("| ") || line.starts_with("|-");
    let heading = |index: usize| lines.get(index + 1).is_some_and(|next| next.starts_with("|-"));
    lines
        .iter()
        .enumerate()
        .filter(|(index, line)| is_row(line) && !line.starts_with("|-") && !heading(*index))
        .map(|(index, line)| {
            let cells = line.trim().trim_start_matches('|').trim_end_matches('|').split('|');
            Row { line: index + 1, cells: cells.map(|cell| cell.trim().to_owned()).collect() }
        })
        .collect()
}

/// The texts between back quotes.
pub fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Evidence that does not exist.
pub fn missing(root: &Path, document: &str, line: usize, cell: &str) -> Vec<Finding> {
    let found = quoted(cell).into_iter().filter_map(|named| {
        let what = match named.split_once("::") {
            Some((path, test)) => match files::read(root, path) {
                Err(_) => format!("there is no {path}; correct the path"),
                Ok(text) if !has_function(&text, test) => {
                    format!("{path} has no test {test}; write it or correct the name")
                }
                Ok(_) => return None,
            },
            None if root.join(named).exists() => return None,
            None => format!("there is no {named}; correct the path"),
        };
        Some(Finding::new(document, line, what))
    });
    found.collect()
}

/// Decision records that a cell names and that do not exist.
pub fn missing_records(root: &Path, document: &str, line: usize, cell: &str) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for number in decisions::numbers_in(cell) {
        if !decisions::exists(root, &number)? {
            let what = format!("there is no docs/decisions/{number}-*.md; write it or correct the number");
            findings.push(Finding::new(document, line, what));
        }
    }
    Ok(findings)
}

fn has_function(text: &str, name: &str) -> bool {
    let wanted = format!("fn {name}(");
    Source::parse(text).code.iter().any(|line| line.contains(&wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    #[test]
    fn rows_are_what_stands_under_a_heading() {
        let text = "| A | B |\n|---|---|\n| 1 | x |\n\ntext | y\n\n| C |\n|---|\n| 2 |\n";
        let rows = rows(text);
        let cells: Vec<_> = rows.iter().map(|row| (row.line, row.cells.join("+"))).collect();
        assert_eq!(cells, [(3, "1+x".to_owned()), (9, "2".to_owned())]);
    }

    #[test]
    fn what_is_named_must_exist() {
        let root = tree(&[
            ("tests/a.rs", "#[test]\nfn it_works() {}\n// fn it_once_worked() {}\n"),
            ("docs/b.md", ""),
        ]);
        let found = |cell: &str| -> Vec<String> {
            missing(root.path(), "docs/x.md", 7, cell).iter().map(ToString::to_string).collect()
        };
        assert_eq!(found("`tests/a.rs::it_works` and `docs/b.md`, see text"), [""; 0]);
        assert_eq!(
            found("`tests/a.rs::it_once_worked`, `tests/c.rs::it_works`, `docs/c.md`"),
            [
                "docs/x.md:7: tests/a.rs has no test it_once_worked; write it or correct the name",
                "docs/x.md:7: there is no tests/c.rs; correct the path",
                "docs/x.md:7: there is no docs/c.md; correct the path",
            ]
        );
    }
}
