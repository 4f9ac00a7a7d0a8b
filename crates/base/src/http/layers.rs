//! The layers around every handler, in order.
//!
//! request id → span, log and metrics → headers → early refusals → timeout → panic handler → route
//!
//! As few layers as possible: each costs every request a clone of everything below it.

use std::{any::Any, sync::Arc, time::Instant};

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    http::{HeaderName, HeaderValue, Method, Uri, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use porteiro_protocol::id::RequestId;
use tower_http::catch_panic::CatchPanicLayer;
use tracing::Instrument;

use super::{
    Peer, Problem, ProblemCode, Route, ScimError,
    address::{ClientCertificate, client_address, proxied_certificate},
    headers,
};
use crate::Core;

/// Larger than any accepted body (SCIM: 1 MiB): refused before the handler runs.
const LARGEST_BODY: u64 = 1024 * 1024;
/// Longest request target: generous for an authorization request with a request object.
const LONGEST_TARGET: usize = 16 * 1024;
/// All header names and values together; RFC 6585 §5 has a status for more.
const LARGEST_HEAD: usize = 16 * 1024;
/// Below it is what directories ask for.
const SCIM: &str = "/scim/v2/";
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What is known about a request before its handler runs.
#[derive(Debug, Clone, Copy)]
pub struct RequestInfo {
    pub id: RequestId,
}

tokio::task_local! {
    static CURRENT: RequestId;
}

pub(super) fn current_request_id() -> Option<RequestId> {
    CURRENT.try_with(|id| *id).ok()
}

/// The routes with all layers. `guard` adds the check that a route's access requires.
pub fn build<A>(app: Arc<A>, routes: Vec<Route<A>>, guard: fn(Route<A>, &Arc<A>) -> Route<A>) -> Router
where
    A: AsRef<Arc<Core>> + Send + Sync + 'static,
{
    let core = Arc::clone((*app).as_ref());
    let mut router = Router::new();
    for route in routes {
        let (path, handler) = guard(route, &app).challenging(&core).into_parts();
        router = router.route(path, handler);
    }
    router
        .fallback(|uri: Uri| async move { without_route(&uri, ProblemCode::NotFound) })
        .method_not_allowed_fallback(
            |uri: Uri| async move { without_route(&uri, ProblemCode::MethodNotAllowed) },
        )
        // Innermost first. `route_layer` runs only for requests with a route, so it knows the pattern.
        .route_layer(axum::middleware::from_fn(remember_route))
        .layer(CatchPanicLayer::custom(on_panic))
        .layer(from_fn_with_state(core, observe))
        .with_state(app)
}

/// The answer where there is no route. Directories understand only errors of SCIM (RFC 7644 §3.12).
fn without_route(uri: &Uri, code: ProblemCode) -> Response {
    let problem = Problem::from(code);
    if uri.path().starts_with(SCIM) {
        return ScimError::from(problem).into_response();
    }
    problem.into_response()
}

/// The same layers for routes in front of the service, such as pages: request id, log line, metrics, timeout, panic
/// handler and headers. It exposes nothing else of the application.
#[derive(Clone)]
pub struct Surroundings(Arc<Core>);

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<surroundings>")
    }
}

impl Surroundings {
    pub fn of(core: &Arc<Core>) -> Self {
        Self(Arc::clone(core))
    }

    /// Adds the layers to other routes. A request without a route there is passed on to the service, which has the
    /// layers itself.
    pub fn around<S: Clone + Send + Sync + 'static>(&self, routes: Router<S>) -> Router<S> {
        routes
            .route_layer(axum::middleware::from_fn(remember_route))
            .route_layer(CatchPanicLayer::custom(on_panic))
            .route_layer(from_fn_with_state(Arc::clone(&self.0), observe))
    }

    /// Only the panic handler: for routes whose calls to the service are counted there.
    pub fn net<S: Clone + Send + Sync + 'static>(&self, routes: Router<S>) -> Router<S> {
        routes.route_layer(CatchPanicLayer::custom(on_panic))
    }
}

/// Outermost: every response has an id, a log line, a metric and the headers.
async fn observe(State(core): State<Arc<Core>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = RequestId::random(&*core.entropy);
    let settings = &core.checked.settings;
    let peer = request.extensions().get::<Peer>().cloned();
    if let Some(peer) = &peer {
        let address = client_address(peer.address.ip(), request.headers(), &settings.trusted_proxies);
        let certificate = peer.certificate.clone().map(ClientCertificate).or_else(|| {
            let header = settings.client_certificate_header.as_deref()?;
            proxied_certificate(peer.address.ip(), request.headers(), header, &settings.trusted_proxies)
        });
        request.extensions_mut().insert(address);
        if let Some(certificate) = certificate {
            request.extensions_mut().insert(certificate);
        }
    }
    if let Some(name) = &settings.client_certificate_header {
        request.headers_mut().remove(name);
    }
    request.extensions_mut().insert(RequestInfo { id });
    let method = known_method(request.method());
    // Never the target itself: queries contain codes and hints.
    let span = tracing::info_span!("request", %id, method, route = tracing::field::Empty,
        status = tracing::field::Empty, otel.kind = "server");
    let answer = async {
        match refuse_early(&request) {
            Some(refused) => refused.into_response(),
            None => within_time(&core, next.run(request)).await,
        }
    };
    let mut response = CURRENT.scope(id, answer).instrument(span.clone()).await;
    let route = response.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let status = response.status().as_u16();
    let seconds = started.elapsed().as_secs_f64();
    // Adding a field rewrites all fields of a span, so it is done only if spans are exported; the log line has its own
    // fields, outside the span.
    if settings.otlp_endpoint.is_some() {
        span.record("route", &route);
        span.record("status", status);
    }
    tracing::info!(parent: None, %id, method, status, route, seconds, "answered");
    metrics::histogram!("porteiro_http_seconds", "method" => method, "route" => route,
        "status" => status_class(status))
    .record(seconds);
    headers::complete(response.headers_mut(), core.issuer().starts_with("https:"));
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// Passes the route's pattern outwards, for labels from a closed set.
async fn remember_route(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    if let Some(path) = path {
        response.extensions_mut().insert(path);
    }
    response
}

async fn within_time(core: &Core, answer: impl Future<Output = Response>) -> Response {
    let limit = std::time::Duration::from_secs(core.checked.settings.request_timeout_seconds.into());
    match tokio::time::timeout(limit, answer).await {
        Ok(response) => response,
        Err(_) => Problem::new(ProblemCode::Unavailable, "the request took too long and was cancelled")
            .into_response(),
    }
}

fn refuse_early(request: &Request) -> Option<Problem> {
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > LARGEST_BODY) {
        return Some(Problem::new(
            ProblemCode::TooLarge,
            format!("the body must not exceed {LARGEST_BODY} bytes"),
        ));
    }
    if request.headers().contains_key(header::CONTENT_ENCODING) {
        return Some(Problem::new(ProblemCode::UnsupportedMedia, "send the body without compression"));
    }
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if target > LONGEST_TARGET {
        return Some(Problem::new(ProblemCode::TooLarge, "the URL is too long"));
    }
    // In a query, the parser of the parameters refuses it, with the error of its standard.
    if request.uri().path().contains("%00") {
        return Some(Problem::new(ProblemCode::Malformed, "the path contains the character U+0000"));
    }
    let head: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    (head > LARGEST_HEAD).then(|| ProblemCode::HeadersTooLarge.into())
}

#[expect(clippy::needless_pass_by_value, reason = "the panic layer hands the payload over")]
fn on_panic(payload: Box<dyn Any + Send>) -> Response {
    let what = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown");
    tracing::error!(panic = what, "a handler panicked");
    metrics::counter!("porteiro_panics_total").increment(1);
    Problem::from(ProblemCode::Internal).into_response()
}

/// Labels come from closed sets: callers cannot create new time series.
fn known_method(method: &Method) -> &'static str {
    const KNOWN: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.iter().find(|known| **known == method.as_str()).copied().unwrap_or("OTHER")
}

const fn status_class(status: u16) -> &'static str {
    match status / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}
