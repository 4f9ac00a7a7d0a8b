//! Two builds in one run: what the present one does against the previous.

use std::fmt::Write;

use crate::{
    options::Options,
    report::{Row, median},
};

/// The same work by both, one after the other.
#[derive(Debug)]
pub struct Pair {
    pub previous: Row,
    pub present: Row,
}

fn table(pairs: &[Pair]) -> String {
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for Pair { present, .. } in pairs {
        if !seen.contains(&(present.what, present.concurrency)) {
            seen.push((present.what, present.concurrency));
        }
    }
    let mut text = String::from(
        "| | Concurrency | Previous, per second | Present, per second | Ratio, median of rounds | Lowest and highest |\n|---|---|---|---|---|---|\n",
    );
    for (what, concurrency) in seen {
        let of = || {
            pairs.iter().filter(|pair| (pair.present.what, pair.present.concurrency) == (what, concurrency))
        };
        let ratios = || of().map(|pair| pair.present.measured.per_second / pair.previous.measured.per_second);
        let _ = writeln!(
            text,
            "| {what} | {concurrency} | {:.0} | {:.0} | **{:.2}** | {:.2} to {:.2} |",
            median(of().map(|pair| pair.previous.measured.per_second)).unwrap_or_default(),
            median(of().map(|pair| pair.present.measured.per_second)).unwrap_or_default(),
            median(ratios()).unwrap_or_default(),
            ratios().fold(f64::INFINITY, f64::min),
            ratios().fold(0.0, f64::max),
        );
    }
    text
}

#[expect(clippy::print_stdout, reason = "the result of the command")]
pub fn print(pairs: &[Pair], options: &Options) {
    println!("{} rounds of {} seconds, in turns.\n\n{}", options.rounds, options.seconds, table(pairs));
}
