//! Every policy, times every door: before it changes, after, and when it is undone. A change that does not reach what
//! exists, or that gives back what had ended, shows here.
//!
//! A new policy member, route, grant or kind of access without a row fails in [`complete`].

mod changes;
mod complete;
mod doors;

use std::{collections::BTreeSet, time::Duration};

use changes::Change;
use doors::{Door, Stand};

/// Looks until every door is as expected, or the second in which every node hears of a change is over.
async fn expect(stand: &mut Stand, what: &str, closed: &BTreeSet<Door>) {
    for door in Door::ALL {
        let wanted = !closed.contains(&door);
        let mut opened = stand.opens(door).await;
        for _ in 0..6 {
            if opened == wanted {
                break;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
            opened = stand.opens(door).await;
        }
        assert_eq!(opened, wanted, "{what}: {door:?}");
    }
}

async fn row(change: Change) {
    let mut stand = Stand::new().await;
    expect(&mut stand, "before", &BTreeSet::new()).await;
    stand.another_code().await;
    stand.apply(change).await;
    let (closed, stays) = change.row();
    expect(&mut stand, &format!("{change:?}"), &closed).await;
    if stand.undo(change).await {
        expect(&mut stand, &format!("{change:?}, undone"), &stays).await;
    }
}

macro_rules! rows {
    ($($name:ident: $change:ident;)+) => {
        $(#[tokio::test]
        async fn $name() {
            row(Change::$change).await;
        })+

        /// Which changes have a test.
        const TESTED: &[Change] = &[$(Change::$change),+];
    };
}

rows! {
    a_raised_level_reaches_every_door: MinLevel;
    a_shorter_age_reaches_every_door: MaxAge;
    third_parties_that_are_not_listed_lose_every_door_for_good: ThirdPartyClients;
    frozen_agents_wait_until_they_are_allowed_again: AgentsFrozen;
    a_required_connection_reaches_every_door_and_personal_keys: RequireConnection;
    a_blocked_client_loses_every_door_for_good: ClientBlocked;
    a_client_trusted_less_loses_every_door_for_good: TrustLowered;
    a_client_that_acts_for_nobody_loses_every_door_for_good: OrganizationMode;
    a_disabled_client_loses_every_door_for_good: ClientDisabled;
    a_client_that_registers_for_less_loses_what_it_gave_up: RegisteredScope;
    a_client_without_a_grant_type_loses_what_it_was_given_for_good: GrantTypeRemoved;
    a_disabled_member_loses_every_door_for_good: MemberDisabled;
    a_removed_member_loses_every_door_for_good: MemberRemoved;
    a_role_that_permits_less_reaches_every_door: RoleNarrowed;
    a_member_with_another_role_is_measured_by_it_at_every_door: MemberRoles;
    a_suspended_organization_closes_every_door_until_it_is_resumed: OrganizationSuspended;
    a_disabled_account_loses_every_door_for_good: AccountDisabled;
    ended_sessions_take_what_hangs_on_them_along: SessionsEnded;
    grants_that_an_administrator_ends_are_over: GrantsEnded;
    a_revoked_key_opens_nothing: KeyRevoked;
    an_api_without_a_scope_reaches_every_door: ApiNarrowed;
    an_api_that_is_gone_reaches_every_door: ApiRemoved;
}
