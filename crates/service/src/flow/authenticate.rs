//! Who the person is: what is offered while no account is proved. It never depends on an account. Pure.

use super::{
    actions::{self, Action},
    decide::{Facts, Next},
    door,
    state::{Kind, Refusal, Stage, State},
};
use crate::credentials::{KINDS, email, federated, password, sms};

pub(super) fn authenticate(state: &State, facts: &Facts) -> Next {
    if let Some(actions) = door::ways(state, facts) {
        return Next::Ask { stage: Stage::Authenticate, actions };
    }
    let mut actions = Vec::new();
    match state.kind {
        Kind::SignIn | Kind::Purpose(_) => {
            actions.extend(KINDS.iter().flat_map(|info| info.sign_in));
            if facts.connections.is_empty() {
                actions.retain(|action| !federated::KIND.sign_in.contains(action));
            }
            if facts.policy.sms_sign_in {
                actions.push(sms::SEND);
            }
            if facts.remembered.is_some() && state.claim.is_none() {
                actions.push(actions::ORGANIZATION_REMEMBERED);
            }
        }
        // These flows have the account of a session, and its proofs.
        Kind::Reauthenticate | Kind::Enrol => {
            return Next::Refuse(Refusal::AccountUnavailable);
        }
        Kind::Register | Kind::Recover => {}
    }
    if facts.policy.mail {
        actions.push(email::SEND);
    }
    let sent = answers(&actions, facts);
    if sent.is_empty() {
        actions.sort();
        return Next::Ask { stage: Stage::Authenticate, actions };
    }
    actions.extend(sent);
    actions.push(actions::BACK);
    if matches!(state.kind, Kind::SignIn | Kind::Purpose(_)) {
        actions.retain(|action| *action != password::CHECK);
    }
    actions.sort();
    Next::Ask { stage: Stage::Challenge, actions }
}

/// The answers to codes that were sent. A mail can be answered even if no other one can be sent.
fn answers(actions: &[Action], facts: &Facts) -> Vec<Action> {
    let mut answers = Vec::new();
    if facts.challenges.contains(&email::PROVE) {
        answers.extend([email::CHECK, email::REDEEM]);
    }
    if facts.challenges.contains(&sms::PROVE) && actions.contains(&sms::SEND) {
        answers.push(sms::CHECK);
    }
    answers
}
