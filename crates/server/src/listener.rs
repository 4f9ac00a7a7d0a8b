//! Our own accept loop: header timeout, bounded heads, bounded connections, the client certificate in reach, and a
//! drain that lets open requests finish.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use porteiro_service::http::Peer;
use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

/// Until the head of a request is complete, also while a connection waits for its next one (fault F13).
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Request line and headers together; the service refuses finer (fault F16).
const HEAD_BUFFER: usize = 40 * 1024;
const MAX_HEADERS: usize = 100;

pub struct Listener {
    socket: TcpListener,
    tls: Option<TlsAcceptor>,
}

impl Listener {
    pub async fn bind(address: SocketAddr, tls: Option<Arc<ServerConfig>>) -> std::io::Result<Self> {
        Ok(Self { socket: TcpListener::bind(address).await?, tls: tls.map(TlsAcceptor::from) })
    }

    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until told to stop, then gives open requests until `drain` is over.
    pub async fn serve(
        self,
        router: Router,
        places: Arc<Semaphore>,
        mut stop: watch::Receiver<bool>,
        drain: Duration,
    ) {
        let graceful = GracefulShutdown::new();
        loop {
            // A place first: beyond the limit, connections wait in the kernel's queue.
            let next = async {
                let place = Arc::clone(&places).acquire_owned().await;
                (place, self.socket.accept().await)
            };
            let (place, accepted) = tokio::select! {
                next = next => next,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, most likely: waiting frees some.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let _ = stream.set_nodelay(true);
            let (router, tls, watcher) = (router.clone(), self.tls.clone(), graceful.watcher());
            tokio::spawn(async move {
                let _place = place;
                match tls {
                    None => http1(stream, Peer { address, certificate: None }, router, watcher).await,
                    Some(acceptor) => encrypted(&acceptor, stream, address, router, watcher).await,
                }
            });
        }
        drop(self.socket);
        let started = Instant::now();
        if tokio::time::timeout(drain, graceful.shutdown()).await.is_err() {
            tracing::warn!(
                seconds = started.elapsed().as_secs_f64(),
                "gave up on requests that would not finish"
            );
        }
    }
}

async fn encrypted(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
    address: SocketAddr,
    router: Router,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await else {
        metrics::counter!("porteiro_tls_handshakes_failed_total").increment(1);
        return;
    };
    let (_, session) = stream.get_ref();
    let certificate =
        session.peer_certificates().and_then(|chain| chain.first()).map(|first| Arc::new(first.to_vec()));
    let peer = Peer { address, certificate };
    if session.alpn_protocol() == Some(b"h2") {
        http2(stream, peer, router, watcher).await;
    } else {
        http1(stream, peer, router, watcher).await;
    }
}

/// The router as hyper wants it, with the peer in every request.
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

async fn http1<S>(stream: S, peer: Peer, router: Router, watcher: hyper_util::server::graceful::Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(HEAD_BUFFER)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service!(router, peer));
    ended(watcher.watch(connection).await);
}

async fn http2<S>(stream: S, peer: Peer, router: Router, watcher: hyper_util::server::graceful::Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(100)
        .max_header_list_size(u32::try_from(HEAD_BUFFER).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(20)
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(10))
        .serve_connection(TokioIo::new(stream), service!(router, peer));
    ended(watcher.watch(connection).await);
}

/// A broken connection is ordinary; it is worth a look only when asked for.
fn ended(outcome: hyper::Result<()>) {
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests;
