//! What is bound in a flow: because it must be, because a level asks for it, or because it is worth offering. Pure.

use porteiro_protocol::{
    assurance::{Decay, Level, Proof, helps},
    time::OffsetDateTime,
};

use super::{
    actions::Action,
    decide::{AccountFacts, Facts, level, may_bind, needed_level},
    state::{Kind, State},
};
use crate::credentials::{CredentialKind, KINDS};

/// Whether what is bound now is bound because the level asks for it: then binding it proves it.
pub fn raises_level(state: &State, facts: &Facts) -> bool {
    level(state, facts.now) < needed_level(state, facts)
}

/// Whoever may change how the account is entered may add what a level asks for. A recovery that is backed may, too.
pub(super) fn may_enrol(state: &State, account: &AccountFacts, now: OffsetDateTime) -> bool {
    match state.kind {
        Kind::Recover => true,
        // What is bound does not stand in for the proof this flow is about.
        Kind::Reauthenticate => state.has_new_proofs() && may_bind(&state.proofs, &account.bound, now),
        Kind::SignIn | Kind::Register | Kind::Enrol | Kind::Purpose(_) => {
            may_bind(&state.proofs, &account.bound, now)
        }
    }
}

/// Everything that brings the level nearer, by one half of a pair at least.
pub(super) fn raising_enrolment(proofs: &[Proof], wanted: Level, now: OffsetDateTime) -> Vec<Action> {
    let decay = Decay::default();
    let useful = KINDS.iter().filter(|info| info.raises_level);
    let useful = useful.filter(|info| helps(proofs, wanted, info.method, now, &decay));
    let mut actions: Vec<Action> = useful.flat_map(|info| info.enrol).copied().collect();
    actions.sort();
    actions
}

/// What a new or recovered account is given first.
pub(super) fn first_enrolment() -> Vec<Action> {
    KINDS.iter().filter(|info| info.comes_first).flat_map(|info| info.enrol).copied().collect()
}

/// What this flow does not end without.
pub(super) fn mandatory_enrolment(state: &State) -> Vec<Action> {
    let mut actions: Vec<Action> = match state.kind {
        // A recovered account gets a new way in before anything else.
        Kind::Recover if state.enrolled.is_empty() => first_enrolment(),
        Kind::Enrol => match state.wants {
            Some(kind) if !state.enrolled.contains(&kind) => kind.info().enrol.to_vec(),
            Some(_) | None => Vec::new(),
        },
        Kind::SignIn | Kind::Register | Kind::Recover | Kind::Reauthenticate | Kind::Purpose(_) => Vec::new(),
    };
    actions.sort();
    actions
}

/// A passkey is offered once per flow to whoever signs in without having one.
pub(super) fn offer_is_due(state: &State, account: &AccountFacts, now: OffsetDateTime) -> bool {
    state.kind == Kind::SignIn
        && !state.offer_dismissed
        && !account.bound.contains(&CredentialKind::Passkey)
        && state.enrolled.is_empty()
        && may_bind(&state.proofs, &account.bound, now)
}
