//! The loop.

use std::{
    cell::RefCell,
    collections::VecDeque,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::{
    http::Connection,
    plan::{Measured, Order, Plan},
};

/// With so many errors a run is no figure, and goes no further.
const TOO_MANY: usize = 10;

struct Progress {
    values: VecDeque<String>,
    micros: Vec<u32>,
    finished: Vec<f64>,
    kept: Vec<Vec<String>>,
    errors: Vec<String>,
    reconnects: usize,
    started: Instant,
}

pub async fn run(plan: Plan) -> Result<Measured> {
    let plan = Rc::new(plan);
    let mut connections = Vec::new();
    for _ in 0..plan.concurrency {
        connections.push(Connection::open(plan.address).await?);
    }
    let progress = Rc::new(RefCell::new(Progress {
        values: plan.values.iter().cloned().collect(),
        micros: Vec::new(),
        finished: Vec::new(),
        kept: Vec::new(),
        errors: Vec::new(),
        reconnects: 0,
        started: Instant::now(),
    }));
    let mut workers = tokio::task::JoinSet::new();
    for connection in connections {
        let (plan, progress) = (Rc::clone(&plan), Rc::clone(&progress));
        workers.spawn_local(async move { work(connection, &plan, &progress).await });
    }
    while let Some(ended) = workers.join_next().await {
        ended?;
    }
    Ok(progress.borrow_mut().measured())
}

async fn work(mut connection: Connection, plan: &Plan, progress: &RefCell<Progress>) {
    let limit = Duration::from_secs_f64(plan.seconds);
    loop {
        let value = {
            let mut progress = progress.borrow_mut();
            if progress.started.elapsed() >= limit || progress.errors.len() >= TOO_MANY {
                break;
            }
            let Some(value) = progress.values.pop_front() else { break };
            if plan.order == Order::Cycle {
                progress.values.push_back(value.clone());
            }
            value
        };
        let request = request(plan, &value);
        let sent = Instant::now();
        let answered = match connection.ask(&request).await {
            Ok(answer) if answer.status == 200 && answer.body.contains(&plan.expect) => {
                let micros = u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX);
                keep(answer.body, &plan.keep).map(|kept| (micros, kept))
            }
            Ok(answer) => Err(anyhow::anyhow!("{} {}", answer.status, answer.body)),
            Err(error) => Err(error),
        };
        progress.borrow_mut().note(plan, answered);
    }
    progress.borrow_mut().reconnects += connection.reconnects;
}

fn request(plan: &Plan, value: &str) -> Vec<u8> {
    let (head, prefix) = (&plan.head, &plan.prefix);
    if head.starts_with("GET ") {
        return format!("{head}\r\n").into_bytes();
    }
    format!("{head}content-length: {}\r\n\r\n{prefix}{value}", prefix.len() + value.len()).into_bytes()
}

fn keep(body: &str, names: &[String]) -> Result<Vec<String>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let answer: serde_json::Value = serde_json::from_str(body)?;
    let text = |name: &String| Some(answer.get(name)?.as_str()?.to_owned());
    names.iter().map(|name| text(name).with_context(|| format!("no {name} in {body}"))).collect()
}

impl Progress {
    fn note(&mut self, plan: &Plan, answered: Result<(u32, Vec<String>)>) {
        match answered {
            Ok((micros, kept)) => {
                self.micros.push(micros);
                self.finished.push(self.started.elapsed().as_secs_f64());
                if plan.order == Order::Rotate {
                    self.values.extend(kept.into_iter().next());
                } else if !kept.is_empty() {
                    self.kept.push(kept);
                }
            }
            Err(error) => self.errors.push(format!("{error:#}").chars().take(500).collect()),
        }
    }

    fn measured(&mut self) -> Measured {
        let seconds = self.finished.last().copied().unwrap_or_default();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of seconds")]
        let whole = |second: &f64| *second as usize;
        let mut by_second = vec![0; whole(&seconds)];
        for second in self.finished.iter().map(whole) {
            if let Some(count) = by_second.get_mut(second) {
                *count += 1;
            }
        }
        self.micros.sort_unstable();
        let micros = &self.micros;
        let at = |percent: usize| {
            f64::from(micros.get(micros.len() * percent / 100).copied().unwrap_or_default()) / 1_000.0
        };
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let per_second = if seconds > 0.0 { micros.len() as f64 / seconds } else { 0.0 };
        Measured {
            operations: micros.len(),
            seconds,
            per_second,
            p50: at(50),
            p90: at(90),
            p99: at(99),
            max: f64::from(micros.last().copied().unwrap_or_default()) / 1_000.0,
            by_second,
            errors: self.errors.len(),
            first_error: self.errors.first().cloned(),
            reconnects: self.reconnects,
            kept: std::mem::take(&mut self.kept),
            values: std::mem::take(&mut self.values).into(),
        }
    }
}
