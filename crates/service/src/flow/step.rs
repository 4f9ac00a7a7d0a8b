//! What an action of a flow is given and what it may answer.

use std::sync::Arc;

use porteiro_protocol::{
    assurance::Level,
    id::{FlowId, OrganizationId},
    time::OffsetDateTime,
};
use serde_json::Value;

use super::{
    decide::Facts,
    purpose::Continuation,
    state::{Kind, State},
};
pub use crate::credentials::{Stopped, text};
use crate::{
    App,
    accounts::Account,
    credentials::{self, Challenge, Credential, Occasion, hashing::Typed},
    http::RequestContext,
};

/// One call, with everything an action may look at.
#[derive(Debug)]
pub struct Step<'a> {
    pub app: &'a Arc<App>,
    pub context: &'a RequestContext,
    pub flow_id: FlowId,
    pub state: &'a State,
    pub facts: &'a Facts,
    /// The account the flow is about, once somebody proved to be it.
    pub account: Option<&'a Account>,
    pub credentials: &'a [Credential],
    pub challenges: &'a [Challenge],
    /// On whose device a password was typed, if it was.
    pub typed: Typed,
    pub now: OffsetDateTime,
}

impl<'a> Step<'a> {
    /// What of it concerns credentials.
    pub fn of_credential(&self) -> credentials::Step<'a> {
        let state = self.state;
        credentials::Step {
            app: self.app,
            flow_id: self.flow_id,
            occasion: occasion(&state.kind),
            locale: &state.locale,
            phrase: &state.phrase,
            proofs: &state.proofs,
            proved_address: state.proved_address.as_deref(),
            account: self.account,
            pending: state.pending.as_ref(),
            bootstraps: state.bootstrap.is_some(),
            invited: state.invited.as_deref(),
            credentials: self.credentials,
            challenges: self.challenges,
            sends: state.sends,
            sends_sms: self.facts.policy.sms,
            typed: self.typed,
            now: self.now,
        }
    }
}

const fn occasion(kind: &Kind) -> Occasion {
    match kind {
        Kind::SignIn => Occasion::SignIn,
        Kind::Register => Occasion::Register,
        Kind::Recover => Occasion::Recover,
        Kind::Enrol => Occasion::Enrol,
        Kind::Reauthenticate | Kind::Purpose(_) => Occasion::Confirm,
    }
}

/// What a step leads to.
pub enum Effect {
    Credential(Box<credentials::Effect>),
    Profile {
        display_name: String,
    },
    Skip,
    Back,
    Hold,
    /// It is the account the browser is signed in to.
    Confirm,
    /// It is somebody else: what the session brought is dropped.
    Switch,
    /// They act for this organization.
    Choose {
        organization: OrganizationId,
    },
    /// They found the request they decide about, by this code.
    Found {
        continuation: Box<Continuation>,
        level: Level,
        code: String,
    },
    Allow,
    Deny,
}

impl Effect {
    /// What only this answer shows.
    pub(super) fn show(&self) -> Value {
        let Self::Credential(effect) = self else { return Value::Null };
        match &**effect {
            credentials::Effect::Challenge { show, .. } | credentials::Effect::Bind { show, .. } => {
                show.clone()
            }
            credentials::Effect::Prove { .. } | credentials::Effect::ProveMailbox { .. } => Value::Null,
        }
    }
}

impl std::fmt::Debug for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<effect>")
    }
}
