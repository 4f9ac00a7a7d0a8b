//! The representation of a flow: always the same members.

use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;

use super::{
    actions::{self, Action},
    decide::{self, Next},
    facts::{self, Gathered},
    proofs,
    state::{Kind, Stage, State, Transport},
    store::Loaded,
    vouched,
};
use crate::{
    App,
    credentials::{CredentialKind, federated},
    directories::Claim,
    http::{BIND_COOKIE, set_cookie},
    store::StoreError,
};
use porteiro_protocol::address::EmailAddress;

/// A body and its cookies.
pub struct Answer {
    pub body: Value,
    pub cookies: Vec<String>,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<flow>")
    }
}

/// The binding cookie only has to outlive the flows.
const BIND_SECONDS: u32 = 86_400;

impl Answer {
    pub const fn again(body: Value) -> Self {
        Self { body, cookies: Vec::new() }
    }

    /// Returns the flow's binding: a cookie, or the token for the next call.
    pub fn bind(&mut self, transport: Transport, secret: &str, fresh: bool) {
        match transport {
            Transport::Browser if fresh => self.cookies.push(set_cookie(BIND_COOKIE, secret, BIND_SECONDS)),
            Transport::Browser => {}
            Transport::Api => self.body["auth_session"] = json!(secret),
        }
    }
}

/// The flow, with its branding.
pub async fn dressed(
    app: &App,
    loaded: &Loaded,
    gathered: &Gathered,
    show: &Value,
) -> Result<Answer, StoreError> {
    let mut answer = present(loaded, gathered, show);
    if let Some(look) = facts::look(app, gathered).await? {
        answer.body["branding"] = look;
    }
    Ok(answer)
}

pub fn present(loaded: &Loaded, gathered: &Gathered, show: &Value) -> Answer {
    let state = &loaded.state;
    let next = decide::next(state, &gathered.facts);
    let (actions, refusal) = match &next {
        Next::Ask { actions, .. } => {
            (actions.iter().map(|action| action_json(*action, state)).collect(), None)
        }
        Next::Refuse(refusal) => (Vec::new(), Some(*refusal)),
        Next::Complete | Next::Cancelled => (Vec::new(), None),
    };
    let level = decide::level_here(state, &gathered.facts);
    let mut body = json!({
        "id": loaded.id,
        "kind": state.kind,
        "stage": next.stage(),
        "step": loaded.step,
        "expires_at": loaded.expires_at.format(&Rfc3339).unwrap_or_default(),
        "phrase": state.phrase,
        "account": account(state, gathered),
        "assurance": {
            "have": level,
            "need": decide::needed_level(state, &gathered.facts),
            "fresh": state.need.fresh,
            "proved": proofs::counted(state, &gathered.facts).iter().map(|proof| proof.method).collect::<Vec<_>>(),
        },
        "actions": Value::Array(actions),
        "challenge": show,
        "notices": state.notices,
        "continue": Value::Null,
    });
    if let Some(request) = gathered.ready.as_ref().and_then(|ready| ready.prepared.describe(&state.locale)) {
        body["request"] = request;
    }
    if let Some(standing) = gathered.facts.standing.as_ref().filter(|it| !it.choices.is_empty()) {
        body["organizations"] = json!(standing.choices);
    }
    if next.offers(federated::BEGIN) || next.offers(federated::ENROL_BEGIN) {
        body["connections"] = json!(gathered.facts.connections);
    }
    if let Some((_, remembered)) = &gathered.facts.remembered
        && next.offers(actions::ORGANIZATION_REMEMBERED)
    {
        body["remembered"] = json!(remembered);
    }
    if let Some(claim) = state.claim.as_ref().filter(|_| next.stage() == Stage::Claim) {
        let Claim { connection_name, issuer_host, label, .. } = claim;
        body["claim"] = json!({"connection": connection_name, "issuer_host": issuer_host, "identity": label});
    }
    if let (Some(opening), Some(brought)) = (gathered.facts.opening, &state.brought)
        && next.stage() == opening.stage
    {
        body[opening.shown_as] = json!(brought);
    }
    if let Some(refusal) = refusal {
        body["reason"] = json!(refusal);
    }
    Answer::again(body)
}

/// If the account is known, no identifier is required.
fn action_json(action: Action, state: &State) -> Value {
    let fields: Vec<_> = action
        .fields()
        .iter()
        .filter(|field| state.account().is_none() || field.name != "identifier")
        .copied()
        .collect();
    json!({"name": action.path(), "fields": fields})
}

/// Shows nothing about an account before one of its credentials is proved, unless the browser has its session: then the
/// person sees which account must be proved again.
fn account(state: &State, gathered: &Gathered) -> Value {
    let Some(account) =
        gathered.account.as_ref().filter(|_| !state.proofs.is_empty() || state.session.is_some())
    else {
        return gathered.facts.vouched.as_ref().map_or_else(|| pending(state), vouched::shown);
    };
    let address = gathered
        .credentials
        .iter()
        .find(|credential| credential.kind == CredentialKind::Email)
        .and_then(|credential| EmailAddress::parse(credential.body["address"].as_str()?).ok());
    json!({
        "display_name": account.display_name,
        "masked_address": address.map(|address| address.masked()),
        "locale": account.locale,
    })
}

fn pending(state: &State) -> Value {
    match (&state.pending, &state.kind) {
        (Some(pending), Kind::Register) => json!({"display_name": pending.display_name}),
        (_, _) => Value::Null,
    }
}
