//! `docs/security/throttling.md` is generated from the table of limits and the limits of each action.

use std::fmt::Write;

use porteiro_service::{
    credentials::KINDS,
    flow::actions::{self, Action},
    limits::{RULES, Rule},
    registers::REGISTERS,
};

use super::{failures, in_words};

const INTRODUCTION: &str = "# Throttling

How guessing, credential stuffing and flooding are limited, and why the limits cannot be used to lock out other people
(ASVS 6.1.1).

## How a limit works

Every limit is a bucket that refills steadily. *At once* is the number of attempts in a full bucket; after that, one attempt
is added per interval (*every*). Nothing has to expire or be reset. Buckets are rows in PostgreSQL. An attempt is taken from
its buckets before it is evaluated, in a separate statement: parallel guesses on any number of nodes cannot exceed the limit,
and neither a killed node nor a rolled-back step refunds an attempt. A correct guess is refunded; a mail or message that was
sent is not.

*Address* is the network address of the caller: an IPv4 address, or the /64 of an IPv6 address. `X-Forwarded-For` is used only
from the setting `trusted_proxies`, which is empty by default. *Person* is the account or, before an account is proved, the
canonical form of the typed identifier: case, spelling and Unicode normal form make no new bucket, and an unknown address is
limited like a known one. Where mail is sent, the part from a `+` to the `@` makes no new bucket either: `ana+shop@` is
`ana@`. The keys of buckets are keyed hashes; the table contains no personal data.

*Everybody* is the whole installation. Such a bucket is used last, after all others have passed, so that refused attempts do
not use up a shared budget. The settings `sms_budget_per_day` and `sms_countries` limit text messages: the first sets
`sms_send.everybody`, and half of it `sms_send_new.everybody`, for numbers that are not verified yet and for the first step of
a sign-in ([0138](../decisions/0138-a-number-is-a-way-in-or-a-second-factor-never-both.md)), which takes from both only if
somebody gets the message.
[Shared budgets](shared-budgets.md) describes for each queue and budget who can exhaust it, and for whom.

An empty bucket answers `429 slow_down` with `Retry-After`, the same for known and unknown people.

## Why a victim cannot be locked out

- There is no lock that must be lifted: every bucket refills by itself.
- A browser that signed in before has the cookie `__Host-device`. Its password attempts use a separate bucket
  (`password.known_device`), which other browsers cannot reach. The cookie is not a factor and gives no access.
- A passkey is limited by address only. A person with a passkey can sign in however many passwords are being guessed.
- Every method has its own buckets. Exhausting one leaves the others.
- The address's bucket is used first: a network that is already refused does not empty the buckets of other people.
- A credential that fails too often in a row (table below) must be enrolled again. This affects only that credential: mail
  and every other credential still work, and changing the account requires the same proofs as before.

An attacker can still do the following. With enough networks, keep `password.subject` empty or the hashing queue full (below),
so that a person without a passkey cannot use the password *on a new device* during the attack. And request mails to a
person's address until `email_send.subject_day` is empty, so that the next mail is sent only after hours; without this limit
the service could be used to flood mailboxes. Neither affects the other ways to sign in.

## How credential stuffing is detected

One address that fails for many different people indicates credential stuffing. `stuffing.seen` stores for a day which
people an address tried; each new person counts in `stuffing.address`. When that bucket is empty, the event
`stuffing.suspected` is logged and `porteiro_stuffing_suspected_total` is incremented. This is an alarm only; the limits
refuse the attempts.

A flood does not fill the log: an empty bucket is logged once per interval of `limit.logged`, and counted in
`porteiro_limited_total` every time.

## Limits of one flow

Five attempts per mailed or texted code; then the code is invalid. Three mails or messages per flow, thirty seconds apart. A
new code invalidates the previous one.

## Hashing

Argon2id runs on a bounded number of threads with a bounded queue: as many at once as there are cores, four times as many
waiting, per node. Attempts beyond that are refused with `429` immediately and refunded to their buckets, and the rest of the
service stays fast. Codes have a separate queue.

A password that is typed on a known device of its account (`__Host-device`, as above) does not wait in that queue. It has
reserved capacity: a quarter as many threads as there are cores, at least one, in addition to the others, and a queue of 32.
Each account has one place in it at a time, because a person who knows a password may repeat it without limit. Other browsers
cannot take these places; to fill them, known devices of 33 accounts must try at the same time, and then known devices use the
common queue. See [0071](../decisions/0071-known-devices-have-reserved-password-hashing-capacity.md).
";

pub fn document() -> String {
    let mut text = format!(
        "{INTRODUCTION}\n## Every limit\n\n| Limit | Counts | At once | Then one every | Used by |\n|---|---|---|---|---|\n"
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

/// The actions that take from a bucket; the buckets of the engine itself are described above.
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
            "failed client authentication; the second per client".to_owned()
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
        (true, "invitation.organization" | "invitation.recipient") => "mailed invitations".to_owned(),
        (true, "invitation_share.organization") => "mailed invitations to one mailbox".to_owned(),
        (true, "api_reads.caller" | "api_reads.person" | "api_reads.organization") => {
            "the management API, reading; `api_reads_per_minute`".to_owned()
        }
        (true, "api_writes.caller" | "api_writes.person" | "api_writes.organization") => {
            "the management API, writing; `api_writes_per_minute`".to_owned()
        }
        (true, "request_object.address" | "request_object_client.address") => {
            "`/connect/authorize` with a `request_uri` of the client's; the second per client".to_owned()
        }
        (true, "device_request.address") => "`/connect/device`, public and unverified clients".to_owned(),
        (true, "audit_export.caller") => "exports of an audit trail".to_owned(),
        (true, "refusal.subject") => "refusals with a reference".to_owned(),
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
