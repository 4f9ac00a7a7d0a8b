//! What all pages have in common: the frame, the headers and the response.

mod headers;

use std::ops::Deref;

use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

pub use headers::Policy;

use crate::{Screens, language::Language, language::Words};

/// The frame of a page: `s` in templates, with the messages.
#[derive(Debug)]
pub struct Shell {
    words: Words,
    pub title: String,
    pub service: String,
    pub host: String,
    pub style: String,
    /// The stylesheet of the branding.
    pub look: Option<String>,
    pub script: String,
    /// The script that subscribes a browser.
    pub push: String,
    pub mark: String,
    pub logo: Option<String>,
    pub nonce: String,
    /// The path of this page, for loading it in another language.
    pub here: String,
    pub problem: Option<Wrong>,
}

/// A mistake, what to do about it, and its field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    pub text: String,
    pub field: Option<String>,
}

impl Deref for Shell {
    type Target = Words;

    fn deref(&self) -> &Words {
        &self.words
    }
}

impl Shell {
    pub fn new(screens: &Screens, language: Language, here: &str) -> Self {
        let assets = &screens.assets;
        Self {
            words: screens.catalogues.words(language),
            title: String::new(),
            service: screens.deployment.name.clone(),
            host: screens.host.clone(),
            style: assets.style.path.clone(),
            look: None,
            script: assets.script.path.clone(),
            push: assets.push.path.clone(),
            mark: assets.mark.path.clone(),
            logo: assets.logo.as_ref().map(|logo| logo.path.clone()),
            nonce: URL_SAFE_NO_PAD.encode(screens.deployment.entropy.bytes::<16>()),
            here: here.to_owned(),
            problem: None,
        }
    }

    #[must_use]
    pub fn titled(mut self, title: String) -> Self {
        self.title = title;
        self
    }

    #[expect(clippy::unused_self, reason = "templates call methods")]
    pub fn languages(&self) -> &'static [Language] {
        Language::ALL
    }

    /// Whether the mistake is in this field.
    pub fn wrong(&self, field: &str) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.field.as_deref() == Some(field))
    }
}

/// Sends a page.
pub fn send(
    screens: &Screens,
    shell: &Shell,
    policy: Policy,
    status: StatusCode,
    page: &impl Template,
) -> Response {
    let text = match page.render() {
        Ok(text) => text,
        Err(error) => {
            tracing::error!(%error, "a page could not be rendered");
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
    };
    let mut response = (status, text).into_response();
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, html);
    headers::complete(response.headers_mut(), policy, &shell.nonce, screens.is_https());
    response
}

/// 303: the browser does not repeat the POST.
pub fn see_other(location: &str) -> Response {
    match HeaderValue::from_str(location) {
        Ok(value) => {
            let mut response = StatusCode::SEE_OTHER.into_response();
            response.headers_mut().insert(header::LOCATION, value);
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Passes the service's cookies on to the browser.
#[must_use]
pub fn with_cookies(mut response: Response, cookies: &[HeaderValue]) -> Response {
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie.clone());
    }
    response
}
