//! A browser without script: reads pages, sends forms, keeps cookies.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use axum::{Router, body::Body, extract::Request, middleware::Next};
use http::{HeaderMap, Method, header};
use porteiro_screens::{Deployment, mount};
use porteiro_service::{http::Surroundings, settings::Settings};
use porteiro_testkit::{Answer, TestApp};

pub const ORIGIN: &str = "https://id.example.test";

/// The requests that reached the service, in order.
pub type Record = Arc<Mutex<Vec<(Method, String)>>>;

/// The application with screens, and the record of their calls.
pub async fn app() -> (Arc<TestApp>, Record) {
    app_with(|_| {}).await
}

pub async fn app_with(change: impl FnOnce(&mut Settings)) -> (Arc<TestApp>, Record) {
    let app = TestApp::builder().people().settings(change).start().await;
    let record = Record::default();
    let seen = Arc::clone(&record);
    let mut deployment =
        Deployment::of(&app.app.checked.settings, Arc::clone(&app.app.entropy)).expect("a deployment");
    deployment.surroundings = Some(Surroundings::of(&app.app.core));
    let app = app.mounted(|router: Router| {
        let recorded = router.layer(axum::middleware::from_fn(move |request: Request, next: Next| {
            let seen = Arc::clone(&seen);
            async move {
                let call = (request.method().clone(), request.uri().path().to_owned());
                seen.lock().expect("the record").push(call);
                next.run(request).await
            }
        }));
        mount(recorded, deployment)
    });
    (Arc::new(app), record)
}

/// A body that never arrives.
struct Never;

impl futures_core::Stream for Never {
    type Item = Result<&'static [u8], std::io::Error>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Pending
    }
}

pub struct Person {
    app: Arc<TestApp>,
    pub cookies: BTreeMap<String, String>,
    pub language: &'static str,
    pub origin: &'static str,
    /// The paths that this browser requested.
    pub been: Vec<String>,
}

impl Person {
    pub fn new(app: &Arc<TestApp>) -> Self {
        Self {
            app: Arc::clone(app),
            cookies: BTreeMap::new(),
            language: "en",
            origin: ORIGIN,
            been: Vec::new(),
        }
    }

    async fn send(&mut self, request: http::request::Builder, body: Body) -> Answer {
        self.been.extend(request.uri_ref().map(|uri| uri.path().to_owned()));
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = request
            .header(header::ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")
            .header(header::ACCEPT_LANGUAGE, self.language);
        if !cookies.is_empty() {
            request = request.header(header::COOKIE, cookies.join("; "));
        }
        let answer = self.app.send(request.body(body).expect("a request")).await;
        for line in answer.headers.get_all(header::SET_COOKIE) {
            let pair = line.to_str().expect("a cookie").split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').expect("a cookie's value");
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        self.send(Request::get(path), Body::empty()).await
    }

    /// A picture or frame on another site's page.
    pub async fn fetched(&mut self, path: &str, as_what: &str) -> Answer {
        let request = Request::get(path)
            .header("sec-fetch-site", "cross-site")
            .header("sec-fetch-mode", if as_what == "document" { "navigate" } else { "no-cors" })
            .header("sec-fetch-dest", as_what);
        self.send(request, Body::empty()).await
    }

    /// Sends a form that never ends.
    pub async fn trickle(&mut self, path: &str) -> Answer {
        let request = Request::post(path)
            .header(header::ORIGIN, self.origin)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request, Body::from_stream(Never)).await
    }

    /// Requests a page and follows its redirects.
    pub async fn visit(&mut self, path: &str) -> (String, Answer) {
        let mut path = path.to_owned();
        loop {
            let answer = self.get(&path).await;
            let location = answer.header("location").to_owned();
            if !location.starts_with('/') {
                return (path, answer);
            }
            path = location;
        }
    }

    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body: String = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect::<Vec<_>>()
            .join("&");
        let request = Request::post(path)
            .header(header::ORIGIN, self.origin)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request, Body::from(body)).await
    }

    /// As a page of another implementation does: through the JSON API.
    pub async fn post_json(&mut self, path: &str, body: &str) -> Answer {
        let request = Request::post(path)
            .header(header::ORIGIN, self.origin)
            .header(header::CONTENT_TYPE, "application/json");
        self.send(request, Body::from(body.to_owned())).await
    }

    /// Sends an action of the flow on this page.
    pub async fn act(&mut self, page: &Answer, path: &str, action: &str, fields: &[(&str, &str)]) -> Answer {
        let step = step(page);
        let mut all = vec![("action", action), ("step", step.as_str())];
        all.extend_from_slice(fields);
        self.post(path, &all).await
    }

    pub async fn code(&self, address: &str) -> String {
        self.app.mailed_code(address).await
    }

    /// Registers an account with a password; it is signed in afterwards.
    pub async fn register(&mut self, address: &str) -> Answer {
        let (path, page) = self.visit("/ui/register").await;
        let page = self.act(&page, &path, "email_code/send", &[("identifier", address)]).await;
        let code = self.code(address).await;
        let page = self.act(&page, &path, "email_code/check", &[("code", &code)]).await;
        let page = self.act(&page, &path, "profile/set", &[("display_name", "Ana")]).await;
        self.act(&page, &path, "password/set", &[("new_password", "correct horse battery")]).await
    }
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

/// The step in a page's forms.
pub fn step(page: &Answer) -> String {
    let text = page.text();
    let rest = text.split("name=\"step\" value=\"").nth(1);
    let rest = rest.unwrap_or_else(|| panic!("no form on this page: {} {text}", page.status));
    rest.split('"').next().unwrap_or_default().to_owned()
}

pub fn title(page: &Answer) -> String {
    let text = page.text();
    let rest = text.split("<h1>").nth(1).unwrap_or_else(|| panic!("no heading: {} {text}", page.status));
    rest.split("</h1>").next().unwrap_or_default().to_owned()
}

pub fn one<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    let mut all = headers.get_all(name).iter();
    let value = all.next().and_then(|value| value.to_str().ok()).unwrap_or_default();
    assert!(all.next().is_none(), "{name} is there twice");
    value
}
