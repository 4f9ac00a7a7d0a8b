//! How the screens call the service: JSON requests that any client may make, through the same router.
//!
//! The browser's headers (cookies, `Origin`, the fetch metadata) are passed on unchanged, so every check, limit and log
//! entry is the same as without screens.

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use http_body_util::BodyExt;
use porteiro_service::http::{Peer, SESSION_COOKIE};
use serde_json::Value;
use tower::ServiceExt;

/// The browser's headers and address, for calls to the service.
#[derive(Clone)]
pub struct Caller {
    headers: HeaderMap,
    peer: Option<Peer>,
}

/// Contains cookies, so it is not printed.
impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<caller>")
    }
}

/// Headers that belong to the page's request and not to the call made for it.
const OWN: &[header::HeaderName] = &[
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::AUTHORIZATION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::EXPECT,
    header::TRANSFER_ENCODING,
];

#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub body: Value,
    pub cookies: Vec<HeaderValue>,
    pub retry_after: Option<i64>,
}

impl Reply {
    /// A reply with only a status.
    pub const fn of(status: StatusCode) -> Self {
        Self { status, body: Value::Null, cookies: Vec::new(), retry_after: None }
    }

    /// The whole response.
    pub async fn read(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        Self {
            status: parts.status,
            body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            cookies: parts.headers.get_all(header::SET_COOKIE).iter().cloned().collect(),
            retry_after: parts
                .headers
                .get(header::RETRY_AFTER)
                .and_then(|value| value.to_str().ok()?.parse().ok()),
        }
    }

    /// The error code.
    pub fn code(&self) -> &str {
        self.body["code"].as_str().or_else(|| self.body["error"].as_str()).unwrap_or_default()
    }
}

impl Caller {
    /// Mails and descriptions are in the language of the page.
    pub fn new(parts: &Parts, language: &'static str) -> Self {
        let mut headers = parts.headers.clone();
        for name in OWN {
            headers.remove(name);
        }
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_static(language));
        // Nothing else of the outer request: its path parameters would be taken for those of the inner one.
        Self { headers, peer: parts.extensions.get::<Peer>().cloned() }
    }

    /// The same in another language.
    #[must_use]
    pub fn speaking(mut self, language: &'static str) -> Self {
        self.headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_static(language));
        self
    }

    /// Adds an idempotency key, so that a repeated call creates nothing more.
    #[must_use]
    pub fn once(mut self, token: &str) -> Self {
        if let Some(token) = HeaderValue::from_str(token).ok().filter(|token| !token.is_empty()) {
            self.headers.insert("idempotency-key", token);
        }
        self
    }

    /// Whether the browser sent a session cookie.
    pub fn has_session(&self) -> bool {
        let mut lines = self.headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        lines.any(|line| line.contains(SESSION_COOKIE))
    }

    /// For opening a flow, which a link may do: the flow is bound to this browser and reveals nothing to the linking
    /// page.
    #[must_use]
    pub fn on_own_page(mut self, issuer: &str) -> Self {
        self.headers.remove("sec-fetch-site");
        if let Ok(origin) = HeaderValue::from_str(issuer) {
            self.headers.insert(header::ORIGIN, origin);
        }
        self
    }

    pub async fn get(&self, service: &Router, path: &str) -> Reply {
        self.call(service, Method::GET, path, None).await
    }

    pub async fn call(&self, service: &Router, method: Method, path: &str, body: Option<&Value>) -> Reply {
        match self.request(method, path, body) {
            Some(request) => send(service, request).await,
            None => Reply::of(StatusCode::NOT_FOUND),
        }
    }

    /// The service's own response, for a file that the browser stores.
    pub async fn pass(&self, service: &Router, method: Method, path: &str) -> Response {
        match self.request(method, path, None) {
            Some(request) => answer(service, request).await,
            None => StatusCode::NOT_FOUND.into_response(),
        }
    }

    fn request(&self, method: Method, path: &str, body: Option<&Value>) -> Option<Request<Body>> {
        let mut request = Request::new(body.map_or_else(Body::empty, |body| Body::from(body.to_string())));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().ok()?;
        *request.headers_mut() = self.headers.clone();
        if let Some(peer) = &self.peer {
            request.extensions_mut().insert(peer.clone());
        }
        if body.is_some() {
            request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Some(request)
    }
}

async fn answer(service: &Router, request: Request<Body>) -> Response {
    match service.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Sends a request and reads its response.
pub async fn send(service: &Router, request: Request<Body>) -> Reply {
    Reply::read(answer(service, request).await).await
}
