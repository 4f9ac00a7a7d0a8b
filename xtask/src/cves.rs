//! `docs/cves.md`: vulnerabilities of other servers that concern sign-in, each with our test against it.

use std::path::Path;

use crate::{Finding, claims, files};

const DOCUMENT: &str = "docs/cves.md";

/// Advisories that must have a row. One row may name several.
const LESSONS: &[&str] = &[
    "CVE-2026-18963",
    "CVE-2026-4282",
    "CVE-2026-7507",
    "GHSA-45f2-5q3r-xgg6",
    "Zitadel 2026-08",
    "CVE-2024-4540",
    "GHSA-2wmj-46rj-qm2w",
    "Zitadel 2025-10",
    "GHSA-7h8m-vrxx-vr4m",
    "Keycloak 49960",
    "CVE-2025-24806",
    "CVE-2026-47203",
    "CVE-2023-39522",
    "CVE-2024-47070",
    "CVE-2025-29928",
    "CVE-2025-64708",
    "CVE-2025-46815",
    "GHSA-wc43-73w7-x2f5",
    "CVE-2026-8830",
    "GHSA-xxwr-vvr3-2g9f",
    "CVE-2022-39222",
    "CVE-2023-36456",
    "CVE-2026-16072",
    "CVE-2022-23555",
    "CVE-2023-26481",
    "CVE-2026-49443",
    "CVE-2026-54730",
    "CVE-2026-15572",
    "CVE-2026-16102",
    "CVE-2026-9086",
    "CVE-2026-1180",
    "CVE-2020-10770",
    "CVE-2026-1035",
    "CVE-2026-4874",
    "CVE-2026-9689",
    "CVE-2026-37977",
    "CVE-2026-37979",
    "CVE-2023-48228",
    "CVE-2024-23647",
    "CVE-2026-42849",
    "CVE-2020-15223",
];

pub fn check(root: &Path) -> Vec<Finding> {
    against(root, LESSONS)
}

fn against(root: &Path, lessons: &[&str]) -> Vec<Finding> {
    let text = files::read(root, DOCUMENT).unwrap_or_default();
    let rows = claims::rows(&text);
    let mut findings = Vec::new();
    for lesson in lessons {
        if !rows.iter().any(|row| row.cells.first().is_some_and(|cell| cell.contains(lesson))) {
            let what = format!("has no row for {lesson}; say what went wrong and which test shows it");
            findings.push(Finding::new(DOCUMENT, 1, what));
        }
    }
    for row in &rows {
        let [_, _, tests] = row.cells.as_slice() else {
            let what = "a row has three cells: advisory, what went wrong, test";
            findings.push(Finding::new(DOCUMENT, row.line, what));
            continue;
        };
        if !claims::quoted(tests).iter().any(|named| named.contains("::")) {
            findings.push(Finding::new(DOCUMENT, row.line, "names no test; a lesson is a test, path::name"));
        }
        findings.extend(claims::missing(root, DOCUMENT, row.line, tests));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    fn found(rows: &str) -> Vec<String> {
        let text = format!("| Advisory | What went wrong | Test |\n|---|---|---|\n{rows}");
        let root = tree(&[(DOCUMENT, &text), ("tests/src/a.rs", "async fn cve_1_holds() {}")]);
        against(root.path(), &["CVE-1"]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_lesson_without_its_test_is_found() {
        assert_eq!(found("| A CVE-1, CVE-2 | it broke | `tests/src/a.rs::cve_1_holds` |\n"), [""; 0]);
        for (row, part) in [
            ("", "has no row for CVE-1"),
            ("| CVE-1 | it broke | by design |\n", "names no test"),
            ("| CVE-1 | it broke | `tests/src/a.rs::cve_1_gone` |\n", "has no test cve_1_gone"),
            ("| CVE-1 | it broke |\n", "three cells"),
        ] {
            let found = found(row);
            assert_eq!(found.len(), 1, "{row}: {found:?}");
            assert!(found[0].contains(part), "{found:?}");
        }
    }
}
