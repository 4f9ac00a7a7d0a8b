//! The account's pages, drawn from the answers of `/v1/account`.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;

use super::lines::{self, Item, text};
use crate::{
    Screens,
    call::Reply,
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
    Approvals,
    Keys,
    Organizations,
    Activity,
    Profile,
}

impl Page {
    pub const ALL: &'static [Self] = &[
        Self::Security,
        Self::Sessions,
        Self::Apps,
        Self::Approvals,
        Self::Keys,
        Self::Organizations,
        Self::Activity,
        Self::Profile,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Security => "security",
            Self::Sessions => "sessions",
            Self::Apps => "apps",
            Self::Approvals => "approvals",
            Self::Keys => "keys",
            Self::Organizations => "organizations",
            Self::Activity => "activity",
            Self::Profile => "profile",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Security => "security-title",
            Self::Sessions => "sessions-title",
            Self::Apps => "apps-title",
            Self::Approvals => "approvals-title",
            Self::Keys => "keys-title",
            Self::Organizations => "organizations-title",
            Self::Activity => "activity-title",
            Self::Profile => "you-title",
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
            Self::Approvals => "/v1/account/approvals?limit=50",
            Self::Keys => "/v1/account/api-keys?limit=100",
            Self::Organizations => "/v1/account/organizations",
            Self::Activity => "/v1/account/activity",
            Self::Profile => "/v1/account",
        }
    }
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
    Approvals = "account/approvals.html",
    Keys = "account/keys.html",
    Organizations = "account/organizations.html",
    Activity = "account/activity.html",
    Profile = "account/profile.html"
}

/// `a` in templates.
#[derive(Debug)]
pub struct Account {
    pub page: Page,
    pub person: String,
    pub items: Vec<Item>,
    pub done: Option<Done>,
    pub hold: Option<String>,
    /// When the account is deleted, if the person asked for it.
    pub deletion: Option<String>,
    pub locale: String,
    /// The secret of a key that was just created; only this page shows it.
    pub secret: Option<String>,
    /// The idempotency key of the form: loading the page again creates no second key.
    pub token: String,
    /// The organizations a key could be for, by id and name.
    pub places: Vec<(String, String)>,
    /// The organization of the key that is being created.
    pub place: String,
    /// The person's permissions there, by name and description.
    pub permissions: Vec<(String, String)>,
    /// Whether text messages can be sent.
    pub texts: bool,
    /// Whether identities at other providers can be linked.
    pub links: bool,
    /// With which a browser subscribes; none where that is switched off.
    pub push_key: Option<String>,
    /// Signals for the browser's passkey provider.
    pub signals: String,
}

impl Account {
    #[expect(clippy::unused_self, reason = "templates call methods")]
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
    draw_with(screens, visit, page, wrong, None).await
}

/// With a secret that is shown once.
pub async fn draw_with(
    screens: &Screens,
    visit: &Visit,
    page: Page,
    wrong: Option<Wrong>,
    secret: Option<String>,
) -> Response {
    let account = visit.caller.get(&screens.service, "/v1/account").await;
    let mut reply = match page {
        // Everything that waits, and of the long history the newest.
        Page::Approvals => {
            let mut waiting = whole(screens, visit, "/v1/account/approvals?state=pending&limit=50").await;
            let recent = visit.caller.get(&screens.service, page.source()).await;
            if let (Some(items), true) = (waiting.body["items"].as_array_mut(), recent.status.is_success()) {
                items.extend(listed(&recent).filter(|item| item["state"] != "pending").cloned());
            }
            waiting
        }
        Page::Security
        | Page::Sessions
        | Page::Apps
        | Page::Keys
        | Page::Organizations
        | Page::Activity
        | Page::Profile => whole(screens, visit, page.source()).await,
    };
    for one in [&account, &reply] {
        if let Some(there) = super::elsewhere(page, one) {
            return there;
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
    let mut delegated = Reply::of(StatusCode::OK);
    if matches!(page, Page::Apps | Page::Approvals) {
        let found = whole(screens, visit, Page::Organizations.source()).await;
        name_organizations(&mut reply, &found);
        if page == Page::Apps {
            delegated = whole(screens, visit, "/v1/account/delegations?limit=100").await;
            name_organizations(&mut delegated, &found);
        }
    }
    let mut items: Vec<Item> = lines::lines(&shell, page, listed(&reply));
    items.extend(listed(&delegated).map(|item| lines::delegation(&shell, item)));
    let mut push_key = None;
    if page == Page::Approvals {
        let told = visit.caller.get(&screens.service, "/v1/account/push-subscriptions").await;
        push_key = told.body["public_key"].as_str().map(ToOwned::to_owned);
        items.extend(listed(&told).map(|item| lines::browser(&shell, item)));
    }
    let mut places = Vec::new();
    if page == Page::Keys {
        // Newest first, and revoked keys last, so that a key to revoke is easy to find.
        items.reverse();
        items.sort_by_key(|item| item.current);
    }
    if page == Page::Organizations {
        let waiting = visit.caller.get(&screens.service, "/v1/account/invitations").await;
        items.extend(listed(&waiting).map(|item| lines::invitation(&shell, item)));
    }
    let (mut place, mut permissions) = (String::new(), Vec::new());
    if page == Page::Keys {
        let found = whole(screens, visit, Page::Organizations.source()).await;
        places = usable(&found);
        let wished = visit.query.get("in");
        let chosen = places.iter().find(|(id, _)| Some(id.as_str()) == wished).or_else(|| places.first());
        if let Some((id, _)) = chosen {
            place.clone_from(id);
            let path = format!("{}/{id}/permissions", Page::Organizations.source());
            let held = visit.caller.get(&screens.service, &path).await;
            permissions = listed(&held).map(|one| lines::permission(&shell, one)).collect();
        }
    }
    let view = Account {
        page,
        person: text(&account.body["display_name"]),
        items,
        secret,
        token: URL_SAFE_NO_PAD.encode(screens.deployment.entropy.bytes::<16>()),
        places,
        place,
        permissions,
        texts: screens.deployment.texts,
        links: reply.body["connections"].as_array().is_some_and(|them| !them.is_empty()),
        done: visit.query.get("done").and_then(|name| done(&shell, name)),
        hold: account.body["recovery_hold_until"].as_str().map(|until| shell.moment(until)),
        deletion: account.body["deletion_at"].as_str().map(|at| shell.moment(at)),
        locale: text(&account.body["locale"]),
        push_key,
        signals: reply.body["signals"].to_string(),
    };
    let (s, a) = (&shell, &view);
    match page {
        Page::Security => page::send(screens, s, Policy::Account, status, &Security { s, a }),
        Page::Sessions => page::send(screens, s, Policy::Account, status, &Sessions { s, a }),
        Page::Apps => page::send(screens, s, Policy::Account, status, &Apps { s, a }),
        Page::Approvals => page::send(screens, s, Policy::Approvals, status, &Approvals { s, a }),
        Page::Keys => page::send(screens, s, Policy::Account, status, &Keys { s, a }),
        Page::Organizations => page::send(screens, s, Policy::Account, status, &Organizations { s, a }),
        Page::Activity => page::send(screens, s, Policy::Account, status, &Activity { s, a }),
        Page::Profile => page::send(screens, s, Policy::Account, status, &Profile { s, a }),
    }
}

/// All items of a list, over several pages.
async fn whole(screens: &Screens, visit: &Visit, source: &str) -> Reply {
    let mut reply = visit.caller.get(&screens.service, source).await;
    while let Some(cursor) = reply.body["next_cursor"].as_str() {
        let cursor: String = url::form_urlencoded::byte_serialize(cursor.as_bytes()).collect();
        let joint = if source.contains('?') { '&' } else { '?' };
        let path = format!("{source}{joint}cursor={cursor}");
        let mut more = visit.caller.get(&screens.service, &path).await;
        if !more.status.is_success() {
            return more;
        }
        let mut items: Vec<Value> = listed(&reply).cloned().collect();
        items.extend(listed(&more).cloned());
        more.body["items"] = Value::Array(items);
        reply = more;
    }
    reply
}

/// Adds the name of the organization to each grant and delegation; the API returns its id.
fn name_organizations(reply: &mut Reply, found: &Reply) {
    let name = |id: &Value| {
        let known = listed(found).map(|one| &one["organization"]).find(|one| one["id"] == *id);
        known.map(|one| one["name"].clone())
    };
    for item in reply.body["items"].as_array_mut().into_iter().flatten() {
        if let Some(name) = name(&item["organization"]) {
            item["organization_name"] = name;
        }
        for grant in item["grants"].as_array_mut().into_iter().flatten() {
            if let Some(name) = name(&grant["organization"]) {
                grant["organization_name"] = name;
            }
        }
    }
}

/// The organizations a person can act for now, by id and name; a name that occurs twice is shown with its slug.
fn usable(reply: &Reply) -> Vec<(String, String)> {
    let usable = |one: &&Value| one["organization"]["status"] == "enabled" && one["state"] == "active";
    let found: Vec<&Value> = listed(reply).filter(usable).map(|one| &one["organization"]).collect();
    let name = |one: &Value| {
        let alone = found.iter().filter(|other| other["name"] == one["name"]).count() == 1;
        let (name, slug) = (text(&one["name"]), text(&one["slug"]));
        if alone { name } else { format!("{name} ({slug})") }
    };
    found.iter().map(|one| (text(&one["id"]), name(one))).collect()
}

fn listed(reply: &Reply) -> impl Iterator<Item = &Value> {
    reply.body["items"].as_array().into_iter().flatten()
}

/// What became of a form.
#[derive(Debug)]
pub struct Done {
    pub text: String,
    pub is_good: bool,
}

pub fn done(words: &Words, name: &str) -> Option<Done> {
    const GOOD: &[(&str, &str)] = &[
        ("removed", "done-removed"),
        ("renamed", "done-renamed"),
        ("recovery-stopped", "done-recovery-stopped"),
        ("ended", "done-ended"),
        ("ended-others", "done-ended-others"),
        ("withdrawn", "done-withdrawn"),
        ("joined", "done-joined"),
        ("left", "done-left"),
        ("approved", "done-approved"),
        ("denied", "done-denied"),
        ("blocked", "done-blocked"),
        ("push", "done-push"),
        ("saved", "done-saved"),
        ("kept", "done-kept"),
    ];
    const BAD: &[(&str, &str)] = &[("wrong-number", "done-wrong-number")];
    let find =
        |all: &[(&str, &'static str)]| all.iter().find(|(known, _)| *known == name).map(|(_, key)| *key);
    let (key, is_good) = find(GOOD).map(|key| (key, true)).or_else(|| find(BAD).map(|key| (key, false)))?;
    Some(Done { text: words.t(key), is_good })
}
