//! `porteiro doctor`: checks everything, does not stop at a finding, and gives advice for each.

use std::time::Duration;

use porteiro_protocol::time::Clock;
use porteiro_service::{
    health::{MAX_CLOCK_SKEW, clock_skew},
    jobs,
    mail::Mailer,
    oauth::{apis, keys},
    settings::{Mode, Settings},
    store::{
        Store, connect_once,
        migrations::{self, SchemaState},
    },
};

use crate::{ambient::SystemClock, boot, exit::Failure, say};

struct Report {
    wrong: usize,
}

impl Report {
    fn line(&mut self, what: &str, finding: Result<String, String>) {
        match finding {
            Ok(text) => say::out(&format!("ok     {what}: {text}")),
            Err(text) => {
                self.wrong += 1;
                say::out(&format!("wrong  {what}: {text}"));
            }
        }
    }
}

pub async fn run(settings: Settings) -> Result<(), Failure> {
    let mut report = Report { wrong: 0 };
    let findings = settings.clone().check(Mode::Production).err().unwrap_or_default();
    for finding in &findings {
        report.line("settings", Err(finding.to_string()));
    }
    if findings.is_empty() {
        report.line("settings", Ok(format!("valid; the issuer is {}", settings.base_url)));
    }
    database(&settings, &mut report).await;
    report.line("mail", mail(&settings).await);
    match report.wrong {
        0 => Ok(()),
        count => Err(Failure::new(format!("problems found: {count}"))),
    }
}

async fn database(settings: &Settings, report: &mut Report) {
    if let Err(error) = connect_once(settings).await {
        report.line("database", Err(format!("{error}; check database_url, and that PostgreSQL is running")));
        return;
    }
    report.line("database", Ok("reachable".into()));
    if let Err(advice) = prepared_statements(settings).await {
        report.line("connection pooler", Err(advice));
        return;
    }
    let Ok(store) = boot::open_store(settings) else { return };
    report.line("clock", clock(&store).await);
    let schema = migrations::state(&store).await;
    let expected = matches!(schema, Ok(SchemaState::Expected));
    report.line(
        "schema",
        match schema {
            Ok(SchemaState::Expected) => Ok(format!("step {}", migrations::expected())),
            Ok(other) => Err(other.to_string()),
            Err(error) => Err(error.to_string()),
        },
    );
    if expected {
        report.line("keys", signing_keys(settings, &store).await);
        report.line("apis", registered_apis(settings, &store).await);
        report.line("jobs", parked_jobs(&store).await);
    }
}

async fn clock(store: &Store) -> Result<String, String> {
    let skew = clock_skew(store, || SystemClock.now()).await.map_err(|error| error.to_string())?;
    let seconds = skew.as_seconds_f64();
    if skew > MAX_CLOCK_SKEW {
        Err(format!("differs from the database's by {seconds:.1} s; synchronize both with a time server"))
    } else {
        Ok(format!("differs from the database's by {seconds:.1} s"))
    }
}

async fn signing_keys(settings: &Settings, store: &Store) -> Result<String, String> {
    let listed = keys::list(store).await.map_err(|error| error.to_string())?;
    if let Some(advice) = keys::unfit_for_production(&listed) {
        return Err(advice);
    }
    let master = boot::master_key(settings.master_key_file.as_deref(), Mode::Production).map_err(|_| {
        "master_key_file: is not set, missing or unusable; start the service to see why".to_owned()
    })?;
    keys::Keys::load(store, master, settings).await.map_err(|error| error.to_string())?;
    Ok(format!("{} keys, all readable", listed.len()))
}

async fn registered_apis(settings: &Settings, store: &Store) -> Result<String, String> {
    let listed = apis::list(store).await.map_err(|error| error.to_string())?;
    match apis::unfit(&listed, settings.base_url.trim_end_matches('/')) {
        Some(advice) => Err(advice),
        None => Ok(format!("{} registered", listed.len())),
    }
}

async fn parked_jobs(store: &Store) -> Result<String, String> {
    match jobs::count_waiting(store).await.map_err(|error| error.to_string())? {
        (waiting, 0) => Ok(format!("{waiting} waiting, none parked")),
        (_, parked) => Err(format!("{parked} parked; see: porteiro jobs list")),
    }
}

async fn mail(settings: &Settings) -> Result<String, String> {
    let checked = settings
        .clone()
        .check(Mode::Production)
        .map_err(|_| "not checked: the settings are invalid".to_owned())?;
    let mailer = Mailer::open(&checked, |_| {})?;
    mailer.probe().await.map(|()| "the server responds, encrypts and accepts the login".into())
}

/// One client prepares a statement; another then holds the server connection on which it was prepared; the first uses
/// it. Behind a pooler in transaction mode without support for prepared statements (PgBouncer before 1.21), the
/// statement is missing on the other connection.
async fn prepared_statements(settings: &Settings) -> Result<(), String> {
    let (first, second) = match (connect_once(settings).await, connect_once(settings).await) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(error), _) | (_, Err(error)) => return Err(error.to_string()),
    };
    let probe = async {
        let prepared = first.prepare("SELECT 1").await?;
        second.batch_execute("BEGIN").await?;
        first.query(&prepared, &[]).await?;
        second.batch_execute("ROLLBACK").await
    };
    match tokio::time::timeout(Duration::from_secs(3), probe).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) if error.code().is_some_and(|state| matches!(state.code(), "26000" | "42P05" | "08P01")) => {
            Err("the pooler in front of PostgreSQL does not support prepared statements (PgBouncer before 1.21 in transaction mode); install PgBouncer 1.21 or later and set max_prepared_statements = 200, or connect directly"
                .into())
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("two simultaneous connections are not available; enlarge the pool of the pooler".into()),
    }
}
