//! A temporary database.

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use porteiro_service::{
    settings::{Sensitive, Settings},
    store::connect_once,
};
use tokio_postgres::Client;

const VARIABLE: &str = "PORTEIRO_TEST_DATABASE_URL";

/// Runs `work` with a new database, and drops it afterwards, whatever the result.
pub async fn with_database<T>(
    work: impl AsyncFnOnce(&Settings, &Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    static NEXT: AtomicU32 = AtomicU32::new(0);

    let address = address()?;
    let name = format!("xtask_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let server = connect_once(&settings(address.clone())).await.context(VARIABLE)?;
    // Left by a killed run with the same process id.
    server.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
    // template1 cannot be copied while a client is connected to it.
    server.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE template0")).await?;
    let outcome = inside(&settings(elsewhere(&address, &name)), work).await;
    server.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await?;
    outcome
}

async fn inside<T>(
    settings: &Settings,
    work: impl AsyncFnOnce(&Settings, &Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let client = connect_once(settings).await?;
    work(settings, &client).await
}

#[expect(clippy::disallowed_methods, reason = "where the tests' servers are is no setting of the service")]
fn address() -> anyhow::Result<String> {
    std::env::var(VARIABLE)
        .ok()
        .filter(|address| !address.is_empty())
        .ok_or_else(|| anyhow::anyhow!("{VARIABLE} is not set; run: eval \"$(scripts/up --fast)\""))
}

fn settings(address: String) -> Settings {
    Settings { database_url: Sensitive::new(address), database_pool_size: 1, ..Settings::default() }
}

/// The address of another database on the same server.
fn elsewhere(address: &str, database: &str) -> String {
    let (place, options) = address.split_once('?').unwrap_or((address, ""));
    let after_scheme = place.find("://").map_or(0, |at| at + 3);
    let server = place[after_scheme..].split('/').next().unwrap_or_default();
    let options = if options.is_empty() { String::new() } else { format!("?{options}") };
    format!("{}{server}/{database}{options}", &place[..after_scheme])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_database_changes() {
        for (address, expected) in [
            ("postgres://a:b@h:1/old", "postgres://a:b@h:1/new"),
            ("postgres://h", "postgres://h/new"),
            ("postgres://h/old?host=/tmp/x", "postgres://h/new?host=/tmp/x"),
        ] {
            assert_eq!(elsewhere(address, "new"), expected);
        }
    }
}
