//! SIGTERM: no longer ready, open requests finish, then a clean end. Slow senders are disconnected.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use porteiro_testkit::{FaultProxy, Node, get};

use crate::{BINARY, installation::Installation};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_request_is_answered_before_the_node_ends() {
    let installation = Installation::ready().await;
    let proxy = FaultProxy::start(&installation.database.url()).await;
    let mut settings = installation.settings();
    settings[0] = format!("--database-url={}", proxy.url(&installation.database.url()));
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let mut node = Node::start(BINARY, &settings);

    // A request that waits for the database, which is stalled.
    proxy.faults.stalled.store(true, Ordering::Relaxed);
    let address = node.address;
    let open = tokio::task::spawn_blocking(move || get(address, "/readyz"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    node.terminate();
    let answer = open.await.unwrap().expect("the open request was dropped");
    assert_eq!(answer.status, 503);
    proxy.faults.stalled.store(false, Ordering::Relaxed);
    assert_eq!(node.wait(Duration::from_secs(20)), Some(0), "{}", node.output());
    assert!(get(address, "/healthz").is_err(), "nobody listens any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f13_slow_headers_are_cut_off_while_others_are_served() {
    let installation = Installation::ready().await;
    let node = installation.start(&[]);
    let started = Instant::now();
    let slow: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut stream = TcpStream::connect(node.address).unwrap();
            stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ").unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
            stream
        })
        .collect();
    assert_eq!(node.get("/healthz").status, 200);
    for mut stream in slow {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&rest));
    }
    let seconds = started.elapsed().as_secs();
    assert!((4..14).contains(&seconds), "cut off after {seconds} s");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f16_header_bombs_are_refused() {
    let installation = Installation::ready().await;
    let node = installation.start(&[]);
    let headers: Vec<String> = (0..200).map(|index| format!("x-{index}: 1\r\n")).collect();
    let many = format!("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{}", headers.concat());
    let huge = format!("GET /healthz HTTP/1.1\r\nhost: x\r\nx-huge: {}", "h".repeat(1 << 20));
    for bomb in [many + "\r\n", huge + "\r\n\r\n"] {
        let mut stream = TcpStream::connect(node.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let _ = stream.write_all(bomb.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
    assert_eq!(node.get("/healthz").status, 200);
}
