//! The whole application in process: sends requests, returns responses, and gives access to rows.

use std::{
    hash::{Hash, Hasher},
    net::SocketAddr,
    sync::Arc,
};

use axum::{Router, body::Body};
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use porteiro_protocol::time::OffsetDateTime;
use porteiro_service::{
    App, Parts,
    fetch::{FetchPolicy, Fetcher},
    flow::Purpose,
    http::{Peer, Route},
    mail::Mailer,
    oauth::keys::Keys,
    secrets::MasterKey,
    settings::{Mode, Sensitive, Settings},
    sms::SmsProvider,
    store::Store,
};
use serde_json::Value;
use tower::ServiceExt;

use super::{Database, FaultProxy, SeededEntropy, TestClock, variable};

pub struct TestApp {
    pub app: Arc<App>,
    pub clock: Arc<TestClock>,
    pub database: Arc<Database>,
    pub proxy: Option<FaultProxy>,
    router: Router,
    peer: SocketAddr,
}

impl std::fmt::Debug for TestApp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<test app on {:?}>", self.database)
    }
}

/// The options of a test.
pub struct TestAppBuilder {
    settings: Settings,
    routes: Vec<Route>,
    proxied: bool,
    through: Option<String>,
    peer: SocketAddr,
    mode: Mode,
    private_hosts: Vec<String>,
    purposes: Option<&'static [&'static dyn Purpose]>,
}

impl std::fmt::Debug for TestAppBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<test app builder>")
    }
}

impl TestApp {
    pub async fn new() -> Self {
        Self::builder().start().await
    }

    pub fn builder() -> TestAppBuilder {
        TestAppBuilder {
            settings: Settings {
                base_url: "https://id.example.test".into(),
                database_pool_size: pool_size(),
                // A busy machine is slow; only tests about a refusal shorten this.
                database_wait_milliseconds: 10_000,
                ..Settings::default()
            },
            routes: Vec::new(),
            proxied: false,
            through: None,
            peer: SocketAddr::from(([203, 0, 113, 7], 4242)),
            mode: Mode::Production,
            private_hosts: Vec::new(),
            purposes: None,
        }
    }

    /// Sets the clock to the database's, for tests that take real time.
    pub async fn catch_up(&self) {
        let now = self.database.client().await.query_one("SELECT now()", &[]).await.expect("the time").get(0);
        self.clock.set(now);
    }

    /// The same application with something in front of its routes, such as the screens.
    #[must_use]
    pub fn mounted(mut self, mount: impl FnOnce(Router) -> Router) -> Self {
        self.router = mount(self.router);
        self
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).expect("a request")).await
    }

    pub async fn form(&self, path: &str, body: impl Into<Body>) -> Answer {
        self.post(path, "application/x-www-form-urlencoded", body).await
    }

    pub async fn json(&self, path: &str, body: &Value) -> Answer {
        self.post(path, "application/json", body.to_string()).await
    }

    pub async fn post(&self, path: &str, content_type: &str, body: impl Into<Body>) -> Answer {
        let request = Request::post(path).header(header::CONTENT_TYPE, content_type).body(body.into());
        self.send(request.expect("a request")).await
    }

    pub async fn method(&self, method: Method, path: &str) -> Answer {
        self.send(Request::builder().method(method).uri(path).body(Body::empty()).expect("a request")).await
    }

    /// The same application, called from another address.
    pub fn from_address(&self, address: impl Into<std::net::IpAddr>) -> Arc<Self> {
        Arc::new(Self {
            app: Arc::clone(&self.app),
            clock: Arc::clone(&self.clock),
            database: Arc::clone(&self.database),
            proxy: None,
            router: self.router.clone(),
            peer: SocketAddr::new(address.into(), 4242),
        })
    }

    pub async fn send(&self, mut request: Request<Body>) -> Answer {
        // A test may set the peer itself, with a certificate.
        let peer = request.extensions_mut().remove::<Peer>();
        let peer = peer.unwrap_or(Peer { address: self.peer, certificate: None });
        request.extensions_mut().insert(peer);
        let response = self.router.clone().oneshot(request).await.expect("the router always answers");
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("the body").to_bytes().to_vec();
        Answer { status: parts.status, headers: parts.headers, body }
    }
}

impl TestAppBuilder {
    #[must_use]
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// At least so many database connections, for tests whose requests must run concurrently in the database.
    #[must_use]
    pub fn connections(mut self, least: usize) -> Self {
        if variable("PORTEIRO_TEST_POOL").is_none() {
            self.settings.database_pool_size = self.settings.database_pool_size.max(least);
        }
        self
    }

    /// Adds routes of the test, to observe the layers around every route.
    #[must_use]
    pub fn routes(mut self, routes: Vec<Route>) -> Self {
        self.routes = routes;
        self
    }

    /// Puts a [`FaultProxy`] between the service and PostgreSQL.
    #[must_use]
    pub const fn proxied(mut self) -> Self {
        self.proxied = true;
        self
    }

    /// Reaches PostgreSQL through this address, such as a pooler's.
    #[must_use]
    pub fn through(mut self, server: String) -> Self {
        self.through = Some(server);
        self
    }

    /// As `--dev`: mails and messages would go to the console; tests read them from the outbox.
    #[must_use]
    pub fn people(mut self) -> Self {
        self.mode = Mode::Development;
        self.settings.registration = porteiro_service::settings::Registration::Open;
        self.settings.email_link_path = Some("/ui/link".into());
        self.settings.device_page_path = Some("/device".into());
        self.settings.federation_page_path = Some("/ui/federation".into());
        self.settings.password_floor_ms = 0;
        self.settings.send_floor_ms = 0;
        self
    }

    /// Replaces the purposes of flows.
    #[must_use]
    pub const fn purposes(mut self, purposes: &'static [&'static dyn Purpose]) -> Self {
        self.purposes = Some(purposes);
        self
    }

    /// Private hosts of the operator's own providers, in addition to public ones.
    #[must_use]
    pub fn private_hosts(mut self, hosts: Vec<String>) -> Self {
        self.private_hosts = hosts;
        self
    }

    #[must_use]
    pub const fn peer(mut self, peer: SocketAddr) -> Self {
        self.peer = peer;
        self
    }

    pub async fn start(self) -> TestApp {
        self.start_on(Arc::new(Database::cloned().await), 42).await
    }

    /// Several nodes of one deployment: with the same database, master key and start time; each with its own pool,
    /// clock, hashing queues and entropy.
    pub async fn start_nodes(self, count: u8) -> Vec<Arc<TestApp>> {
        assert!(self.routes.is_empty(), "a node has the real routes alone");
        let database = Arc::new(Database::cloned().await);
        let mut nodes = Vec::new();
        for node in 0..count {
            let builder = TestAppBuilder {
                settings: self.settings.clone(),
                routes: Vec::new(),
                through: self.through.clone(),
                private_hosts: self.private_hosts.clone(),
                purposes: self.purposes,
                ..self
            };
            nodes.push(Arc::new(builder.start_on(Arc::clone(&database), 42 + 1_000 * u64::from(node)).await));
        }
        nodes
    }

    /// Another node on the database of `earlier`: the same deployment, after it was restarted with these settings.
    pub async fn restart(self, earlier: &TestApp) -> Arc<TestApp> {
        Arc::new(self.start_on(Arc::clone(&earlier.database), 7_042).await)
    }

    async fn start_on(self, database: Arc<Database>, seed: u64) -> TestApp {
        let mut settings = self.settings;
        let mut proxy = None;
        let mut url = self.through.map_or_else(|| database.url(), |server| database.url_through(&server));
        if self.proxied {
            let between = FaultProxy::start(&url).await;
            url = between.url(&url);
            proxy = Some(between);
        }
        settings.database_url = Sensitive::new(url);
        let checked = settings.check(self.mode).expect("settings that are good");
        let store = Store::open(&checked.settings).expect("open the store");
        let entropy = Arc::new(SeededEntropy::new(seed));
        let master = Arc::new(MasterKey::development(entropy.clone()).expect("the development master key"));
        let keys = Keys::load(&store, master, &checked.settings).await.expect("load the keys");
        let now: OffsetDateTime =
            database.client().await.query_one("SELECT now()", &[]).await.expect("the time").get(0);
        let clock = Arc::new(TestClock::at(now));
        let mailer = Mailer::open(&checked, |_| {}).expect("mail settings that are good");
        let sms = SmsProvider::open(&checked.settings.sms(), self.mode, |_| {})
            .expect("sms settings that are good");
        let policy = FetchPolicy {
            organizations_private_hosts: self.private_hosts.clone(),
            allowed_private_hosts: self.private_hosts,
            strangers_private_hosts: checked.settings.outbound_client_hosts.clone(),
            private_ca_file: checked.settings.outbound_ca_file.clone(),
            ..FetchPolicy::default()
        };
        let fetcher = Fetcher::new(policy).expect("a fetcher");
        let parts = Parts { checked, store, keys, mailer, sms, fetcher, clock: clock.clone(), entropy };
        let mut app = App::new(parts).expect("an application");
        if let Some(purposes) = self.purposes {
            app.registers.purposes = purposes;
        }
        let app = Arc::new(app);
        let mut routes = porteiro_service::table();
        routes.extend(self.routes);
        let router = porteiro_service::router_of(Arc::clone(&app), routes);
        TestApp { app, clock, database, proxy, router, peer: self.peer }
    }
}

/// One connection or four, depending on the test's name and the process number: with one, a handler that takes a second
/// connection while it holds the first waits for itself. Each run draws again; `PORTEIRO_TEST_POOL` sets it for all
/// tests.
fn pool_size() -> usize {
    if let Some(size) = variable("PORTEIRO_TEST_POOL").and_then(|size| size.parse().ok()) {
        return size;
    }
    let mut hasher = std::hash::DefaultHasher::new();
    (std::thread::current().name(), std::process::id()).hash(&mut hasher);
    if hasher.finish().is_multiple_of(2) { 1 } else { 4 }
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {} {}", self.status, self.text()))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}
