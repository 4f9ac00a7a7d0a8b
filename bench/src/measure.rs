//! One run of anybody who is measured, and what is counted meanwhile.

use std::{cell::RefCell, rc::Rc, time::Duration};

use anyhow::Result;
use tokio_postgres::Client;

use crate::{
    bare, codes, database,
    families::Families,
    fill::Filled,
    load::{self, Kind, Limit, Measured},
    machine::{Node, Postgres, cpu_micros},
    report::{self, Counted, Row},
    say,
};

/// Everything that runs during a bench.
pub struct Bench {
    pub postgres: Postgres,
    pub database: Client,
    pub filled: Filled,
    pub families: Rc<RefCell<Families>>,
    pub grouped: Node,
    pub alone: Node,
    /// Another build, where one is named.
    pub previous: Option<Node>,
    pub seconds: u64,
}

/// Who is measured.
#[derive(Debug, Clone, Copy)]
pub enum Runner<'a> {
    Bare(&'a str),
    Grouped(&'a Kind),
    Alone(&'a Kind),
    Previous(&'a Kind),
}

impl Bench {
    fn node(&self, runner: Runner<'_>) -> Option<&Node> {
        match runner {
            Runner::Bare(_) => None,
            Runner::Grouped(_) => Some(&self.grouped),
            Runner::Alone(_) => Some(&self.alone),
            Runner::Previous(_) => self.previous.as_ref(),
        }
    }

    /// What a run uses up is made before it, and counted with nobody.
    async fn prepare(&self, runner: Runner<'_>, limit: Limit) -> Result<()> {
        let (Runner::Grouped(kind) | Runner::Alone(kind) | Runner::Previous(kind)) = runner else {
            return Ok(());
        };
        match kind {
            Kind::Code(caller) => {
                codes::prepare(&self.database, &self.filled, &self.families, caller, limit).await
            }
            Kind::Exchange(_) => {
                let address = self.node(runner).map_or(self.grouped.address, |node| node.address);
                load::subjects(address, &self.filled.confidential, &self.families).await
            }
            Kind::Floor
            | Kind::Poll(_)
            | Kind::Refresh(_)
            | Kind::ClientCredentials(_)
            | Kind::IntrospectRefresh(_)
            | Kind::IntrospectAccess(_) => Ok(()),
        }
    }

    async fn go(&self, runner: Runner<'_>, concurrency: usize, limit: Limit) -> Result<Measured> {
        match runner {
            Runner::Bare(script) => bare::run(&self.postgres, script, concurrency, self.seconds).await,
            Runner::Grouped(kind) | Runner::Alone(kind) | Runner::Previous(kind) => {
                let address = self.node(runner).map_or(self.grouped.address, |node| node.address);
                load::run(address, kind, &self.families, concurrency, limit).await
            }
        }
    }

    /// A run of which nothing is kept.
    pub async fn try_out(&self, runner: Runner<'_>, concurrency: usize, limit: Limit) -> Result<()> {
        self.prepare(runner, limit).await?;
        self.go(runner, concurrency, limit).await.map(drop)
    }

    pub async fn measure(&self, what: &'static str, runner: Runner<'_>, concurrency: usize) -> Result<Row> {
        self.measure_until(what, runner, concurrency, Limit::Seconds(self.seconds)).await
    }

    pub async fn measure_until(
        &self,
        what: &'static str,
        runner: Runner<'_>,
        concurrency: usize,
        limit: Limit,
    ) -> Result<Row> {
        self.prepare(runner, limit).await?;
        let node = self.node(runner);
        let postmaster = self.postgres.process()?;
        let cpu = || (cpu_micros(postmaster, true), node.map_or(0, |node| cpu_micros(node.process(), false)));
        let asked = match node {
            Some(node) => load::statements(node.metrics).await?,
            None => 0,
        };
        let (before, busy) = (database::counters(&self.database).await?, cpu());
        let measured = self.go(runner, concurrency, limit).await?;
        let after = database::counters(&self.database).await?;
        // Processes that have just ended are counted a moment later.
        tokio::time::sleep(Duration::from_millis(300)).await;
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
