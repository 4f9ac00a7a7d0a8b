//! Our own accept loop: a header timeout, bounded heads, bounded connections in total and from one network, limits for
//! peers that do not read or do not send requests, the client certificate in every request, and a drain that lets open
//! requests finish.

mod activity;
mod paced;
mod places;

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use porteiro_service::http::Peer;
use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

pub use self::places::Places;
use self::{activity::Activity, paced::Paced};

/// Until the head of a request is complete, also while a connection waits for its next request: slow clients must not
/// hold connections.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Request line and headers together; the service has lower limits, with a proper answer.
const HEAD_BUFFER: usize = 40 * 1024;
const MAX_HEADERS: usize = 100;

/// How long a peer may stay inactive.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// Without reading any of the data written to it.
    write: Duration,
    /// Without a request, on an HTTP/2 connection; on HTTP/1.1, the header timeout applies between requests.
    idle: Duration,
    /// For open streams of an HTTP/2 connection after GOAWAY.
    linger: Duration,
}

const PATIENCE: Patience = Patience {
    write: Duration::from_secs(20),
    idle: Duration::from_mins(1),
    linger: Duration::from_secs(15),
};

pub struct Listener {
    socket: TcpListener,
    tls: Option<TlsAcceptor>,
    patience: Patience,
}

/// What a connection needs besides its stream.
struct Served {
    router: Router,
    patience: Patience,
    watcher: Watcher,
    stop: watch::Receiver<bool>,
}

impl Listener {
    pub async fn bind(address: SocketAddr, tls: Option<Arc<ServerConfig>>) -> std::io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        Ok(Self { socket, tls: tls.map(TlsAcceptor::from), patience: PATIENCE })
    }

    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until told to stop, then gives open requests the time `drain`.
    pub async fn serve(
        self,
        router: Router,
        places: Arc<Places>,
        mut stop: watch::Receiver<bool>,
        drain: Duration,
    ) {
        let graceful = GracefulShutdown::new();
        loop {
            // Waits for a free place first: beyond the limit, connections wait in the kernel's queue.
            let next = async {
                let place = places.free().await;
                (place, self.socket.accept().await)
            };
            let (place, accepted) = tokio::select! {
                next = next => next,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Probably out of file descriptors: waiting frees some.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let Some(held) = places.hold(address.ip()) else {
                metrics::counter!("porteiro_connections_refused_total").increment(1);
                continue;
            };
            let _ = stream.set_nodelay(true);
            let stream = Paced::new(stream, self.patience.write);
            let (patience, watcher, stop) = (self.patience, graceful.watcher(), stop.clone());
            let (served, tls) =
                (Served { router: router.clone(), patience, watcher, stop }, self.tls.clone());
            tokio::spawn(async move {
                let _places = (place, held);
                match tls {
                    None => http1(stream, Peer { address, certificate: None }, served).await,
                    Some(acceptor) => encrypted(&acceptor, stream, address, served).await,
                }
            });
        }
        drop(self.socket);
        let started = Instant::now();
        if tokio::time::timeout(drain, graceful.shutdown()).await.is_err() {
            tracing::warn!(
                seconds = started.elapsed().as_secs_f64(),
                "requests that did not finish in time were cancelled"
            );
        }
    }
}

async fn encrypted(acceptor: &TlsAcceptor, stream: Paced<TcpStream>, address: SocketAddr, served: Served) {
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await else {
        metrics::counter!("porteiro_tls_handshakes_failed_total").increment(1);
        return;
    };
    let (_, session) = stream.get_ref();
    let certificate =
        session.peer_certificates().and_then(|chain| chain.first()).map(|first| Arc::new(first.to_vec()));
    let peer = Peer { address, certificate };
    if session.alpn_protocol() == Some(b"h2") {
        http2(stream, peer, served).await;
    } else {
        http1(stream, peer, served).await;
    }
}

/// The router as a hyper service, with the peer in every request.
macro_rules! service {
    ($router:expr, $peer:expr) => {
        TowerToHyperService::new($router.map_request(
            move |mut request: http::Request<hyper::body::Incoming>| {
                request.extensions_mut().insert($peer.clone());
                request.map(axum::body::Body::new)
            },
        ))
    };
}

async fn http1<S>(stream: S, peer: Peer, served: Served)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(HEAD_BUFFER)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service!(served.router, peer));
    ended(served.watcher.watch(connection).await);
}

/// Ends with GOAWAY (RFC 9113 §6.8) when the node stops or the peer was idle for too long. A peer that does not read
/// its responses, by a window of zero, is idle too, and is disconnected after `linger`.
async fn http2<S>(stream: S, peer: Peer, mut served: Served)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let activity = Activity::begun(Instant::now());
    let (counted, router) = (activity.clone(), served.router);
    let router = tower::service_fn(move |request| {
        let (under_way, answer) = (counted.request(), router.clone().oneshot(request));
        async move {
            let answer = answer.await;
            drop(under_way);
            answer
        }
    });
    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(100)
        .max_header_list_size(u32::try_from(HEAD_BUFFER).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(20)
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(10))
        .serve_connection(TokioIo::new(stream), service!(router, peer));
    let ending = GracefulShutdown::new();
    let mut connection = std::pin::pin!(ending.watch(connection));
    let stopping = tokio::select! {
        outcome = &mut connection => return ended(outcome),
        () = activity.ceases(served.patience.idle) => false,
        _ = served.stop.wait_for(|stop| *stop) => true,
    };
    // A stopping node waits until `watcher` is dropped, so this connection may finish.
    let linger = if stopping { Duration::MAX } else { served.patience.linger };
    let finished = async { tokio::join!(ending.shutdown(), connection).1 };
    if let Ok(outcome) = tokio::time::timeout(linger, finished).await {
        ended(outcome);
    }
    drop(served.watcher);
}

/// Broken connections are normal; they are logged at debug level.
fn ended(outcome: hyper::Result<()>) {
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests;
