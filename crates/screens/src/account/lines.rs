//! The text of a line for each credential, session, app, key or organization.

use serde_json::Value;

use super::{activity::activity, pages::Page};
use crate::language::{Phrase, Words};

/// One line of a page: a credential, a session, an app, an event.
#[derive(Debug, Default)]
pub struct Item {
    pub id: String,
    pub kind: String,
    pub title: String,
    pub facts: Vec<String>,
    pub current: bool,
    pub badge: Option<String>,
    pub list: Vec<Phrase>,
    /// What an app says in its own words.
    pub quote: Option<String>,
    /// The numbers among which a person picks.
    pub numbers: Vec<String>,
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub fn lines<'a>(words: &Words, page: Page, items: impl Iterator<Item = &'a Value>) -> Vec<Item> {
    match page {
        Page::Security => items.map(|item| credential(words, item)).collect(),
        Page::Sessions => items.map(|item| session(words, item)).collect(),
        Page::Apps => items.map(|item| app(words, item)).collect(),
        Page::Approvals => items.map(|item| approval(words, item)).collect(),
        Page::Keys => items.map(|item| key(words, item)).collect(),
        Page::Organizations => items.map(|item| membership(words, item)).collect(),
        Page::Activity => activity(words, &items.collect::<Vec<_>>()),
        Page::Profile => Vec::new(),
    }
}

pub(super) fn when(words: &Words, key: &str, value: &Value) -> Option<String> {
    value.as_str().map(|at| words.t1(key, "when", &words.moment(at)))
}

fn credential(words: &Words, item: &Value) -> Item {
    let kind = text(&item["kind"]);
    let title = match kind.as_str() {
        "password" => words.t("kind-password"),
        "totp" => words.t("kind-totp"),
        "recovery_codes" => words.t("kind-recovery-codes"),
        _ => text(&item["label"]),
    };
    let remaining = item["remaining"].as_i64().map(|left| words.count("codes-left", left));
    let facts = [
        remaining,
        when(words, "added-at", &item["created_at"]),
        when(words, "used-at", &item["last_used_at"]),
    ];
    let badge = if item["state"] == "exhausted" {
        Some(words.t("badge-exhausted"))
    } else {
        (item["signs_in"] == true).then(|| words.t("badge-signs-in"))
    };
    Item {
        id: text(&item["id"]),
        kind,
        title,
        facts: facts.into_iter().flatten().collect(),
        badge,
        ..Item::default()
    }
}

fn session(words: &Words, item: &Value) -> Item {
    let current = item["current"] == true;
    let facts = [
        item["address"].as_str().map(ToOwned::to_owned),
        when(words, "since-at", &item["created_at"]),
        when(words, "seen-at", &item["seen_at"]),
    ];
    Item {
        id: text(&item["id"]),
        title: words.device(item["user_agent"].as_str().unwrap_or_default()),
        facts: facts.into_iter().flatten().collect(),
        current,
        badge: current.then(|| words.t("this-device")),
        ..Item::default()
    }
}

/// The text in the language of the page, from a value in both languages.
fn said(words: &Words, value: &Value) -> String {
    text(&value[if words.language.tag().starts_with("pt") { "pt" } else { "en" }])
}

fn app(words: &Words, item: &Value) -> Item {
    let grants = item["grants"].as_array().cloned().unwrap_or_default();
    let badge = match item["trust"].as_str() {
        Some("first_party") => words.t("trust-first-party"),
        Some("verified") => words.t("trust-verified"),
        Some(_) | None => words.t("trust-unverified"),
    };
    let newest = grants.iter().filter_map(|grant| grant["used_at"].as_str()).max();
    let oldest = grants.iter().filter_map(|grant| grant["created_at"].as_str()).min();
    let mut places: Vec<&str> =
        grants.iter().filter_map(|grant| grant["organization_name"].as_str()).collect();
    places.sort_unstable();
    places.dedup();
    let facts = [
        (!places.is_empty()).then(|| words.t1("app-acts-for", "organizations", &places.join(", "))),
        oldest.map(|at| words.t1("allowed-at", "when", &words.moment(at))),
        newest.map(|at| words.t1("used-at", "when", &words.moment(at))),
        grants.iter().any(|grant| grant["offline"] == true).then(|| words.t("app-offline")),
    ];
    let may = grants.iter().filter_map(|grant| grant["may"].as_array()).flatten();
    let mut list: Vec<Phrase> = Vec::new();
    for one in may.map(|one| Phrase::from(said(words, one))) {
        if !list.contains(&one) {
            list.push(one);
        }
    }
    let name = item["name"].as_str().filter(|name| !name.is_empty());
    Item {
        id: text(&item["client_id"]),
        title: name.map_or_else(|| text(&item["client_id"]), ToOwned::to_owned),
        facts: facts.into_iter().flatten().collect(),
        badge: Some(badge),
        list,
        ..Item::default()
    }
}

/// What a client may do in the person's name by token exchange.
pub fn delegation(words: &Words, item: &Value) -> Item {
    let name = item["client_name"].as_str().filter(|name| !name.is_empty());
    let facts = [
        item["organization_name"].as_str().map(|name| words.t1("app-acts-for", "organizations", name)),
        when(words, "allowed-at", &item["created_at"]),
        when(words, "used-at", &item["last_used_at"]),
        when(words, "expires-at", &item["expires_at"]),
        (item["redelegable"] == true).then(|| words.t("delegation-redelegable")),
        (item["source"] == "administrator").then(|| words.t("delegation-decided")),
    ];
    Item {
        id: text(&item["id"]),
        kind: "delegation".into(),
        // What the organization decided, the organization revokes.
        current: item["source"] == "administrator",
        title: name.map_or_else(|| text(&item["client_id"]), ToOwned::to_owned),
        facts: facts.into_iter().flatten().collect(),
        list: item["may"].as_array().into_iter().flatten().map(|one| said(words, one).into()).collect(),
        ..Item::default()
    }
}

/// What an app asks for, in the words of the API; its own words are a quotation.
pub fn approval(words: &Words, item: &Value) -> Item {
    let waits = item["state"] == "pending";
    let badge = match item["state"].as_str() {
        Some("pending") => (item["irreversible"] == true).then(|| words.t("badge-irreversible")),
        Some("consumed") if item["used_at"].is_string() => Some(words.t("badge-consumed")),
        Some("approved" | "consumed") => Some(words.t("badge-approved")),
        Some("denied") => Some(words.t("badge-denied")),
        Some("blocked") => Some(words.t("badge-blocked")),
        Some(_) | None => Some(words.t("badge-expired")),
    };
    let until = if waits { when(words, "expires-at", &item["expires_at"]) } else { None };
    let facts = [
        item["organization_name"]
            .as_str()
            .map(|name| words.t1("approval-organization", "organization", name)),
        item["audience_name"].as_str().map(|name| words.t1("approval-api", "api", name)),
        item["client_host"].as_str().map(|host| words.t1("approval-host", "host", host)),
        when(words, "asked-at", &item["created_at"]),
        until,
    ];
    let name = item["client_name"].as_str().filter(|name| !name.is_empty());
    let numbers = item["numbers"].as_array().into_iter().flatten();
    Item {
        id: text(&item["id"]),
        kind: if waits { "pending" } else { "decided" }.into(),
        title: name.map_or_else(|| text(&item["client_id"]), ToOwned::to_owned),
        facts: facts.into_iter().flatten().collect(),
        badge,
        list: item["wants"].as_array().into_iter().flatten().map(|one| said(words, one).into()).collect(),
        quote: item["binding_message"].as_str().map(ToOwned::to_owned),
        numbers: numbers.map(ToString::to_string).collect(),
        ..Item::default()
    }
}

/// A browser that tells its person that something waits.
pub fn browser(words: &Words, item: &Value) -> Item {
    let facts = [item["host"].as_str().map(ToOwned::to_owned), when(words, "added-at", &item["created_at"])];
    Item {
        id: text(&item["id"]),
        kind: "push".into(),
        title: words.device(item["user_agent"].as_str().unwrap_or_default()),
        facts: facts.into_iter().flatten().collect(),
        badge: (item["current"] == true).then(|| words.t("this-device")),
        ..Item::default()
    }
}

fn names(value: &Value) -> Vec<Phrase> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(Phrase::from).collect()
}

/// A revoked key stays on the list, marked as such.
fn key(words: &Words, item: &Value) -> Item {
    let gone = item["revoked_at"].is_string();
    let facts = [
        when(words, "added-at", &item["created_at"]),
        when(words, "used-at", &item["last_used_at"]),
        when(words, "expires-at", &item["expires_at"]),
    ];
    Item {
        id: text(&item["id"]),
        title: text(&item["name"]),
        facts: facts.into_iter().flatten().collect(),
        badge: gone.then(|| words.t("badge-revoked")),
        current: gone,
        list: names(&item["permissions"]),
        ..Item::default()
    }
}

/// A permission: its name and its description.
pub fn permission(words: &Words, item: &Value) -> (String, String) {
    let name = text(&item["permission"]);
    (name, said(words, item))
}

fn membership(words: &Words, item: &Value) -> Item {
    let organization = &item["organization"];
    let usable = organization["status"] == "enabled" && item["state"] == "active";
    let facts = [
        organization["slug"].as_str().map(ToOwned::to_owned),
        item["primary_role"].as_str().map(|role| words.t1("role-is", "role", &words.role(role))),
        when(words, "since-at", &item["joined_at"]),
    ];
    Item {
        id: text(&organization["id"]),
        kind: "member".into(),
        title: text(&organization["name"]),
        facts: facts.into_iter().flatten().collect(),
        badge: (!usable).then(|| words.t("badge-suspended")),
        ..Item::default()
    }
}

/// An organization whose invitation is pending.
pub fn invitation(words: &Words, item: &Value) -> Item {
    let facts = [
        item["organization"]["slug"].as_str().map(ToOwned::to_owned),
        item["role"].as_str().map(|role| words.t1("role-is", "role", &words.role(role))),
        when(words, "expires-at", &item["expires_at"]),
    ];
    Item {
        id: text(&item["id"]),
        kind: "invitation".into(),
        title: text(&item["organization"]["name"]),
        facts: facts.into_iter().flatten().collect(),
        ..Item::default()
    }
}
