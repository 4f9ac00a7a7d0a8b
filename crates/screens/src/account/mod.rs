//! `/ui/account/*`: what people see of their own account and can change, through `/v1/account`.
//!
//! 1. A page is one or two reads with the person's session cookie.
//! 2. A form becomes one call. If a recent proof is required, the page leads through a flow and back.

mod activity;
mod approval;
mod lines;
mod pages;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, Request, State},
    http::{Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use porteiro_service::credentials::CredentialKind;
use serde_json::{Value, json};

use crate::{
    Screens,
    call::Reply,
    doors::{Ended, problem},
    flow,
    form::Form,
    page::{self, Wrong},
    visit::Visit,
};
pub(crate) use pages::Page;

pub(crate) fn routes() -> Router<Arc<Screens>> {
    Router::new()
        .route("/ui/account", get(home))
        .route("/ui/account/sign-out", post(sign_out))
        .route("/ui/account/{page}", get(show).post(act))
        .route("/ui/account/approvals/{id}", get(approval::show))
}

async fn home() -> Response {
    page::see_other("/ui/account/security")
}

async fn show(State(screens): State<Arc<Screens>>, Path(name): Path<String>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let visit = Visit::new(&parts).for_session(&screens).await;
    let Some(page) = Page::parse(&name) else { return nothing(&screens, &visit) };
    let response = pages::draw(&screens, &visit, page, None).await;
    visit.done(response)
}

/// Where a page leads that needs a session, or a higher level than the session has.
fn elsewhere(page: Page, reply: &Reply) -> Option<Response> {
    match reply.code() {
        "unauthenticated" => Some(page::see_other("/ui/sign-in")),
        "step_up_required" => Some(page::see_other(&format!("/ui/step-up?back={}", page.name()))),
        _ => None,
    }
}

fn nothing(screens: &Screens, visit: &Visit) -> Response {
    problem(screens, visit.language, "/ui/account", StatusCode::NOT_FOUND, &Ended::code("not_found"))
}

/// The account is about to be deleted: the person is signed out.
const DELETED: &str = "deleted";

/// The API call of a form.
enum Asked {
    Call {
        method: Method,
        path: String,
        body: Option<Value>,
        done: &'static str,
    },
    /// The same, made once even if the form is sent again: the form has an idempotency key.
    Make {
        path: &'static str,
        body: Value,
        token: String,
    },
    Enrol(&'static str),
    /// A file, which is passed on while it arrives.
    Export,
}

async fn act(State(screens): State<Arc<Screens>>, Path(name): Path<String>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let visit = Visit::new(&parts).for_session(&screens).await;
    let Some(page) = Page::parse(&name) else { return nothing(&screens, &visit) };
    let form = match Form::read(body).await {
        Ok(form) => form,
        Err(status) => return status.into_response(),
    };
    match asked(page, &form) {
        Some(Asked::Enrol(kind)) => {
            let what = json!({"kind": "enrol", "enrol": kind, "locale": visit.language.service()});
            flow::open(&screens, &visit, &what, page.name()).await
        }
        Some(Asked::Call { method, path, body, done }) => {
            let reply = visit.caller.call(&screens.service, method, &path, body.as_ref()).await;
            answered(&screens, &visit, page, &reply, done).await
        }
        Some(Asked::Make { path, body, token }) => {
            let caller = visit.caller.clone().once(&token);
            let reply = caller.call(&screens.service, Method::POST, path, Some(&body)).await;
            answered(&screens, &visit, page, &reply, "made").await
        }
        Some(Asked::Export) => {
            let response = visit.caller.pass(&screens.service, Method::POST, EXPORT).await;
            if response.status().is_success() {
                return response;
            }
            answered(&screens, &visit, page, &Reply::read(response).await, "exported").await
        }
        None => pages::draw(&screens, &visit, page, None).await,
    }
}

const EXPORT: &str = "/v1/account/export";

fn asked(page: Page, form: &Form) -> Option<Asked> {
    // Percent-encoded as one segment, so that it cannot lead to another path.
    let id: String =
        url::form_urlencoded::byte_serialize(form.get("id").unwrap_or_default().as_bytes()).collect();
    let call = |method, path, body, done| Some(Asked::Call { method, path, body, done });
    match (page, form.get("action")?) {
        (Page::Security, "remove") => {
            call(Method::DELETE, format!("/v1/account/credentials/{id}"), None, "removed")
        }
        (Page::Security, "rename") => {
            let label = json!({"label": form.get("label").unwrap_or_default()});
            call(Method::PATCH, format!("/v1/account/credentials/{id}"), Some(label), "renamed")
        }
        (Page::Security, "stop-recovery") => {
            call(Method::DELETE, "/v1/account/recovery".into(), None, "recovery-stopped")
        }
        (Page::Security, "enrol") => {
            let kinds = CredentialKind::ALL.iter().map(|kind| kind.as_str());
            kinds.into_iter().find(|kind| form.get("kind") == Some(*kind)).map(Asked::Enrol)
        }
        (Page::Sessions, "end") => call(Method::DELETE, format!("/v1/account/sessions/{id}"), None, "ended"),
        (Page::Sessions, "end-others") => {
            call(Method::DELETE, "/v1/account/sessions".into(), None, "ended-others")
        }
        (Page::Apps, "withdraw") => {
            call(Method::DELETE, format!("/v1/account/grants/{id}"), None, "withdrawn")
        }
        (Page::Apps, "revoke") => {
            call(Method::DELETE, format!("/v1/account/delegations/{id}"), None, "withdrawn")
        }
        (Page::Approvals, verb @ ("deny" | "report")) => {
            let done = if verb == "deny" { "denied" } else { "blocked" };
            call(Method::POST, format!("/v1/account/approvals/{id}/{verb}"), Some(json!({})), done)
        }
        (Page::Approvals, "push-remove") => {
            call(Method::DELETE, format!("/v1/account/push-subscriptions/{id}"), None, "removed")
        }
        (Page::Approvals, action) => {
            let number: i16 = action.strip_prefix("approve-")?.parse().ok()?;
            let body = Some(json!({"number": number}));
            call(Method::POST, format!("/v1/account/approvals/{id}/approve"), body, "approved")
        }
        (Page::Keys, "make") => {
            let permissions: Vec<&str> =
                form.iter().filter(|(name, _)| *name == "permission").map(|(_, value)| value).collect();
            let days = form.get("days").and_then(|days| days.trim().parse::<u16>().ok());
            let (organization, name) = (form.get("organization"), form.get("name").map(str::trim));
            let key = json!({"organization": organization, "name": name, "permissions": permissions, "expires_in_days": days});
            let token = form.get("token").unwrap_or_default().to_owned();
            Some(Asked::Make { path: "/v1/account/api-keys", body: key, token })
        }
        (Page::Keys, "revoke") => {
            call(Method::DELETE, format!("/v1/account/api-keys/{id}"), None, "withdrawn")
        }
        (Page::Organizations, "accept") => {
            let which = json!({"id": form.get("id")});
            call(Method::POST, "/v1/account/invitations/accept".into(), Some(which), "joined")
        }
        (Page::Organizations, "leave") => {
            call(Method::DELETE, format!("/v1/account/organizations/{id}"), None, "left")
        }
        (Page::Profile, "save") => {
            let profile = json!({"display_name": form.get("display_name"), "locale": form.get("locale")});
            call(Method::PATCH, "/v1/account".into(), Some(profile), "saved")
        }
        (Page::Profile, "export") => Some(Asked::Export),
        (Page::Profile, "delete") => call(Method::DELETE, "/v1/account".into(), None, DELETED),
        (Page::Profile, "keep") => call(Method::DELETE, "/v1/account/deletion".into(), None, "kept"),
        (
            Page::Security
            | Page::Sessions
            | Page::Apps
            | Page::Keys
            | Page::Organizations
            | Page::Activity
            | Page::Profile,
            _,
        ) => None,
    }
}

async fn answered(
    screens: &Screens,
    visit: &Visit,
    page: Page,
    reply: &Reply,
    done: &'static str,
) -> Response {
    // Shown once, in this response.
    if let Some(secret) = reply.body["secret"].as_str() {
        return pages::draw_with(screens, visit, page, None, Some(secret.to_owned())).await;
    }
    // A wrong number denies.
    let missed = done == "approved" && reply.body["state"] == "denied";
    let done = if missed { "wrong-number" } else { done };
    if reply.status.is_success() && done == DELETED {
        let ended = Ended::code("deletion_requested");
        let gone = problem(screens, visit.language, "/ui/sign-in", StatusCode::OK, &ended);
        return page::with_cookies(gone, &reply.cookies);
    }
    if reply.status.is_success() {
        // Of a request the person sees what became of it.
        let one = reply.body["id"].as_str().filter(|_| page == Page::Approvals);
        let one = one.map(|id| format!("/{id}")).unwrap_or_default();
        let there = page::see_other(&format!("/ui/account/{}{one}?done={done}", page.name()));
        return page::with_cookies(there, &reply.cookies);
    }
    let words = screens.catalogues.words(visit.language);
    let wrong = match reply.code() {
        "unauthenticated" => return page::see_other("/ui/sign-in"),
        "step_up_required" => {
            let mut what = json!({"kind": "reauthenticate", "locale": visit.language.service()});
            // The level that an organization requires, if one does.
            if let Some(level) = reply.body["flow"]["body"].get("level") {
                what["level"] = level.clone();
            }
            return flow::open(screens, visit, &what, page.name()).await;
        }
        "origin_refused" => {
            let ended = Ended::code("origin_refused");
            return problem(screens, visit.language, "/ui/account", reply.status, &ended);
        }
        "conflict" if page == Page::Approvals => words.t("wrong-decided"),
        "conflict" => words.t("wrong-last-way-in"),
        "last_owner" if page == Page::Profile => {
            let named = reply.body["organizations"].as_array().into_iter().flatten();
            let names: Vec<&str> = named.filter_map(|one| one["name"].as_str()).collect();
            words.t1("wrong-owned-alone", "organizations", &names.join(", "))
        }
        "slow_down" if page == Page::Profile => words.t("wrong-exported"),
        "field_invalid" if page == Page::Profile => words.t("wrong-profile"),
        "last_owner" => words.t("wrong-last-owner"),
        "organization_suspended" => words.t("wrong-suspended"),
        "authority_exceeded" => words.t("wrong-authority"),
        "quota" => words.t("wrong-quota"),
        "secret_already_shown" => words.t("wrong-key-made"),
        "field_invalid" if page == Page::Keys => words.t("wrong-key"),
        "not_found" => words.t("wrong-gone"),
        "field_invalid" => words.t("wrong-label"),
        _ => words.t("wrong-unavailable"),
    };
    pages::draw(screens, visit, page, Some(Wrong { text: wrong, field: None })).await
}

/// Ends this session; the response removes the cookie.
async fn sign_out(State(screens): State<Arc<Screens>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let visit = Visit::new(&parts).for_session(&screens).await;
    let reply = visit.caller.get(&screens.service, "/v1/account/sessions").await;
    let items = reply.body["items"].as_array();
    let own =
        items.into_iter().flatten().find(|one| one["current"] == true).and_then(|one| one["id"].as_str());
    let Some(id) = own else {
        // Not signed in: open flows of this browser are forgotten, if one of our own pages asks for it.
        let ours =
            parts.headers.get(header::ORIGIN).is_some_and(|origin| *origin == screens.deployment.issuer);
        return page::see_other(if ours { "/connect/logout" } else { "/ui/sign-in" });
    };
    let path = format!("/v1/account/sessions/{id}");
    let reply = visit.caller.call(&screens.service, Method::DELETE, &path, None).await;
    if reply.status.is_success() {
        return page::with_cookies(page::see_other("/connect/logout"), &reply.cookies);
    }
    answered(&screens, &visit, Page::Sessions, &reply, "ended").await
}
