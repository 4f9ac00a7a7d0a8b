//! Text records of the domain name system, as at least two resolvers see them (docs/decisions/0128).

mod decide;

use std::{net::SocketAddr, time::Duration};

use hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolverConfig, ResolverOpts},
    net::{DnsError, NetError, runtime::TokioRuntimeProvider},
    proto::rr::{RData, rdata::TXT},
    system_conf::read_system_conf,
};
use tokio::{task::JoinSet, time::timeout};

use self::decide::Answer;
pub use self::decide::Seen;

/// More resolvers say no more, and each lookup asks all of them.
pub const MAX_RESOLVERS: usize = 4;
const EACH: Duration = Duration::from_secs(2);
const ALL: Duration = Duration::from_secs(5);
/// What a name may have under it; a resolver that sends more is not listened to.
const MAX_RECORDS: usize = 50;

#[derive(Clone)]
pub struct Dns {
    resolvers: Vec<TokioResolver>,
}

impl std::fmt::Debug for Dns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<{} resolvers>", self.resolvers.len())
    }
}

impl Dns {
    /// With the resolvers of the system, if none are named.
    ///
    /// # Errors
    /// In words.
    pub fn new(named: &[SocketAddr]) -> Result<Self, String> {
        let mut servers: Vec<_> = named.iter().copied().map(server).collect();
        if servers.is_empty() {
            servers = read_system_conf().map_or_else(|_| Vec::new(), |(config, _)| config.name_servers);
        }
        servers.truncate(MAX_RESOLVERS);
        let resolvers = servers.into_iter().map(resolver).collect::<Result<_, _>>();
        Ok(Self { resolvers: resolvers.map_err(|error| error.to_string())? })
    }

    /// Whether `name` has a text record of exactly this value.
    pub async fn sees(&self, name: &str, value: &str) -> Seen {
        let mut asked = JoinSet::new();
        for resolver in &self.resolvers {
            let (resolver, name, value) = (resolver.clone(), format!("{name}."), value.to_owned());
            asked.spawn(async move { ask(&resolver, name, &value).await });
        }
        let answers = asked.join_all().await;
        decide::seen(&answers)
    }
}

fn server(address: SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    let at = |mut connection: ConnectionConfig| {
        connection.port = address.port();
        connection
    };
    server.connections = server.connections.into_iter().map(at).collect();
    server
}

fn resolver(server: NameServerConfig) -> Result<TokioResolver, NetError> {
    let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
    let mut options = ResolverOpts::default();
    // What was there an hour ago proves nothing.
    options.cache_size = 0;
    options.timeout = EACH;
    options.attempts = 1;
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()).with_options(options).build()
}

async fn ask(resolver: &TokioResolver, name: String, value: &str) -> Answer {
    match timeout(ALL, resolver.txt_lookup(name)).await {
        Ok(Ok(found)) => {
            let texts = found.answers().iter().filter_map(|record| match &record.data {
                RData::TXT(text) => Some(text),
                _ => None,
            });
            if texts.take(MAX_RECORDS).any(|text| is(text, value)) { Answer::Has } else { Answer::Lacks }
        }
        Ok(Err(NetError::Dns(DnsError::NoRecordsFound(_)))) => Answer::Lacks,
        // A resolver that validates answers so to what DNSSEC does not confirm (RFC 4035 §5.5).
        Ok(Err(NetError::Dns(_))) => Answer::Fails,
        Ok(Err(_)) | Err(_) => Answer::Silent,
    }
}

/// A text record is a sequence of strings of at most 255 bytes, which belong together (RFC 7208 §3.3 reads them so).
fn is(text: &TXT, value: &str) -> bool {
    text.txt_data.concat() == value.as_bytes()
}
