//! `certification/modules.csv`: plans, module, tests, what is checked, a remark. Several plans or tests are separated
//! by a space. Commas separate the columns, so only the remark may contain one.

use std::path::Path;

use super::TABLE;
use crate::{Finding, files};

#[derive(Debug)]
pub struct Row {
    pub line: usize,
    pub plans: Vec<String>,
    pub module: String,
    pub tests: Vec<String>,
    pub checks: String,
    pub remark: String,
}

impl Row {
    pub fn is_for(&self, plan: &str, module: &str) -> bool {
        self.module == module && self.plans.iter().any(|key| key == plan)
    }
}

/// The rows, and findings for unreadable lines.
pub fn read(root: &Path) -> (Vec<Row>, Vec<Finding>) {
    let text = files::read(root, TABLE).unwrap_or_default();
    let (mut rows, mut findings) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty()) {
        let cells: Vec<&str> = line.splitn(5, ',').map(str::trim).collect();
        let [plans, module, tests, checks, remark] = cells.as_slice() else {
            findings.push(Finding::new(TABLE, index + 1, "a row has five cells"));
            continue;
        };
        let words = |cell: &str| cell.split_whitespace().map(str::to_owned).collect();
        rows.push(Row {
            line: index + 1,
            plans: words(plans),
            module: (*module).to_owned(),
            tests: words(tests),
            checks: (*checks).to_owned(),
            remark: (*remark).to_owned(),
        });
    }
    (rows, findings)
}
