//! A change that would give or take more than its caller holds is refused where it is decided; here it gets the reference
//! that explains it to whoever may read the trail.

use axum::{
    body::{Body, to_bytes},
    http::header,
    response::Response,
};
use porteiro_protocol::permission::{Held, Permission};
use serde_json::{Value, json};

use super::super::caller::{By, Caller};
use crate::{
    App,
    http::{ProblemCode, RequestContext},
    refusals::{self, Holder, Refusal, Rule},
};

/// Longer than any problem of ours.
const LARGEST: usize = 64 * 1024;

pub(super) async fn explained(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    response: Response,
) -> Response {
    if response.extensions().get::<ProblemCode>() != Some(&ProblemCode::AuthorityExceeded) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = to_bytes(body, LARGEST).await.unwrap_or_default();
    let Ok(mut told) = serde_json::from_slice::<Value>(&bytes) else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    if told["reference"].is_null()
        && let Some(reference) = refusals::record(app, context, &refusal(caller, &told)).await
    {
        told["reference"] = json!(reference);
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(told.to_string()))
}

fn refusal(caller: &Caller, told: &Value) -> Refusal {
    let organization = caller.organization.as_ref().map(|organization| organization.id);
    let missing = told["missing"].as_array().into_iter().flatten();
    let asked: Vec<String> = missing.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    // What a client's token does not carry is not the person's to lack.
    let named = Held::of(asked.iter().filter_map(|name| Permission::parse(name).ok()));
    let carried = caller.narrows(named.clone());
    let rule =
        if carried.covers_all(&named) { Rule::PermissionNotHeld } else { Rule::CredentialLacksPermission };
    let holder = match (&caller.by, organization) {
        (By::Member { membership, .. }, Some(organization)) => Holder::Member(organization, *membership),
        (By::Member { .. } | By::Operator(_) | By::Key { .. }, _) => {
            Holder::named(caller.actor.kind.as_str(), &caller.held)
        }
    };
    Refusal {
        organization,
        client_id: caller.token.as_ref().map(|token| token.client.id.clone()),
        subject: Some(caller.actor.clone()),
        rule,
        asked,
        holder,
        would_pass:
            "the same request by a caller who holds all of these permissions, or a change without them".into(),
    }
}
