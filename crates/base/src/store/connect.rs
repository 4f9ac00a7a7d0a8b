//! Connections to PostgreSQL: encrypted and verified if they leave this machine.

use std::path::Path;

use deadpool_postgres::{Manager, ManagerConfig, RecyclingMethod};
use rustls::{ClientConfig, RootCertStore, pki_types::CertificateDer, pki_types::pem::PemObject};
use tokio_postgres::{
    Client, Config, NoTls,
    config::{Host, SslMode},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::settings::Settings;

/// All our statements find rows by a key, so one plan fits all values. By itself the planner would make a new plan each
/// time once a table has partitions (half the throughput), and for a new partition one that reads all of it. A pooler
/// may lose these settings: that only costs speed.
pub(super) const PLANNING: &str =
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off";

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("database_url is not a PostgreSQL address: {0}")]
    Address(tokio_postgres::Error),
    #[error("{file}: {reason}")]
    Authorities { file: String, reason: String },
    #[error("the connection pool could not be created: {0}")]
    Pool(String),
    #[error("PostgreSQL refused the connection: {}", super::error::in_words(.0))]
    Connect(tokio_postgres::Error),
}

enum Security {
    Plain,
    Encrypted(MakeRustlsConnect),
}

fn config(settings: &Settings) -> Result<(Config, Security), ConnectError> {
    let mut config: Config = settings.database_url.expose().parse().map_err(ConnectError::Address)?;
    config.application_name("porteiro").connect_timeout(std::time::Duration::from_secs(3));
    let stays_here = config.get_hosts().iter().all(is_local)
        && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback);
    let security = match config.get_ssl_mode() {
        SslMode::Disable => Security::Plain,
        // Encryption was not required, and the connection stays on this machine: Debian's server has a self-signed
        // certificate.
        SslMode::Prefer if stays_here => Security::Plain,
        _ => {
            config.ssl_mode(SslMode::Require);
            Security::Encrypted(MakeRustlsConnect::new(tls(settings.database_ca_file.as_deref())?))
        }
    };
    Ok((config, security))
}

pub(super) fn manager(settings: &Settings) -> Result<Manager, ConnectError> {
    let recycle = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    Ok(match config(settings)? {
        (config, Security::Plain) => Manager::from_config(config, NoTls, recycle),
        (config, Security::Encrypted(tls)) => Manager::from_config(config, tls, recycle),
    })
}

/// One connection outside the pool, for commands and `doctor`.
pub async fn connect_once(settings: &Settings) -> Result<Client, ConnectError> {
    Ok(match config(settings)? {
        (config, Security::Plain) => drive(config.connect(NoTls).await.map_err(ConnectError::Connect)?),
        (config, Security::Encrypted(tls)) => {
            drive(config.connect(tls).await.map_err(ConnectError::Connect)?)
        }
    })
}

fn drive<S, T>((client, connection): (Client, tokio_postgres::Connection<S, T>)) -> Client
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a database connection ended");
        }
    });
    client
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// The system's certificate authorities and those of the operator.
pub fn tls(extra: Option<&Path>) -> Result<ClientConfig, ConnectError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(file) = extra {
        let wrong = |reason: String| ConnectError::Authorities { file: file.display().to_string(), reason };
        for certificate in CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))? {
            roots
                .add(certificate.map_err(|error| wrong(error.to_string()))?)
                .map_err(|error| wrong(error.to_string()))?;
        }
    }
    Ok(ClientConfig::builder_with_provider(
        std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider()),
    )
    .with_safe_default_protocol_versions()
    .map_err(|error| ConnectError::Pool(error.to_string()))?
    .with_root_certificates(roots)
    .with_no_client_auth())
}
