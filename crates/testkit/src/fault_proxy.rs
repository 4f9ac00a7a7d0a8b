//! A TCP proxy that breaks connections to PostgreSQL on purpose.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::SeededEntropy;

/// The faults; all off at first.
#[derive(Debug)]
pub struct Faults {
    /// Cut before passing on a COMMIT: PostgreSQL never sees it.
    pub before_commit: AtomicBool,
    /// Cut after passing on a COMMIT and before its answer: it happened, but the client does not learn it.
    pub after_commit: AtomicBool,
    /// How many of 1,000 messages, in either direction, end their connection.
    pub random_per_mille: AtomicU32,
    /// Accept no connection and pass nothing on.
    pub stalled: AtomicBool,
    pub cuts: AtomicU64,
    /// The number of messages from the service; 0 means that no statement was sent.
    pub asked: AtomicU64,
    entropy: SeededEntropy,
}

#[derive(Debug)]
pub struct FaultProxy {
    pub faults: Arc<Faults>,
    port: u16,
    accepting: tokio::task::JoinHandle<()>,
}

impl FaultProxy {
    pub async fn start(url: &str) -> Self {
        let config: tokio_postgres::Config = url.parse().expect("a PostgreSQL address");
        let host = match config.get_hosts().first() {
            Some(tokio_postgres::config::Host::Tcp(host)) => host.clone(),
            other => panic!("the fault proxy needs a TCP address, not {other:?}"),
        };
        let target = (host, config.get_ports().first().copied().unwrap_or(5432));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let faults = Arc::new(Faults {
            before_commit: false.into(),
            after_commit: false.into(),
            random_per_mille: 0.into(),
            stalled: false.into(),
            cuts: 0.into(),
            asked: 0.into(),
            entropy: SeededEntropy::new(7),
        });
        let shared = Arc::clone(&faults);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (target, faults) = (target.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(target).await {
                        relay(client, server, faults).await;
                    }
                });
            }
        });
        Self { faults, port, accepting }
    }

    /// The address with the proxy in place of the server.
    pub fn url(&self, url: &str) -> String {
        let (head, database) = url.rsplit_once('/').expect("a database in the address");
        let (scheme, rest) = head.split_once("://").expect("a scheme");
        let user = rest.rsplit_once('@').map_or("", |(user, _)| user);
        let at = if user.is_empty() { "" } else { "@" };
        format!("{scheme}://{user}{at}127.0.0.1:{}/{database}", self.port)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn relay(mut client: TcpStream, mut server: TcpStream, faults: Arc<Faults>) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (mut from_client, mut from_server) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let Ok(count @ 1..) = read else { return };
                let message = &from_client[..count];
                faults.asked.fetch_add(1, Ordering::Relaxed);
                faults.wait_while_stalled().await;
                let commit = message.windows(6).any(|window| window == b"COMMIT");
                if faults.random_cut() || (commit && faults.before_commit.load(Ordering::Relaxed)) {
                    return faults.count();
                }
                if server.write_all(message).await.is_err() {
                    return;
                }
                if commit && faults.after_commit.load(Ordering::Relaxed) {
                    // Waits for PostgreSQL's answer, so that the commit has really happened, and drops it.
                    let _ = server.read(&mut from_server).await;
                    return faults.count();
                }
            }
            read = server.read(&mut from_server) => {
                let Ok(count @ 1..) = read else { return };
                faults.wait_while_stalled().await;
                if faults.random_cut() {
                    return faults.count();
                }
                if client.write_all(&from_server[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}

impl Faults {
    fn random_cut(&self) -> bool {
        let chance = u64::from(self.random_per_mille.load(Ordering::Relaxed));
        chance > 0 && self.entropy.next() % 1_000 < chance
    }

    fn count(&self) {
        self.cuts.fetch_add(1, Ordering::Relaxed);
    }

    async fn wait_while_stalled(&self) {
        while self.stalled.load(Ordering::Relaxed) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}
