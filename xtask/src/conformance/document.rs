//! Writes the document.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use super::{
    plans::{GROUPS, Plan},
    results::{self, Run},
    table::{self, Row},
};

const INTRODUCTION: &str = "# Conformance

Every module of the OpenID conformance suite's plans that we aim at; the test of ours that does the same from outside, with
or without the suite; and what the suite itself said when it was last run. The tests run in CI
(`cargo test -p porteiro-tests conformance`). [certification/](../certification/) runs the suite. `cargo xtask tidy` fails
when a module has no test, when a test that is named is not there, or when a result names a module nobody knows.

The results are of runs of our own. They are no certificate. The OpenID plans (not Config OP, not FAPI) run through a
front that adds PKCE, which their clients do not send and ours must; that, and what of the plans is refused on purpose, is
in [0057](decisions/0057-conformance-plans-without-pkce-run-through-a-proxy-that-adds-it.md). In the Dynamic plan that is two conditions of one module
(no implicit grant), and three more modules that do not end: they wait for a picture of a page that shows what a stranger
registered (logo, policy, terms), and no page of ours does ([0039](decisions/0039-logos-and-links-of-unverified-clients-are-not-shown.md)). In
the FAPI-CIBA plans a program decides for the person, in their session
([0096](decisions/0096-fapi-ciba-is-served-to-clients-of-the-fapi2-profile.md)). How
the suite was built, and which of its libraries had a stand-in, is in [certification/](../certification/).
";

pub fn document(root: &Path) -> String {
    let (rows, _) = table::read(root);
    let runs = results::read(root).map(|(runs, _)| runs).unwrap_or_default();
    let mut text = format!("{INTRODUCTION}\n{}", summary(&runs));
    for group in GROUPS {
        section(&mut text, group, &rows, &runs);
    }
    text
}

fn run_of<'a>(runs: &'a [Run], plan: &Plan) -> Option<&'a Run> {
    runs.iter().find(|run| run.plan.key == plan.key)
}

/// The results of each plan, in numbers.
fn summary(runs: &[Run]) -> String {
    let mut text = "| Plan | Modules | With the suite | Run |\n|---|---|---|---|\n".to_owned();
    for plan in GROUPS.iter().flat_map(|group| group.iter()) {
        let (outcome, when) = match run_of(runs, plan) {
            None => ("not run".to_owned(), "—".to_owned()),
            Some(run) => (counted(run), run.introduction()),
        };
        let _ = writeln!(
            text,
            "| {} (`{}`) | {} | {outcome} | {when} |",
            plan.title,
            plan.key,
            plan.modules().count()
        );
    }
    text
}

fn counted(run: &Run) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for outcome in run.outcomes() {
        *counts.entry(outcome.result.to_lowercase()).or_default() += 1;
    }
    let words: Vec<String> = counts.iter().map(|(result, count)| format!("{count} {result}")).collect();
    words.join(", ")
}

fn section(text: &mut String, group: &[Plan], rows: &[Row], runs: &[Run]) {
    let titles: Vec<&str> = group.iter().map(|plan| plan.title).collect();
    let names: Vec<String> = group.iter().map(|plan| format!("`{}`", plan.name)).collect();
    let _ = write!(text, "\n## {}\n\n{}\n\n", titles.join("; "), unique(names).join(", "));
    let heads: Vec<String> = match group {
        [_] => vec!["With the suite".to_owned()],
        _ => group.iter().map(|plan| format!("`{}`", plan.key)).collect(),
    };
    let _ = writeln!(text, "| Module | What it checks | Our test | {} |", heads.join(" | "));
    let _ = writeln!(text, "|---|---|---|{}", "---|".repeat(group.len()));
    let mut notes = Vec::new();
    for module in unique(group.iter().flat_map(Plan::modules).collect()) {
        let row = rows.iter().find(|row| group.iter().any(|plan| row.is_for(plan.key, &module)));
        let checks = row.map(described).unwrap_or_default();
        let tests = row.map(linked).unwrap_or_default();
        let results: Vec<String> = group.iter().map(|plan| result(plan, &module, runs, &mut notes)).collect();
        let _ = writeln!(text, "| `{module}` | {checks} | {tests} | {} |", results.join(" | "));
    }
    if !notes.is_empty() {
        let _ = write!(text, "\nWhat the suite remarked:\n\n{}\n", notes.join("\n"));
    }
}

fn unique(names: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    names.into_iter().filter(|name| seen.insert(name.clone())).collect()
}

fn described(row: &Row) -> String {
    if row.remark.is_empty() { row.checks.clone() } else { format!("{}. *{}*", row.checks, row.remark) }
}

/// The names of tests, linked to their files.
fn linked(row: &Row) -> String {
    let link = |test: &String| match test.split_once("::") {
        Some((path, name)) => format!("[`{name}`](../{path})"),
        None => format!("`{test}`"),
    };
    row.tests.iter().map(link).collect::<Vec<_>>().join(", ")
}

fn result(plan: &Plan, module: &str, runs: &[Run], notes: &mut Vec<String>) -> String {
    if !plan.has(module) {
        return "—".to_owned();
    }
    let outcomes = run_of(runs, plan).map(Run::outcomes).unwrap_or_default();
    let mine: Vec<_> = outcomes.iter().filter(|outcome| outcome.module == module).collect();
    for outcome in &mine {
        if !outcome.notes.is_empty() {
            notes.push(format!("- `{module}` ({}): {}", plan.key, outcome.notes.join("; ")));
        }
    }
    let results: Vec<String> = mine.iter().map(|outcome| outcome.result.to_lowercase()).collect();
    if results.is_empty() { "not run".to_owned() } else { unique(results).join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    #[test]
    fn a_module_shows_its_test_and_its_result() {
        let table = "plans,module,tests,checks,remark\n\
                     basic formpost,oidcc-server,tests/src/a.rs::oidcc_server,the flow,decision 0001\n";
        let run = r#"{"suite":{"version":"5.2","commit":"0123456789abcdef"},"date":"2026-11-15","porteiro":"fedcba9876543210",
            "plan":"oidcc-basic-certification-test-plan","variant":{},
            "modules":[{"name":"oidcc-server","result":"WARNING","notes":["warning: SomeCondition"]}]}"#;
        let root = tree(&[("certification/modules.csv", table), ("certification/results/basic.json", run)]);
        let text = document(root.path());
        let wanted = "| `oidcc-server` | the flow. *decision 0001* | [`oidcc_server`](../tests/src/a.rs) | warning | not run |";
        assert!(text.contains(wanted), "{text}");
        assert!(text.contains("- `oidcc-server` (basic): warning: SomeCondition"));
        assert!(text.contains("| Basic OP (`basic`) | 38 | 1 warning | 2026-11-15, suite 5.2 (0123456789ab), Porteiro fedcba987654 |"));
        assert!(text.contains("| Config OP (`config`) | 1 | not run | — |"));
    }
}
