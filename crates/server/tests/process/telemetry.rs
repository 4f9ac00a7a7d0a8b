//! Metrics on their own listener, traces to a collector, request ids in the log.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    time::{Duration, Instant},
};

use porteiro_testkit::{Node, get};

use crate::installation::Installation;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_have_labels_from_closed_sets_and_an_address_of_their_own() {
    let installation = Installation::ready().await;
    let node = installation.start(&["--metrics-listen=127.0.0.1:0"]);
    for path in ["/healthz", "/readyz", "/stranger/1", "/stranger/2?x=1"] {
        node.get(path);
    }
    assert_eq!(node.get("/metrics").status, 404, "never on the public address");
    let output = logged(&node, "\"metrics\"").await;
    let line = output.lines().find(|line| line.contains("\"metrics\"")).unwrap();
    let address = line.split("\"address\":\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    let metrics = get(address, "/metrics").unwrap().body;
    assert!(metrics.contains(r#"route="/healthz""#), "{metrics}");
    assert!(metrics.contains(r#"route="none""#) && !metrics.contains("stranger"), "{metrics}");
    assert!(
        metrics.contains(r#"porteiro_store_seconds_count{operation="health.clock",outcome="ok"}"#),
        "{metrics}"
    );

    let answer = node.get("/healthz");
    let id = answer.head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap().to_owned();
    logged(&node, &id).await;
}

/// What the node has printed, once this is in it.
async fn logged(node: &Node, what: &str) -> String {
    for _ in 0..400 {
        let output = node.output();
        if output.contains(what) {
            return output;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nowhere in the log: {what}\n{}", node.output());
}

/// A connection within the time, so that a node that exports nothing fails the test instead of hanging it.
fn accepted(collector: &TcpListener, within: Duration) -> TcpStream {
    collector.set_nonblocking(true).unwrap();
    let until = Instant::now() + within;
    loop {
        match collector.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).unwrap();
                return stream;
            }
            Err(error) if Instant::now() > until => panic!("the node exported nothing: {error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traces_reach_a_collector() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("--otlp-endpoint=http://{}", collector.local_addr().unwrap());
    let received = std::thread::spawn(move || {
        let mut stream = accepted(&collector, Duration::from_secs(60));
        stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let mut request = Vec::new();
        let mut buffer = vec![0; 65_536];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            request.extend_from_slice(&buffer[..count]);
            if request.windows(8).any(|window| window == b"/healthz") {
                break;
            }
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        request
    });
    let installation = Installation::ready().await;
    let mut node = installation.start(&[&endpoint]);
    node.get("/healthz");
    node.terminate();
    node.wait(Duration::from_secs(20));
    let request = String::from_utf8_lossy(&received.join().unwrap()).into_owned();
    assert!(request.starts_with("POST /v1/traces"), "{request}");
    assert!(request.contains("porteiro") && request.contains("/healthz"));
}
