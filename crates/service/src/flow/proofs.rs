//! The level that a flow's proofs reach, the level it requires, and which proofs are recent.

use porteiro_protocol::{
    assurance::{Decay, Level, Method, Proof, auth_time, event_level, is_fresh},
    id::AccountId,
    time::{Duration, OffsetDateTime},
};

use super::{
    decide::Facts,
    state::{State, Subject},
    vouched::Vouched,
};
use crate::{
    credentials::CredentialKind,
    sessions::{self, FRESH},
};

/// The highest of the levels that the client, the organization and the deployment require.
pub fn needed_level(state: &State, facts: &Facts) -> Level {
    let organization = facts.standing.as_ref().map_or(Level::None, |standing| standing.level);
    state.need.level.max(organization).max(facts.policy.minimum_level)
}

/// Whether the organization requires a more recent proof.
pub(super) fn is_too_old(state: &State, facts: &Facts) -> bool {
    let Some(longest) = facts.standing.as_ref().and_then(|standing| standing.max_age) else {
        return false;
    };
    let when = auth_time(&counted(state, facts), level_here(state, facts), facts.now, &Decay::default());
    when.is_none_or(|when| facts.now - when > Duration::seconds(longest.into()))
}

/// The level that the flow's proofs reach now. A session that was idle reaches less until something new is proved.
pub fn level(state: &State, now: OffsetDateTime) -> Level {
    sessions::level(&state.proofs, state.session_lapsed && !state.has_new_proofs(), now)
}

/// The proofs that count for the request: the account's, and what a directory of its organization vouches for.
pub(super) fn counted(state: &State, facts: &Facts) -> Vec<Proof> {
    state.proofs.iter().chain(vouched(state, facts).map(|it| &it.proof)).cloned().collect()
}

/// The member for whom a directory vouches, unless the flow's account is another one.
pub(super) fn vouched<'a>(state: &State, facts: &'a Facts) -> Option<&'a Vouched> {
    let vouched = facts.vouched.as_ref();
    vouched.filter(|it| state.account().is_none_or(|account| account == it.account))
}

/// The level that those reach now.
pub fn level_here(state: &State, facts: &Facts) -> Level {
    let lapsed = state.session_lapsed && !state.has_new_proofs();
    sessions::level(&counted(state, facts), lapsed, facts.now)
}

/// Whether the account has no credential of its own but mailboxes. What other providers vouch for is none.
pub(super) fn has_only_mailboxes(bound: &[CredentialKind]) -> bool {
    bound.iter().all(|kind| matches!(kind, CredentialKind::Email | CredentialKind::Federated))
}

/// Recent proofs by the account's own credentials. Another server may have authenticated the person long ago.
pub(super) fn recent(proofs: &[Proof], now: OffsetDateTime) -> Vec<Proof> {
    let own = proofs.iter().filter(|proof| proof.method != Method::Federated);
    own.filter(|proof| now - proof.at <= FRESH).cloned().collect()
}

/// Records a proof for an account. The subject is set once and never changes to another account.
pub fn prove(state: &mut State, account: AccountId, proof: Proof) -> bool {
    match state.subject {
        Subject::Account(known) if known != account => return false,
        Subject::Account(_) | Subject::None | Subject::Shadow => {}
    }
    state.subject = Subject::Account(account);
    state.proofs.push(proof);
    true
}

/// The best level that the account can reach with all its credentials.
pub fn available_level(bound: &[CredentialKind], now: OffsetDateTime) -> Level {
    let proofs: Vec<Proof> = bound
        .iter()
        .map(|kind| Proof { method: kind.method(), credential: None, at: now, user_verified: true })
        .collect();
    event_level(&proofs)
}

/// Whether these proofs allow changing the account's credentials: recent, and at the best level the account can reach.
/// A mailbox may enrol the first credential of an account, never a further one.
pub fn may_bind(proofs: &[Proof], bound: &[CredentialKind], now: OffsetDateTime) -> bool {
    let recent = recent(proofs, now);
    if has_only_mailboxes(bound) {
        return !recent.is_empty();
    }
    is_fresh(proofs, FRESH, now) && event_level(&recent) >= available_level(bound, now)
}
