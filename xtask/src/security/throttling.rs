//! `docs/security/throttling.md` comes from the table of limits and from what each action takes from.

use std::fmt::Write;

use porteiro_service::{
    credentials::KINDS,
    flow::actions::{self, Action},
    limits::{RULES, Rule},
    registers::REGISTERS,
};

use super::{failures, in_words};

const INTRODUCTION: &str = "# Throttling

How guessing, stuffing and flooding are limited, and why nobody can use that to lock somebody else out (ASVS 6.1.1).

## How a limit works

Every limit is a bucket that refills steadily. *At once* is how many attempts a full bucket holds; after that one comes
back *every* so often, and nothing has to expire or be reset. Buckets are rows in PostgreSQL, taken from before the
attempt is looked at, in a statement of its own: guesses in parallel, on any number of nodes, cannot outrun them, and a
killed node or a rolled-back step gives nothing back. A right guess is given back; a mail or message that was sent is
not.

*Address* is the network address of the caller: an IPv4 address, or the /64 of an IPv6 one. `X-Forwarded-For` counts only
from the setting `trusted_proxies`, which is empty by default. *Person* is the account, or, before anybody is proved, the
canonical form of what was typed: case, spelling and Unicode normal form make no new bucket, and an address nobody has
is limited like one that somebody has. Where mail is sent, what follows a `+` before the `@` makes no new bucket either:
`ana+shop@` is `ana@`. Keys are keyed hashes; the table names nobody.

*Everybody* is the whole installation. Such a bucket is taken from last, when every other was passed, so that refused
attempts use up nothing others need. The settings `sms_budget_per_day` and `sms_countries` bound text messages: the first
sets `sms_send.everybody`, and half of it `sms_send_new.everybody`, for numbers that nobody has verified yet.
[Shared budgets](shared-budgets.md) says of each queue and budget who can use it up for whom.

An empty bucket answers `429 slow_down` with `Retry-After`, the same for known and unknown people.

## Why nobody can lock out a victim

- There is no lock that has to be lifted: every bucket refills by itself.
- A browser that signed in before holds `__Host-device`. Its password attempts count in a bucket of its own
  (`password.known_device`), which no stranger can reach. The cookie is no factor: it opens nothing.
- A passkey is limited by address only. A person with a passkey gets in however many passwords are being guessed.
- Every method has its own buckets. Using up one leaves the others.
- The address's bucket is taken from first: a network that is refused already does not go on emptying other people's.
- A credential that fails too often in a row (table below) must be bound again. That takes away this one way, never the
  account: mail and every other credential still work, and what must be proved to change the account stays as strong as
  before.

What a stranger can still do: with enough networks, keep `password.subject` empty or the hashing queue full (below), so
that a person without a passkey cannot use the password *on a new device* for as long as it lasts; and ask for mails to somebody's address until
`email_send.subject_day` is empty, so that the next mail comes only every few hours. The second is the price of not being
a way to fill mailboxes. Either leaves every other way in as it is.

## What notices stuffing

One address that fails for many different people is not a forgetful person. `stuffing.seen` remembers for a day whom an
address tried; each new person counts in `stuffing.address`; when that is empty the event `stuffing.suspected` is written
and `porteiro_stuffing_suspected_total` rises. It is an alarm and blocks nobody: the limits do.

A flood does not fill the log either: an empty bucket is written down once per interval of `limit.logged`, and counted
in `porteiro_limited_total` every time.

## Limits of one flow

Five tries per code, mailed or texted; then it is dead. Three mails or messages per flow, thirty seconds apart. A new
one kills the one before.

## Hashing

Argon2id runs on a bounded number of threads with a bounded queue: as many at once as there are cores, four times as many
waiting, per node. A flood beyond it is answered `429` at once; what was taken from the buckets is given back, and the
rest of the service stays fast. Codes have a queue of their own.

A password typed on a known device of its account (`__Host-device`, as above) does not wait behind the flood. It has a
reserve: a quarter as many threads as there are cores, at least one, beside the others, and a queue of 32. Each account has
one place in it at a time, since somebody who knows a password may repeat it as often as they like. A stranger cannot take
one of these places; filling them takes known devices of 33 accounts that all try at the same moment, and then known
devices queue with everybody. See [0071](../decisions/0071-known-devices-have-reserved-password-hashing-capacity.md).
";

pub fn document() -> String {
    let mut text = format!(
        "{INTRODUCTION}\n## Every limit\n\n| Limit | Counts | At once | Then one every | Taken from by |\n|---|---|---|---|---|\n"
    );
    for rule in RULES {
        let counts = match rule.name.rsplit_once('.') {
            Some((
                _,
                whom @ ("address" | "caller" | "client" | "everybody" | "grant" | "organization"
                | "recipient"),
            )) => whom,
            Some(_) | None => "person",
        };
        let _ = writeln!(
            text,
            "| `{}` | {counts} | {} | {} | {} |",
            rule.name,
            rule.burst,
            in_words(rule.interval_seconds),
            takers(rule)
        );
    }
    text.push_str("\n## Failures in a row on one credential\n\n| Credential | At most |\n|---|---|\n");
    for info in KINDS {
        let _ = writeln!(text, "| `{}` | {} |", info.kind.as_str(), failures(info));
    }
    text
}

/// The actions that take from a bucket; what the engine itself takes from has its own sentence above.
fn takers(rule: &Rule) -> String {
    let takes = |action: &&Action| action.limits().contains(rule);
    let actions: Vec<String> = actions::all(REGISTERS.purposes)
        .iter()
        .filter(takes)
        .map(|action| format!("`{}`", action.path()))
        .collect();
    match (actions.is_empty(), rule.name) {
        (false, _) => actions.join(", "),
        (true, "flow_open.address") => "`POST /v1/flows`".to_owned(),
        (true, "client_failure.address" | "client_secret.address") => {
            "clients that fail to prove themselves; the second per client".to_owned()
        }
        (true, "signature.address" | "signature_client.address") => {
            "signed requests at `/connect/authorize`, assertions of unverified clients; the second per client"
                .to_owned()
        }
        (true, "proof.grant") => "DPoP proofs of public and unverified clients".to_owned(),
        (true, "register.address" | "register_day.address" | "register_site.address") => {
            "`POST /connect/register`; the third by IPv6 /48".to_owned()
        }
        (true, "registration_change.client") => "`PUT /connect/register/{client_id}`".to_owned(),
        (true, "registration_token.address") => "`/connect/register/{client_id}`".to_owned(),
        (true, "invitation.organization" | "invitation.recipient") => {
            "invitations that are mailed".to_owned()
        }
        (true, "invitation_share.organization") => "invitations that are mailed, to one mailbox".to_owned(),
        (true, "api_reads.caller" | "api_reads.person" | "api_reads.organization") => {
            "the management API, reading; `api_reads_per_minute`".to_owned()
        }
        (true, "api_writes.caller" | "api_writes.person" | "api_writes.organization") => {
            "the management API, changing; `api_writes_per_minute`".to_owned()
        }
        (true, "request_object.address" | "request_object_client.address") => {
            "`/connect/authorize` with a `request_uri` of the client's; the second per client".to_owned()
        }
        (true, "device_request.address") => "`/connect/device`, public and unverified clients".to_owned(),
        (true, "audit_export.caller") => "exports of an audit trail".to_owned(),
        (true, "refusal.subject") => "refusals that are given a reference".to_owned(),
        (true, "push.address" | "push_kib.address") => {
            "`/connect/par`, public and unverified clients; the second counts KiB".to_owned()
        }
        (true, "push.client" | "push_kib.client") => {
            "`/connect/par`, confidential clients; the second counts KiB".to_owned()
        }
        (true, "flow_kib.address") => "flows of requests larger than 4 KiB; counts KiB".to_owned(),
        (true, _) => "the engine; see above".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_row_with_its_numbers() {
        let text = document();
        for rule in RULES {
            assert!(text.contains(&format!("| `{}` | ", rule.name)), "{}", rule.name);
        }
        assert!(
            text.contains("| `totp.subject` | person | 5 | 1 minute | `totp/check`, `totp/enrol_finish` |")
        );
        for action in actions::all(REGISTERS.purposes) {
            assert!(!action.limits().is_empty(), "{} is not limited", action.path());
        }
    }
}
