//! `/ui/flow/{id}`: the pages of a flow.
//!
//! 1. GET shows the present stage; `with` in the query chooses among the offered methods.
//! 2. A form posts `action`, `step` and the action's fields; they become one JSON call, and its answer the next page.
//!    The page is drawn from that answer: a value that is shown once (a key, recovery codes) is on it only.
//! 3. A finished flow leads back to the client, by a page of its own (docs/decisions/0060).

mod draw;
mod qr;
mod representation;
mod view;
mod ways;
mod wrong;

use std::sync::Arc;

use axum::{
    extract::{Path, Request, State},
    http::{HeaderMap, Method, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

pub use self::representation::Branding;
use self::{representation::Flow, view::Typed, ways::Way};
use crate::{
    Screens,
    call::{Caller, Reply},
    doors::{Ended, problem},
    form::Form,
    page,
    visit::Visit,
};

pub async fn sign_in(State(screens): State<Arc<Screens>>, request: Request) -> Response {
    begin(&screens, request, "sign_in").await
}

/// The address that an organization hands to its people.
pub async fn organization(
    State(screens): State<Arc<Screens>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let visit = Visit::new(&parts).for_session(&screens).await;
    let what = json!({"kind": "sign_in", "organization": name, "locale": visit.language.service()});
    visit.done(begun(&screens, &visit, &parts.headers, &what).await)
}

pub async fn register(State(screens): State<Arc<Screens>>, request: Request) -> Response {
    begin(&screens, request, "register").await
}

pub async fn recover(State(screens): State<Arc<Screens>>, request: Request) -> Response {
    begin(&screens, request, "recover").await
}

/// Raises a session that is below the deployment's minimum level. `back` names the account page that required it.
pub async fn step_up(State(screens): State<Arc<Screens>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let visit = Visit::new(&parts).for_session(&screens).await;
    let what = json!({"kind": "reauthenticate", "locale": visit.language.service()});
    visit.done(begun(&screens, &visit, &parts.headers, &what).await)
}

/// A code from the link is only shown, to be compared.
pub async fn device(State(screens): State<Arc<Screens>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let visit = Visit::new(&parts).for_session(&screens).await;
    let user_code = visit.query.get("user_code");
    let what = json!({"kind": "confirm_device", "locale": visit.language.service(), "user_code": user_code});
    visit.done(begun(&screens, &visit, &parts.headers, &what).await)
}

async fn begin(screens: &Screens, request: Request, kind: &'static str) -> Response {
    let (parts, _) = request.into_parts();
    let visit = Visit::new(&parts).for_session(screens).await;
    let what = json!({"kind": kind, "locale": visit.language.service()});
    visit.done(begun(screens, &visit, &parts.headers, &what).await)
}

/// Opens a flow from a link, which may be on any site: only for a navigation, not for a picture or frame, which would
/// use up the flows that the visitor's network may open.
async fn begun(screens: &Screens, visit: &Visit, headers: &HeaderMap, what: &Value) -> Response {
    if headers.get("sec-fetch-dest").is_some_and(|dest| dest != "document") {
        return problem(
            screens,
            visit.language,
            &visit.path,
            StatusCode::FORBIDDEN,
            &Ended::code("origin_refused"),
        );
    }
    let caller = visit.caller.clone().on_own_page(&screens.deployment.issuer);
    opened(screens, visit, &caller, what, view::page_name(visit.query.get("back"))).await
}

/// Opens a flow from one of our forms. `back` names the account page of the form.
pub async fn open(screens: &Screens, visit: &Visit, what: &Value, back: &str) -> Response {
    opened(screens, visit, &visit.caller, what, back).await
}

async fn opened(screens: &Screens, visit: &Visit, caller: &Caller, what: &Value, back: &str) -> Response {
    let reply = caller.call(&screens.service, Method::POST, "/v1/flows", Some(what)).await;
    let Some(id) = reply.body["id"].as_str() else {
        // What the browser holds already was enough, or leads nowhere.
        if reply.status.is_success() {
            return draw::flow(screens, visit, &reply, Typed::default(), None, false);
        }
        // A name that no organization can have.
        if reply.code() == "field_invalid" && what["organization"].is_string() {
            let ended = Ended::code("not_found");
            return problem(screens, visit.language, &visit.path, StatusCode::NOT_FOUND, &ended);
        }
        let code = match reply.code() {
            "forbidden" => "registration_closed",
            "slow_down" => "slow_down",
            "unauthenticated" => return page::see_other("/ui/sign-in"),
            _ => "internal",
        };
        return problem(screens, visit.language, &visit.path, reply.status, &Ended::code(code));
    };
    let back = if back.is_empty() { String::new() } else { format!("?back={back}") };
    page::with_cookies(page::see_other(&format!("/ui/flow/{id}{back}")), &reply.cookies)
}

pub async fn show(State(screens): State<Arc<Screens>>, Path(id): Path<String>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let visit = Visit::new(&parts).for_session(&screens).await;
    let typed = Typed {
        way: visit.query.get("with").and_then(Way::parse),
        back: view::page_name(visit.query.get("back")),
        ..Typed::default()
    };
    let response = again(&screens, &visit, &id, typed, false).await;
    visit.done(response)
}

/// The target of mailed links. Browsers do not send the fragment: the page's script posts it.
pub async fn link(State(screens): State<Arc<Screens>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let visit = Visit::new(&parts).for_session(&screens).await;
    visit.done(draw::link(&screens, &visit))
}

/// The target of other providers' answers. An answer is for the flow that its `state` names, and the service accepts it
/// only from the browser of that flow.
pub async fn federation(
    State(screens): State<Arc<Screens>>,
    Path(connection): Path<String>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let visit = Visit::new(&parts).for_session(&screens).await;
    let id =
        visit.query.get("state").and_then(|state| state.split('.').next()).unwrap_or_default().to_owned();
    let shown = visit.caller.get(&screens.service, &call_path(&visit, &id, None)).await;
    let Some(flow) = read(&shown.body).filter(|_| shown.status.is_success()) else {
        return visit.done(ended(&screens, &visit, &shown));
    };
    let (action, back) = if flow.offers("federated/enrol_finish") {
        ("federated/enrol_finish", "security")
    } else {
        ("federated/finish", "")
    };
    let mut input = json!({"step": flow.step, "connection": connection});
    for name in ["state", "code", "iss", "error"] {
        if let Some(value) = visit.query.get(name) {
            input[name] = json!(value);
        }
    }
    let caller = visit.caller.clone().on_own_page(&screens.deployment.issuer);
    let path = call_path(&visit, &id, Some(action));
    let reply = caller.call(&screens.service, Method::POST, &path, Some(&input)).await;
    let typed = Typed { back, ..Typed::default() };
    visit.done(answered(&screens, &visit, &id, action, typed, reply).await)
}

pub async fn act(State(screens): State<Arc<Screens>>, Path(id): Path<String>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let visit = Visit::new(&parts).for_session(&screens).await;
    let form = match Form::read(body).await {
        Ok(form) => form,
        Err(status) => return status.into_response(),
    };
    let action = form.get("action").unwrap_or_default();
    let mut typed = Typed::of(&form);
    // Only shows another page of ours: no step is made.
    if let Some(way) = action.strip_prefix("show/").and_then(Way::parse) {
        typed.way = Some(way);
        return again(&screens, &visit, &id, typed, true).await;
    }
    let reply = if action == "cancel" {
        visit.caller.call(&screens.service, Method::DELETE, &call_path(&visit, &id, None), None).await
    } else {
        let path = call_path(&visit, &id, Some(action));
        visit.caller.call(&screens.service, Method::POST, &path, Some(&input(action, &form))).await
    };
    answered(&screens, &visit, &id, action, typed, reply).await
}

/// The path of the flow or of an action, with the language of the page.
fn call_path(visit: &Visit, id: &str, action: Option<&str>) -> String {
    let action = action.map_or_else(String::new, |action| format!("/{}", action_path(action)));
    format!("/v1/flows/{}{action}?locale={}", path_part(id), visit.language.tag())
}

/// A path segment from input.
fn path_part(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).collect()
}

/// `module/verb` only; anything else is not an action.
fn action_path(action: &str) -> &str {
    let word = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let known = action.split_once('/').is_some_and(|(module, verb)| word(module) && word(verb));
    if known { action } else { "unknown/action" }
}

/// The fields of a form, as the API expects them.
fn input(action: &str, form: &Form) -> Value {
    let mut input = Map::new();
    let step = form.get("step").and_then(|step| step.parse::<i64>().ok());
    input.insert("step".into(), json!(step));
    for (name, value) in form.iter() {
        let value = match name {
            "action" | "app" | "step" | "back" | "known" | "username" => continue,
            // Passed on from page to page; only some actions have it.
            "identifier" if !matches!(action, "email_code/send" | "sms_code/send" | "password/check") => {
                continue;
            }
            "identifier" if form.get("known").is_some() => continue,
            "identifier" | "address" | "number" | "display_name" => value.trim().to_owned(),
            // A box is sent only if it is checked.
            "signs_in" => {
                input.insert(name.to_owned(), Value::Bool(true));
                continue;
            }
            // The response of a passkey: JSON, unchanged.
            "credential" => {
                input.insert(name.to_owned(), serde_json::from_str(value).unwrap_or_default());
                continue;
            }
            // People copy codes in groups.
            "code" if action != "recovery_code/check" => {
                value.chars().filter(|c| !c.is_whitespace() && *c != '-').collect()
            }
            // An empty optional field is omitted.
            "current_password" if value.is_empty() => continue,
            _ => value.to_owned(),
        };
        input.insert(name.to_owned(), Value::String(value));
    }
    Value::Object(input)
}

async fn answered(
    screens: &Screens,
    visit: &Visit,
    id: &str,
    action: &str,
    mut typed: Typed,
    reply: Reply,
) -> Response {
    if reply.status.is_success() {
        let (visit, reply) = in_their_words(screens, visit, id, reply).await;
        return draw::flow(screens, &visit, &reply, typed, None, true);
    }
    if wrong::words(&screens.catalogues.words(visit.language), action, &reply).is_none() {
        return over(screens, visit, id, &typed, &reply).await;
    }
    typed.way = Way::of(action);
    typed.unknown = reply.body["signal"]["credential_id"].as_str().map(ToOwned::to_owned);
    let flow = if reply.body["flow"].is_object() {
        Reply { body: reply.body["flow"].clone(), cookies: reply.cookies.clone(), ..Reply::of(reply.status) }
    } else {
        visit.caller.get(&screens.service, &call_path(visit, id, None)).await
    };
    if read(&flow.body).is_none() {
        return ended(screens, visit, &flow);
    }
    let (visit, flow) = in_their_words(screens, visit, id, flow).await;
    let wrong = wrong::words(&screens.catalogues.words(visit.language), action, &reply);
    draw::flow(screens, &visit, &flow, typed, wrong, true)
}

/// The present representation of the flow.
async fn again(screens: &Screens, visit: &Visit, id: &str, typed: Typed, after_form: bool) -> Response {
    let reply = visit.caller.get(&screens.service, &call_path(visit, id, None)).await;
    if reply.status.is_success() {
        let (visit, reply) = in_their_words(screens, visit, id, reply).await;
        return draw::flow(screens, &visit, &reply, typed, None, after_form);
    }
    ended(screens, visit, &reply)
}

/// Once the account is known, the page uses its language, and descriptions in another language are requested again. A
/// value that is shown once comes without a description.
async fn in_their_words(screens: &Screens, visit: &Visit, id: &str, reply: Reply) -> (Visit, Reply) {
    let theirs = visit.for_person(reply.body["account"]["locale"].as_str());
    let described = reply.body["request"].is_object() && reply.body["challenge"].is_null();
    if theirs.language == visit.language || !described || !reply.status.is_success() {
        return (theirs, reply);
    }
    let mut there = theirs.caller.get(&screens.service, &call_path(&theirs, id, None)).await;
    if !there.status.is_success() {
        return (theirs, reply);
    }
    there.cookies = reply.cookies;
    (theirs, there)
}

/// A refused flow returns its reason for as long as it can be read.
async fn over(screens: &Screens, visit: &Visit, id: &str, typed: &Typed, reply: &Reply) -> Response {
    if reply.code() == "flow_finished" {
        let flow = visit.caller.get(&screens.service, &call_path(visit, id, None)).await;
        if flow.status.is_success() && flow.body["stage"] == "denied" {
            let (visit, flow) = in_their_words(screens, visit, id, flow).await;
            return draw::flow(screens, &visit, &flow, typed.clone(), None, true);
        }
    }
    ended(screens, visit, reply)
}

/// There is no flow to continue.
fn ended(screens: &Screens, visit: &Visit, reply: &Reply) -> Response {
    let ended = match reply.code() {
        "flow_not_found" | "browser_not_allowed" => Ended::code("flow_not_found").again("/ui/sign-in"),
        "flow_expired" | "flow_finished" => Ended::code("flow_expired").again("/ui/sign-in"),
        "origin_refused" => Ended::code("origin_refused").again("/ui/sign-in"),
        "slow_down" => Ended::code("slow_down"),
        _ => Ended::code("internal"),
    };
    let status = if reply.status.is_success() { StatusCode::INTERNAL_SERVER_ERROR } else { reply.status };
    problem(screens, visit.language, "/ui/sign-in", status, &ended)
}

fn read(body: &Value) -> Option<Flow> {
    serde_json::from_value(body.clone()).ok()
}
