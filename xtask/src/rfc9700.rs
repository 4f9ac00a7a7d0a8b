//! `docs/rfc9700.md` covers every requirement of RFC 9700 and OAuth 2.1, by number, and every extension of the list:
//! which test shows it, which milestone brings it, or why it is not done.

use std::path::Path;

use crate::{Finding, claims, files};

const DOCUMENT: &str = "docs/rfc9700.md";
const DUTIES: usize = 54;
const MILESTONES: &[&str] = &["CIBA", "federation", "hosted screens", "organizations", "token exchange"];

/// Extensions that must have a row.
const EXTENSIONS: &[&str] = &[
    "RFC 8725",
    "RFC 9126",
    "RFC 9101",
    "RFC 9396",
    "RFC 9207",
    "RFC 8693",
    "RFC 8628",
    "CIBA",
    "RFC 7591 and 7592",
    "RFC 8705",
    "RFC 9449",
    "RFC 9728",
    "RFC 8707",
    "RFC 9068",
    "RFC 7009",
    "RFC 7662",
    "FAPI 2.0",
];

pub fn check(root: &Path) -> Vec<Finding> {
    against(root, DUTIES, EXTENSIONS)
}

fn against(root: &Path, duties: usize, extensions: &[&str]) -> Vec<Finding> {
    let text = files::read(root, DOCUMENT).unwrap_or_default();
    let rows = claims::rows(&text);
    let mut findings = Vec::new();
    let named: Vec<String> = (1..=duties)
        .map(|number| number.to_string())
        .chain(extensions.iter().map(ToString::to_string))
        .collect();
    for (index, name) in named.iter().enumerate() {
        let lines: Vec<usize> =
            rows.iter().filter(|row| row.cells.first() == Some(name)).map(|row| row.line).collect();
        match lines.as_slice() {
            [] => {
                findings.push(Finding::new(DOCUMENT, 1, format!("has no row for {name}; say how it is met")));
            }
            [_, second, ..] if index < duties => {
                findings.push(Finding::new(DOCUMENT, *second, format!("a second row for {name}")));
            }
            [..] => {}
        }
    }
    for row in &rows {
        let find = |what: &str| Finding::new(DOCUMENT, row.line, what);
        let known = row.cells.first().is_some_and(|cell| named.contains(cell));
        let ([_, _, _, duty, how, shown, status] | [_, duty, how, shown, status]) = row.cells.as_slice()
        else {
            findings.push(find("a row has seven cells, or five for an extension"));
            continue;
        };
        if !known {
            findings.push(find("is neither a duty nor an extension of the list"));
        }
        if duty.is_empty() || how.is_empty() {
            findings.push(find("says neither what is asked nor what we do; write both"));
        }
        findings.extend(claims::missing(root, DOCUMENT, row.line, shown));
        findings.extend(standing(shown, status).map(|what| find(&what)));
    }
    findings
}

/// What is wrong with a status, if anything.
fn standing(shown: &str, status: &str) -> Option<String> {
    let tests = claims::quoted(shown).iter().filter(|named| named.contains("::")).count();
    match status.split_once(": ") {
        None if status == "met" && tests == 0 => {
            Some("is met, and no test shows it; name one, path::name".into())
        }
        None if status == "met" => None,
        Some(("later", milestone)) if MILESTONES.contains(&milestone) => None,
        Some(("not done", why)) if !why.trim().is_empty() => None,
        Some(_) | None => {
            let milestones = MILESTONES.join(", ");
            Some(format!("status is 'met', 'not done: ' and why, or 'later: ' and one of {milestones}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    fn found(rows: &str) -> Vec<String> {
        let head = "| # | a | b | Duty | How | Shown by | Status |\n|---|---|---|---|---|---|---|\n";
        let text = format!("{head}| 1 | — | — | d | h | `tests/src/a.rs::it_holds` | met |\n{rows}");
        let root = tree(&[(DOCUMENT, &text), ("tests/src/a.rs", "async fn it_holds() {}")]);
        against(root.path(), 2, &["RFC 1"]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn whole_and_true_is_fine() {
        for second in ["later: federation", "not done: nobody asks for it"] {
            let rows = format!(
                "| 2 | — | — | d | h | — | {second} |\n| RFC 1 | d | h | `tests/src/a.rs::it_holds` | met |\n"
            );
            assert_eq!(found(&rows), [""; 0]);
        }
    }

    #[test]
    fn what_is_missing_or_untrue_is_found() {
        let good = "| RFC 1 | d | h | `tests/src/a.rs::it_holds` | met |\n";
        for (row, part) in [
            ("", "has no row for 2"),
            ("| 2 | — | — | d | h | — | met |\n", "no test shows it"),
            ("| 2 | — | — | d | h | `tests/src/a.rs` | met |\n", "no test shows it"),
            ("| 2 | — | — | d | h | `tests/src/a.rs::gone` | met |\n", "tests/src/a.rs has no test gone"),
            ("| 2 | — | — | d | h | `tests/src/b.rs::it_holds` | met |\n", "there is no tests/src/b.rs"),
            ("| 2 | — | — | d | h | — | later: some day |\n", "status is 'met'"),
            ("| 2 | — | — | d | h | — | not done: |\n", "status is 'met'"),
            ("| 2 | — | — | d | h | — | not done |\n", "status is 'met'"),
            ("| 2 | — | — |  | h | — | later: federation |\n", "write both"),
        ] {
            let found = found(&format!("{row}{good}"));
            assert_eq!(found.len(), 1, "{row}: {found:?}");
            assert!(found[0].contains(part), "{found:?}");
        }
        let later = "| 2 | — | — | d | h | — | later: federation |\n";
        assert!(found(later)[0].contains("has no row for RFC 1"));
        assert!(found(&format!("{later}{later}{good}"))[0].contains("a second row for 2"));
        assert!(
            found(&format!("{later}{good}| 3 | — | — | d | h | — | later: federation |\n"))[0]
                .contains("neither")
        );
        assert!(found(&format!("{later}{good}| 2 | x |\n")).iter().any(|it| it.contains("seven cells")));
    }
}
