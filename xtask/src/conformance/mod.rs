//! `docs/conformance.md`: every module of the plans, our test that does the same, and the suite's result. Generated
//! from `certification/modules.csv` and `certification/results/`; checked against the list of modules in [`plans`].

mod document;
mod plans;
mod results;
mod table;

use std::path::Path;

pub use document::document;

use self::{
    plans::{GROUPS, Plan},
    results::Run,
    table::Row,
};
use crate::{Finding, claims};

const TABLE: &str = "certification/modules.csv";
const RESULTS: &str = "certification/results";

pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let (rows, mut findings) = table::read(root);
    findings.extend(untested(&rows));
    for row in &rows {
        findings.extend(row.wrong(root)?);
    }
    let (runs, wrong) = results::read(root)?;
    findings.extend(wrong);
    findings.extend(runs.iter().flat_map(Run::unknown));
    Ok(findings)
}

/// Modules with no row, or with two.
fn untested(rows: &[Row]) -> Vec<Finding> {
    let answers = |plan: &Plan, module: &str| {
        let lines: Vec<usize> =
            rows.iter().filter(|row| row.is_for(plan.key, module)).map(|row| row.line).collect();
        match lines.as_slice() {
            [] => {
                let what = format!("{} has no test of ours: add a row for {module} and name one", plan.key);
                Some(Finding::new(TABLE, 1, what))
            }
            [_] => None,
            [_, second, ..] => {
                Some(Finding::new(TABLE, *second, format!("a second row for {module} of {}", plan.key)))
            }
        }
    };
    let plans = GROUPS.iter().flat_map(|group| group.iter());
    plans
        .flat_map(|plan| plan.modules().filter_map(|module| answers(plan, &module)).collect::<Vec<_>>())
        .collect()
}

impl Row {
    /// Wrong statements of the row.
    fn wrong(&self, root: &Path) -> anyhow::Result<Vec<Finding>> {
        let find = |what: String| Finding::new(TABLE, self.line, what);
        let mut findings = Vec::new();
        for key in &self.plans {
            match plans::find(key) {
                None => findings.push(find(format!("there is no plan {key}"))),
                Some(plan) if !plan.has(&self.module) => {
                    findings.push(find(format!("{key} has no module {}", self.module)));
                }
                Some(_) => {}
            }
        }
        if self.plans.is_empty() || self.checks.is_empty() {
            findings.push(find("says no plan, or not what is checked; write both".into()));
        }
        if self.tests.is_empty() {
            findings.push(find(format!("{} has no test of ours; name one, path::name", self.module)));
        }
        for test in &self.tests {
            match test.split_once("::") {
                Some((path, _)) if path.starts_with("tests/src/") => {
                    findings.extend(claims::missing(root, TABLE, self.line, &format!("`{test}`")));
                }
                Some(_) | None => findings.push(find(format!("{test} is not tests/src/...::name"))),
            }
        }
        findings.extend(claims::missing_records(root, TABLE, self.line, &self.remark)?);
        Ok(findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    const HEAD: &str = "plans,module,tests,checks,remark\n";
    const CONFIG: &str = "config,oidcc-discovery-endpoint-verification,tests/src/a.rs::it_holds,metadata,";

    fn found(rows: &str, results: &[(&str, &str)]) -> Vec<String> {
        let table = format!("{HEAD}{rows}\n");
        let files = [
            &[
                (TABLE, table.as_str()),
                ("tests/src/a.rs", "async fn it_holds() {}"),
                ("docs/decisions/0001-a.md", ""),
            ],
            results,
        ]
        .concat();
        let root = tree(&files);
        check(root.path()).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn plans_have_as_many_modules_as_the_suite_runs() {
        let counts: Vec<(&str, usize)> = GROUPS
            .iter()
            .flat_map(|group| group.iter())
            .map(|plan| (plan.key, plan.modules().count()))
            .collect();
        assert_eq!(
            counts,
            [
                ("config", 1),
                ("basic", 38),
                ("formpost", 38),
                ("dynamic", 23),
                ("rp-logout", 11),
                ("backchannel-logout", 2),
                ("fapi2-mtls", 47),
                ("fapi2-dpop", 56),
                ("message-signing", 61),
                ("fapi-ciba-poll", 35),
                ("fapi-ciba-ping", 40),
                ("fapi-ciba-poll-mtls", 33),
                ("fapi-ciba-ping-mtls", 38),
            ]
        );
    }

    #[test]
    fn a_module_without_a_row_is_found_and_one_with_a_row_is_not() {
        let all = 1 + 38 + 38 + 23 + 11 + 2 + 47 + 56 + 61 + 35 + 40 + 33 + 38;
        assert_eq!(found("", &[]).len(), all);
        let rest = found(CONFIG, &[]);
        assert_eq!(rest.len(), all - 1);
        assert!(rest[0].contains("basic has no test of ours: add a row for oidcc-server"), "{}", rest[0]);
    }

    #[test]
    fn what_is_not_so_is_found() {
        for (row, part) in [
            (CONFIG.replace("it_holds", "it_held"), "tests/src/a.rs has no test it_held"),
            (CONFIG.replace("a.rs", "b.rs"), "there is no tests/src/b.rs"),
            (CONFIG.replace("tests/src/a.rs::it_holds", ""), "has no test of ours; name one"),
            (CONFIG.replace("tests/src/a.rs::it_holds", "tests/src/a.rs"), "is not tests/src/...::name"),
            (CONFIG.replace("config,", "other,"), "there is no plan other"),
            (CONFIG.replace("config,", "config basic,"), "basic has no module oidcc-discovery"),
            (format!("{CONFIG}decision 0002"), "there is no docs/decisions/0002"),
            (format!("{CONFIG}\n{CONFIG}"), "a second row for oidcc-discovery"),
            ("config,x".to_owned(), "a row has five cells"),
        ] {
            let found = found(&row, &[]);
            assert!(found.iter().any(|one| one.contains(part)), "{part}: {:?}", &found[..2]);
        }
        assert!(!found(&format!("{CONFIG}decision 0001"), &[]).iter().any(|one| one.contains("0001")));
    }

    #[test]
    fn results_that_name_what_is_not_there_are_found() {
        let run = |module: &str, result: &str, plan: &str| {
            format!(
                r#"{{"suite":{{"version":"5","commit":"c"}},"date":"2026-11-15","porteiro":"p","plan":"{plan}","variant":{{}},
                    "modules":[{{"name":"{module}","result":"{result}","notes":[]}}]}}"#
            )
        };
        let (module, plan) =
            ("oidcc-discovery-endpoint-verification", "oidcc-config-certification-test-plan");
        let path = "certification/results/config.json";
        let problems = |path: &str, text: &str| -> Vec<String> {
            found(CONFIG, &[(path, text)]).into_iter().filter(|one| one.contains("results/")).collect()
        };
        assert_eq!(problems(path, &run(module, "PASSED", plan)), [""; 0]);
        for (path, text, part) in [
            (path, run("oidcc-unknown", "PASSED", plan), "config has no module oidcc-unknown"),
            (path, run(module, "FINE", plan), "FINE is no result"),
            (path, run(module, "PASSED", "another"), "is of another"),
            (path, "{".to_owned(), "is not a run"),
            ("certification/results/other.json", run(module, "PASSED", plan), "there is no plan other"),
        ] {
            let found = problems(path, &text);
            assert!(found.iter().any(|one| one.contains(part)), "{part}: {found:?}");
        }
    }
}
