//! Metrics on their own listener, traces to a collector, request ids in the log.

use std::time::Duration;

use porteiro_testkit::{Node, get};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

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

/// The node's output, once it contains `what`.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traces_reach_a_collector() {
    let collector = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("--otlp-endpoint=http://{}", collector.local_addr().unwrap());
    let received = tokio::spawn(async move {
        let (mut stream, _) = collector.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.windows(8).any(|window| window == b"/healthz") {
            if stream.read_buf(&mut request).await.unwrap() == 0 {
                break;
            }
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        request
    });
    let installation = Installation::ready().await;
    let mut node = installation.start(&[&endpoint]);
    node.get("/healthz");
    node.terminate();
    node.wait(Duration::from_secs(20));
    let received = tokio::time::timeout(Duration::from_mins(1), received).await;
    let received = received.expect("the node exports before it ends").unwrap();
    let request = String::from_utf8_lossy(&received).into_owned();
    assert!(request.starts_with("POST /v1/traces"), "{request}");
    assert!(request.contains("porteiro") && request.contains("/healthz"));
}
