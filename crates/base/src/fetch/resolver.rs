//! Resolves names, once per request. The client connects only to these addresses.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;

use super::{addresses, policy::Way};

/// A lookup that the caller abandoned still occupies a thread until the system's resolver gives up.
const MAX_LOOKUPS: usize = 32;
/// A name with a thousand addresses would cause a thousand connection attempts.
const MAX_ADDRESSES: usize = 8;

pub type Answers = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// The source of addresses: the system, or a test.
pub trait Lookup: Send + Sync + 'static {
    /// A name that ends in a dot is complete: no search domain is tried.
    fn lookup(&self, name: String) -> Answers;
}

pub(super) struct System {
    running: Arc<Semaphore>,
}

impl System {
    pub(super) fn new() -> Self {
        Self { running: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }
}

impl Lookup for System {
    fn lookup(&self, name: String) -> Answers {
        let running = Arc::clone(&self.running);
        Box::pin(async move {
            let permit = running.acquire_owned().await.map_err(io::Error::other)?;
            // In its own task: the permit stays with the thread even if the caller leaves earlier.
            let task = tokio::spawn(async move {
                let _permit = permit;
                tokio::net::lookup_host((name.as_str(), 0))
                    .await
                    .map(|found| found.map(|address| address.ip()).collect())
            });
            task.await.map_err(io::Error::other)?
        })
    }
}

pub(super) struct Resolver {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) way: Way,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let way = self.way;
        let answers = self.lookup.lookup(match way {
            // Without the dot, `a.b` may mean `a.b.svc.cluster.local`.
            Way::Guarded => format!("{}.", name.as_str()),
            Way::Listed => name.as_str().to_owned(),
        });
        Box::pin(async move {
            let found = answers.await?;
            // A single private address is a refusal: a name with both kinds is suspicious.
            if way == Way::Guarded && !found.iter().all(|address| addresses::is_public(*address)) {
                return Err("the name resolves to a private address".into());
            }
            let found = found.into_iter().take(MAX_ADDRESSES).map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(found) as Addrs)
        })
    }
}
