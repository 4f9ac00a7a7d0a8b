//! The fixed order of requirements. Pure: from the flow's state and the facts of the database to the next stage.
//!
//! Evaluated from top to bottom after every step and again at completion; the first unmet requirement decides: 1 an
//! account is proved, 2 it is active, 3 a second factor that the account has was proved, in a sign-in and in a
//! recovery, 4 the level is reached, if necessary by enrolling a credential that reaches it, 5 it is fresh, 6 the
//! profile is known, 7 mandatory credentials are enrolled, 8 optional ones were offered, 9 the person consented.

use porteiro_protocol::{
    assurance::{Decay, Level, Proof, helps},
    id::OrganizationId,
    time::OffsetDateTime,
};
use uuid::Uuid;

use super::{
    actions::{self, Action},
    door,
    enrolment::{
        first_enrolment, mandatory_enrolment, may_enrol, offer_is_due, raising_enrolment, recovery_enrolment,
    },
    proofs::{has_only_mailboxes, is_too_old, recent},
    purpose::{Opening, Standing},
    recovery::{recovery_actions, recovery_is_backed},
    second_factor::{lacks_second_factor, second_factor_actions},
    state::{Kind, Refusal, Stage, State},
    vouched::{self, Vouched},
};
pub use super::{
    enrolment::{can_lose, raises_level},
    proofs::{available_level, level, level_here, may_bind, needed_level, prove},
    recovery::HOLD_GOOD_FOR,
};
use crate::{
    connections::{Offered, organizations::Ways},
    credentials::{CredentialKind, KINDS, Needs, passkey},
    settings::Registration,
};

/// What the deployment allows.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    pub registration: Registration,
    pub minimum_level: Level,
    pub sms: bool,
    /// Whether a text message may be the first step of a sign-in.
    pub sms_sign_in: bool,
    pub mail: bool,
}

impl Policy {
    /// Whether the deployment can send what a kind needs.
    pub const fn sends(self, needs: Needs) -> bool {
        match needs {
            Needs::Nothing => true,
            Needs::Mail => self.mail,
            Needs::Sms => self.sms,
        }
    }
}

/// Facts about the flow's account.
#[derive(Debug, Clone)]
pub struct AccountFacts {
    pub active: bool,
    /// Kinds that may be offered.
    pub usable: Vec<CredentialKind>,
    /// Kinds that must be proved: all enrolled ones, since exhausting one by wrong guesses must not weaken the account.
    pub bound: Vec<CredentialKind>,
    /// Phones that are a way in and no second factor (decision record 0138), by their credentials.
    pub sign_in_numbers: Vec<Uuid>,
    pub hold_until: Option<OffsetDateTime>,
}

impl AccountFacts {
    /// Whether a phone of the account is a second factor.
    pub fn phone_is_second_factor(&self) -> bool {
        let phones = self.bound.iter().filter(|kind| **kind == CredentialKind::Phone).count();
        phones > self.sign_in_numbers.len()
    }
}

#[derive(Debug, Clone)]
pub struct Facts {
    pub policy: Policy,
    pub account: Option<AccountFacts>,
    /// Whether the session in which the flow was opened is still valid; true for flows without one.
    pub session_alive: bool,
    /// Modules with a pending challenge of this flow.
    pub challenges: Vec<&'static str>,
    /// What the flow's request requires.
    pub standing: Option<Standing>,
    /// How a person opens a flow of this purpose, if one did.
    pub opening: Option<&'static Opening>,
    /// Connections by which a person may sign in.
    pub connections: Vec<Offered>,
    /// The organization whose connections they are; none: they are the deployment's.
    pub directory: Option<OrganizationId>,
    /// What that organization allows for somebody who is not known yet.
    pub ways: Ways,
    /// The connection by which somebody signed in last in this browser, where it may be used again.
    pub remembered: Option<(OrganizationId, Offered)>,
    /// The member for whom a directory of the request's organization vouches, while that counts.
    pub vouched: Option<Vouched>,
    pub now: OffsetDateTime,
}

/// The next stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Ask { stage: Stage, actions: Vec<Action> },
    Complete,
    Refuse(Refusal),
    Cancelled,
}

impl Next {
    pub fn stage(&self) -> Stage {
        match self {
            Self::Ask { stage, .. } => *stage,
            Self::Complete => Stage::Complete,
            Self::Refuse(_) => Stage::Denied,
            Self::Cancelled => Stage::Cancelled,
        }
    }

    /// The action with this path, if it is offered.
    pub fn find(&self, path: &str) -> Option<Action> {
        match self {
            Self::Ask { actions, .. } => actions.iter().copied().find(|action| action.path() == path),
            Self::Complete | Self::Refuse(_) | Self::Cancelled => None,
        }
    }

    pub fn offers(&self, action: Action) -> bool {
        match self {
            Self::Ask { actions, .. } => actions.contains(&action),
            Self::Complete | Self::Refuse(_) | Self::Cancelled => false,
        }
    }
}

pub fn next(state: &State, facts: &Facts) -> Next {
    if state.cancelled {
        return Next::Cancelled;
    }
    if let Some(refusal) = state.refusal {
        return Next::Refuse(refusal);
    }
    // 0. The session in which the flow was opened is still valid.
    if !facts.session_alive {
        return Next::Refuse(Refusal::SessionEnded);
    }
    // 0. The request can still be granted.
    if facts.standing.as_ref().is_some_and(|standing| standing.refused.is_some()) {
        return Next::Refuse(Refusal::RequestRefused);
    }
    // 1. An account is proved. Proofs by removed credentials no longer count.
    match (state.account(), &state.kind) {
        (None, _) if state.proved_address.is_none() => return vouched::nobody(state, facts),
        (Some(_), Kind::SignIn | Kind::Register | Kind::Recover | Kind::Purpose(_))
            if state.proofs.is_empty() =>
        {
            return Next::Refuse(Refusal::AccountUnavailable);
        }
        (None | Some(_), _) => {}
    }
    // 2. The account is active, or will be created.
    let Some(account) = &facts.account else {
        return match (state.account(), &state.pending) {
            (None, Some(_)) => finish_registration(state, facts),
            (None, None) => Next::Refuse(Refusal::NoAccount),
            (Some(_), _) => Next::Refuse(Refusal::AccountUnavailable),
        };
    };
    if !account.active {
        return Next::Refuse(Refusal::AccountUnavailable);
    }
    if facts.standing.as_ref().is_some_and(|standing| standing.needs_choice)
        && state.session.is_some()
        && !state.has_new_proofs()
    {
        let actions = vec![actions::ACCOUNT_CONFIRM, actions::ACCOUNT_SWITCH];
        return Next::Ask { stage: Stage::Confirm, actions };
    }
    // 3. Neither a sign-in nor a recovery bypasses a second factor (decision record 0085, ASVS 6.4.3). This comes
    //    before the organizations are shown: a mailbox alone must not reveal them.
    if lacks_second_factor(state, account, facts) {
        return raise_or_refuse(facts, second_factor_actions(account, facts));
    }
    if state.kind == Kind::Recover && !recovery_is_backed(state, account, facts.now) {
        return raise(facts, recovery_actions(state, account, facts));
    }
    // The person says which account the identity is that a directory vouched for.
    if state.claim.is_some() {
        return vouched::attach(state, account, facts);
    }
    // The organization comes before the level: it may require more than the client does.
    if facts.standing.as_ref().is_some_and(|standing| !standing.choices.is_empty()) {
        let mut actions = vec![actions::ORGANIZATION_CHOOSE];
        if state.session.is_some() {
            actions.push(actions::ACCOUNT_SWITCH);
        }
        actions.sort();
        return Next::Ask { stage: Stage::Organization, actions };
    }
    // The connection that the organization requires comes first: what it vouches for may be enough.
    if door::lacks_connection(state, facts) {
        return door::ask(state, facts);
    }
    // 4. The level.
    if level_here(state, facts) < needed_level(state, facts) || is_too_old(state, facts) {
        return reach_level(state, account, facts);
    }
    // 5. Freshness, at the best level the account can reach (Kratos GHSA-wc43-73w7-x2f5). A credential that was just
    //    enrolled raises that level; it does not invalidate the proof with which it was enrolled.
    let done = state.wants.is_some_and(|kind| state.enrolled.contains(&kind));
    let asked = state.kind != Kind::Reauthenticate || state.has_new_proofs();
    if state.need.fresh && !done && !(asked && may_bind(&state.proofs, &account.bound, facts.now)) {
        // One factor was proved recently: only the other one is required.
        let (recent, best) = (recent(&state.proofs, facts.now), available_level(&account.bound, facts.now));
        let lacking = if asked { helpful_actions(&recent, best, account, facts) } else { Vec::new() };
        let actions = if lacking.is_empty() { proving_actions(account, facts) } else { lacking };
        return raise_or_refuse(facts, actions);
    }
    // 7. Mandatory credentials.
    let mandatory = mandatory_enrolment(state);
    if !mandatory.is_empty() {
        return Next::Ask { stage: Stage::Enrol, actions: mandatory };
    }
    // 8. Optional credentials: offered once, and only if the person may enrol them.
    if offer_is_due(state, account, facts.now) {
        let mut actions = vec![passkey::ENROL_BEGIN, passkey::ENROL_FINISH, actions::ENROL_SKIP];
        actions.sort();
        return Next::Ask { stage: Stage::Enrol, actions };
    }
    agree(state, facts)
}

/// 9: nothing is left to prove; the person decides.
fn agree(state: &State, facts: &Facts) -> Next {
    let Some(standing) = &facts.standing else {
        return match state.kind {
            Kind::Purpose(_) => find_request(state, facts),
            Kind::SignIn | Kind::Register | Kind::Recover | Kind::Reauthenticate | Kind::Enrol => {
                Next::Complete
            }
        };
    };
    if standing.needs_consent {
        let mut actions = vec![actions::CONSENT_ALLOW, actions::CONSENT_DENY];
        if state.session.is_some() {
            actions.push(actions::ACCOUNT_SWITCH);
        }
        actions.sort();
        return Next::Ask { stage: Stage::Consent, actions };
    }
    Next::Complete
}

/// The request to decide about: looked for only once the person is known.
fn find_request(state: &State, facts: &Facts) -> Next {
    let Some(opening) = facts.opening else { return Next::Refuse(Refusal::RequestRefused) };
    let mut actions: Vec<Action> = opening.actions.iter().map(|(action, _)| *action).collect();
    if state.session.is_some() {
        actions.push(actions::ACCOUNT_SWITCH);
    }
    actions.sort();
    Next::Ask { stage: opening.stage, actions }
}

/// Registration after the mailbox is proved: the name, then the offer of a passkey or password.
fn finish_registration(state: &State, facts: &Facts) -> Next {
    let Some(pending) = &state.pending else { return Next::Refuse(Refusal::NoAccount) };
    let invited = state.bootstrap.is_some() || state.invited.is_some();
    if facts.policy.registration != Registration::Open && !invited {
        return Next::Refuse(Refusal::NoAccount);
    }
    if pending.display_name.is_none() {
        return Next::Ask { stage: Stage::Profile, actions: vec![actions::PROFILE] };
    }
    // Only a mailbox was proved, which reaches no level: a credential that does must be enrolled first.
    let wanted = needed_level(state, facts);
    if level(state, facts.now) < wanted {
        let actions = raising_enrolment(&state.proofs, wanted, facts.now);
        return Next::Ask { stage: Stage::Enrol, actions };
    }
    if pending.credentials.is_empty() && !state.offer_dismissed {
        let mut actions = first_enrolment();
        actions.push(actions::ENROL_SKIP);
        actions.sort();
        return Next::Ask { stage: Stage::Enrol, actions };
    }
    agree(state, facts)
}

/// 4: requires the account's own credentials; if they are not enough, offers to enrol one that is. The required level
/// is never lowered.
fn reach_level(state: &State, account: &AccountFacts, facts: &Facts) -> Next {
    if is_too_old(state, facts) {
        return raise_or_refuse(facts, proving_actions(account, facts));
    }
    let wanted = needed_level(state, facts);
    if state.kind == Kind::Recover {
        return Next::Ask { stage: Stage::Enrol, actions: recovery_enrolment(state, wanted, facts.now) };
    }
    let helpful = helpful_actions(&state.proofs, wanted, account, facts);
    if !helpful.is_empty() {
        return raise(facts, helpful);
    }
    if may_enrol(state, account, facts.now) {
        let actions = raising_enrolment(&state.proofs, wanted, facts.now);
        return Next::Ask { stage: Stage::Enrol, actions };
    }
    raise_or_refuse(facts, binding_actions(state, account, facts))
}

/// What must be proved before a credential may be enrolled. Empty if an exhausted credential prevents it: that needs a
/// recovery.
pub(super) fn binding_actions(state: &State, account: &AccountFacts, facts: &Facts) -> Vec<Action> {
    if has_only_mailboxes(&account.bound) || (state.kind == Kind::Reauthenticate && !state.has_new_proofs()) {
        return proving_actions(account, facts);
    }
    let (recent, best) = (recent(&state.proofs, facts.now), available_level(&account.bound, facts.now));
    helpful_actions(&recent, best, account, facts)
}

pub(super) fn raise_or_refuse(facts: &Facts, actions: Vec<Action>) -> Next {
    if actions.is_empty() { Next::Refuse(Refusal::UnmetRequirements) } else { raise(facts, actions) }
}

fn raise(facts: &Facts, mut actions: Vec<Action>) -> Next {
    let mut stage = Stage::Raise;
    for sent in KINDS.iter().filter_map(|info| info.sent.as_ref()) {
        if facts.challenges.contains(&sent.module) && actions.contains(&sent.send) {
            stage = Stage::Challenge;
            actions.extend(sent.answers);
            actions.push(actions::BACK);
        }
    }
    actions.sort();
    actions.dedup();
    Next::Ask { stage, actions }
}

/// The actions that prove a kind, when the account is known.
pub(super) fn actions_of(kind: CredentialKind, facts: &Facts) -> &'static [Action] {
    let info = kind.info();
    if facts.policy.sends(info.needs) { info.prove } else { &[] }
}

fn helpful_actions(proofs: &[Proof], wanted: Level, account: &AccountFacts, facts: &Facts) -> Vec<Action> {
    let decay = Decay::default();
    let useful = account.usable.iter().filter(|kind| helps(proofs, wanted, kind.method(), facts.now, &decay));
    useful.flat_map(|kind| actions_of(*kind, facts).iter().copied()).collect()
}

/// The actions of everything the account has; mailboxes only if it has nothing else.
fn proving_actions(account: &AccountFacts, facts: &Facts) -> Vec<Action> {
    let real: Vec<Action> = account
        .usable
        .iter()
        .filter(|kind| **kind != CredentialKind::Email)
        .flat_map(|kind| actions_of(*kind, facts).iter().copied())
        .collect();
    if real.is_empty() { actions_of(CredentialKind::Email, facts).to_vec() } else { real }
}
