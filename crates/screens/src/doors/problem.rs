//! Pages for requests that cannot continue: what happened, and what to do now.

use askama::Template;
use axum::{http::StatusCode, response::Response};

use crate::{
    Screens,
    language::Language,
    page::{self, Policy, Shell},
};

/// Why the request cannot continue.
#[derive(Debug, Clone, Default)]
pub struct Ended {
    code: &'static str,
    /// The error code, for the developer of the client.
    pub name: Option<String>,
    pub detail: Option<String>,
    /// Where to start again.
    pub again: Option<&'static str>,
}

impl Ended {
    pub fn code(code: &'static str) -> Self {
        Self { code, ..Self::default() }
    }

    #[must_use]
    pub fn again(mut self, path: &'static str) -> Self {
        self.again = Some(path);
        self
    }

    /// Title and text: one arm for each page.
    const fn words(&self) -> (&'static str, &'static str) {
        match self.code.as_bytes() {
            b"not_found" => ("problem-not-found-title", "problem-not-found-text"),
            b"flow_not_found" => ("problem-flow-title", "problem-flow-text"),
            b"flow_expired" => ("problem-expired-title", "problem-expired-text"),
            b"request" => ("problem-request-title", "problem-request-text"),
            b"origin_refused" => ("problem-origin-title", "problem-origin-text"),
            b"slow_down" => ("problem-slow-title", "problem-slow-text"),
            b"registration_closed" => ("problem-closed-title", "problem-closed-text"),
            b"no_account" => ("denied-no-account-title", "denied-no-account-text"),
            b"account_unavailable" => ("denied-unavailable-title", "denied-unavailable-text"),
            b"unmet_authentication_requirements" => ("denied-unmet-title", "denied-unmet-text"),
            b"recovery_held" => ("denied-held-title", "denied-held-text"),
            b"session_ended" => ("denied-session-title", "denied-session-text"),
            b"request_refused" => ("denied-request-title", "denied-request-text"),
            b"no_organization" => ("denied-organization-title", "denied-organization-text"),
            b"deletion_requested" => ("deletion-requested-title", "deletion-requested-text"),
            b"cancelled" => ("denied-cancelled-title", "denied-cancelled-text"),
            _ => ("problem-internal-title", "problem-internal-text"),
        }
    }
}

#[derive(Template)]
#[template(path = "problem.html")]
struct Page<'a> {
    s: &'a Shell,
    text: String,
    ended: &'a Ended,
}

pub fn problem(
    screens: &Screens,
    language: Language,
    here: &str,
    status: StatusCode,
    ended: &Ended,
) -> Response {
    let (title, text) = ended.words();
    let shell = Shell::new(screens, language, here);
    let text = shell.t(text);
    let title = shell.t(title);
    let shell = shell.titled(title);
    page::send(screens, &shell, Policy::Flow, status, &Page { s: &shell, text, ended })
}
