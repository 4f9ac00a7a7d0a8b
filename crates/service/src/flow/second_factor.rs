//! An enrolled second factor is required at every sign-in (decision record 0085). Pure.

use porteiro_protocol::assurance::Proof;

use super::{
    actions::Action,
    decide::{AccountFacts, Facts, actions_of},
    state::{Kind, State},
};
use crate::credentials::{CredentialKind, is_strong};

/// Whether only a way in was proved although the account has a second factor: a mailbox, a password, or a sign-in number
/// (decision record 0138). Exhausted second factors count: wrong guesses must not weaken the account.
pub(super) fn lacks_second_factor(state: &State, account: &AccountFacts, facts: &Facts) -> bool {
    let signs_in = match state.kind {
        Kind::SignIn | Kind::Register | Kind::Purpose(_) => true,
        // A recovery has its own rule; the others require the account's best level.
        Kind::Recover | Kind::Reauthenticate | Kind::Enrol => false,
    };
    let asked = account.bound.iter().any(|kind| {
        is_asked_for(*kind, facts) && (*kind != CredentialKind::Phone || account.phone_is_second_factor())
    });
    signs_in && asked && !is_shown(&state.proofs, account)
}

/// Whether a second factor was proved. A passkey and recovery codes replace one.
fn is_shown(proofs: &[Proof], account: &AccountFacts) -> bool {
    let is_way_in = |proof: &Proof| proof.credential.is_some_and(|id| account.sign_in_numbers.contains(&id));
    proofs.iter().any(|proof| is_strong(proof.method) && !is_way_in(proof))
}

/// The kinds that are required once enrolled. A passkey signs in alone, and a mailbox is the fallback for a person
/// without it; recovery codes are the fallback of a second factor.
const fn is_asked_for(kind: CredentialKind, facts: &Facts) -> bool {
    let info = kind.info();
    // A kind whose messages can no longer be sent is not required, because no account could prove it.
    info.is_second_factor && facts.policy.sends(info.needs)
}

/// Whether a proof is more than access to a mailbox or knowledge of a password. For a recovery, which begins with a mailbox,
/// a sign-in number is a second thing as well.
pub(super) fn is_backed(proofs: &[Proof]) -> bool {
    proofs.iter().any(|proof| is_strong(proof.method))
}

pub(super) fn second_factor_actions(account: &AccountFacts, facts: &Facts) -> Vec<Action> {
    strong_actions(account, facts, |kind| kind != CredentialKind::Phone || account.phone_is_second_factor())
}

/// What backs a recovery.
pub(super) fn backing_actions(account: &AccountFacts, facts: &Facts) -> Vec<Action> {
    strong_actions(account, facts, |_| true)
}

fn strong_actions(
    account: &AccountFacts,
    facts: &Facts,
    counts: impl Fn(CredentialKind) -> bool,
) -> Vec<Action> {
    account
        .usable
        .iter()
        .filter(|kind| kind.info().is_strong && counts(**kind))
        .flat_map(|kind| actions_of(*kind, facts).iter().copied())
        .collect()
}
