//! The accept loop on real sockets: client certificates, both versions of HTTP, and stopping when it is full.

use std::path::Path;

use axum::{Extension, body::Body, routing::get};
use http::Request;
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::{
    ClientConfig, RootCertStore,
    client::ResolvesClientCert,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName},
    sign,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::*;
use crate::tls::{self, ClientCertificates};

const NOBODY: &[u8] = b"no certificate";
const DRAIN: Duration = Duration::from_millis(500);
/// More than the kernel buffers.
const LARGE: usize = 64 * 1024 * 1024;
const IMPATIENT: Patience = Patience {
    write: Duration::from_millis(400),
    idle: Duration::from_millis(400),
    linger: Duration::from_millis(400),
};

/// A listener on a free port, served until told to stop. `/` answers with the peer's certificate, `/never` does not
/// answer.
struct Running {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    ended: JoinHandle<()>,
}

async fn start(tls: Option<Arc<ServerConfig>>, places: usize) -> Running {
    start_with(tls, Places::few(places), PATIENCE).await
}

async fn start_with(tls: Option<Arc<ServerConfig>>, places: Arc<Places>, patience: Patience) -> Running {
    let mut listener = Listener::bind(([127, 0, 0, 1], 0).into(), tls).await.unwrap();
    listener.patience = patience;
    let address = listener.address().unwrap();
    let router = Router::new()
        .route("/", get(|Extension(peer): Extension<Peer>| async move { seen(&peer) }))
        .route("/large", get(|| async { vec![b'x'; LARGE] }))
        .route("/never", get(std::future::pending::<()>));
    let (stop, stopped) = watch::channel(false);
    let ended = tokio::spawn(listener.serve(router, places, stopped, DRAIN));
    Running { address, stop, ended }
}

fn seen(peer: &Peer) -> Vec<u8> {
    peer.certificate.as_deref().cloned().unwrap_or_else(|| NOBODY.to_vec())
}

/// A TLS listener with its own certificate, and the roots that a client needs to trust it.
async fn start_encrypted(clients: ClientCertificates) -> (Running, RootCertStore) {
    start_encrypted_with(clients, Places::few(8), PATIENCE).await
}

async fn start_encrypted_with(
    clients: ClientCertificates,
    places: Arc<Places>,
    patience: Patience,
) -> (Running, RootCertStore) {
    let own = identity("localhost");
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let chain = write("tls.pem", own.cert.pem());
    let key = write("tls.key", own.signing_key.serialize_pem());
    let config = server_config(&chain, &key, clients);
    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone()).unwrap();
    (start_with(Some(config), places, patience).await, roots)
}

fn server_config(chain: &Path, key: &Path, clients: ClientCertificates) -> Arc<ServerConfig> {
    tls::server(chain, key, clients).unwrap_or_else(|_| panic!("the certificate is not usable"))
}

fn identity(name: &str) -> CertifiedKey<KeyPair> {
    generate_simple_self_signed([name.to_owned()]).unwrap()
}

/// A client that presents this certificate, if any, with this key, and offers these protocols.
fn client(roots: RootCertStore, shows: Option<sign::CertifiedKey>, protocols: &[&str]) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let mut config = match shows {
        None => builder.with_no_client_auth(),
        Some(shows) => builder.with_client_cert_resolver(Arc::new(Shows(Arc::new(shows)))),
    };
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    config
}

/// Does not check that certificate and key belong together, as rustls itself would.
#[derive(Debug)]
struct Shows(Arc<sign::CertifiedKey>);

impl ResolvesClientCert for Shows {
    fn resolve(&self, _: &[&[u8]], _: &[rustls::SignatureScheme]) -> Option<Arc<sign::CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

fn shows(certificate: &CertifiedKey<KeyPair>, key: &KeyPair) -> sign::CertifiedKey {
    let der = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&der).unwrap();
    sign::CertifiedKey::new(vec![certificate.cert.der().clone()], key)
}

async fn connect(address: SocketAddr, config: ClientConfig) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").unwrap(), stream).await
}

/// One GET over HTTP/1.1.
async fn ask<S>(stream: S, path: &str) -> hyper::Result<Vec<u8>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::get(path).header("host", "localhost").body(Body::empty()).unwrap();
    Ok(body(sender.send_request(request).await?).await)
}

async fn body(response: http::Response<hyper::body::Incoming>) -> Vec<u8> {
    assert_eq!(response.status(), 200);
    axum::body::to_bytes(Body::new(response.into_body()), 1 << 20).await.unwrap().to_vec()
}

#[tokio::test]
async fn a_client_without_a_certificate_is_served_where_one_is_asked_for() {
    let (running, roots) = start_encrypted(ClientCertificates::Asked).await;
    let stream = connect(running.address, client(roots, None, &["http/1.1"])).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
    assert_eq!(ask(stream, "/").await.unwrap(), NOBODY);
}

#[tokio::test]
async fn a_self_signed_client_certificate_reaches_the_handler_unchanged() {
    let (running, roots) = start_encrypted(ClientCertificates::Asked).await;
    let own = identity("a-client.example");
    let config = client(roots, Some(shows(&own, &own.signing_key)), &["http/1.1"]);
    let stream = connect(running.address, config).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
    assert_eq!(ask(stream, "/").await.unwrap(), own.cert.der().to_vec());
}

#[tokio::test]
async fn a_certificate_shown_without_its_key_is_refused() {
    let (running, roots) = start_encrypted(ClientCertificates::Asked).await;
    let (stolen, own) = (identity("a-client.example"), identity("a-client.example"));
    let config = client(roots, Some(shows(&stolen, &own.signing_key)), &["http/1.1"]);
    // In TLS 1.3 the client finishes first, and gets the refusal when it reads.
    if let Ok(stream) = connect(running.address, config).await {
        assert!(ask(stream, "/").await.is_err(), "served without proof of the key");
    }
}

#[tokio::test]
async fn where_none_is_asked_for_a_certificate_is_not_sent() {
    let (running, roots) = start_encrypted(ClientCertificates::NotAsked).await;
    let own = identity("a-client.example");
    let config = client(roots, Some(shows(&own, &own.signing_key)), &[]);
    let stream = connect(running.address, config).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), None, "a client that names no protocol gets HTTP/1.1");
    assert_eq!(ask(stream, "/").await.unwrap(), NOBODY);
}

#[tokio::test]
async fn http2_is_chosen_by_alpn_and_carries_the_certificate_too() {
    let (running, roots) = start_encrypted(ClientCertificates::Asked).await;
    let own = identity("a-client.example");
    let config = client(roots, Some(shows(&own, &own.signing_key)), &["h2", "http/1.1"]);
    let stream = connect(running.address, config).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    for _ in 0..2 {
        let request = Request::get("https://localhost/").body(Body::empty()).unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.version(), http::Version::HTTP_2);
        assert_eq!(body(response).await, own.cert.der().to_vec());
    }
}

#[tokio::test]
async fn without_tls_an_http2_preface_is_not_understood() {
    let running = start(None, 8).await;
    let stream = TcpStream::connect(running.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("http://localhost/").body(Body::empty()).unwrap();
    assert!(sender.send_request(request).await.is_err());
}

#[tokio::test]
async fn when_every_place_is_taken_by_an_idle_connection_the_node_still_stops() {
    let running = start(None, 1).await;
    let idle = TcpStream::connect(running.address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(idle)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("/").header("host", "localhost").body(Body::empty()).unwrap();
    assert_eq!(body(sender.send_request(request).await.unwrap()).await, NOBODY);

    // The place is taken while the connection is open: the next one waits in the kernel.
    let next = ask(TcpStream::connect(running.address).await.unwrap(), "/");
    assert!(timeout(Duration::from_millis(200), next).await.is_err(), "served beyond the limit");

    // Much sooner than the idle connection would be closed.
    running.stop.send(true).unwrap();
    timeout(DRAIN + Duration::from_secs(10), running.ended).await.expect("still accepting").unwrap();
}

#[tokio::test]
async fn a_request_that_does_not_end_is_given_up_when_the_drain_time_is_over() {
    let running = start(None, 1).await;
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    stream.write_all(b"GET /never HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let asked = Instant::now();
    running.stop.send(true).unwrap();
    timeout(DRAIN + Duration::from_secs(10), running.ended).await.expect("still waiting").unwrap();
    assert!(asked.elapsed() >= DRAIN, "given up after {:?}", asked.elapsed());
}

/// Whether the peer has closed it.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut byte = [0; 1];
    match timeout(Duration::from_millis(500), stream.read(&mut byte)).await {
        Ok(read) => read.is_err() || matches!(read, Ok(0)),
        Err(_) => false,
    }
}

#[tokio::test]
async fn row_16_one_address_cannot_hold_every_place() {
    let running = start_with(None, Places::new(8, 2, Box::new(|_| false)), PATIENCE).await;
    let mut first = TcpStream::connect(running.address).await.unwrap();
    let mut second = TcpStream::connect(running.address).await.unwrap();
    let mut third = TcpStream::connect(running.address).await.unwrap();
    assert!(is_closed(&mut third).await, "a third connection of one address");
    assert!(!is_closed(&mut first).await && !is_closed(&mut second).await);
    drop(first);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(ask(TcpStream::connect(running.address).await.unwrap(), "/").await.unwrap(), NOBODY);
}

#[tokio::test]
async fn row_16_a_trusted_proxy_may_hold_as_many_as_there_are() {
    let running = start_with(None, Places::new(8, 2, Box::new(|_| true)), PATIENCE).await;
    let mut every = Vec::new();
    for _ in 0..6 {
        every.push(TcpStream::connect(running.address).await.unwrap());
    }
    for stream in &mut every {
        assert!(!is_closed(stream).await);
    }
}

#[tokio::test]
async fn row_16_a_peer_that_does_not_read_loses_its_place() {
    let running = start_with(None, Places::few(1), IMPATIENT).await;
    let mut stuck = TcpStream::connect(running.address).await.unwrap();
    stuck.write_all(b"GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let next = async { ask(TcpStream::connect(running.address).await.unwrap(), "/").await };
    let served = timeout(Duration::from_secs(20), next).await.expect("the place is still taken");
    assert_eq!(served.unwrap(), NOBODY);
    drop(stuck);
}

/// An HTTP/2 connection with this receive window, and its end.
async fn second_version(
    running: &Running,
    roots: RootCertStore,
    window: u32,
) -> (hyper::client::conn::http2::SendRequest<Body>, JoinHandle<()>) {
    let stream = connect(running.address, client(roots, None, &["h2"])).await.unwrap();
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(window);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    (sender, tokio::spawn(async move { drop(connection.await) }))
}

#[tokio::test]
async fn row_16_an_http2_connection_that_asks_for_nothing_ends() {
    let places = Places::few(1);
    let (running, roots) = start_encrypted_with(ClientCertificates::NotAsked, places, IMPATIENT).await;
    let (mut sender, ended) = second_version(&running, roots, 65_535).await;
    for _ in 0..4 {
        // In use it stays open for longer than it may be idle.
        let request = Request::get("https://localhost/").body(Body::empty()).unwrap();
        assert_eq!(body(sender.send_request(request).await.unwrap()).await, NOBODY);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    timeout(Duration::from_secs(10), ended).await.expect("an idle connection lives on").unwrap();
}

#[tokio::test]
async fn row_16_an_http2_peer_that_opens_no_window_loses_its_place() {
    let places = Places::few(1);
    let (running, roots) = start_encrypted_with(ClientCertificates::NotAsked, places, IMPATIENT).await;
    let (mut sender, ended) = second_version(&running, roots, 0).await;
    let request = Request::get("https://localhost/large").body(Body::empty()).unwrap();
    let answer = sender.send_request(request).await.unwrap();
    timeout(Duration::from_secs(10), ended).await.expect("a stuck answer keeps the connection").unwrap();
    drop(answer);
}

/// The first message of a client that supports no version above this one, and only these ciphers.
fn hello(version: u16, ciphers: &[u16]) -> Vec<u8> {
    let sized = |bytes: &[u8]| [&u16::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat();
    let numbers = |list: &[u16]| list.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>();
    let extension = |kind: u16, bytes: Vec<u8>| [kind.to_be_bytes().as_slice(), &sized(&bytes)].concat();
    let extensions = [
        extension(0, sized(&[&[0][..], &sized(b"localhost")].concat())),
        extension(10, sized(&numbers(&[29, 23]))),
        extension(11, vec![1, 0]),
        extension(13, sized(&numbers(&[0x0403, 0x0804, 0x0401]))),
    ]
    .concat();
    let body = [
        version.to_be_bytes().as_slice(),
        &[7; 32],
        &[0],
        &sized(&numbers(ciphers)),
        &[1, 0],
        &sized(&extensions),
    ]
    .concat();
    // A type and three bytes of length before it; then the record around it.
    let message = [&[1, 0][..], &sized(&body)].concat();
    [&[22, 3, 1][..], &sized(&message)].concat()
}

/// FAPI 2.0 Security Profile §5.2.2: at least TLS 1.2, and in it only ciphers with forward secrecy and AEAD.
#[tokio::test]
async fn old_versions_and_weak_ciphers_get_no_handshake() {
    const HANDSHAKE: u8 = 22;
    const GOOD: u16 = 0xc02b;
    let (running, _) = start_encrypted(ClientCertificates::Asked).await;
    for (what, version, ciphers, served) in [
        ("TLS 1.0", 0x0301, vec![GOOD, 0xc009, 0x002f], false),
        ("TLS 1.1", 0x0302, vec![GOOD, 0xc009, 0x002f], false),
        ("TLS 1.2 with CBC", 0x0303, vec![0xc009, 0xc00a, 0xc023, 0xc024], false),
        ("TLS 1.2 with ChaCha20", 0x0303, vec![0xcca8, 0xcca9], false),
        ("TLS 1.2 without forward secrecy", 0x0303, vec![0x009c, 0x009d, 0x002f], false),
        ("TLS 1.2 as it should be", 0x0303, vec![GOOD], true),
    ] {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        stream.write_all(&hello(version, &ciphers)).await.unwrap();
        let mut first = [0; 1];
        let read = timeout(Duration::from_secs(5), stream.read(&mut first)).await.unwrap();
        assert_eq!(matches!(read, Ok(1)) && first[0] == HANDSHAKE, served, "{what}: {read:?} {first:?}");
    }
}
