//! The load for `bench/peers/run`: one plan as JSON on standard input, what was measured as JSON on standard output.
//!
//! It knows no product. A plan says what is sent and what must be in the answer; every connection waits for its answer
//! before it asks again (a closed loop). One thread, so that it leaves the cores to those who are measured.

mod http;
mod plan;
mod run;

use std::process::ExitCode;

use anyhow::{Context, Result};

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("load: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<()> {
    let plan: plan::Plan = serde_json::from_reader(std::io::stdin().lock()).context("the plan")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let measured = tokio::task::LocalSet::new().block_on(&runtime, run::run(plan))?;
    serde_json::to_writer(std::io::stdout().lock(), &measured).context("the result")
}

#[expect(clippy::print_stderr, reason = "a command for a person at a terminal")]
fn say(line: &str) {
    eprintln!("{line}");
}
