//! The input of an action's handler, and its possible effects.

use std::sync::Arc;

use porteiro_protocol::{
    assurance::Level,
    id::{ChallengeId, FlowId, OrganizationId},
    time::OffsetDateTime,
};
use serde_json::Value;

use super::{
    decide::Facts,
    directory,
    purpose::Continuation,
    state::{Kind, State},
};
pub use crate::credentials::{Stopped, text};
use crate::{
    App,
    accounts::Account,
    connections::Recency,
    credentials::{self, Challenge, Credential, Occasion, hashing::Typed},
    http::RequestContext,
};

/// One call, with everything a handler may read.
#[derive(Debug)]
pub struct Step<'a> {
    pub app: &'a Arc<App>,
    pub context: &'a RequestContext,
    pub flow_id: FlowId,
    pub state: &'a State,
    pub facts: &'a Facts,
    /// The account of the flow, once it is proved.
    pub account: Option<&'a Account>,
    pub credentials: &'a [Credential],
    pub challenges: &'a [Challenge],
    /// The device on which a password was typed, if it was.
    pub typed: Typed,
    pub now: OffsetDateTime,
}

impl<'a> Step<'a> {
    /// The part that concerns credentials.
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
            has_directory: false,
            recency: self.facts.standing.as_ref().map_or_else(Recency::default, |it| it.recency),
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

/// The effect of a step.
pub enum Effect {
    Credential(Box<credentials::Effect>),
    Profile {
        display_name: String,
    },
    Skip,
    Back,
    Hold,
    /// The person confirmed the account of the session.
    Confirm,
    /// The person chose another account: what came from the session is dropped.
    Switch,
    /// The organization the person acts for.
    Choose {
        organization: OrganizationId,
    },
    /// The organization that a mailed link leads to, which counts once.
    Lead {
        organization: OrganizationId,
        challenge: ChallengeId,
    },
    /// The request that the person named.
    Found {
        continuation: Box<Continuation>,
        level: Level,
        code: String,
    },
    /// A directory of the organization vouched for somebody, or the person says who that is.
    Directory(Box<directory::Effect>),
    Allow,
    Deny,
}

impl Effect {
    /// What only this response shows.
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
