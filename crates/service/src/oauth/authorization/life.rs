//! How long a grant goes on. Pure.

use super::{
    super::{
        clients::{Client, Profile, Trust},
        grants::Life,
    },
    Way,
};

/// How long what the client gets may be refreshed.
pub fn life(client: &Client, offline: bool, way: Way) -> Life {
    let life = usual_life(client, offline);
    match way {
        Way::Redirect | Way::Direct => life,
        // Whoever was tricked into letting a device in gets it back within a week (decision record 0064).
        Way::Device => Life {
            total_seconds: life.total_seconds.min(7 * DAY),
            idle_seconds: life.idle_seconds.min(7 * DAY),
        },
    }
}

const DAY: i32 = 86_400;

fn usual_life(client: &Client, offline: bool) -> Life {
    if !client.may_use_grant("refresh_token") || client.profile == Profile::Fapi2 {
        // The grant lives only as long as the tokens of its one redemption.
        return Life { total_seconds: 60 + 600, idle_seconds: 600 };
    }
    let life = match client.trust {
        Trust::Unverified if client.is_public() => Life { total_seconds: 14 * DAY, idle_seconds: 3 * DAY },
        Trust::Unverified | Trust::Verified | Trust::FirstParty => {
            Life { total_seconds: 30 * DAY, idle_seconds: 14 * DAY }
        }
    };
    // What does not outlive the session ends by disuse when a session would; the statement that writes it sees to the
    // session's own end.
    let longest = if offline { life.idle_seconds } else { 7 * DAY };
    Life { idle_seconds: life.idle_seconds.min(longest), ..life }
}
