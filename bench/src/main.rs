//! `just bench`: the release binary over HTTP beside `pgbench` with the same statements, on the same data, in turn.
//!
//! 1. A durable PostgreSQL of its own, the schema, and families whose tokens can be derived from their number.
//! 2. Rounds: at each concurrency the bare statement, the service with grouped statements, and without, one after the
//!    other. Medians of the rounds; ratios are made inside a round.
//! 3. What else is hot: grants of organizations, codes, client credentials, introspection, the floor of HTTP itself.

mod against;
mod bare;
mod codes;
mod database;
mod families;
mod fill;
mod load;
mod machine;
mod measure;
mod options;
mod plan;
mod report;
mod requests;
mod tables;

use std::process::ExitCode;

use anyhow::Result;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("bench: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let options = options::Options::parse(std::env::args().skip(1))?;
    // One thread: the load must leave the cores to those who are measured.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, plan::run(&options))
}

#[expect(clippy::print_stderr, reason = "a command for a person at a terminal")]
fn say(line: &str) {
    eprintln!("{line}");
}
