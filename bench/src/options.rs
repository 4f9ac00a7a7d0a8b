//! What a person may choose.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: porteiro-bench [--families N] [--seconds S] [--rounds N] [--concurrency N,N] [--short] [--age] \
                     [--only refresh|others|agents] [--against BINARY] [--state FOLDER] [--write]";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Refresh,
    Others,
    /// Of the others: token exchange and polls.
    Agents,
}

#[derive(Debug, Clone)]
pub struct Options {
    pub families: u64,
    pub seconds: u64,
    pub rounds: usize,
    pub concurrency: Vec<usize>,
    /// Only whether everything runs.
    pub short: bool,
    /// 2 million rotations, and whether the last cost what the first did.
    pub age: bool,
    pub only: Option<Part>,
    /// Another build of the binary: both in turns on the same data, and the ratio.
    pub against: Option<PathBuf>,
    /// Kept and used again; without it a folder of its own that is removed.
    pub state: Option<PathBuf>,
    /// Whether the table goes into `docs/performance.md`.
    pub write: bool,
}

impl Options {
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            families: 1_000_000,
            seconds: 6,
            rounds: 5,
            concurrency: vec![1, 8, 32, 64],
            short: false,
            age: false,
            only: None,
            against: None,
            state: None,
            write: false,
        };
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument} needs a value; {USAGE}"));
            match argument.as_str() {
                "--families" => options.families = value()?.parse()?,
                "--seconds" => options.seconds = value()?.parse()?,
                "--rounds" => options.rounds = value()?.parse()?,
                "--concurrency" => {
                    options.concurrency =
                        value()?.split(',').map(str::parse).collect::<Result<_, _>>().context(USAGE)?;
                }
                "--short" => {
                    (options.families, options.seconds, options.rounds) = (20_000, 1, 1);
                    options.concurrency = vec![1, 32];
                    options.short = true;
                }
                "--age" => options.age = true,
                "--only" => {
                    options.only = Some(match value()?.as_str() {
                        "refresh" => Part::Refresh,
                        "others" => Part::Others,
                        "agents" => Part::Agents,
                        _ => bail!(USAGE),
                    });
                }
                "--against" => options.against = Some(value()?.into()),
                "--state" => options.state = Some(value()?.into()),
                "--write" => options.write = true,
                _ => bail!(USAGE),
            }
        }
        Ok(options)
    }
}
