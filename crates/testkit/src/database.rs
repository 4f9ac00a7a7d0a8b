//! A database per test, copied from a template that contains the schema and keys.

use std::sync::atomic::{AtomicU32, Ordering};

use porteiro_service::{
    oauth::keys::{self, Origin},
    secrets::MasterKey,
    settings::{Sensitive, Settings},
    store::{Store, migrations},
};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

use super::recycled;

/// A test variable from the environment (`eval "$(scripts/up --fast)"` sets them).
#[expect(clippy::disallowed_methods, reason = "tests are told where their servers are by the environment")]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The PostgreSQL server on which the tests may create databases.
pub fn server_url() -> String {
    variable("PORTEIRO_TEST_DATABASE_URL")
        .expect("PORTEIRO_TEST_DATABASE_URL is not set; run: eval \"$(scripts/up --fast)\"")
}

/// A database of the test's own; dropped or emptied for the next test afterwards.
#[derive(Debug)]
pub struct Database {
    name: String,
    again: bool,
}

static TEMPLATE: OnceCell<String> = OnceCell::const_new();
static COUNT: AtomicU32 = AtomicU32::new(0);

fn next_name() -> String {
    format!("porteiro_t{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

impl Database {
    /// With the schema and the keys of `--dev`.
    pub async fn cloned() -> Self {
        let template = TEMPLATE.get_or_init(template).await;
        if let Some(name) = recycled::take() {
            return Self { name, again: true };
        }
        let mut made = Self::create(&format!("TEMPLATE {template}")).await;
        made.again = true;
        recycled::learn(&made.client().await).await;
        made
    }

    /// Without a schema.
    pub async fn empty() -> Self {
        Self::create("").await
    }

    async fn create(how: &str) -> Self {
        let name = next_name();
        let client = connect(&server_url()).await;
        client
            .batch_execute(&format!("DROP DATABASE IF EXISTS {name}"))
            .await
            .expect("drop a stale database");
        client.batch_execute(&format!("CREATE DATABASE {name} {how}")).await.expect("create a database");
        Self { name, again: false }
    }

    pub fn url(&self) -> String {
        with_database(&server_url(), &self.name)
    }

    /// The same database through another address, such as a pooler's.
    pub fn url_through(&self, server: &str) -> String {
        with_database(server, &self.name)
    }

    /// A connection of the test's own, to read rows or make them older.
    pub async fn client(&self) -> Client {
        connect(&self.url()).await
    }

    pub fn settings(&self) -> Settings {
        Settings { database_url: Sensitive::new(self.url()), ..Settings::default() }
    }

    pub fn store(&self) -> Store {
        Store::open(&self.settings()).expect("open the store")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (name, url, again) = (self.name.clone(), self.url(), self.again);
        let dropping = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let emptied = again && recycled::empty(&connect(&url).await).await;
                let server = connect(&server_url()).await;
                // With another name: what a test left running cannot connect to it.
                let next = next_name();
                let renamed = format!("ALTER DATABASE {name} RENAME TO {next}");
                if emptied && server.batch_execute(&renamed).await.is_ok() {
                    recycled::give_back(next);
                } else {
                    let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                    let _ = server.batch_execute(&sql).await;
                }
            });
        });
        let _ = dropping.join();
    }
}

pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("connect to PostgreSQL");
    tokio::spawn(connection);
    client
}

fn with_database(url: &str, name: &str) -> String {
    let (server, _) = url.rsplit_once('/').expect("a database in the address");
    format!("{server}/{name}")
}

/// Drops the databases of processes that have ended.
async fn drop_abandoned(client: &Client) {
    let names = "SELECT datname FROM pg_database WHERE datname ~ '^porteiro_t[0-9]+_[0-9]+$'";
    for row in client.query(names, &[]).await.expect("the names of databases") {
        let name: String = row.get(0);
        let process = name.trim_start_matches("porteiro_t").split('_').next().unwrap_or_default();
        if !std::path::Path::new("/proc").join(process).exists() {
            let _ = client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        }
    }
}

/// Created once per schema, by whichever test process is first.
async fn template() -> String {
    let digest = migrations::MIGRATIONS
        .iter()
        .flat_map(|one| one.sql.bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let name = format!("porteiro_template2_{digest:016x}");
    let client = connect(&server_url()).await;
    client.batch_execute("SELECT pg_advisory_lock(7265)").await.expect("lock the template");
    drop_abandoned(&client).await;
    let ready = client
        .query("SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate", &[&name])
        .await
        .expect("look for the template");
    if ready.is_empty() {
        client
            .batch_execute(&format!("DROP DATABASE IF EXISTS {name}"))
            .await
            .expect("drop a half-made template");
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("create the template");
        {
            let url = with_database(&server_url(), &name);
            let settings = Settings { database_url: Sensitive::new(url), ..Settings::default() };
            let store = Store::open(&settings).expect("open the template");
            migrations::apply(&store, |_| {}).await.expect("migrate the template");
            let entropy = std::sync::Arc::new(super::SeededEntropy::new(1));
            let master =
                std::sync::Arc::new(MasterKey::development(entropy).expect("the development master key"));
            keys::generate(&store, &master, Origin::Dev).await.expect("make keys");
            let client = connect(settings.database_url.expose()).await;
            client.batch_execute(recycled::KEEP_ROWS).await.expect("keep the rows");
        }
        client
            .batch_execute(&format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}';
                 ALTER DATABASE {name} IS_TEMPLATE true"
            ))
            .await
            .expect("finish the template");
    }
    client.batch_execute("SELECT pg_advisory_unlock(7265)").await.expect("unlock the template");
    name
}
