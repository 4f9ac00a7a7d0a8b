//! The text of a line for each event.

use serde_json::Value;

use super::lines::{Item, text, when};
use crate::language::Words;

/// The message for every event that the API returns.
const EVENTS: &[(&str, &str)] = &[
    ("account.created", "event-account-created"),
    ("account.recovered", "event-account-recovered"),
    ("account.recovery_held", "event-account-recovery-held"),
    ("account.recovery_stopped", "event-account-recovery-stopped"),
    ("sign_in.succeeded", "event-sign-in-succeeded"),
    ("proof.refused", "event-proof-refused"),
    ("proof.limited", "event-proof-limited"),
    ("credential.added", "event-credential-added"),
    ("credential.changed", "event-credential-changed"),
    ("credential.removed", "event-credential-removed"),
    ("credential.exhausted", "event-credential-exhausted"),
    ("session.raised", "event-session-raised"),
    ("session.ended", "event-session-ended"),
    ("grant.issued", "event-grant-issued"),
    ("grant.refused", "event-grant-refused"),
    ("grant.reused", "event-grant-reused"),
    ("grant.revoked", "event-grant-revoked"),
    ("approval.requested", "event-approval-requested"),
    ("approval.decided", "event-approval-decided"),
    ("approval.redeemed", "event-approval-redeemed"),
    ("approval.client_blocked", "event-approval-client-blocked"),
    ("consent.withdrawn", "event-consent-withdrawn"),
    ("delegation.created", "event-delegation-created"),
    ("delegation.revoked", "event-delegation-revoked"),
    ("token.exchanged", "event-token-exchanged"),
    ("assertion.issued", "event-assertion-issued"),
    ("assertion.redeemed", "event-assertion-redeemed"),
    ("external_identity.linked", "event-external-identity-linked"),
    ("external_identity.removed", "event-external-identity-removed"),
    ("account.changed", "event-account-changed"),
    ("account.exported", "event-account-exported"),
    ("account.deletion_requested", "event-account-deletion-requested"),
    ("account.deletion_cancelled", "event-account-deletion-cancelled"),
    ("account.disabled", "event-account-disabled"),
    ("account.enabled", "event-account-enabled"),
    ("break_glass.used", "event-break-glass-used"),
    ("membership.joined", "event-membership-joined"),
    ("membership.disabled", "event-membership-disabled"),
    ("membership.enabled", "event-membership-enabled"),
    ("membership.removed", "event-membership-removed"),
    ("membership.changed", "event-membership-changed"),
    ("organization.created", "event-organization-created"),
    ("impersonation.started", "event-impersonation-started"),
    ("impersonation.ended", "event-impersonation-ended"),
    ("api_key.created", "event-api-key-created"),
    ("api_key.used_first", "event-api-key-used-first"),
    ("api_key.revoked", "event-api-key-revoked"),
    ("platform.authority_changed", "event-platform-authority-changed"),
    ("account.administered", "event-account-administered"),
    ("organization.suspended", "event-organization-suspended"),
    ("organization.resumed", "event-organization-resumed"),
];

/// Events about others and about the installation; they do not appear in a person's own activity.
#[cfg(test)]
const NOT_OURS: &[&str] = &[
    "account.deleted",
    "connection.changed",
    "api.changed",
    "api.removed",
    "client.administered",
    "client.changed",
    "client.created",
    "client.expired",
    "client.registered",
    "client.removed",
    "client.secret_rotated",
    "console.command",
    "stuffing.suspected",
];

/// Events that anyone who knows an address can cause, within the limits.
fn is_attempt(item: &Value) -> bool {
    matches!(item["kind"].as_str(), Some("proof.refused" | "proof.limited"))
}

/// Consecutive attempts are one line, or an anonymous caller could bury the entries that the person must see.
pub(super) fn activity(words: &Words, items: &[&Value]) -> Vec<Item> {
    let runs = items.chunk_by(|one, next| is_attempt(one) && is_attempt(next));
    runs.flat_map(|run| match run {
        [newest, .., oldest] => vec![attempts(words, run, newest, oldest)],
        few => few.iter().map(|item| event(words, item)).collect(),
    })
    .collect()
}

/// The address, if all attempts came from the same one.
fn attempts(words: &Words, run: &[&Value], newest: &Value, oldest: &Value) -> Item {
    let address =
        newest["address"].as_str().filter(|_| run.iter().all(|one| one["address"] == newest["address"]));
    let facts = [
        newest["at"].as_str().map(|at| words.moment(at)),
        when(words, "since-at", &oldest["at"]),
        address.map(ToOwned::to_owned),
    ];
    Item {
        id: text(&newest["id"]),
        kind: text(&newest["kind"]),
        title: words.count("event-attempts", i64::try_from(run.len()).unwrap_or(i64::MAX)),
        facts: facts.into_iter().flatten().collect(),
        ..Item::default()
    }
}

fn event(words: &Words, item: &Value) -> Item {
    let kind = text(&item["kind"]);
    let known = EVENTS.iter().find(|(name, _)| *name == kind).map(|(_, key)| *key);
    let device = item["user_agent"].as_str().map(|agent| words.device(agent));
    let at = item["at"].as_str().map(|at| words.moment(at));
    let facts = [at, item["address"].as_str().map(ToOwned::to_owned), device];
    Item {
        id: text(&item["id"]),
        title: words.t(known.unwrap_or("event-other")),
        kind,
        facts: facts.into_iter().flatten().collect(),
        ..Item::default()
    }
}

#[cfg(test)]
mod tests {
    use porteiro_service::security_log::EventKind;

    use super::*;

    #[test]
    fn every_event_of_a_person_has_words() {
        for kind in EventKind::ALL {
            let named = EVENTS.iter().any(|(name, _)| *name == kind.as_str());
            assert_ne!(named, NOT_OURS.contains(&kind.as_str()), "{}", kind.as_str());
        }
    }
}
