//! F-ssrf: the fetcher against names that lie and servers that misbehave. Real sockets, no internet.

mod tls;

pub use tls::certified;

use std::{
    collections::VecDeque,
    io,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use porteiro_service::fetch::{
    Answers,
    Destination::{Operators, Strangers},
    FetchError, FetchPolicy, Fetcher, Lookup,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// A server on this machine that writes down what it is asked.
pub(crate) struct Recorder {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    /// Says the same to everybody, in pieces with a pause between them.
    pub(crate) async fn start(pieces: Vec<Vec<u8>>, pause: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (record, pieces) = (Arc::clone(&heard), Arc::new(pieces));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                // A connection counts, whatever is said on it.
                let place = {
                    let mut record = record.lock().unwrap();
                    record.push(String::new());
                    record.len() - 1
                };
                let (record, pieces) = (Arc::clone(&record), Arc::clone(&pieces));
                tokio::spawn(async move {
                    let request = read_request(&mut stream).await;
                    record.lock().unwrap()[place] = request;
                    for piece in pieces.iter() {
                        if stream.write_all(piece).await.is_err() {
                            return;
                        }
                        tokio::time::sleep(pause).await;
                    }
                });
            }
        });
        Self { port, heard }
    }

    pub(crate) async fn answering(answer: &str) -> Self {
        Self::start(vec![answer.as_bytes().to_vec()], Duration::ZERO).await
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// A fetcher that may talk to this server on the operator's behalf.
    pub(crate) fn fetcher(&self) -> Fetcher {
        let allowed_private_hosts = vec![format!("127.0.0.1:{}", self.port)];
        Fetcher::new(FetchPolicy { allowed_private_hosts, ..FetchPolicy::default() }).unwrap()
    }
}

pub(crate) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

const JSON: &str = "content-type: application/json\r\n";

/// Gives one answer after the other, and the last one for ever.
#[derive(Clone)]
struct Liar {
    answers: Arc<Mutex<VecDeque<Vec<IpAddr>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Liar {
    fn new(answers: &[&[&str]]) -> Self {
        let parse = |answer: &&[&str]| answer.iter().map(|ip| ip.parse().unwrap()).collect();
        Self { answers: Arc::new(Mutex::new(answers.iter().map(parse).collect())), asked: Arc::default() }
    }

    fn fetcher(&self, policy: FetchPolicy) -> Fetcher {
        Fetcher::with_lookup(policy, Arc::new(self.clone())).unwrap()
    }
}

impl Lookup for Liar {
    fn lookup(&self, name: String) -> Answers {
        self.asked.lock().unwrap().push(name);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("no such name")) })
    }
}

fn on_port(port: u16) -> FetchPolicy {
    FetchPolicy { allowed_ports: vec![port], ..FetchPolicy::default() }
}

/// Allowed by the rules, given to nobody by IANA: no packet finds a way there.
const NOWHERE: &str = "2d00::1";

#[tokio::test]
async fn a_name_with_any_forbidden_address_is_not_connected_to_and_every_failure_takes_the_same_time() {
    let server = Recorder::answering(&http("200 OK", JSON, "{}")).await;
    let url = format!("https://victim.example:{}/", server.port);
    let answers: &[&[&str]] = &[
        &["127.0.0.1"],
        &["0.0.0.0"],
        &["::1", "127.0.0.1"],
        &["::ffff:127.0.0.1"],
        &["::127.0.0.1"],
        &["169.254.169.254"],
        &["fd00:ec2::254"],
        &["64:ff9b::7f00:1"],
        &["2002:7f00:1::1"],
        // Mixed, either way round.
        &[NOWHERE, "127.0.0.1"],
        &["127.0.0.1", NOWHERE],
        // Nothing at all.
        &[],
    ];
    let mut tries = tokio::task::JoinSet::new();
    for to in [Strangers, Operators] {
        for answer in answers {
            let liar = Liar::new(&[answer]);
            let (fetcher, url) = (liar.fetcher(on_port(server.port)), url.clone());
            tries.spawn(async move {
                let start = Instant::now();
                assert_eq!(fetcher.get_json(to, &url, 1000).await, Err(FetchError));
                let took = start.elapsed();
                assert!(to == Operators || (2900..15_000).contains(&took.as_millis()), "{took:?}");
                assert_eq!(*liar.asked.lock().unwrap(), ["victim.example."], "complete, and asked once");
            });
        }
    }
    while let Some(done) = tries.join_next().await {
        done.unwrap();
    }
    assert_eq!(server.heard(), [""; 0], "nobody came");

    // The same server is reached by who may: the silence above means something.
    server.fetcher().get_json(Operators, &server.url("/"), 1000).await.unwrap();
    assert_eq!(server.heard().len(), 1);
}

#[tokio::test]
async fn an_answer_that_changes_is_not_asked_for_twice() {
    let server = Recorder::answering(&http("200 OK", JSON, "{}")).await;
    let liar = Liar::new(&[&[NOWHERE], &["127.0.0.1"]]);
    let fetcher = liar.fetcher(on_port(server.port));
    let url = format!("https://rebind.example:{}/", server.port);
    for times in 1..=2 {
        assert_eq!(fetcher.get_json(Strangers, &url, 1000).await, Err(FetchError));
        assert_eq!(liar.asked.lock().unwrap().len(), times);
    }
    assert_eq!(server.heard(), [""; 0]);
}

#[tokio::test]
async fn what_operators_may_reach_strangers_may_not() {
    let server = Recorder::answering(&http("200 OK", JSON, "{\"a\":1}")).await;
    let (fetcher, url) = (server.fetcher(), server.url("/x"));
    assert_eq!(fetcher.get_json(Strangers, &url, 1000).await, Err(FetchError));
    assert_eq!(server.heard(), [""; 0]);
    assert_eq!(fetcher.get_json(Operators, &url, 1000).await.unwrap()["a"], 1);
    let heard = server.heard().concat().to_lowercase();
    assert!(heard.starts_with("get /x http/1.1\r\n"));
    assert!(heard.contains("accept-encoding: identity\r\n") && !heard.contains("gzip"), "{heard}");
    assert!(!heard.contains("referer") && !heard.contains("cookie"));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let goal = Recorder::answering(&http("200 OK", JSON, "{}")).await;
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Again", "308 For Good"] {
        let headers = format!("{JSON}location: {}\r\n", goal.url("/"));
        let server = Recorder::answering(&http(status, &headers, "{}")).await;
        // Both are listed: only the redirect itself is in question.
        let allowed_private_hosts = [server.port, goal.port].map(|port| format!("127.0.0.1:{port}")).to_vec();
        let fetcher = Fetcher::new(FetchPolicy { allowed_private_hosts, ..FetchPolicy::default() }).unwrap();
        assert_eq!(fetcher.get_json(Operators, &server.url("/"), 1000).await, Err(FetchError));
        let answer = fetcher.post_form(Operators, &server.url("/"), None, &[("a", "b")]).await.unwrap();
        assert_eq!(answer.to_string(), status[..3]);
    }
    assert_eq!(goal.heard(), [""; 0]);
}

#[tokio::test]
async fn bodies_are_cut_when_they_are_long_or_slow() {
    let exact = Recorder::answering(&http("200 OK", JSON, "[1,2,3]")).await;
    assert!(exact.fetcher().get_json(Operators, &exact.url("/"), 7).await.is_ok());
    assert_eq!(exact.fetcher().get_json(Operators, &exact.url("/"), 6).await, Err(FetchError));

    let head = format!("HTTP/1.1 200 OK\r\n{JSON}\r\n").into_bytes();
    // No length, no end: a gigabyte in small pieces.
    let mut endless = vec![head.clone()];
    endless.resize(100_000, vec![b' '; 10_000]);
    let endless = Recorder::start(endless, Duration::ZERO).await;
    let start = Instant::now();
    assert_eq!(endless.fetcher().get_json(Operators, &endless.url("/"), 65_536).await, Err(FetchError));
    assert!(start.elapsed() < Duration::from_millis(2900), "cut for its size, not for its time");

    let mut dribble = vec![head];
    dribble.resize(100, b" ".to_vec());
    let dribble = Recorder::start(dribble, Duration::from_millis(200)).await;
    let start = Instant::now();
    assert_eq!(dribble.fetcher().get_json(Operators, &dribble.url("/"), 65_536).await, Err(FetchError));
    assert!((2900..15_000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
}

#[tokio::test]
async fn only_plain_strict_json_of_the_right_type_is_read() {
    let gzip = "content-encoding: gzip\r\n";
    for (status, headers, body, good) in [
        ("200 OK", JSON.to_owned(), "{\"a\":1}", true),
        ("200 OK", "content-type: application/jwk-set+json; charset=utf-8\r\n".into(), "{}", true),
        ("200 OK", "content-type: text/html\r\n".into(), "{}", false),
        ("200 OK", "content-type: text/json\r\n".into(), "{}", false),
        ("200 OK", String::new(), "{}", false),
        ("200 OK", format!("{JSON}{gzip}"), "{}", false),
        ("200 OK", JSON.into(), "{\"a\":1,\"a\":2}", false),
        ("200 OK", JSON.into(), "{} x", false),
        ("201 Created", JSON.into(), "{}", false),
        ("404 Not Found", JSON.into(), "{}", false),
        ("500 Oh", JSON.into(), "{}", false),
    ] {
        let server = Recorder::answering(&http(status, &headers, body)).await;
        let answer = server.fetcher().get_json(Operators, &server.url("/"), 1000).await;
        assert_eq!(answer.is_ok(), good, "{status} {headers} {body}");
    }

    // Really compressed: refused, not unpacked.
    let bomb = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 4, 0, 0x43, 0xbe, 0xb7, 0xe8, 1, 0, 0, 0];
    let head = format!("HTTP/1.1 200 OK\r\n{gzip}content-type: text/plain\r\ncontent-length: 21\r\n\r\n");
    let server = Recorder::start(vec![[head.as_bytes(), &bomb].concat()], Duration::ZERO).await;
    assert_eq!(server.fetcher().get_text(Operators, &server.url("/"), 1000).await, Err(FetchError));

    let server = Recorder::answering(&http("200 OK", "content-type: text/plain\r\n", "0018A:1\r\n")).await;
    assert_eq!(server.fetcher().get_text(Operators, &server.url("/"), 99).await.unwrap(), "0018A:1\r\n");
}
