//! What a flow enrols: what is mandatory, what a level requires, and what is offered. Pure.

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

/// Whether a credential is enrolled to reach the level: then enrolling it also proves it.
pub fn raises_level(state: &State, facts: &Facts) -> bool {
    level(state, facts.now) < needed_level(state, facts)
}

/// A person who may change the account's credentials may enrol what a level requires; so may a recovery that is backed
/// by a factor.
pub(super) fn may_enrol(state: &State, account: &AccountFacts, now: OffsetDateTime) -> bool {
    match state.kind {
        Kind::Recover => true,
        // Enrolling does not replace the proof that this flow requires.
        Kind::Reauthenticate => state.has_new_proofs() && may_bind(&state.proofs, &account.bound, now),
        Kind::SignIn | Kind::Register | Kind::Enrol | Kind::Purpose(_) => {
            may_bind(&state.proofs, &account.bound, now)
        }
    }
}

/// Actions that enrol a kind which reaches the level, or one of the two factors it needs.
pub(super) fn raising_enrolment(proofs: &[Proof], wanted: Level, now: OffsetDateTime) -> Vec<Action> {
    let decay = Decay::default();
    let useful = KINDS.iter().filter(|info| info.raises_level);
    let useful = useful.filter(|info| helps(proofs, wanted, info.method, now, &decay));
    let mut actions: Vec<Action> = useful.flat_map(|info| info.enrol).copied().collect();
    actions.sort();
    actions
}

/// The credentials that a new or recovered account enrols first.
pub(super) fn first_enrolment() -> Vec<Action> {
    KINDS.iter().filter(|info| info.is_offered_first).flat_map(|info| info.enrol).copied().collect()
}

/// What a recovery enrols to reach the level: first what the account is entered with from now on, then what is missing. The
/// account's other credentials are not asked for: a person who has them proved them before.
pub(super) fn recovery_enrolment(state: &State, wanted: Level, now: OffsetDateTime) -> Vec<Action> {
    let first = mandatory_enrolment(state);
    if first.is_empty() { raising_enrolment(&state.proofs, wanted, now) } else { first }
}

/// The credentials that this flow must enrol.
pub(super) fn mandatory_enrolment(state: &State) -> Vec<Action> {
    let mut actions: Vec<Action> = match state.kind {
        // A recovered account needs a new credential to sign in with first.
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

/// A passkey is offered once per flow to a person who signs in without having one.
pub(super) fn offer_is_due(state: &State, account: &AccountFacts, now: OffsetDateTime) -> bool {
    state.kind == Kind::SignIn
        && !state.offer_dismissed
        && !account.bound.contains(&CredentialKind::Passkey)
        && state.enrolled.is_empty()
        && may_bind(&state.proofs, &account.bound, now)
}

/// Whether the account can still sign in without this credential.
pub fn can_lose(all: &[CredentialKind], lost: CredentialKind) -> bool {
    let mut rest = all.to_vec();
    if let Some(index) = rest.iter().position(|kind| *kind == lost) {
        rest.remove(index);
    }
    // Recovery codes and second factors alone cannot sign in, and a password only together with its address.
    rest.iter().any(|kind| kind.info().can_sign_in_alone)
}
