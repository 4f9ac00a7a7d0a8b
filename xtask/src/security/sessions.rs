//! `docs/security/sessions.md`, with the numbers from the code.

use porteiro_protocol::assurance::Decay;
use porteiro_service::{
    flow::{self, Kind, decide, state::Transport},
    sessions::{CEILING_DAYS, FRESH, IDLE_DAYS, MOST, TOUCH_SECONDS},
};

use super::in_words;

pub fn document() -> String {
    let decay = Decay::default();
    let seconds = |duration: porteiro_protocol::time::Duration| in_words(duration.as_seconds_f64());
    let flow = |kind: Kind, transport| {
        let times = flow::lifetime(&kind, transport);
        (in_words(times.total_seconds), in_words(times.idle_seconds))
    };
    let (sign_in, sign_in_idle) = flow(Kind::SignIn, Transport::Browser);
    let (register, register_idle) = flow(Kind::Register, Transport::Browser);
    let (app, app_idle) = flow(Kind::SignIn, Transport::Api);
    format!(
        "# Sessions

The lifetimes and numbers of sessions, and what ends them (ASVS 7.1.1 to 7.1.3). The numbers come from the code.

## Limits

| What | Limit |
|---|---|
| A session without use | {IDLE_DAYS} days |
| A session in all | {CEILING_DAYS} days |
| Marked as used | at most once every {touch} |
| Sessions of one account at once | {MOST}; one more ends the one unused for longest, which is logged |
| `aal2` after its older proof | {aal2} |
| `aal2` without use of the session | {aal2_idle} |
| Fresh enough to change how the account is entered | {fresh} |
| Flow in a browser | {sign_in}, idle {sign_in_idle} |
| Registration or recovery in a browser | {register}, idle {register_idle} |
| Flow of an app | {app}, idle {app_idle} |
| Recovery with nothing left | waits {hold}, then open for {open} |

Expiry is decided when a session or flow is used, by the database's clock. Nothing depends on a clean-up having run.

## Why seven and thirty days

NIST SP 800-63B-4 suggests that AAL2 is proved again after 24 hours or an idle hour. Here the session stays and its
level decays: after that time it is `aal1`, and a client that requires more causes a step-up. Signing people out would
teach them to type passwords often. See [0016](../decisions/0016-a-sessions-assurance-level-decays-over-time.md).

## The token

256 random bits, encrypted together with the id of its row; the database contains its SHA-256. A browser keeps it in
`__Host-session` (`HttpOnly`, `Secure`, `SameSite=Lax`), an app in memory. It is replaced by every sign-in and every
step-up, and the previous token becomes invalid immediately on every node: tokens are not cached.

## What ends a session

| By | Ended |
|---|---|
| Signing out, `DELETE /v1/account/sessions/{{id}}` with the current one | that session; the cookie that binds open flows is deleted |
| The owner, `DELETE /v1/account/sessions/{{id}}` or `/v1/account/sessions`, with fresh proofs | that one, or all but this |
| A new sign-in in the same browser | the session that browser had |
| Recovery | every session of the account |
| Removing or replacing a credential | every other session that was proved with it, whatever else was proved there; the current session loses that proof |
| Disabling or deleting the account | every session of the account |
| Exceeding the number of sessions | the one unused for longest |

A flow that was started in a session ends with the session, and with the token with which it was started.

## Systems with sessions

| System | Lifetime | Ends with |
|---|---|---|
| The session here | as above | the table above |
| The flow | as above | completion, its session, its time |
| Grants and refresh tokens | 14 days unused, 30 in all; of unverified public clients 3 and 14; of devices 7 in all | their session, unless `offline_access` was granted; revocation; recovery |
| Sessions at clients | the client decides | back-channel logout, for clients that registered for it |
| Sessions at upstream providers | not yet | will come with federation |
",
        touch = in_words(TOUCH_SECONDS),
        aal2 = seconds(decay.aal2_lifetime),
        aal2_idle = seconds(decay.aal2_idle),
        fresh = seconds(FRESH),
        hold = in_words(flow::HOLD.as_seconds_f64()),
        open = seconds(decide::HOLD_GOOD_FOR),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_the_codes() {
        let text = document();
        for row in [
            "| A session without use | 7 days |",
            "| A session in all | 30 days |",
            "| Sessions of one account at once | 50;",
            "| Fresh enough to change how the account is entered | 10 minutes |",
            "| Recovery with nothing left | waits 3 days, then open for 7 days |",
        ] {
            assert!(text.contains(row), "{row}");
        }
    }
}
