//! What is run, in which order, and what is counted meanwhile.

use std::{cell::RefCell, rc::Rc};

use anyhow::Result;
use tokio_postgres::Client;

use crate::{
    against::{self, Pair},
    bare,
    database::{self, Filled},
    families::Families,
    load::{self, Kind, Limit, Measured},
    machine::{Installation, Node, Postgres, cpu_micros},
    options::{Options, Part},
    report::{self, Counted, Report, Row},
    say,
};

/// Everything that runs during a bench.
struct Bench {
    postgres: Postgres,
    database: Client,
    filled: Filled,
    families: Rc<RefCell<Families>>,
    grouped: Node,
    alone: Node,
    /// Another build, where one is named.
    previous: Option<Node>,
    seconds: u64,
}

/// Who is measured.
#[derive(Debug, Clone, Copy)]
enum Runner<'a> {
    Bare(&'a str),
    Grouped(&'a Kind),
    Alone(&'a Kind),
    Previous(&'a Kind),
}

pub async fn run(options: &Options) -> Result<()> {
    let postgres = Postgres::start(options)?;
    let installation = Installation::new(&postgres)?;
    installation.install()?;
    let database = database::connect(&postgres.url).await?;
    let filled = database::fill(&database, &postgres.url, options.families).await?;
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
        let pairs = bench.against(options).await?;
        bench.families.borrow().save(&tokens)?;
        against::print(&pairs, options);
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
    /// Both builds in turns, and who begins changes: what else the machine does touches both.
    async fn against(&self, options: &Options) -> Result<Vec<Pair>> {
        let confidential = &self.filled.confidential;
        let kinds = [
            (report::GROUPED, Kind::Refresh(confidential.clone())),
            (report::PUBLIC, Kind::Refresh(self.filled.public.clone())),
            (report::CREDENTIALS, Kind::ClientCredentials(confidential.clone())),
            (report::INTROSPECTION, Kind::IntrospectRefresh(confidential.clone())),
            (report::INTROSPECTION_ACCESS, Kind::IntrospectAccess(confidential.clone())),
        ];
        self.warm_up(&kinds[0].1, &bare::refresh(&self.filled.numbering, &confidential.id)).await?;
        let mut pairs = Vec::new();
        for round in 0..options.rounds {
            for concurrency in &options.concurrency {
                for (what, kind) in &kinds {
                    let mut runners = [Runner::Previous(kind), Runner::Grouped(kind)];
                    if round % 2 == 1 {
                        runners.reverse();
                    }
                    let first = self.measure(what, runners[0], *concurrency).await?;
                    let second = self.measure(what, runners[1], *concurrency).await?;
                    let (previous, present) = if round % 2 == 1 { (second, first) } else { (first, second) };
                    pairs.push(Pair { previous, present });
                }
            }
        }
        Ok(pairs)
    }

    async fn rounds(&self, options: &Options) -> Result<Report> {
        let mut report = Report::default();
        let confidential = &self.filled.confidential;
        let refresh = Kind::Refresh(confidential.clone());
        let script = bare::refresh(&self.filled.numbering, &confidential.id);
        let before = database::updates(&self.database).await?;
        self.warm_up(&refresh, &script).await?;
        if options.only != Some(Part::Others) {
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
    async fn warm_up(&self, refresh: &Kind, script: &str) -> Result<()> {
        let seconds = self.seconds.min(5);
        bare::run(&self.postgres, script, 32, seconds).await?;
        for node in [&self.grouped, &self.alone].into_iter().chain(&self.previous) {
            load::run(node.address, refresh, &self.families, 32, Limit::Seconds(seconds)).await?;
        }
        Ok(())
    }

    async fn others(&self, options: &Options, report: &mut Report) -> Result<()> {
        let confidential = &self.filled.confidential;
        let public = Kind::Refresh(self.filled.public.clone());
        let credentials = Kind::ClientCredentials(confidential.clone());
        let refresh = Kind::IntrospectRefresh(confidential.clone());
        let access = Kind::IntrospectAccess(confidential.clone());
        let script = bare::introspection(&self.filled.numbering, &confidential.id);
        for round in 0..options.rounds {
            for (what, runner) in [
                (report::PUBLIC, Runner::Grouped(&public)),
                (report::FLOOR, Runner::Grouped(&Kind::Floor)),
                (report::CREDENTIALS, Runner::Grouped(&credentials)),
                (report::BARE_INTROSPECTION, Runner::Bare(&script)),
                (report::INTROSPECTION, Runner::Grouped(&refresh)),
                (report::INTROSPECTION_ACCESS, Runner::Grouped(&access)),
            ] {
                report.add(round, self.measure(what, runner, 32).await?);
            }
        }
        Ok(())
    }

    /// 2 million rotations, in slices: what the last cost against the first.
    async fn age(&self) -> Result<Report> {
        const SLICES: usize = 20;
        let mut report = Report::default();
        let refresh = Kind::Refresh(self.filled.confidential.clone());
        let script = bare::refresh(&self.filled.numbering, &self.filled.confidential.id);
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

    async fn measure(&self, what: &'static str, runner: Runner<'_>, concurrency: usize) -> Result<Row> {
        self.measure_until(what, runner, concurrency, Limit::Seconds(self.seconds)).await
    }

    async fn measure_until(
        &self,
        what: &'static str,
        runner: Runner<'_>,
        concurrency: usize,
        limit: Limit,
    ) -> Result<Row> {
        let node = match runner {
            Runner::Bare(_) => None,
            Runner::Grouped(_) => Some(&self.grouped),
            Runner::Alone(_) => Some(&self.alone),
            Runner::Previous(_) => self.previous.as_ref(),
        };
        let postmaster = self.postgres.process()?;
        let cpu = || (cpu_micros(postmaster, true), node.map_or(0, |node| cpu_micros(node.process(), false)));
        let asked = match node {
            Some(node) => load::statements(node.metrics).await?,
            None => 0,
        };
        let (before, busy) = (database::counters(&self.database).await?, cpu());
        let measured: Measured = match runner {
            Runner::Bare(script) => bare::run(&self.postgres, script, concurrency, self.seconds).await?,
            Runner::Grouped(kind) | Runner::Alone(kind) | Runner::Previous(kind) => {
                let node = node.map_or(self.grouped.address, |node| node.address);
                load::run(node, kind, &self.families, concurrency, limit).await?
            }
        };
        let after = database::counters(&self.database).await?;
        // Processes that have just ended are counted a moment later.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let busy_after = cpu();
        let statements = match node {
            Some(node) => load::statements(node.metrics).await? - asked,
            None => measured.operations,
        };
        let counted = Counted {
            wal: after.wal - before.wal,
            page_images: report::page_image_bytes(&self.postgres, &before.lsn, &after.lsn).unwrap_or(0),
            transactions: after.transactions - before.transactions,
            statements,
            database_micros: busy_after.0.saturating_sub(busy.0),
            service_micros: busy_after.1.saturating_sub(busy.1),
        };
        let row = Row { what, concurrency, measured, counted };
        say(&row.to_string());
        Ok(row)
    }
}
