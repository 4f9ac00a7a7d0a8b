//! What is run, and in which order.

use std::{cell::RefCell, rc::Rc};

use anyhow::Result;

use crate::{
    against, bare, database,
    families::Families,
    fill::{self, Filled},
    load::{self, Kind, Limit},
    machine::{Installation, Node, Postgres},
    measure::{Bench, Runner},
    options::{Options, Part},
    report::{self, Report},
    requests,
};

pub async fn run(options: &Options) -> Result<()> {
    let postgres = Postgres::start(options)?;
    let installation = Installation::new(&postgres)?;
    installation.install()?;
    let database = database::connect(&postgres.url).await?;
    let filled = fill::fill(&database, &postgres.url, options.families).await?;
    let tokens = postgres.state.join("tokens");
    let families = Families::new(filled.numbering, &installation.master()?, &tokens)?;
    let bench = Bench {
        database,
        filled,
        families: Rc::new(RefCell::new(families)),
        grouped: installation.serve(true)?,
        alone: installation.serve(false)?,
        previous: previous(&installation, options)?,
        seconds: options.seconds,
        postgres,
    };
    if options.against.is_some() {
        let compared = against::run(&bench, options).await?;
        bench.families.borrow().save(&tokens)?;
        against::print(&compared, options);
        return Ok(());
    }
    let report = if options.age { bench.age().await? } else { bench.rounds(options).await? };
    bench.families.borrow().save(&tokens)?;
    report::print(&report, options, bench.filled.numbering.families, &bench.postgres)
}

fn previous(installation: &Installation, options: &Options) -> Result<Option<Node>> {
    let Some(binary) = &options.against else { return Ok(None) };
    Ok(Some(installation.with_binary(binary.clone())?.serve(true)?))
}

impl Bench {
    async fn rounds(&self, options: &Options) -> Result<Report> {
        let mut report = Report::default();
        let confidential = &self.filled.confidential;
        let refresh = Kind::Refresh(confidential.clone());
        let script = bare::refresh(&self.filled.numbering, confidential);
        let before = database::updates(&self.database).await?;
        self.warm_up(&refresh, &script).await?;
        if matches!(options.only, None | Some(Part::Refresh)) {
            for round in 0..options.rounds {
                for concurrency in &options.concurrency {
                    for (what, runner) in [
                        (report::BARE, Runner::Bare(&script)),
                        (report::GROUPED, Runner::Grouped(&refresh)),
                        (report::ALONE, Runner::Alone(&refresh)),
                    ] {
                        report.add(round, self.measure(what, runner, *concurrency).await?);
                    }
                }
            }
            // Counters of other connections arrive within a second.
            tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
            let after = database::updates(&self.database).await?;
            report.updates = Some((after.0 - before.0, after.1 - before.1));
        }
        if options.only != Some(Part::Refresh) {
            self.others(options, &mut report).await?;
        }
        Ok(report)
    }

    /// Pages into memory and their images into the log, connections open, plans made.
    pub async fn warm_up(&self, refresh: &Kind, script: &str) -> Result<()> {
        let seconds = self.seconds.min(5);
        bare::run(&self.postgres, script, 32, seconds).await?;
        for node in [&self.grouped, &self.alone].into_iter().chain(&self.previous) {
            load::run(node.address, refresh, &self.families, 32, Limit::Seconds(seconds)).await?;
        }
        Ok(())
    }

    async fn others(&self, options: &Options, report: &mut Report) -> Result<()> {
        let Filled { numbering, confidential, organization, .. } = &self.filled;
        let refresh = bare::refresh(numbering, organization);
        let introspection = bare::introspection(numbering, confidential);
        let introspection_there = bare::introspection(numbering, organization);
        let exchange = bare::exchange(&self.filled);
        let poll = bare::poll(&self.filled);
        let requests = requests::all(&self.filled);
        let mut rows = Vec::new();
        for (what, kind) in requests.iter().filter(|(what, _)| *what != report::GROUPED) {
            // What a ratio is to goes right before.
            rows.extend(match *what {
                report::ORGANIZATION => Some((report::BARE_ORGANIZATION, Runner::Bare(&refresh))),
                report::CREDENTIALS => Some((report::FLOOR, Runner::Grouped(&Kind::Floor))),
                report::INTROSPECTION => Some((report::BARE_INTROSPECTION, Runner::Bare(&introspection))),
                report::INTROSPECTION_ORGANIZATION => {
                    Some((report::BARE_INTROSPECTION_ORGANIZATION, Runner::Bare(&introspection_there)))
                }
                report::EXCHANGE => Some((report::BARE_EXCHANGE, Runner::Bare(&exchange))),
                report::POLL => Some((report::BARE_POLL, Runner::Bare(&poll))),
                _ => None,
            });
            rows.push((*what, Runner::Grouped(kind)));
        }
        for round in 0..options.rounds {
            for (what, runner) in &rows {
                if options.only != Some(Part::Agents) || report::FOR_AGENTS.contains(what) {
                    report.add(round, self.measure(what, *runner, 32).await?);
                }
            }
            for (what, runner) in rows.iter().filter(|(what, _)| report::FOR_AGENTS.contains(what)) {
                report.add(round, self.measure(what, *runner, 64).await?);
            }
        }
        Ok(())
    }

    /// 2 million rotations, in slices: what the last cost against the first.
    async fn age(&self) -> Result<Report> {
        const SLICES: usize = 20;
        let mut report = Report::default();
        let refresh = Kind::Refresh(self.filled.confidential.clone());
        let script = bare::refresh(&self.filled.numbering, &self.filled.confidential);
        self.warm_up(&refresh, &script).await?;
        let size = database::size(&self.database).await?;
        let before = database::updates(&self.database).await?;
        for slice in 0..SLICES {
            let limit = Limit::Operations(2_000_000 / SLICES);
            let runner = Runner::Grouped(&refresh);
            report.add(slice, self.measure_until(report::GROUPED, runner, 32, limit).await?);
        }
        tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
        let after = database::updates(&self.database).await?;
        report.updates = Some((after.0 - before.0, after.1 - before.1));
        report.sizes = Some((size, database::size(&self.database).await?));
        Ok(report)
    }
}
