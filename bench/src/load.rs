//! The load: keep-alive connections over loopback, each waiting for its answer before it asks again.

use std::{
    cell::RefCell,
    collections::VecDeque,
    net::SocketAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use base64::{Engine, engine::general_purpose::STANDARD};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    codes::VERIFIER,
    families::Families,
    fill::{Caller, SCOPE},
};

/// What one run showed.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    pub operations: u64,
    pub per_second: f64,
    /// Milliseconds.
    pub p50: f64,
    pub p99: f64,
}

impl Measured {
    pub fn new(operations: u64, per_second: f64, micros: &mut [u32]) -> Self {
        micros.sort_unstable();
        let at = |percent: usize| {
            f64::from(micros.get(micros.len() * percent / 100).copied().unwrap_or_default()) / 1_000.0
        };
        Self { operations, per_second, p50: at(50), p99: at(99) }
    }
}

/// What is asked, again and again.
#[derive(Debug, Clone)]
pub enum Kind {
    Floor,
    Refresh(Caller),
    /// As many as were made before the run.
    Code(Caller),
    ClientCredentials(Caller),
    IntrospectRefresh(Caller),
    IntrospectAccess(Caller),
    /// By the agent, of access tokens that were made before the run.
    Exchange(Caller),
    /// Of approvals that nobody decides.
    Poll(Caller),
}

impl Kind {
    /// The status of the answer that is expected: a poll of something undecided is an error.
    const fn status(&self) -> &'static [u8] {
        match self {
            Self::Poll(_) => b"HTTP/1.1 400",
            Self::Floor
            | Self::Refresh(_)
            | Self::Code(_)
            | Self::ClientCredentials(_)
            | Self::IntrospectRefresh(_)
            | Self::IntrospectAccess(_)
            | Self::Exchange(_) => OK,
        }
    }
}

const OK: &[u8] = b"HTTP/1.1 200";

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(8_192) })
    }

    /// Sends a request and reads the whole answer; only 200 will do. The body stays in the buffer.
    async fn ask(&mut self, request: &[u8]) -> Result<&str> {
        self.ask_for(OK, request).await
    }

    async fn ask_for(&mut self, status: &[u8], request: &[u8]) -> Result<&str> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let (head, length) = loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                bail!("the server closed the connection");
            }
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = std::str::from_utf8(&self.buffer[..end])?;
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                break (end + 4, length.context("no content-length")?.parse::<usize>()?);
            }
        };
        while self.buffer.len() < head + length {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                bail!("the server closed the connection");
            }
        }
        if !self.buffer.starts_with(status) {
            bail!("{}", String::from_utf8_lossy(&self.buffer));
        }
        Ok(std::str::from_utf8(&self.buffer[head..])?)
    }
}

fn post(path: &str, caller: &Caller, form: &str) -> Vec<u8> {
    let (header, named) = match &caller.secret {
        Some(secret) => {
            let credentials = STANDARD.encode(format!("{}:{secret}", caller.id));
            (format!("authorization: Basic {credentials}\r\n"), String::new())
        }
        None => (String::new(), format!("&client_id={}", caller.id)),
    };
    format!(
        "POST {path} HTTP/1.1\r\nhost: id.example.org\r\nuser-agent: porteiro-bench\r\n{header}\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}{named}",
        form.len() + named.len()
    )
    .into_bytes()
}

/// A member of a flat JSON object, as text.
fn member<'a>(body: &'a str, name: &str) -> Result<&'a str> {
    let start = body.find(name).with_context(|| format!("no {name} in {body}"))? + name.len();
    let value = body[start..].strip_prefix("\":\"").context("a text")?;
    Ok(&value[..value.find('"').context("an end")?])
}

/// Runs one kind of request at one concurrency for a while.
pub async fn run(
    address: SocketAddr,
    kind: &Kind,
    families: &Rc<RefCell<Families>>,
    concurrency: usize,
    limit: Limit,
) -> Result<Measured> {
    let mut connections = Vec::new();
    for _ in 0..concurrency {
        connections.push(Connection::open(address).await?);
    }
    let started = Instant::now();
    let state = Rc::new(RefCell::new(Progress { micros: Vec::new(), started, limit }));
    let mut workers = tokio::task::JoinSet::new();
    for connection in connections {
        let (kind, families, state) = (kind.clone(), Rc::clone(families), Rc::clone(&state));
        workers.spawn_local(async move { work(connection, &kind, &families, &state).await });
    }
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    let elapsed = started.elapsed().as_secs_f64();
    let micros = &mut state.borrow_mut().micros;
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let per_second = micros.len() as f64 / elapsed;
    Ok(Measured::new(micros.len() as u64, per_second, micros))
}

/// How long a run goes on.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    Seconds(u64),
    Operations(usize),
}

struct Progress {
    micros: Vec<u32>,
    started: Instant,
    limit: Limit,
}

impl Progress {
    fn is_over(&self) -> bool {
        match self.limit {
            Limit::Seconds(seconds) => self.started.elapsed() >= Duration::from_secs(seconds),
            Limit::Operations(count) => self.micros.len() >= count,
        }
    }
}

async fn work(
    mut connection: Connection,
    kind: &Kind,
    families: &RefCell<Families>,
    state: &RefCell<Progress>,
) -> Result<()> {
    let mut turn = Turn::prepare(&mut connection, kind, families).await?;
    while !state.borrow().is_over() {
        let Some(request) = turn.request(kind, families)? else { break };
        let sent = Instant::now();
        let body = connection.ask_for(kind.status(), &request).await?;
        state.borrow_mut().micros.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
        turn.answered(kind, families, body)?;
    }
    Ok(())
}

/// Between a request and the next of the same worker.
struct Turn {
    family: u64,
    fixed: Option<Vec<u8>>,
}

impl Turn {
    async fn prepare(connection: &mut Connection, kind: &Kind, families: &RefCell<Families>) -> Result<Self> {
        let fixed = match kind {
            Kind::Floor => Some(b"GET /healthz HTTP/1.1\r\nhost: id.example.org\r\n\r\n".to_vec()),
            Kind::ClientCredentials(caller) => {
                let form = format!("grant_type=client_credentials&scope={SCOPE}");
                Some(post("/connect/token", caller, &form))
            }
            // Every worker a token of its own, from a refresh of its own.
            Kind::IntrospectAccess(caller) => {
                let token = access_token(connection, caller, families).await?;
                Some(post("/connect/introspect", caller, &format!("token={token}")))
            }
            Kind::Refresh(_)
            | Kind::Code(_)
            | Kind::IntrospectRefresh(_)
            | Kind::Exchange(_)
            | Kind::Poll(_) => None,
        };
        Ok(Self { family: 0, fixed })
    }

    /// None: nothing is left to be asked.
    fn request(&mut self, kind: &Kind, families: &RefCell<Families>) -> Result<Option<Vec<u8>>> {
        let mut families = families.borrow_mut();
        let request = match kind {
            Kind::Refresh(caller) => {
                let (family, token) = families.take(caller.holder)?;
                self.family = family;
                post("/connect/token", caller, &format!("grant_type=refresh_token&refresh_token={token}"))
            }
            Kind::Code(caller) => {
                let codes = families.codes.get_mut(&caller.holder);
                let Some(code) = codes.and_then(VecDeque::pop_front) else { return Ok(None) };
                let form = format!(
                    "grant_type=authorization_code&code={code}&code_verifier={VERIFIER}\
                     &redirect_uri=https%3A%2F%2Fapp.example.org%2Fcallback"
                );
                post("/connect/token", caller, &form)
            }
            Kind::IntrospectRefresh(caller) => {
                let (family, token) = families.take(caller.holder)?;
                let request = post("/connect/introspect", caller, &format!("token={token}"));
                families.put(family, token);
                request
            }
            Kind::Exchange(agent) => {
                let token = families.subject().context("no subject token was made")?;
                let form = format!(
                    "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token={token}\
                     &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
                );
                post("/connect/token", agent, &form)
            }
            Kind::Poll(agent) => {
                let form = format!(
                    "grant_type=urn%3Aopenid%3Aparams%3Agrant-type%3Aciba&auth_req_id={}",
                    families.pending()?
                );
                post("/connect/token", agent, &form)
            }
            Kind::Floor | Kind::ClientCredentials(_) | Kind::IntrospectAccess(_) => {
                self.fixed.clone().context("nothing to ask")?
            }
        };
        Ok(Some(request))
    }

    fn answered(&self, kind: &Kind, families: &RefCell<Families>, body: &str) -> Result<()> {
        match kind {
            Kind::Refresh(_) => families.borrow_mut().put(self.family, member(body, "refresh_token")?.into()),
            Kind::IntrospectRefresh(_) | Kind::IntrospectAccess(_) => {
                if !body.contains("\"active\":true") {
                    bail!("a living token is called inactive: {body}");
                }
            }
            Kind::Code(_) | Kind::ClientCredentials(_) | Kind::Exchange(_) => {
                member(body, "access_token")?;
            }
            Kind::Poll(_) => {
                if !body.contains("authorization_pending") && !body.contains("slow_down") {
                    bail!("a pending approval is called something else: {body}");
                }
            }
            Kind::Floor => {}
        }
        Ok(())
    }
}

/// A new access token of a family that nobody else is using, by a refresh.
async fn access_token(
    connection: &mut Connection,
    caller: &Caller,
    families: &RefCell<Families>,
) -> Result<Box<str>> {
    let (family, token) = families.borrow_mut().take(caller.holder)?;
    let form = format!("grant_type=refresh_token&refresh_token={token}");
    let body = connection.ask(&post("/connect/token", caller, &form)).await?;
    families.borrow_mut().put(family, member(body, "refresh_token")?.into());
    Ok(member(body, "access_token")?.into())
}

/// Subject tokens for exchanges: so many that no limit for one person is met.
pub async fn subjects(address: SocketAddr, caller: &Caller, families: &RefCell<Families>) -> Result<()> {
    const SUBJECTS: usize = 1_000;
    let mut connection = Connection::open(address).await?;
    let mut subjects = Vec::with_capacity(SUBJECTS);
    for _ in 0..SUBJECTS {
        subjects.push(access_token(&mut connection, caller, families).await?);
    }
    families.borrow_mut().subjects = subjects;
    Ok(())
}

/// The service's own count of statements, by operation.
pub async fn statements(metrics: SocketAddr) -> Result<u64> {
    let mut connection = Connection::open(metrics).await?;
    let body = connection.ask(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
    let counts = body.lines().filter(|line| line.starts_with("porteiro_store_seconds_count"));
    Ok(counts.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum())
}
