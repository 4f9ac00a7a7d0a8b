//! The table, for the terminal and for `docs/performance.md`.

use std::{collections::BTreeMap, fmt::Write, process::Command};

use anyhow::{Context, Result};

use crate::{
    load::Measured,
    machine::Postgres,
    options::{Options, Part},
};

pub const BARE: &str = "pgbench, the bare statement";
pub const GROUPED: &str = "refresh over HTTP";
pub const ALONE: &str = "refresh over HTTP, grouping off";
pub const PUBLIC: &str = "refresh over HTTP, public client";
pub const BARE_ORGANIZATION: &str = "pgbench, the bare statement, organization";
pub const ORGANIZATION: &str = "refresh over HTTP, organization";
pub const CODE: &str = "code redemption";
pub const CODE_ORGANIZATION: &str = "code redemption, organization";
pub const FLOOR: &str = "`GET /healthz`";
pub const CREDENTIALS: &str = "client credentials";
pub const BARE_INTROSPECTION: &str = "pgbench, the bare statement of introspection";
pub const INTROSPECTION: &str = "introspection of a refresh token";
pub const INTROSPECTION_ACCESS: &str = "introspection of an access token";
pub const BARE_INTROSPECTION_ORGANIZATION: &str =
    "pgbench, the bare statement of introspection, organization";
pub const INTROSPECTION_ORGANIZATION: &str = "introspection of a refresh token, organization";
pub const INTROSPECTION_ACCESS_ORGANIZATION: &str = "introspection of an access token, organization";
pub const BARE_EXCHANGE: &str = "pgbench, the bare statements of an exchange";
pub const EXCHANGE: &str = "token exchange";
pub const BARE_POLL: &str = "pgbench, the bare read of a poll";
pub const POLL: &str = "poll of a pending approval";
/// Measured at two concurrencies.
pub const FOR_AGENTS: [&str; 4] = [BARE_EXCHANGE, EXCHANGE, BARE_POLL, POLL];

/// What was counted while a run went on.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    pub wal: i64,
    /// Of it, images of pages touched for the first time since a checkpoint.
    pub page_images: i64,
    pub transactions: i64,
    pub statements: u64,
    pub database_micros: u64,
    pub service_micros: u64,
}

/// One run.
#[derive(Debug, Clone)]
pub struct Row {
    pub what: &'static str,
    pub concurrency: usize,
    pub measured: Measured,
    pub counted: Counted,
}

#[derive(Debug, Default)]
pub struct Report {
    /// By round, and in it in the order they were run.
    runs: BTreeMap<usize, Vec<Row>>,
    /// Updates of grants, and how many of them were HOT.
    pub updates: Option<(i64, i64)>,
    /// Bytes of the grants and their indexes, before and after.
    pub sizes: Option<(i64, i64)>,
}

impl Report {
    pub fn add(&mut self, round: usize, row: Row) {
        self.runs.entry(round).or_default().push(row);
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.runs.values().flatten()
    }

    fn find(rows: &[Row], what: &str, concurrency: usize) -> Option<f64> {
        let row = rows.iter().find(|row| row.what == what && row.concurrency == concurrency)?;
        Some(row.measured.per_second)
    }

    /// Median over the rounds of a run against its bare statement.
    fn ratio(&self, what: &str, concurrency: usize) -> Option<f64> {
        let base = match what {
            // Redeeming a code is the statement of a refresh.
            GROUPED | ALONE | PUBLIC | CODE => BARE,
            ORGANIZATION | CODE_ORGANIZATION => BARE_ORGANIZATION,
            INTROSPECTION | INTROSPECTION_ACCESS => BARE_INTROSPECTION,
            INTROSPECTION_ORGANIZATION | INTROSPECTION_ACCESS_ORGANIZATION => BARE_INTROSPECTION_ORGANIZATION,
            CREDENTIALS => FLOOR,
            EXCHANGE => BARE_EXCHANGE,
            POLL => BARE_POLL,
            _ => return None,
        };
        let ratios = self.runs.values().filter_map(|rows| {
            Some(Self::find(rows, what, concurrency)? / Self::find(rows, base, concurrency)?)
        });
        median(ratios)
    }
}

/// Of an even number of values the mean of the two in the middle: the upper one alone would flatter a ratio.
pub fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    let (lower, upper) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some(f64::midpoint(*values.get(lower)?, *values.get(upper)?))
}

#[expect(clippy::cast_precision_loss, reason = "ratios of counts")]
impl Row {
    fn per(&self, count: i64) -> f64 {
        count as f64 / self.measured.operations.max(1) as f64
    }

    pub fn statements(&self) -> f64 {
        self.counted.statements as f64 / self.measured.operations.max(1) as f64
    }

    pub fn service_micros(&self) -> f64 {
        self.micros(self.counted.service_micros)
    }

    fn micros(&self, micros: u64) -> f64 {
        micros as f64 / self.measured.operations.max(1) as f64
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (m, c) = (&self.measured, &self.counted);
        write!(
            f,
            "{:<59} c={:<3} {:>7.0}/s  p50 {:>6.2} ms  p99 {:>6.2} ms  WAL {:>5.0} B + {:>5.0} B images  xids {:.3}  \
             statements {:.3}  CPU {:>3.0} + {:>3.0} µs",
            self.what,
            self.concurrency,
            m.per_second,
            m.p50,
            m.p99,
            self.per(c.wal - c.page_images),
            self.per(c.page_images),
            self.per(c.transactions),
            self.statements(),
            self.service_micros(),
            self.micros(c.database_micros),
        )
    }
}

/// Bytes of page images between two places of the log, as `pg_waldump` counts them.
pub fn page_image_bytes(postgres: &Postgres, from: &str, to: &str) -> Result<i64> {
    let output = Command::new(postgres.program("pg_waldump")?)
        .args(["--stats", "--start", from, "--end", to, "--path"])
        .arg(postgres.data().join("pg_wal"))
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let total = said.lines().find(|line| line.starts_with("Total")).context("no total")?;
    // Total, count, record size [share], page images [share], combined.
    let numbers: Vec<i64> = total.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.get(2).copied().context("no page images")
}

fn table(report: &Report) -> String {
    let mut seen: Vec<(&'static str, usize)> = Vec::new();
    for row in report.rows() {
        if !seen.contains(&(row.what, row.concurrency)) {
            seen.push((row.what, row.concurrency));
        }
    }
    seen.sort_by_key(|(_, concurrency)| *concurrency);
    let mut text = String::from(
        "| | Concurrency | Per second | Ratio | p50 ms | p99 ms | WAL bytes | + page images | Transaction ids | Statements | CPU µs, service + database |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (what, concurrency) in seen {
        let rows: Vec<&Row> =
            report.rows().filter(|row| row.what == what && row.concurrency == concurrency).collect();
        let of = |value: fn(&Row) -> f64| median(rows.iter().map(|row| value(row))).unwrap_or_default();
        let ratio =
            report.ratio(what, concurrency).map_or_else(String::new, |ratio| format!("**{ratio:.2}**"));
        let _ = writeln!(
            text,
            "| {what} | {concurrency} | {:.0} | {ratio} | {:.2} | {:.2} | {:.0} | {:.0} | {:.3} | {:.3} | {:.0} + {:.0} |",
            of(|row| row.measured.per_second),
            of(|row| row.measured.p50),
            of(|row| row.measured.p99),
            of(|row| row.per(row.counted.wal - row.counted.page_images)),
            of(|row| row.per(row.counted.page_images)),
            of(|row| row.per(row.counted.transactions)),
            of(Row::statements),
            of(Row::service_micros),
            of(|row| row.micros(row.counted.database_micros)),
        );
    }
    text
}

/// The first and the last five of the slices.
#[expect(clippy::cast_precision_loss, reason = "sizes as people read them")]
fn aged(report: &Report) -> String {
    let rows: Vec<&Row> = report.rows().collect();
    let (first, last) = (&rows[..rows.len().min(5)], &rows[rows.len().saturating_sub(5)..]);
    let mut text = String::from(
        "| | Rotations | Per second | p50 ms | p99 ms | WAL bytes | CPU µs, service + database |\n|---|---|---|---|---|---|---|\n",
    );
    for (what, rows) in [("the first quarter", first), ("the last quarter", last)] {
        let of = |value: fn(&Row) -> f64| median(rows.iter().map(|row| value(row))).unwrap_or_default();
        let rotations: u64 = rows.iter().map(|row| row.measured.operations).sum();
        let _ = writeln!(
            text,
            "| {what} | {rotations} | {:.0} | {:.2} | {:.2} | {:.0} | {:.0} + {:.0} |",
            of(|row| row.measured.per_second),
            of(|row| row.measured.p50),
            of(|row| row.measured.p99),
            of(|row| row.per(row.counted.wal - row.counted.page_images)),
            of(Row::service_micros),
            of(|row| row.micros(row.counted.database_micros)),
        );
    }
    if let Some((before, after)) = report.sizes {
        let megabytes = |bytes: i64| bytes as f64 / 1_048_576.0;
        let _ = writeln!(
            text,
            "\nGrants and their indexes: {:.1} MB before, {:.1} MB after ({:+.2} %).",
            megabytes(before),
            megabytes(after),
            (after - before) as f64 / before as f64 * 100.0
        );
    }
    text
}

#[expect(clippy::print_stdout, reason = "the result of the command")]
#[expect(clippy::cast_precision_loss, reason = "a share")]
pub fn print(report: &Report, options: &Options, families: u64, postgres: &Postgres) -> Result<()> {
    let mut text = format!("{}\n\n", circumstances(options, families, postgres));
    text.push_str(&if options.age { aged(report) } else { table(report) });
    if let Some((all, hot)) = report.updates {
        let share = hot as f64 / all.max(1) as f64 * 100.0;
        let _ = writeln!(text, "\nUpdates of grants: {all}, of them {share:.2} % HOT (no index touched).");
    }
    println!("{text}");
    if options.write {
        let block = match options.only {
            _ if options.age => "age",
            Some(Part::Agents) => "agents",
            None | Some(Part::Refresh | Part::Others) => "bench",
        };
        write(block, families, &text)?;
    }
    Ok(())
}

/// On what, when, with what.
fn circumstances(options: &Options, families: u64, postgres: &Postgres) -> String {
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
    };
    let server = postgres.program("postgres").unwrap_or_default();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let runs = if options.age {
        "2,000,000 rotations at concurrency 32".to_owned()
    } else {
        format!("{} rounds of {} s", options.rounds, options.seconds)
    };
    format!(
        "{}, commit {}, {} cores, {}, {families} families, {runs}, load average at the end {}.",
        said("date", &["+%-d %B %Y"]),
        said("git", &["rev-parse", "--short", "HEAD"]),
        std::thread::available_parallelism().map_or(0, usize::from),
        said(&server.display().to_string(), &["--version"]),
        load.split(' ').next().unwrap_or_default(),
    )
}

/// Replaces what stands between the marks.
fn write(what: &str, families: u64, text: &str) -> Result<()> {
    let path = "docs/performance.md";
    let document = std::fs::read_to_string(path)?;
    let name = format!("{what} {families}");
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let (head, rest) = document.split_once(&begin).with_context(|| format!("{path} has no mark {begin}"))?;
    let (_, tail) = rest.split_once(&end).with_context(|| format!("{path} has no mark {end}"))?;
    std::fs::write(path, format!("{head}{begin}{text}{end}{tail}"))?;
    Ok(())
}
