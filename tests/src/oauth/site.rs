//! A client's own web site, on this machine and over TLS: what it serves may change, and it writes down what it hears.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use porteiro_service::oauth::apis;
use porteiro_testkit::{TestApp, TestAppBuilder};
use serde_json::Value;
use tokio::{io::AsyncWriteExt, net::TcpListener};

use crate::fetch::{certified, http, read_request};

type Pages = Arc<Mutex<HashMap<String, String>>>;

pub struct Site {
    pub port: u16,
    authority: tempfile::NamedTempFile,
    pages: Pages,
    heard: Arc<Mutex<Vec<String>>>,
    pause: Arc<Mutex<Duration>>,
}

impl Site {
    pub async fn start() -> Self {
        let (acceptor, authority) = certified("localhost");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let site = Self {
            port: listener.local_addr().unwrap().port(),
            authority,
            pages: Pages::default(),
            heard: Arc::default(),
            pause: Arc::default(),
        };
        let (pages, heard, pause) =
            (Arc::clone(&site.pages), Arc::clone(&site.heard), Arc::clone(&site.pause));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let request = read_request(&mut stream).await;
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                heard.lock().unwrap().push(request);
                let wait = *pause.lock().unwrap();
                tokio::time::sleep(wait).await;
                let page = pages.lock().unwrap().get(&path).cloned();
                let answer = page.unwrap_or_else(|| http("404 Not Found", "", ""));
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        });
        site
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    /// A whole answer, head and all.
    pub fn answer(&self, path: &str, answer: String) {
        self.pages.lock().unwrap().insert(path.to_owned(), answer);
    }

    pub fn serve(&self, path: &str, content_type: &str, body: &str) {
        self.answer(path, http("200 OK", &format!("content-type: {content_type}\r\n"), body));
    }

    pub fn serve_keys(&self, path: &str, keys: &Value) {
        self.serve(path, "application/json", &keys.to_string());
    }

    /// Answers only after a while.
    pub fn hesitate(&self, pause: Duration) {
        *self.pause.lock().unwrap() = pause;
    }

    /// Every request so far, whole.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An application that lets clients name this site.
    pub async fn app(&self) -> Arc<TestApp> {
        self.app_with(4).await
    }

    /// The same, for a test that changes more.
    pub fn builder(&self) -> TestAppBuilder {
        TestApp::builder().people().settings(|settings| {
            settings.outbound_client_hosts = vec![format!("localhost:{}", self.port)];
            settings.outbound_ca_file = Some(self.authority.path().into());
            settings.client_registrations_per_hour = 1_000;
        })
    }

    pub async fn app_with(&self, connections: usize) -> Arc<TestApp> {
        let app = self.builder().settings(|settings| {
            settings.database_pool_size = settings.database_pool_size.min(connections);
        });
        let app = app.start().await;
        apis::register(&app.app.store, &super::ledger()).await.unwrap();
        Arc::new(app)
    }
}
