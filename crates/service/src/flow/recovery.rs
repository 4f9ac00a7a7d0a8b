//! The requirements of a recovery. Pure.

use porteiro_protocol::time::{Duration, OffsetDateTime};

use super::{
    actions::{self, Action},
    decide::{AccountFacts, Facts},
    second_factor::{backing_actions, is_backed},
    state::State,
};

/// Recovery never bypasses a second factor (ASVS 6.4.3).
pub(super) fn recovery_is_backed(state: &State, account: &AccountFacts, now: OffsetDateTime) -> bool {
    let strong = account.bound.iter().any(|kind| kind.info().is_strong);
    let backed = is_backed(&state.proofs);
    !strong || backed || account.hold_until.is_some_and(|until| until <= now && now < until + HOLD_GOOD_FOR)
}

/// After a recovery hold, the recovery can be completed for a week.
pub const HOLD_GOOD_FOR: Duration = Duration::days(7);

pub(super) fn recovery_actions(state: &State, account: &AccountFacts, facts: &Facts) -> Vec<Action> {
    let mut actions = backing_actions(account, facts);
    let lapsed = account.hold_until.is_none_or(|until| until + HOLD_GOOD_FOR <= facts.now);
    if lapsed && !state.notices.contains(&super::state::Notice::RecoveryHoldStarted) {
        actions.push(actions::RECOVERY_HOLD);
    }
    actions
}
