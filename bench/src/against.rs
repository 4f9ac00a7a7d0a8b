//! Two builds in one run: what the present one does against the previous. Both serve the same database, whose schema is
//! the present one's.

use std::fmt::Write;

use anyhow::{Context, Result};

use crate::{
    bare,
    load::{Kind, Limit},
    measure::{Bench, Runner},
    options::Options,
    report::{Row, median},
    requests, say,
};

/// The same work by both, one after the other.
#[derive(Debug)]
pub struct Pair {
    pub previous: Row,
    pub present: Row,
}

/// What came of it.
#[derive(Debug)]
pub struct Compared {
    pairs: Vec<Pair>,
    /// What the previous build cannot do, and how it said so.
    skipped: Vec<String>,
}

/// Both builds in turns, and who begins changes: what else the machine does touches both.
pub async fn run(bench: &Bench, options: &Options) -> Result<Compared> {
    let refresh = Kind::Refresh(bench.filled.confidential.clone());
    let script = bare::refresh(&bench.filled.numbering, &bench.filled.confidential);
    bench.warm_up(&refresh, &script).await?;
    let (requests, skipped) = possible(bench).await?;
    let mut pairs = Vec::new();
    for round in 0..options.rounds {
        for concurrency in &options.concurrency {
            for (what, kind) in &requests {
                let mut runners = [Runner::Previous(kind), Runner::Grouped(kind)];
                if round % 2 == 1 {
                    runners.reverse();
                }
                let first = bench.measure(what, runners[0], *concurrency).await?;
                let second = bench.measure(what, runners[1], *concurrency).await?;
                let (previous, present) = if round % 2 == 1 { (second, first) } else { (first, second) };
                pairs.push(Pair { previous, present });
            }
        }
    }
    Ok(Compared { pairs, skipped })
}

/// The requests that both builds answer, each tried out by both so that neither is measured cold. What only the present
/// one answers is skipped.
async fn possible(bench: &Bench) -> Result<(Vec<(&'static str, Kind)>, Vec<String>)> {
    let (mut possible, mut skipped) = (Vec::new(), Vec::new());
    for (what, kind) in requests::all(&bench.filled) {
        let limit = Limit::Seconds(bench.seconds.min(2));
        bench.try_out(Runner::Grouped(&kind), 32, limit).await.with_context(|| what.to_owned())?;
        match bench.try_out(Runner::Previous(&kind), 32, limit).await {
            Ok(()) => possible.push((what, kind)),
            Err(error) => {
                let why = format!("{error:#}");
                let said = format!("{what}: skipped, the previous build cannot: {}", why.trim());
                say(&said);
                skipped.push(said);
            }
        }
    }
    Ok((possible, skipped))
}

fn table(pairs: &[Pair]) -> String {
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for Pair { present, .. } in pairs {
        if !seen.contains(&(present.what, present.concurrency)) {
            seen.push((present.what, present.concurrency));
        }
    }
    seen.sort_by_key(|(_, concurrency)| *concurrency);
    let mut text = String::from(
        "| | Concurrency | Previous, per second | Present, per second | Ratio, median of rounds | Lowest and highest | CPU µs of the service, previous and present | Statements |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (what, concurrency) in seen {
        let of = || {
            pairs.iter().filter(|pair| (pair.present.what, pair.present.concurrency) == (what, concurrency))
        };
        let ratios = || of().map(|pair| pair.present.measured.per_second / pair.previous.measured.per_second);
        let both = |value: fn(&Row) -> f64| {
            let previous = median(of().map(|pair| value(&pair.previous))).unwrap_or_default();
            (previous, median(of().map(|pair| value(&pair.present))).unwrap_or_default())
        };
        let rate = both(|row| row.measured.per_second);
        let (cpu, statements) = (both(Row::service_micros), both(Row::statements));
        let _ = writeln!(
            text,
            "| {what} | {concurrency} | {:.0} | {:.0} | **{:.3}** | {:.2} to {:.2} | {:.0} and {:.0} | {:.3} and {:.3} |",
            rate.0,
            rate.1,
            median(ratios()).unwrap_or_default(),
            ratios().fold(f64::INFINITY, f64::min),
            ratios().fold(0.0, f64::max),
            cpu.0,
            cpu.1,
            statements.0,
            statements.1,
        );
    }
    text
}

#[expect(clippy::print_stdout, reason = "the result of the command")]
pub fn print(compared: &Compared, options: &Options) {
    let Compared { pairs, skipped } = compared;
    println!("{} rounds of {} seconds, in turns.\n\n{}", options.rounds, options.seconds, table(pairs));
    for said in skipped {
        println!("{said}");
    }
}
