//! `docs/asvs.md` covers every requirement of OWASP ASVS 5.0, chapters V6 and V7, levels 1 and 2: how it is met and
//! which test shows it, which record departs from it, or which milestone brings it.

use std::path::Path;

use crate::{Finding, claims, decisions, files};

const DOCUMENT: &str = "docs/asvs.md";
const MILESTONES: &[&str] = &["federation", "policies"];

/// All requirements and their levels.
#[rustfmt::skip]
const REQUIREMENTS: &[(&str, &str)] = &[
    ("6.1.1", "1"), ("6.1.2", "2"), ("6.1.3", "2"),
    ("6.2.1", "1"), ("6.2.2", "1"), ("6.2.3", "1"), ("6.2.4", "1"), ("6.2.5", "1"), ("6.2.6", "1"),
    ("6.2.7", "1"), ("6.2.8", "1"), ("6.2.9", "2"), ("6.2.10", "2"), ("6.2.11", "2"), ("6.2.12", "2"),
    ("6.3.1", "1"), ("6.3.2", "1"), ("6.3.3", "2"), ("6.3.4", "2"),
    ("6.4.1", "1"), ("6.4.2", "1"), ("6.4.3", "2"), ("6.4.4", "2"),
    ("6.5.1", "2"), ("6.5.2", "2"), ("6.5.3", "2"), ("6.5.4", "2"), ("6.5.5", "2"),
    ("6.6.1", "2"), ("6.6.2", "2"), ("6.6.3", "2"),
    ("6.8.1", "2"), ("6.8.2", "2"), ("6.8.3", "2"), ("6.8.4", "2"),
    ("7.1.1", "2"), ("7.1.2", "2"), ("7.1.3", "2"),
    ("7.2.1", "1"), ("7.2.2", "1"), ("7.2.3", "1"), ("7.2.4", "1"),
    ("7.3.1", "2"), ("7.3.2", "2"),
    ("7.4.1", "1"), ("7.4.2", "1"), ("7.4.3", "2"), ("7.4.4", "2"), ("7.4.5", "2"),
    ("7.5.1", "2"), ("7.5.2", "2"), ("7.6.1", "2"), ("7.6.2", "2"),
];

pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    against(root, REQUIREMENTS)
}

fn against(root: &Path, requirements: &[(&str, &str)]) -> anyhow::Result<Vec<Finding>> {
    let text = files::read(root, DOCUMENT).unwrap_or_default();
    let rows = claims::rows(&text);
    let mut findings = Vec::new();
    for (id, level) in requirements {
        let answers: Vec<_> =
            rows.iter().filter(|row| row.cells.first().is_some_and(|cell| cell == id)).collect();
        match answers.as_slice() {
            [row] => findings.extend(answer(root, row, level)?),
            [] => findings.push(Finding::new(DOCUMENT, 1, format!("has no row for {id}; say how it is met"))),
            [_, second, ..] => {
                findings.push(Finding::new(DOCUMENT, second.line, format!("a second row for {id}")));
            }
        }
    }
    for row in &rows {
        let id = row.cells.first().map(String::as_str).unwrap_or_default();
        if !requirements.iter().any(|(known, _)| *known == id) {
            findings.push(Finding::new(DOCUMENT, row.line, format!("{id} is not a requirement of the list")));
        }
    }
    Ok(findings)
}

fn answer(root: &Path, row: &claims::Row, level: &str) -> anyhow::Result<Vec<Finding>> {
    let find = |what: &str| Finding::new(DOCUMENT, row.line, what);
    let [_, stated, words, how, shown, status] = row.cells.as_slice() else {
        return Ok(vec![find("a row has six cells: id, level, in our words, how, shown by, status")]);
    };
    let mut findings = claims::missing(root, DOCUMENT, row.line, shown);
    if stated != level {
        findings.push(find(&format!("is of level {level}")));
    }
    if words.is_empty() || how.is_empty() {
        findings.push(find("says neither what is asked nor what we do; write both"));
    }
    if status == "met" {
        if claims::quoted(shown).is_empty() {
            findings.push(find("is met, and nothing shows it; name a test or a document"));
        }
    } else if status.starts_with("deviation ") {
        if decisions::numbers_in(status).is_empty() {
            findings.push(find("departs without a decision record; name its number"));
        }
        findings.extend(claims::missing_records(root, DOCUMENT, row.line, status)?);
    } else if !status.strip_prefix("later: ").is_some_and(|milestone| MILESTONES.contains(&milestone)) {
        let milestones = MILESTONES.join(", ");
        findings
            .push(find(&format!("status is 'met', 'deviation NNNN' or 'later: ' and one of {milestones}")));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    const HEAD: &str = "| Id | Level | In our words | How | Shown by | Status |\n|---|---|---|---|---|---|\n";

    fn found(rows: &str) -> Vec<String> {
        let root = tree(&[
            (DOCUMENT, &format!("{HEAD}{rows}")),
            ("tests/src/a.rs", "fn it_holds() {}"),
            ("docs/decisions/0001-why.md", ""),
        ]);
        let list = [("6.1.1", "1"), ("7.1.1", "2")];
        against(root.path(), &list).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn whole_and_true_is_fine() {
        let rows = "| 6.1.1 | 1 | a | b | `tests/src/a.rs::it_holds` | met |\n| 7.1.1 | 2 | a | b | — | later: policies |\n";
        assert_eq!(found(rows), [""; 0]);
        let rows = rows.replace("later: policies", "deviation 0001");
        assert_eq!(found(&rows), [""; 0]);
    }

    #[test]
    fn what_is_missing_or_untrue_is_found() {
        let good = "| 7.1.1 | 2 | a | b | — | later: policies |\n";
        for (row, part) in [
            ("", "docs/asvs.md:1: has no row for 6.1.1"),
            ("| 6.1.1 | 1 | a | b | `tests/src/a.rs::gone` | met |\n", "tests/src/a.rs has no test gone"),
            ("| 6.1.1 | 1 | a | b | `docs/gone.md` | met |\n", "there is no docs/gone.md"),
            ("| 6.1.1 | 1 | a | b | — | met |\n", "nothing shows it"),
            ("| 6.1.1 | 1 | a | b | — | deviation |\n", "status is 'met'"),
            ("| 6.1.1 | 1 | a | b | — | deviation 0009 |\n", "there is no docs/decisions/0009-*.md"),
            ("| 6.1.1 | 1 | a | b | — | later: some day |\n", "status is 'met'"),
            ("| 6.1.1 | 2 | a | b | — | later: policies |\n", "is of level 1"),
            ("| 6.1.1 | 1 |  | b | — | later: policies |\n", "write both"),
            ("| 6.1.1 | 1 | a | b | later: policies |\n", "six cells"),
        ] {
            let found = found(&format!("{row}{good}"));
            assert_eq!(found.len(), 1, "{row}: {found:?}");
            assert!(found[0].contains(part), "{found:?}");
        }
        let found =
            found(&format!("{good}{good}| 6.1.1 | 1 | a | b | — | later: policies |\n| 9.9.9 | 1 | |\n"));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("a second row for 7.1.1") && found[1].contains("9.9.9 is not"));
    }
}
