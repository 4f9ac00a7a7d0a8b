//! The servers: a PostgreSQL of our own, and the release binary.

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use porteiro_protocol::entropy::Entropy;
use porteiro_service::secrets::MasterKey;

use crate::options::Options;

pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(clippy::disallowed_methods, reason = "the one source of randomness of this program")]
    fn fill(&self, bytes: &mut [u8]) {
        let _ = aws_lc_rs::rand::fill(bytes);
    }
}

/// PostgreSQL as `scripts/postgres` starts it: durable, except in the short form.
pub struct Postgres {
    pub url: String,
    pub state: PathBuf,
    removed: bool,
}

impl Postgres {
    pub fn start(options: &Options) -> Result<Self> {
        let own = PathBuf::from(format!("/tmp/porteiro-bench.{}", std::process::id()));
        let (state, removed) = options.state.clone().map_or((own, true), |state| (state, false));
        let mut start = script(&state);
        start.arg("start");
        // That it runs, not how fast: a disk that pauses would end it.
        if options.short {
            start.arg("--fast");
        }
        let output = start.stderr(Stdio::inherit()).output();
        let output = output.context("scripts/postgres; run this from the repository")?;
        ensure!(output.status.success(), "PostgreSQL did not start");
        let url = String::from_utf8(output.stdout)?.trim().to_owned();
        Ok(Self { url, state, removed })
    }

    pub fn data(&self) -> PathBuf {
        self.state.join("postgres/data")
    }

    /// The programs that belong to it.
    pub fn program(&self, name: &str) -> Result<PathBuf> {
        let version = std::fs::read_to_string(self.data().join("PG_VERSION"))?;
        Ok(Path::new("/usr/lib/postgresql").join(version.trim()).join("bin").join(name))
    }

    pub fn process(&self) -> Result<u32> {
        let file = std::fs::read_to_string(self.data().join("postmaster.pid"))?;
        Ok(file.lines().next().unwrap_or_default().trim().parse()?)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = script(&self.state).arg("stop").stderr(Stdio::null()).status();
        if self.removed {
            let _ = std::fs::remove_dir_all(&self.state);
        }
    }
}

fn script(state: &Path) -> Command {
    let mut command = Command::new("scripts/postgres");
    command.env("PORTEIRO_TEST_STATE", state).env("PORTEIRO_TEST_PG_PORT", "54731");
    command.env("PORTEIRO_TEST_PG_SHARED_BUFFERS", "4GB");
    command
}

/// The binary that was built beside this one.
pub fn binary() -> Result<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name("porteiro");
    ensure!(beside.is_file(), "{} is missing: cargo build --release -p porteiro", beside.display());
    Ok(beside)
}

/// How every invocation of the binary begins.
#[derive(Debug, Clone)]
pub struct Installation {
    binary: PathBuf,
    pub master_key: PathBuf,
    url: String,
}

impl Installation {
    pub fn new(postgres: &Postgres) -> Result<Self> {
        let master_key = postgres.state.join("master.key");
        Ok(Self { binary: binary()?, master_key, url: postgres.url.clone() })
    }

    /// The same installation, run by another build.
    pub fn with_binary(&self, binary: PathBuf) -> Result<Self> {
        ensure!(binary.is_file(), "{} is missing", binary.display());
        Ok(Self { binary, ..self.clone() })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.env_clear().args(words).arg("--database-url").arg(&self.url);
        command.args(["--base-url", ISSUER, "--master-key-file"]).arg(&self.master_key);
        command
    }

    pub fn install(&self) -> Result<()> {
        for words in [["migrate"].as_slice(), &["keys", "generate", "--create-master-key"]] {
            let output = self.command(words).output()?;
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "porteiro {}: {said}", words.join(" "));
        }
        Ok(())
    }

    pub fn master(&self) -> Result<MasterKey> {
        Ok(MasterKey::from_file(&self.master_key, Arc::new(SystemEntropy))?)
    }

    pub fn serve(&self, grouped: bool) -> Result<Node> {
        let (address, metrics) = (free_address()?, free_address()?);
        let (listen, metrics_listen) = (address.to_string(), metrics.to_string());
        let grouped = if grouped { "true" } else { "false" };
        let mut command = self.command(&["serve", "--listen", &listen, "--metrics-listen", &metrics_listen]);
        // Log lines are written and thrown away.
        let child = command.env("PORTEIRO_GROUP_STATEMENTS", grouped).stdout(Stdio::null()).spawn()?;
        let node = Node { child, address, metrics };
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            if started.elapsed() > Duration::from_secs(10) {
                bail!("the server does not listen");
            }
            std::thread::yield_now();
        }
        Ok(node)
    }
}

pub const ISSUER: &str = "https://id.example.org";

fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// A running `porteiro serve`.
pub struct Node {
    child: Child,
    pub address: SocketAddr,
    pub metrics: SocketAddr,
}

impl Node {
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processor time a process and its children have used, in microseconds.
pub fn cpu_micros(process: u32, with_children: bool) -> u64 {
    let own = stat(process).map_or(0, |stat| if with_children { stat.own + stat.reaped } else { stat.own });
    let children = if with_children { children(process) } else { Vec::new() };
    own + children.iter().filter_map(|child| stat(*child)).map(|stat| stat.own).sum::<u64>()
}

struct Stat {
    parent: u32,
    own: u64,
    reaped: u64,
}

/// `/proc/…/stat`: times are in hundredths of a second.
fn stat(process: u32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Stat {
        parent: u32::try_from(number(1)?).ok()?,
        own: (number(11)? + number(12)?) * 10_000,
        reaped: (number(13)? + number(14)?) * 10_000,
    })
}

fn children(parent: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process| stat(*process).is_some_and(|stat| stat.parent == parent))
        .collect()
}
