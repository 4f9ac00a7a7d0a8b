//! `docs/security/sessions.md`, with the numbers the code has.

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

How long what lives, how many there may be, and what ends them (ASVS 7.1.1 to 7.1.3). The numbers are the code's.

## Limits

| What | How long or many |
|---|---|
| A session without use | {IDLE_DAYS} days |
| A session in all | {CEILING_DAYS} days |
| Marked as used | at most once every {touch} |
| Sessions of one account at once | {MOST}; one more ends the one unused for longest, and the log says so |
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
level falls: after that time it shows `aal1`, and whoever asks for more sends the person to a step-up. Signing people out
would teach them to type passwords often. See [0016](../decisions/0016-a-sessions-assurance-level-decays-over-time.md).

## The token

256 random bits, sealed together with where its row is; the database holds its SHA-256. A browser keeps it in
`__Host-session` (`HttpOnly`, `Secure`, `SameSite=Lax`), an app in memory. It is replaced by every sign-in and every
step-up, and the one before is dead at once, on every node: there is no cache to wait for.

## What ends a session

| By | Ended |
|---|---|
| Signing out, `DELETE /v1/account/sessions/{{id}}` with one's own | that session; the browser forgets what binds its open flows |
| The owner, `DELETE /v1/account/sessions/{{id}}` or `/v1/account/sessions`, with fresh proofs | that one, or all but this |
| A new sign-in in the same browser | the session that browser had |
| Recovery | every session of the account |
| Removing or replacing a credential | every other session that was proved with it, whatever else was proved there; the one in which it was done forgets that proof |
| An account that is disabled or deleted | none is good any more |
| One session too many | the one unused for longest |

A flow that was opened in a session ends with it, and with the token it was opened with.

## Systems that hold sessions

| Holds | Lives | Ends with |
|---|---|---|
| The session here | as above | the table above |
| The flow | as above | completion, its session, its time |
| Grants and refresh tokens | 14 days unused, 30 in all; of public clients that nobody checked 3 and 14; of devices 7 in all | their session, unless `offline_access` was granted; being taken back; recovery |
| Sessions at clients | as long as the client likes | back-channel logout, for clients that registered for it |
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
