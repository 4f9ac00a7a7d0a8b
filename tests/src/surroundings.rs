//! What surrounds every route: headers, limits, panics, timeouts, proxies.

use std::net::SocketAddr;

use axum::{Extension, body::Body};
use http::{Method, Request, StatusCode};
use porteiro_service::http::{Access, ClientAddress, ClientCertificate, Form, Json, Route};
use porteiro_testkit::{Answer, TestApp};

const TEST: Access = Access::Public("a test's own route");

async fn broken() -> &'static str {
    panic!("a canary in a panic")
}

/// Routes that misbehave, and routes that read bodies.
fn probes() -> Vec<Route> {
    vec![
        Route::get("/probe/panic", TEST, broken),
        Route::get("/probe/slow", TEST, || async {
            tokio::time::sleep(std::time::Duration::from_mins(1)).await;
        }),
        Route::post("/probe/form", TEST, |Form(form): Form| async move { form.names().count().to_string() }),
        Route::post(
            "/probe/json",
            TEST,
            |Json(value): Json<serde_json::Value>| async move { value.to_string() },
        ),
        Route::get(
            "/probe/address",
            TEST,
            |Extension(ClientAddress(address)): Extension<ClientAddress>| async move { address.to_string() },
        ),
        Route::get("/probe/certificate", TEST, |found: Option<Extension<ClientCertificate>>| async move {
            found.map_or("none".into(), |Extension(ClientCertificate(der))| der.len().to_string())
        }),
    ]
}

fn assert_framed_by_nobody(what: &str, answer: &Answer) {
    assert_eq!(answer.header("x-frame-options"), "DENY", "{what}");
    assert!(answer.header("content-security-policy").contains("frame-ancestors 'none'"), "{what}");
    assert_eq!(answer.header("x-content-type-options"), "nosniff", "{what}");
    assert_eq!(answer.header("referrer-policy"), "no-referrer", "{what}");
    assert!(answer.header("strict-transport-security").starts_with("max-age="), "{what}");
    assert!(!answer.header("x-request-id").is_empty(), "{what}");
}

#[tokio::test]
async fn every_response_carries_the_header_set() {
    let app = TestApp::builder()
        .routes(probes())
        .settings(|settings| settings.request_timeout_seconds = 1)
        .start()
        .await;
    let oversize = Request::post("/probe/form")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("content-length", "2000000")
        .body(Body::empty())
        .unwrap();
    for (status, what, answer) in [
        (200, "an ordinary answer", app.get("/healthz").await),
        (404, "not found", app.get("/nothing/here").await),
        (405, "wrong method", app.method(Method::DELETE, "/healthz").await),
        (413, "too large", app.send(oversize).await),
        (415, "wrong type", app.post("/probe/form", "text/plain", "a=1").await),
        (500, "a panic", app.get("/probe/panic").await),
        (503, "a timeout", app.get("/probe/slow").await),
        (204, "a preflight", app.method(Method::OPTIONS, "/.well-known/jwks.json").await),
    ] {
        assert_eq!(answer.status.as_u16(), status, "{what}: {}", answer.text());
        assert_framed_by_nobody(what, &answer);
        if status >= 400 {
            assert_eq!(answer.header("content-type"), "application/problem+json", "{what}");
            let problem = answer.json();
            assert_eq!(problem["status"], status, "{what}");
            assert_eq!(problem["instance"], format!("urn:uuid:{}", answer.header("x-request-id")), "{what}");
            assert!(!answer.text().contains("canary"), "{what} says too much");
        }
    }
}

#[tokio::test]
async fn f14_oversize_bodies_are_refused_never_cut() {
    let app = TestApp::builder().routes(probes()).start().await;
    let fits = format!("{}a=1", "&".repeat(64 * 1024 - 3));
    assert_eq!(app.form("/probe/form", fits.clone()).await.status, StatusCode::OK);
    assert_eq!(app.form("/probe/form", format!("&{fits}")).await.status, StatusCode::PAYLOAD_TOO_LARGE);

    // Without an announced length, counted while it arrives.
    let endless = axum::body::Body::from_stream(Endless);
    assert_eq!(app.form("/probe/form", endless).await.status, StatusCode::PAYLOAD_TOO_LARGE);

    let text = format!("\"{}\"", "x".repeat(32_768 - 2));
    assert_eq!(app.post("/probe/json", "application/json", text.clone()).await.status, StatusCode::OK);
    let answer = app.post("/probe/json", "application/json", format!(" {text}")).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);

    let squeezed = Request::post("/probe/json")
        .header("content-type", "application/json")
        .header("content-encoding", "gzip")
        .body(Body::from("{}"))
        .unwrap();
    assert_eq!(app.send(squeezed).await.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

/// A body that never ends, 4 KiB at a time.
struct Endless;

impl futures_core::Stream for Endless {
    type Item = Result<Vec<u8>, std::convert::Infallible>;
    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(Some(Ok(vec![b'&'; 4096])))
    }
}

#[tokio::test]
async fn f15_hostile_json_is_refused() {
    let app = TestApp::builder().routes(probes()).start().await;
    for (body, expected) in [
        (r#"{"a":1}"#.to_owned(), 200),
        (r#"{"a":1,"a":2}"#.to_owned(), 400),
        ("[".repeat(17) + &"]".repeat(17), 400),
        ("[".repeat(16) + &"]".repeat(16), 200),
        ("[".repeat(30_000), 400),
        (r#"{"a":"\ud800"}"#.to_owned(), 400),
        ("{".to_owned(), 400),
        (String::new(), 400),
    ] {
        let answer = app.post("/probe/json", "application/json", body.clone()).await;
        assert_eq!(answer.status.as_u16(), expected, "{}", &body[..body.len().min(40)]);
    }
    let foreign = app.post("/probe/json", "application/json; charset=latin1", "{}").await;
    assert_eq!(foreign.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let spelt_out = app.post("/probe/json", "application/json; charset=UTF-8", "{}").await;
    assert_eq!(spelt_out.status, StatusCode::OK);
}

#[tokio::test]
async fn f16_f17_many_or_long_headers_and_parameters_are_refused() {
    let app = TestApp::builder().routes(probes()).start().await;
    let bomb = Request::get("/healthz").header("cookie", "c".repeat(17 * 1024)).body(Body::empty()).unwrap();
    assert_eq!(app.send(bomb).await.status, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    let long = format!("/healthz?{}", "q".repeat(17 * 1024));
    assert_eq!(app.get(&long).await.status, StatusCode::PAYLOAD_TOO_LARGE);

    let many = (0..65).map(|index| format!("p{index}=1")).collect::<Vec<_>>().join("&");
    assert_eq!(app.form("/probe/form", many).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(app.form("/probe/form", "a=1&a=1").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(
        app.form("/probe/form", format!("state={}", "x".repeat(4097))).await.status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(app.form("/probe/form", format!("token={}", "x".repeat(16_000))).await.status, StatusCode::OK);
}

#[tokio::test]
async fn forwarded_addresses_are_believed_from_trusted_proxies_only() {
    let forwarded = || {
        Request::get("/probe/address")
            .header("x-forwarded-for", "6.6.6.6, 198.51.100.4")
            .body(Body::empty())
            .unwrap()
    };
    let stranger = TestApp::builder().routes(probes()).start().await;
    assert_eq!(stranger.send(forwarded()).await.text(), "203.0.113.7");

    let proxied = TestApp::builder()
        .routes(probes())
        .settings(|settings| settings.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()])
        .peer(SocketAddr::from(([10, 1, 2, 3], 5000)))
        .start()
        .await;
    assert_eq!(proxied.send(forwarded()).await.text(), "198.51.100.4");
}

#[tokio::test]
async fn a_certificate_header_is_believed_from_trusted_proxies_only() {
    let pem = porteiro_testkit::self_signed_pem("client.example.test");
    let escaped: String = pem
        .bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' => (byte as char).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect();
    let request = |value: &str| {
        Request::get("/probe/certificate").header("x-client-cert", value).body(Body::empty()).unwrap()
    };
    let build = |peer: [u8; 4]| {
        TestApp::builder()
            .routes(probes())
            .settings(|settings| {
                settings.client_certificate_header = Some("x-client-cert".into());
                settings.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
            })
            .peer(SocketAddr::from((peer, 5000)))
            .start()
    };
    let (proxy, stranger) = (build([10, 1, 2, 3]).await, build([203, 0, 113, 7]).await);
    assert_ne!(proxy.send(request(&escaped)).await.text(), "none");
    assert_eq!(proxy.send(request("nonsense")).await.text(), "none");
    assert_eq!(stranger.send(request(&escaped)).await.text(), "none");
}
