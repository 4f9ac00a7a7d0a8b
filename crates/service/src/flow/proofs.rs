//! The level that a flow's proofs reach, the level it requires, and which proofs are recent.

use porteiro_protocol::{
    assurance::{Decay, Level, Method, Proof, auth_time},
    time::{Duration, OffsetDateTime},
};

use super::{decide::Facts, state::State};
use crate::{
    credentials::CredentialKind,
    sessions::{self, FRESH},
};

/// The higher of the levels that the client and the organization require.
pub fn needed_level(state: &State, facts: &Facts) -> Level {
    let organization = facts.standing.as_ref().map_or(Level::None, |standing| standing.level);
    state.need.level.max(organization)
}

/// Whether the organization requires a more recent proof.
pub(super) fn is_too_old(state: &State, facts: &Facts) -> bool {
    let Some(longest) = facts.standing.as_ref().and_then(|standing| standing.max_age) else {
        return false;
    };
    let when = auth_time(&state.proofs, level(state, facts.now), facts.now, &Decay::default());
    when.is_none_or(|when| facts.now - when > Duration::seconds(longest.into()))
}

/// The level that the flow's proofs reach now. A session that was idle reaches less until something new is proved.
pub fn level(state: &State, now: OffsetDateTime) -> Level {
    sessions::level(&state.proofs, state.session_lapsed && !state.has_new_proofs(), now)
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
