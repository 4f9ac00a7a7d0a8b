//! `cargo xtask`: checks of the house rules, and generated documents.
//!
//! - `tidy` runs every check and prints each finding as `path:line: what is wrong and what to do`.
//! - `generate` writes the documents that are generated from the code; `generate --check` only compares.

mod asvs;
mod claims;
mod conformance;
mod cves;
mod decisions;
mod dependencies;
mod events;
mod files;
mod finding;
mod floors;
mod generate;
mod hygiene;
mod imports;
mod layers;
mod links;
mod markdown;
mod migrations;
mod references;
mod refusals;
mod rfc9700;
mod routes;
mod schema;
mod security;
mod settings;
mod source;
mod standards;
mod tidy;
mod trail;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use finding::Finding;

const USAGE: &str = "usage: cargo xtask tidy | generate [--check]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["tidy"] => tidy::run(&root()),
        ["generate"] => generate::write(&root()).map(|()| Vec::new()),
        ["generate", "--check"] => generate::check(&root()),
        _ => Err(anyhow::anyhow!(USAGE)),
    };
    match outcome {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            report(&findings);
            ExitCode::FAILURE
        }
        Err(error) => {
            say(&format!("xtask: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

fn report(findings: &[Finding]) {
    for finding in findings {
        say(&finding.to_string());
    }
    say(&format!("{} findings", findings.len()));
}

#[expect(clippy::print_stderr, reason = "a command for a person at a terminal")]
fn say(line: &str) {
    eprintln!("{line}");
}
