//! `docs/security/paths.md` is generated from the kinds of credentials and the table of actions.

use std::fmt::Write;

use porteiro_protocol::{
    assurance::{Factor, Method, Proof, event_level},
    time::OffsetDateTime,
};
use porteiro_service::{
    credentials::{Action, KINDS, KindInfo},
    limits::STEP_ADDRESS,
};

use super::failures;

const INTRODUCTION: &str = "# Every way to sign in

Every way in which a person can authenticate, with its level and its limits (ASVS 6.1.3). The list is complete: the flow
engine offers only these, and there are no routes except those in [routes.md](../routes.md). One decision
(`crates/service/src/flow/decide.rs`) evaluates all of them, so that the same proof is worth the same on every path.

*Level* is the level that the method reaches alone (NIST SP 800-63B-4). A password together with a factor that the person has
reaches `aal2`; two factors that the person has stay at `aal1`. A mailbox reaches no level: see
[0012](../decisions/0012-mailed-codes-and-links-carry-no-assurance-level.md).
";

const NOTES: &str = "
## Requirements of each kind

- **Passkey**: discoverable, user verification required at registration and sign-in, checked by the server together with
  origin, relying party, challenge and flags; see [0013](../decisions/0013-passkeys-always-require-user-verification.md).
- **Password**: 15 to 256 characters, without composition rules. Common passwords (a generated list) are refused, and so are
  passwords that consist of words an attacker would try first (ASVS 6.1.2): the product's name, the labels of the host of
  `base_url`, the person's name, their addresses and the parts before the `@`. With `breached_password_check`, passwords
  known from breaches are refused, too. Names of organizations are not checked. See
  [0015](../decisions/0015-passwords-need-15-characters-and-no-composition-rules.md). Stored as Argon2id over a keyed hash.
- **TOTP**: 30-second steps, one step either side, each accepted once; see [0014](../decisions/0014-totp-accepts-one-step-of-clock-drift-each-step-once.md).
- **Recovery codes**: ten, shown once, each valid for one use, stored as Argon2id.
- **E-mail**: a six-digit code and a link in one mail, valid for ten minutes, five attempts and one success, only in the
  browser that requested it.
- **Text message**: a six-digit code, as for mail, sent only to verified numbers. A number is a second factor; where
  `sms_sign_in` allows it, its owner may make it a way in instead. See
  [0138](../decisions/0138-a-number-is-a-way-in-or-a-second-factor-never-both.md).

## Recovery

A recovery begins with a mailbox. An account that has a passkey, TOTP, recovery codes or a phone must prove one of them,
too. A person who has none of them left requests the hold: the account waits 72 hours, and every address is notified
immediately and every day. A person who still has a credential can cancel the hold, and any sign-in with the account's own
credentials cancels it. After the wait the mailbox is proved again and a new credential is enrolled.
See [0018](../decisions/0018-recovery-without-a-remaining-factor-waits-72-hours.md).

## What cannot be used to sign in

The device cookie (`__Host-device`) is read only by the limits and by the notice about new devices. The bootstrap key
creates one administrator, once, through a registration with a proved mailbox.
";

pub fn document() -> String {
    let mut text = format!(
        "{INTRODUCTION}\n| Kind | Proved by | Factor | Level alone | `amr` | Limits | Failures in a row |\n|---|---|---|---|---|---|---|\n"
    );
    for info in KINDS {
        let actions = proving(info);
        let names: Vec<String> = actions.iter().map(|action| format!("`{}`", action.path())).collect();
        let mut limits: Vec<String> = Vec::new();
        for rule in actions.iter().flat_map(|action| action.limits()) {
            let name = format!("`{}`", rule.name);
            if *rule != STEP_ADDRESS && !limits.contains(&name) {
                limits.push(name);
            }
        }
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | `{}` | {} | {} | {} |",
            info.kind.as_str(),
            names.join(", "),
            factor(info.method),
            alone(info.method).as_str(),
            info.method.amr().join(", "),
            limits.join(", "),
            failures(info),
        );
    }
    text.push_str(NOTES);
    text
}

fn proving(info: &KindInfo) -> Vec<Action> {
    let answers = info.sent.as_ref().map_or(&[][..], |sent| sent.answers);
    info.prove.iter().chain(answers).copied().collect()
}

const fn factor(method: Method) -> &'static str {
    match method.factor() {
        Factor::Knowledge => "something known",
        Factor::Possession => "something held",
        Factor::Multi => "two in one",
        Factor::Mailbox => "a mailbox, no factor",
        Factor::Assertion => "the word of another server",
    }
}

fn alone(method: Method) -> porteiro_protocol::assurance::Level {
    let at = OffsetDateTime::UNIX_EPOCH;
    event_level(&[Proof { method, credential: None, at, user_verified: method == Method::Passkey }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_row() {
        let text = document();
        for info in KINDS {
            assert!(text.contains(&format!("\n| `{}` | ", info.kind.as_str())), "{}", info.kind.as_str());
        }
        assert!(text.contains("| `passkey` | `passkey/begin`, `passkey/finish` | two in one | `aal2` |"));
        assert!(text.contains("| a mailbox, no factor | `none` |"));
    }
}
