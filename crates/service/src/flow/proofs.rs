//! What a flow's proofs are worth, and what is asked of them.

use porteiro_protocol::{
    assurance::{Decay, Level, auth_time},
    time::{Duration, OffsetDateTime},
};

use super::{decide::Facts, state::State};
use crate::sessions;

/// What the client or the organization asks for, whichever is more.
pub fn needed_level(state: &State, facts: &Facts) -> Level {
    let organization = facts.standing.as_ref().map_or(Level::None, |standing| standing.level);
    state.need.level.max(organization)
}

/// The organization wants it proved more recently.
pub(super) fn is_too_old(state: &State, facts: &Facts) -> bool {
    let Some(longest) = facts.standing.as_ref().and_then(|standing| standing.max_age) else {
        return false;
    };
    let when = auth_time(&state.proofs, level(state, facts.now), facts.now, &Decay::default());
    when.is_none_or(|when| facts.now - when > Duration::seconds(longest.into()))
}

/// What the flow's proofs are worth now. A session that lay idle is worth less, until something new is proved.
pub fn level(state: &State, now: OffsetDateTime) -> Level {
    sessions::level(&state.proofs, state.session_lapsed && !state.has_new_proofs(), now)
}
