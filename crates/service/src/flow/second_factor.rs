//! A second factor that somebody bound is asked for at every sign-in (decision record 0085). Pure.

use porteiro_protocol::assurance::Proof;

use super::{
    actions::Action,
    decide::{AccountFacts, Facts, actions_of},
    state::{Kind, State},
};
use crate::credentials::{CredentialKind, is_strong};

/// Whether this sign-in rests on a mailbox or a password alone, although the account has more. Exhausted ones count: to
/// guess wrong on purpose must not make an account weaker.
pub(super) fn lacks_second_factor(state: &State, account: &AccountFacts, facts: &Facts) -> bool {
    let signs_in = match state.kind {
        Kind::SignIn | Kind::Register | Kind::Purpose(_) => true,
        // A recovery has a rule of its own; the others ask for the account's best.
        Kind::Recover | Kind::Reauthenticate | Kind::Enrol => false,
    };
    signs_in && account.bound.iter().any(|kind| is_asked_for(*kind, facts)) && !is_backed(&state.proofs)
}

/// What a person binds in order to be asked for it. A passkey is a way in by itself, and e-mail is the fallback of whoever
/// is without it; saved codes are the fallback of a second factor, not one that somebody chose.
const fn is_asked_for(kind: CredentialKind, facts: &Facts) -> bool {
    let info = kind.info();
    // Where nothing can be sent any more, nobody is shut out by it.
    info.is_second_factor && facts.policy.sends(info.needs)
}

/// Whether anything was proved but what can be read in a mailbox or typed by whoever learnt it.
pub(super) fn is_backed(proofs: &[Proof]) -> bool {
    proofs.iter().any(|proof| is_strong(proof.method))
}

pub(super) fn second_factor_actions(account: &AccountFacts, facts: &Facts) -> Vec<Action> {
    account
        .usable
        .iter()
        .filter(|kind| kind.info().is_strong)
        .flat_map(|kind| actions_of(*kind, facts).iter().copied())
        .collect()
}
