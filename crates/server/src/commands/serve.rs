//! `porteiro serve`

use std::{sync::Arc, time::Duration};

use axum::{Router, routing::get};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use porteiro_service::{
    App, jobs,
    settings::{Mode, Settings},
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    task::JoinSet,
};

use crate::{
    boot,
    cli::Serve,
    exit::Failure,
    listener::{Listener, Places},
    say, telemetry,
    tls::{self, ClientCertificates},
};

/// How long a stopping node keeps accepting while `/readyz` already fails, so that load balancers notice first.
const NOTICE: Duration = Duration::from_millis(500);

pub async fn run(settings: Settings, arguments: Serve) -> Result<(), Failure> {
    let mode = if arguments.dev { Mode::Development } else { Mode::Production };
    let checked = boot::check(settings, mode)?;
    let telemetry = telemetry::start(&checked.settings)?;
    let metrics = PrometheusBuilder::new()
        .set_buckets(&[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0])
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(|error| Failure::new(error.to_string()))?;
    let app = boot::assemble(checked).await?;
    let outcome = serve(&app, metrics).await;
    let _ = tokio::task::spawn_blocking(move || telemetry.flush()).await;
    outcome
}

async fn serve(app: &Arc<App>, metrics: PrometheusHandle) -> Result<(), Failure> {
    let settings = &app.checked.settings;
    // Before listening: a client that got an answer may already send a signal to stop.
    let signals = StopSignals::register()?;
    let (stop, stopped) = watch::channel(false);
    let drain = Duration::from_secs(settings.drain_timeout_seconds.into());
    let trusted = settings.trusted_proxies.clone();
    let exempt = Box::new(move |address| porteiro_service::http::is_trusted(address, &trusted));
    let places = Places::new(settings.max_connections, settings.max_connections_per_address, exempt);
    let router = with_screens(app, porteiro_service::router(Arc::clone(app)))?;

    let mut tasks = JoinSet::new();
    for listener in public_listeners(settings).await? {
        let address = listener.address().map_err(|error| Failure::new(error.to_string()))?;
        tracing::info!(%address, issuer = app.issuer(), "listening");
        announce(app, &address.to_string());
        tasks.spawn(listener.serve(router.clone(), Arc::clone(&places), stopped.clone(), drain));
    }
    tasks.spawn(sum_up(metrics.clone(), SUMMED_UP, stopped.clone()));
    if let Some(address) = settings.metrics_listen {
        let listener = bind(address, None, "metrics_listen").await?;
        let address = listener.address().map_err(|error| Failure::new(error.to_string()))?;
        tracing::info!(%address, "metrics");
        let router = Router::new().route("/metrics", get(move || std::future::ready(metrics.render())));
        tasks.spawn(listener.serve(router, Places::few(16), stopped.clone(), Duration::ZERO));
    }
    tasks.spawn(jobs::run_until(Arc::clone(app), stopped.clone()));
    tasks.spawn(watch_keys(Arc::clone(app), stopped.clone()));
    tasks.spawn(count_jobs(Arc::clone(app), stopped));

    signals.wait().await;
    tracing::info!("stopping; open requests may finish");
    app.start_draining();
    tokio::time::sleep(NOTICE.min(drain)).await;
    let _ = stop.send(true);
    let ended = async {
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a task of the server ended abnormally");
            }
        }
    };
    // A job that takes longer is taken over by another node when its lease expires.
    if tokio::time::timeout(drain + NOTICE, ended).await.is_err() {
        tracing::warn!("tasks that did not finish in time were cancelled");
    }
    tracing::info!("stopped");
    Ok(())
}

/// Puts the screens in front of the service, if they are built in and switched on.
#[cfg(feature = "screens")]
fn with_screens(app: &Arc<App>, router: Router) -> Result<Router, Failure> {
    let settings = &app.checked.settings;
    if !settings.screens {
        return Ok(router);
    }
    let deployment = porteiro_screens::Deployment::of(settings, Arc::clone(&app.entropy));
    let mut deployment = deployment.map_err(Failure::refusal)?;
    deployment.pseudo_languages = app.checked.mode == Mode::Development;
    deployment.surroundings = Some(porteiro_service::http::Surroundings::of(&app.core));
    deployment.texts = app.sms.is_available();
    Ok(porteiro_screens::mount(router, deployment))
}

#[cfg(not(feature = "screens"))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape with and without")]
fn with_screens(_: &Arc<App>, router: Router) -> Result<Router, Failure> {
    Ok(router)
}

async fn public_listeners(settings: &Settings) -> Result<Vec<Listener>, Failure> {
    let tls = |clients| match (&settings.tls_certificate_file, &settings.tls_key_file) {
        (Some(certificate), Some(key)) => tls::server(certificate, key, clients).map(Some),
        _ => Ok(None),
    };
    let mut listeners = vec![bind(settings.listen, tls(ClientCertificates::NotAsked)?, "listen").await?];
    if let Some(address) = settings.mtls_listen {
        listeners.push(bind(address, tls(ClientCertificates::Asked)?, "mtls_listen").await?);
    }
    Ok(listeners)
}

async fn bind(
    address: std::net::SocketAddr,
    tls: Option<Arc<rustls::ServerConfig>>,
    setting: &str,
) -> Result<Listener, Failure> {
    Listener::bind(address, tls)
        .await
        .map_err(|error| Failure::unavailable(format!("{setting}: cannot listen on {address} ({error})")))
}

/// SIGTERM and SIGINT, caught from the moment they are registered.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn register() -> Result<Self, Failure> {
        let on = |kind| signal(kind).map_err(|error| Failure::new(error.to_string()));
        Ok(Self { terminate: on(SignalKind::terminate())?, interrupt: on(SignalKind::interrupt())? })
    }

    async fn wait(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// How often measurements are aggregated.
const SUMMED_UP: Duration = Duration::from_secs(5);

/// The recorder keeps every measurement until the metrics are fetched or aggregated here: without this, a node whose
/// metrics are not scraped would grow with every request. A fetch may lose a few concurrent measurements, and so may
/// this; hence it is rare.
async fn sum_up(metrics: PrometheusHandle, every: Duration, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            _ = stop.changed() => break,
        }
        metrics.run_upkeep();
    }
}

/// Keeps the key rings in memory close to those in the database.
async fn watch_keys(app: Arc<App>, mut stop: watch::Receiver<bool>) {
    let every = Duration::from_secs(app.checked.settings.key_refresh_seconds.into());
    while !*stop.borrow() {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            _ = stop.changed() => break,
        }
        if let Err(error) = app.keys.reload(&app.store).await {
            tracing::warn!(%error, "the signing keys could not be reloaded");
        }
        let rings = app.keys.current();
        metrics::gauge!("porteiro_keys_age_seconds").set(rings.age().as_secs_f64());
        metrics::gauge!("porteiro_keys_unusable").set(u32::try_from(rings.faults()).unwrap_or(u32::MAX));
    }
}

async fn count_jobs(app: Arc<App>, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        if let Ok((waiting, parked)) = jobs::count_waiting(&app.store).await {
            #[expect(clippy::cast_precision_loss, reason = "a gauge of a queue length")]
            {
                metrics::gauge!("porteiro_jobs_waiting").set(waiting as f64);
                metrics::gauge!("porteiro_jobs_parked").set(parked as f64);
            }
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(15)) => {}
            _ = stop.changed() => {}
        }
    }
}

fn announce(app: &App, address: &str) {
    if app.checked.mode == Mode::Development {
        say::err(&format!(
            "porteiro is running on {address} with temporary keys (--dev).\n  Discovery: {0}/.well-known/openid-configuration\n  Keys:      {0}/.well-known/jwks.json\nMail is printed here. Registration is open. Stop with Ctrl-C.",
            app.issuer()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident_bytes() -> u64 {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        4_096 * statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
    }

    /// Four million measurements took 82 MB without aggregation.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_node_that_nobody_asks_for_metrics_does_not_grow() {
        let recorder = PrometheusBuilder::new().set_buckets(&[0.1, 1.0]).unwrap().build_recorder();
        let (stop, stopped) = watch::channel(false);
        let summing = tokio::spawn(sum_up(recorder.handle(), Duration::from_millis(1), stopped));
        let before = resident_bytes();
        for _ in 0..400 {
            metrics::with_local_recorder(&recorder, || {
                let histogram = metrics::histogram!("measured");
                (0..10_000).for_each(|_| histogram.record(0.5));
            });
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let grown = resident_bytes().saturating_sub(before);
        stop.send(true).unwrap();
        summing.await.unwrap();
        let text = recorder.handle().render();
        let counted = text.lines().find_map(|line| line.strip_prefix("measured_count ")?.parse::<u64>().ok());
        // Measurements during the aggregation of a block of up to 512 may be lost, as at every fetch; here that is
        // frequent.
        assert!(counted.is_some_and(|counted| counted > 3_500_000), "{text}");
        assert!(grown < 40_000_000, "{grown} bytes");
    }
}
