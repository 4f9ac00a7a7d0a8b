//! `/ui/account/approvals/{id}`: one request, to decide about it or to see what became of it.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, Request, State},
    http::StatusCode,
    response::Response,
};
use serde_json::Value;

use super::{
    elsewhere,
    lines::{self, Item},
    nothing,
    pages::{Done, Page, done},
};
use crate::{
    Screens,
    doors::{Ended, problem},
    page::{self, Policy, Shell},
    visit::Visit,
};

/// `a` in the frame of account pages.
struct Frame {
    page: Page,
    done: Option<Done>,
}

impl Frame {
    #[expect(clippy::unused_self, reason = "templates call methods")]
    fn pages(&self) -> &'static [Page] {
        Page::ALL
    }
}

#[derive(Template)]
#[template(path = "account/approval.html")]
struct One<'a> {
    s: &'a Shell,
    a: &'a Frame,
    item: &'a Item,
    state: &'a str,
    /// The API said that it used it up.
    is_used: bool,
}

impl One<'_> {
    fn waits(&self) -> bool {
        self.state == "pending"
    }

    /// What became of it, as a sentence; none while it waits, and none where the notice says the same.
    fn outcome(&self) -> Option<&'static str> {
        match self.state {
            "pending" => None,
            "denied" | "blocked" if self.a.done.is_some() => None,
            "approved" => Some("approval-is-approved"),
            "consumed" if self.is_used => Some("approval-is-consumed"),
            "consumed" => Some("approval-is-fetched"),
            "denied" => Some("approval-is-denied"),
            "blocked" => Some("approval-is-blocked"),
            _ => Some("approval-is-expired"),
        }
    }

    fn can_be_taken_back(&self) -> bool {
        self.state == "approved"
    }

    fn can_be_reported(&self) -> bool {
        matches!(self.state, "approved" | "consumed" | "denied")
    }
}

pub(super) async fn show(
    State(screens): State<Arc<Screens>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let visit = Visit::new(&parts).for_session(&screens).await;
    // Percent-encoded as one segment, so that it cannot lead to another path.
    let id: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
    let reply = visit.caller.get(&screens.service, &format!("/v1/account/approvals/{id}")).await;
    let response = match reply.status {
        StatusCode::OK => draw(&screens, &visit, &reply.body),
        StatusCode::NOT_FOUND => nothing(&screens, &visit),
        status => elsewhere(Page::Approvals, &reply).unwrap_or_else(|| {
            problem(&screens, visit.language, &visit.path, status, &Ended::code("internal"))
        }),
    };
    visit.done(response)
}

fn draw(screens: &Screens, visit: &Visit, found: &Value) -> Response {
    let shell = visit.shell(screens);
    let item = lines::approval(&shell, found);
    let state = found["state"].as_str().unwrap_or_default();
    let title = if state == "pending" { None } else { item.badge.clone() };
    let title = title.unwrap_or_else(|| shell.t("approval-title"));
    let shell = shell.titled(title);
    let done = visit.query.get("done").and_then(|name| done(&shell, name));
    let frame = Frame { page: Page::Approvals, done };
    let is_used = found["used_at"].is_string();
    let one = One { s: &shell, a: &frame, item: &item, state, is_used };
    page::send(screens, &shell, Policy::Account, StatusCode::OK, &one)
}
