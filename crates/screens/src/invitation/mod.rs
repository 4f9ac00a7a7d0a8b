//! `/ui/invitation`: the target of an invitation's link. Browsers do not send the fragment: the page's script puts it
//! into the form, or the person does.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Request, State},
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::json;

use crate::{
    Screens, flow,
    form::Form,
    page::{self, Policy, Shell, Wrong},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "invitation.html")]
struct Invitation<'a> {
    s: &'a Shell,
    /// The signed-in person who would join; `None` if not signed in.
    person: Option<String>,
    token: &'a str,
    /// The invitation, once its secret is known.
    offer: Option<Offer>,
}

/// Who invites whom.
struct Offer {
    organization: String,
    address: String,
}

pub async fn show(State(screens): State<Arc<Screens>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let visit = Visit::new(&parts).for_session(&screens).await;
    let response = draw(&screens, &visit, "", None, None).await;
    visit.done(response)
}

async fn draw(
    screens: &Screens,
    visit: &Visit,
    token: &str,
    offer: Option<Offer>,
    wrong: Option<Wrong>,
) -> Response {
    let account = visit.caller.get(&screens.service, "/v1/account").await;
    let person = account.body["display_name"].as_str().map(ToOwned::to_owned);
    let mut shell = visit.shell(screens);
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    shell.problem = wrong;
    let title = match &offer {
        Some(offer) => shell.t1("invitation-from", "organization", offer.organization.as_str()),
        None => shell.t("invitation-title"),
    };
    let shell = shell.titled(title);
    page::send(screens, &shell, Policy::Account, status, &Invitation { s: &shell, person, token, offer })
}

pub async fn act(State(screens): State<Arc<Screens>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let visit = Visit::new(&parts).for_session(&screens).await;
    let form = match Form::read(body).await {
        Ok(form) => form,
        Err(status) => return status.into_response(),
    };
    let token = form.get("token").unwrap_or_default().trim();
    if form.get("action") == Some("register") {
        let what = json!({"kind": "register", "invitation": token, "locale": visit.language.service()});
        let opened = flow::open(&screens, &visit, &what, "organizations").await;
        return if opened.status().is_redirection() {
            opened
        } else {
            refused(&screens, &visit, token).await
        };
    }
    let body = json!({"token": token});
    if form.get("action") == Some("look") {
        return match look(&screens, &visit, &body).await {
            Some(offer) => visit.done(draw(&screens, &visit, token, Some(offer), None).await),
            None => refused(&screens, &visit, token).await,
        };
    }
    let path = "/v1/account/invitations/accept";
    let reply = visit.caller.call(&screens.service, Method::POST, path, Some(&body)).await;
    match reply.code() {
        "unauthenticated" => page::see_other("/ui/sign-in"),
        "step_up_required" => page::see_other("/ui/step-up?back=organizations"),
        // Already a member: shows the membership.
        "conflict" => page::see_other("/ui/account/organizations"),
        _ if reply.status.is_success() => page::see_other("/ui/account/organizations?done=joined"),
        _ => refused(&screens, &visit, token).await,
    }
}

/// Who invites whom, by the invitation's secret.
async fn look(screens: &Screens, visit: &Visit, body: &serde_json::Value) -> Option<Offer> {
    let path = "/v1/invitations/look";
    let reply = visit.caller.call(&screens.service, Method::POST, path, Some(body)).await;
    Some(Offer {
        organization: reply.body["organization"]["name"].as_str()?.to_owned(),
        address: reply.body["email"].as_str()?.to_owned(),
    })
}

async fn refused(screens: &Screens, visit: &Visit, token: &str) -> Response {
    let text = screens.catalogues.words(visit.language).t("wrong-invitation");
    draw(screens, visit, token, None, Some(Wrong { text, field: Some("token".into()) })).await
}
