//! Addresses of the service whose answers become pages while the screens are on.

mod leave;
mod problem;

use std::sync::Arc;

use askama::Template;
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
};
use porteiro_service::http::prefers_json;
use serde_json::json;
use tower::ServiceExt;

pub use leave::{Next, leave};
pub use problem::{Ended, problem};

use crate::{
    Screens,
    call::{self, Reply},
    form::Form,
    language::Language,
    page::{self, Policy, Shell},
};

/// The root only leads to the person's account.
pub async fn home() -> Response {
    page::see_other("/ui/account")
}

/// <https://w3c.github.io/webappsec-change-password-url/>
pub async fn change_password() -> Response {
    page::see_other("/ui/account/security")
}

/// <https://w3c.github.io/webappsec-passkey-endpoints/>
pub async fn passkey_endpoints(State(screens): State<Arc<Screens>>) -> Response {
    let address = format!("{}/ui/account/security", screens.deployment.issuer);
    axum::Json(json!({"enroll": address, "manage": address})).into_response()
}

async fn through(screens: &Screens, request: Request) -> Response {
    match screens.service.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// All other requests go to the service. If a browser wants a page and the answer is 404 or an error, it gets a page
/// instead of a problem.
pub async fn pass(State(screens): State<Arc<Screens>>, request: Request) -> Response {
    let language = Language::of(request.headers());
    // A path that begins with two slashes would be another host's address on the page.
    let here = request.uri().path().trim_start_matches('/');
    let here = format!("/{here}");
    let page = wants_page(&request);
    let response = through(&screens, request).await;
    let code = match response.status() {
        StatusCode::NOT_FOUND => "not_found",
        StatusCode::INTERNAL_SERVER_ERROR => "internal",
        _ => return response,
    };
    if !page {
        return response;
    }
    with_id(problem(&screens, language, &here, response.status(), &Ended::code(code)), &response)
}

/// A browser: `Accept` names HTML.
fn wants_page(request: &Request) -> bool {
    names_html(request) && (request.method() == Method::GET || request.method() == Method::HEAD)
}

fn names_html(request: &Request) -> bool {
    let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// An error or timeout in one of our pages is shown as a page too.
pub async fn broken(
    State(screens): State<Arc<Screens>>,
    request: Request,
    next: middleware::Next,
) -> Response {
    let language = Language::of(request.headers());
    let here = request.uri().path().to_owned();
    let page = names_html(&request);
    let response = next.run(request).await;
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_problem = kind.is_some_and(|kind| kind == "application/problem+json");
    if !page || !is_problem || !response.status().is_server_error() {
        return response;
    }
    with_id(problem(&screens, language, &here, response.status(), &Ended::code("internal")), &response)
}

/// The request's id in the log.
fn with_id(mut page: Response, of: &Response) -> Response {
    if let Some(id) = of.headers().get("x-request-id") {
        page.headers_mut().insert("x-request-id", id.clone());
    }
    page
}

/// The JSON answer, from which a page is made.
async fn ask(screens: &Screens, mut request: Request) -> Reply {
    request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    call::send(&screens.service, request).await
}

fn is_for_us(request: &Request) -> bool {
    let method = request.method() == Method::GET || request.method() == Method::POST;
    method && !prefers_json(request.headers())
}

/// The length that is accepted everywhere on the way here.
const LONGEST_LINK: usize = 4096;

/// A form on another site sends none of our cookies (`SameSite=Lax`), so the person would seem to be signed out. A link
/// sends them, so the same request is repeated as a link.
async fn repeat_as_link(screens: &Screens, request: Request) -> Result<Request, Response> {
    let origin = request.headers().get(header::ORIGIN);
    let elsewhere = origin.is_some_and(|origin| origin.as_bytes() != screens.deployment.issuer.as_bytes());
    if request.method() != Method::POST || !elsewhere {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    let bytes = Form::bytes(body).await.map_err(IntoResponse::into_response)?;
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    let query = query.extend_pairs(Form::parse(&bytes).iter()).finish();
    let link = format!("{}?{query}", parts.uri.path());
    if link.len() > LONGEST_LINK {
        return Ok(Request::from_parts(parts, Body::from(bytes)));
    }
    Err(page::see_other(&link))
}

/// Sends a browser that has to sign in to its flow.
pub async fn authorize(State(screens): State<Arc<Screens>>, request: Request) -> Response {
    if !is_for_us(&request) {
        return through(&screens, request).await;
    }
    let request = match repeat_as_link(&screens, request).await {
        Ok(request) => request,
        Err(answer) => return answer,
    };
    let language = wished(&request);
    let said = Language::chosen(request.headers()).is_some();
    let post = request.method() == Method::POST;
    let reply = ask(&screens, request).await;
    let response = match (reply.body["id"].as_str(), Next::parse(&reply.body["continue"])) {
        (_, Some(next)) => leave(&screens, language, &next, None, post),
        (Some(id), None) => page::see_other(&format!("/ui/flow/{id}")),
        (None, None) if reply.status.is_server_error() => {
            problem(&screens, language, "/ui/account", reply.status, &Ended::code("internal"))
        }
        (None, None) => {
            let mut ended = Ended::code("request");
            ended.detail = reply.body["error_description"].as_str().map(ToOwned::to_owned);
            ended.name = reply.body["error"].as_str().map(ToOwned::to_owned);
            problem(&screens, language, "/ui/account", reply.status, &ended)
        }
    };
    let mut response = page::with_cookies(response, &reply.cookies);
    if !said && let Ok(cookie) = HeaderValue::from_str(&language.cookie()) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept, accept-language, cookie"));
    response
}

/// The language the person chose, otherwise the client's `ui_locales`, otherwise the browser's.
fn wished(request: &Request) -> Language {
    let headers = request.headers();
    let asked = Form::parse(request.uri().query().unwrap_or_default().as_bytes());
    Language::chosen(headers)
        .or_else(|| asked.get("ui_locales").and_then(Language::among))
        .unwrap_or_else(|| Language::of(headers))
}

#[derive(Template)]
#[template(path = "sign_out.html")]
struct SignOut<'a> {
    s: &'a Shell,
    confirm: Option<&'a str>,
    /// Parameters of the request that the response repeats.
    carried: Vec<(&'a str, &'a str)>,
}

pub async fn logout(State(screens): State<Arc<Screens>>, request: Request) -> Response {
    if !is_for_us(&request) {
        return through(&screens, request).await;
    }
    let request = match repeat_as_link(&screens, request).await {
        Ok(request) => request,
        Err(answer) => return answer,
    };
    let language = Language::of(request.headers());
    let post = request.method() == Method::POST;
    let (parts, body) = request.into_parts();
    let bytes = match Form::bytes(body).await {
        Ok(bytes) => bytes,
        Err(status) => return status.into_response(),
    };
    let sent = Form::parse(if post { &bytes } else { parts.uri.query().unwrap_or_default().as_bytes() });
    let request = Request::from_parts(parts, Body::from(bytes));
    let reply = ask(&screens, request).await;
    let shell = Shell::new(&screens, language, "/connect/logout");
    let response = if let Some(confirm) = reply.body["confirm"].as_str() {
        let shell = shell.titled(screens.catalogues.words(language).t("sign-out-title"));
        let carried = sent.iter().filter(|(name, _)| *name != "confirm").collect();
        let page = SignOut { s: &shell, confirm: Some(confirm), carried };
        page::send(&screens, &shell, Policy::Account, StatusCode::OK, &page)
    } else {
        match Next::parse(&reply.body["continue"]) {
            Some(Next::Nowhere) => {
                let shell = shell.titled(screens.catalogues.words(language).t("signed-out-title"));
                let page = SignOut { s: &shell, confirm: None, carried: Vec::new() };
                page::send(&screens, &shell, Policy::Account, StatusCode::OK, &page)
            }
            Some(next) => leave(&screens, language, &next, None, post),
            None if reply.status.is_server_error() => {
                problem(&screens, language, "/ui/account", reply.status, &Ended::code("internal"))
            }
            None => {
                let mut ended = Ended::code("request");
                ended.detail = reply.body["error_description"].as_str().map(ToOwned::to_owned);
                ended.name = reply.body["error"].as_str().map(ToOwned::to_owned);
                problem(&screens, language, "/ui/account", reply.status, &ended)
            }
        }
    };
    page::with_cookies(response, &reply.cookies)
}
