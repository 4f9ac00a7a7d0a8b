//! `certification/results/KEY.json`: the results of a plan's run.

use std::path::Path;

use serde_json::Value;

use super::{
    RESULTS,
    plans::{self, Plan},
};
use crate::{Finding, files};

const WORDS: [&str; 7] = ["PASSED", "WARNING", "REVIEW", "SKIPPED", "FAILED", "INTERRUPTED", "NOT RUN"];

#[derive(Debug)]
pub struct Run {
    pub plan: &'static Plan,
    path: String,
    content: Value,
}

/// One module of a run.
#[derive(Debug)]
pub struct Outcome {
    pub module: String,
    pub result: String,
    pub notes: Vec<String>,
}

/// All runs, and findings for unreadable files.
pub fn read(root: &Path) -> anyhow::Result<(Vec<Run>, Vec<Finding>)> {
    let (mut runs, mut findings) = (Vec::new(), Vec::new());
    for path in files::under(root, RESULTS)? {
        if !files::has_extension(&path, "json") {
            continue;
        }
        let Some(plan) = plans::find(files::stem(&path)) else {
            findings.push(Finding::new(&path, 1, format!("there is no plan {}", files::stem(&path))));
            continue;
        };
        match serde_json::from_str::<Value>(&files::read(root, &path)?) {
            Ok(content) if content["modules"].is_array() && content["plan"] == plan.name => {
                runs.push(Run { plan, path, content });
            }
            Ok(content) if content["modules"].is_array() => {
                let other = content["plan"].as_str().unwrap_or("no plan");
                let what = format!("is of {other}; {} is {}", plan.key, plan.name);
                findings.push(Finding::new(&path, 1, what));
            }
            Ok(_) | Err(_) => findings.push(Finding::new(&path, 1, "is not a run of a plan")),
        }
    }
    Ok((runs, findings))
}

impl Run {
    fn text(&self, pointer: &str) -> String {
        self.content.pointer(pointer).and_then(Value::as_str).unwrap_or("unknown").to_owned()
    }

    pub fn outcomes(&self) -> Vec<Outcome> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let outcome = |module: &Value| Outcome {
            module: text(&module["name"]),
            result: text(&module["result"]),
            notes: module["notes"].as_array().into_iter().flatten().map(text).collect(),
        };
        self.content["modules"].as_array().into_iter().flatten().map(outcome).collect()
    }

    /// The date, the suite and our commit.
    pub fn introduction(&self) -> String {
        let commit = |pointer: &str| self.text(pointer).chars().take(12).collect::<String>();
        format!(
            "{}, suite {} ({}), Porteiro {}",
            self.text("/date"),
            self.text("/suite/version"),
            commit("/suite/commit"),
            commit("/porteiro"),
        )
    }

    /// Unknown modules and results.
    pub fn unknown(&self) -> Vec<Finding> {
        let wrong = |outcome: Outcome| {
            if !self.plan.has(&outcome.module) {
                return Some(format!("{} has no module {}", self.plan.key, outcome.module));
            }
            let known = WORDS.contains(&outcome.result.as_str());
            (!known).then(|| format!("{} is no result; of {}", outcome.result, outcome.module))
        };
        let findings = self.outcomes().into_iter().filter_map(wrong);
        findings.map(|what| Finding::new(&self.path, 1, what)).collect()
    }
}
