//! The lifetime of a grant. Pure.

use super::{
    super::{
        clients::{Client, Profile, Trust},
        grants::Life,
    },
    Way,
};

/// How long the grant may be refreshed.
pub fn life(client: &Client, offline: bool, way: Way) -> Life {
    let life = usual_life(client, offline);
    match way {
        Way::Redirect | Way::Direct => life,
        // A device that a person was tricked into confirming loses access within a week (decision record 0064).
        Way::Device => Life {
            total_seconds: life.total_seconds.min(7 * DAY),
            idle_seconds: life.idle_seconds.min(7 * DAY),
        },
    }
}

const DAY: i32 = 86_400;

fn usual_life(client: &Client, offline: bool) -> Life {
    if !client.may_use_grant("refresh_token") || client.profile == Profile::Fapi2 {
        // The grant is valid only as long as the tokens of its one redemption.
        return Life { total_seconds: 60 + 600, idle_seconds: 600 };
    }
    let life = match client.trust {
        Trust::Unverified if client.is_public() => Life { total_seconds: 14 * DAY, idle_seconds: 3 * DAY },
        Trust::Unverified | Trust::Verified | Trust::FirstParty => {
            Life { total_seconds: 30 * DAY, idle_seconds: 14 * DAY }
        }
    };
    // A grant that is not offline expires unused when a session would; the statement that writes it also bounds it by
    // the end of the session.
    let longest = if offline { life.idle_seconds } else { 7 * DAY };
    Life { idle_seconds: life.idle_seconds.min(longest), ..life }
}
