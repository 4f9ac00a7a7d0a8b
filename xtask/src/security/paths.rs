//! `docs/security/paths.md` comes from the kinds of credentials and the table of actions.

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

const INTRODUCTION: &str = "# Every way in

Every way a person can prove who they are, what it is worth and what limits it (ASVS 6.1.3). There is no other: the
engine offers what stands here, and a route that is not in [routes.md](../routes.md) does not exist. All of them lead
through one decision (`crates/service/src/flow/decide.rs`), so that no path is weaker than another for the same proof.

*Level* is what the method alone reaches (NIST SP 800-63B-4); a password and anything a person holds are `aal2`
together; two things a person holds stay `aal1`. A mailbox proves no level: see
[0012](../decisions/0012-mailed-codes-and-links-carry-no-assurance-level.md).
";

const NOTES: &str = "
## What is asked of each

- **Passkey**: discoverable, user verification required at registration and sign-in, checked by the server together with
  origin, relying party, challenge and flags; see [0013](../decisions/0013-passkeys-always-require-user-verification.md).
- **Password**: 15 characters at least, 256 at most, no other rule. Refused are common passwords (a list made by rule) and
  passwords made of words a guesser would try first (ASVS 6.1.2): the product's name, the labels of the host of
  `base_url`, the person's name, their addresses and the parts before the `@`. Where `breached_password_check` is on,
  passwords known from breaches too. Names of organizations are not among them. See
  [0015](../decisions/0015-passwords-need-15-characters-and-no-composition-rules.md). Stored as Argon2id over a keyed hash.
- **TOTP**: 30-second steps, one step either side, each accepted once; see [0014](../decisions/0014-totp-accepts-one-step-of-clock-drift-each-step-once.md).
- **Recovery codes**: ten, shown once, each good once, stored as Argon2id.
- **E-mail**: a six-digit code and a link in one mail, good for ten minutes, five tries, one success; only in the browser
  that asked.
- **Text message**: a six-digit code, as for mail. Never a way in by itself: it is asked for next to something else, and
  only a number its owner proved is written to.

## Recovery

A recovery begins with a mailbox. An account that has a passkey, TOTP, recovery codes or a phone must prove one of them,
too. Who has none of them left asks for the hold: the account waits 72 hours, every address is told at once and every day,
whoever still holds a credential can stop it, and any sign-in by the owner's own means does. After the wait the mailbox is proved again and a
new way in is bound. See [0018](../decisions/0018-recovery-without-a-remaining-factor-waits-72-hours.md).

## What is no way in

The device cookie (`__Host-device`) is read by the limits and by the notice about new devices, and by nothing else. The
bootstrap key makes one administrator, once, through a registration with a proved mailbox.
";

pub fn document() -> String {
    let mut text = format!(
        "{INTRODUCTION}\n| Way in | Proved by | Factor | Level alone | `amr` | Limits | Failures in a row |\n|---|---|---|---|---|---|---|\n"
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
