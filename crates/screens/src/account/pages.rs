//! The account's pages, drawn from what `/v1/account` says.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde_json::Value;

use super::device;
use crate::{
    Screens,
    doors::{Ended, problem},
    language::Words,
    page::{self, Policy, Shell, Wrong},
    visit::Visit,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    Security,
    Sessions,
    Apps,
    Activity,
}

impl Page {
    pub const ALL: &'static [Self] = &[Self::Security, Self::Sessions, Self::Apps, Self::Activity];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Security => "security",
            Self::Sessions => "sessions",
            Self::Apps => "apps",
            Self::Activity => "activity",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Security => "security-title",
            Self::Sessions => "sessions-title",
            Self::Apps => "apps-title",
            Self::Activity => "activity-title",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|page| page.name() == name)
    }

    const fn source(self) -> &'static str {
        match self {
            Self::Security => "/v1/account/credentials",
            Self::Sessions => "/v1/account/sessions",
            Self::Apps => "/v1/account/grants",
            Self::Activity => "/v1/account/activity",
        }
    }
}

/// One line of a page: a credential, a session, an app, an event.
#[derive(Debug, Default)]
pub struct Item {
    pub id: String,
    pub kind: String,
    pub title: String,
    pub facts: Vec<String>,
    pub current: bool,
    pub badge: Option<String>,
    pub list: Vec<String>,
}

macro_rules! pages {
    ($($name:ident = $path:literal),+) => {$(
        #[derive(Template)]
        #[template(path = $path)]
        struct $name<'a> {
            s: &'a Shell,
            a: &'a Account,
        }
    )+};
}

pages! {
    Security = "account/security.html",
    Sessions = "account/sessions.html",
    Apps = "account/apps.html",
    Activity = "account/activity.html"
}

/// Templates know it as `a`.
#[derive(Debug)]
pub struct Account {
    pub page: Page,
    pub person: String,
    pub items: Vec<Item>,
    pub done: Option<String>,
    pub hold: Option<String>,
    /// For the browser to tell its passkey provider.
    pub signals: String,
}

impl Account {
    pub fn pages(&self) -> &'static [Page] {
        Page::ALL
    }

    pub fn of(&self, kind: &str) -> Vec<&Item> {
        self.items.iter().filter(|item| item.kind == kind).collect()
    }

    pub fn has(&self, kind: &str) -> bool {
        self.items.iter().any(|item| item.kind == kind)
    }
}

pub async fn draw(screens: &Screens, visit: &Visit, page: Page, wrong: Option<Wrong>) -> Response {
    let account = visit.caller.get(&screens.service, "/v1/account").await;
    let reply = visit.caller.get(&screens.service, page.source()).await;
    for one in [&account, &reply] {
        if one.status == StatusCode::UNAUTHORIZED {
            return page::see_other("/ui/sign-in");
        }
        if !one.status.is_success() {
            return problem(screens, visit.language, &visit.path, one.status, &Ended::code("internal"));
        }
    }
    let mut shell = visit.shell(screens);
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    shell.problem = wrong;
    let title = shell.t(page.title());
    let shell = shell.titled(title);
    let items = reply.body["items"].as_array().into_iter().flatten();
    let view = Account {
        page,
        person: text(&account.body["display_name"]),
        items: items.map(|item| line(&shell, page, item)).collect(),
        done: visit.query.get("done").and_then(done).map(|key| shell.t(key)),
        hold: account.body["recovery_hold_until"].as_str().map(|until| shell.moment(until)),
        signals: reply.body["signals"].to_string(),
    };
    let (s, a) = (&shell, &view);
    match page {
        Page::Security => page::send(screens, s, Policy::Account, status, &Security { s, a }),
        Page::Sessions => page::send(screens, s, Policy::Account, status, &Sessions { s, a }),
        Page::Apps => page::send(screens, s, Policy::Account, status, &Apps { s, a }),
        Page::Activity => page::send(screens, s, Policy::Account, status, &Activity { s, a }),
    }
}

fn done(name: &str) -> Option<&'static str> {
    const DONE: &[(&str, &str)] = &[
        ("removed", "done-removed"),
        ("renamed", "done-renamed"),
        ("recovery-stopped", "done-recovery-stopped"),
        ("ended", "done-ended"),
        ("ended-others", "done-ended-others"),
        ("withdrawn", "done-withdrawn"),
    ];
    DONE.iter().find(|(known, _)| *known == name).map(|(_, key)| *key)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn line(words: &Words, page: Page, item: &Value) -> Item {
    match page {
        Page::Security => credential(words, item),
        Page::Sessions => session(words, item),
        Page::Apps => app(words, item),
        Page::Activity => event(words, item),
    }
}

fn when(words: &Words, key: &str, value: &Value) -> Option<String> {
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
    let badge = (item["state"] == "exhausted").then(|| words.t("badge-exhausted"));
    Item {
        id: text(&item["id"]),
        kind,
        title,
        facts: facts.into_iter().flatten().collect(),
        badge,
        ..Item::default()
    }
}

fn device_words(words: &Words, user_agent: &str) -> String {
    device::describe(user_agent).map_or_else(
        || words.t("device-unknown"),
        |(browser, system)| words.t2("device", &("browser", browser), &("system", system)),
    )
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
        title: device_words(words, item["user_agent"].as_str().unwrap_or_default()),
        facts: facts.into_iter().flatten().collect(),
        current,
        badge: current.then(|| words.t("this-device")),
        ..Item::default()
    }
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
    let facts = [
        oldest.map(|at| words.t1("allowed-at", "when", &words.moment(at))),
        newest.map(|at| words.t1("used-at", "when", &words.moment(at))),
        grants.iter().any(|grant| grant["offline"] == true).then(|| words.t("app-offline")),
    ];
    let mut list: Vec<String> = grants.iter().flat_map(|grant| scopes(&grant["scope"])).collect();
    list.sort();
    list.dedup();
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

fn scopes(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text.split(' ').map(ToOwned::to_owned).collect(),
        Value::Array(all) => all.iter().filter_map(|one| one.as_str().map(ToOwned::to_owned)).collect(),
        _ => Vec::new(),
    }
}

/// Every event the API can name, in words.
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
    ("consent.withdrawn", "event-consent-withdrawn"),
];

fn event(words: &Words, item: &Value) -> Item {
    let kind = text(&item["kind"]);
    let known = EVENTS.iter().find(|(name, _)| *name == kind).map(|(_, key)| *key);
    let device = item["user_agent"].as_str().map(|agent| device_words(words, agent));
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
