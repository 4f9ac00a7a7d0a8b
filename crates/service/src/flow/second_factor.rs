//! An enrolled second factor is required at every sign-in (decision record 0085). Pure.

use porteiro_protocol::assurance::Proof;

use super::{
    actions::Action,
    decide::{AccountFacts, Facts, actions_of},
    state::{Kind, State},
};
use crate::credentials::{CredentialKind, is_strong};

/// Whether only a mailbox or a password was proved although the account has a second factor. Exhausted ones count:
/// wrong guesses must not weaken the account.
pub(super) fn lacks_second_factor(state: &State, account: &AccountFacts, facts: &Facts) -> bool {
    let signs_in = match state.kind {
        Kind::SignIn | Kind::Register | Kind::Purpose(_) => true,
        // A recovery has its own rule; the others require the account's best level.
        Kind::Recover | Kind::Reauthenticate | Kind::Enrol => false,
    };
    signs_in && account.bound.iter().any(|kind| is_asked_for(*kind, facts)) && !is_backed(&state.proofs)
}

/// The kinds that are required once enrolled. A passkey signs in alone, and a mailbox is the fallback for a person
/// without it; recovery codes are the fallback of a second factor.
const fn is_asked_for(kind: CredentialKind, facts: &Facts) -> bool {
    let info = kind.info();
    // A kind whose messages can no longer be sent is not required, because no account could prove it.
    info.is_second_factor && facts.policy.sends(info.needs)
}

/// Whether a proof is more than access to a mailbox or knowledge of a password.
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
