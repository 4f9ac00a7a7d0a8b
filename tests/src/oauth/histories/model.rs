//! What should be, said once more and differently than the service says it.

use std::collections::BTreeSet;

use super::Random;

pub const ISSUER: &str = "https://id.example.test";
pub const LEDGER: &str = "https://ledger.example.test";
pub const ARCHIVE: &str = "https://archive.example.test";

pub type Scopes = BTreeSet<&'static str>;

/// Every scope, the API it belongs to, and whether strangers may have it.
const SCOPES: &[(&str, Option<&str>, bool)] = &[
    ("openid", None, true),
    ("email", None, true),
    ("offline_access", None, true),
    ("invoices:read", Some(LEDGER), true),
    ("invoices:write", Some(LEDGER), false),
    ("papers:read", Some(ARCHIVE), true),
    ("papers:write", Some(ARCHIVE), false),
];

/// What a client may ever have.
#[derive(Debug, Clone)]
pub struct Ceiling {
    pub registered: Scopes,
    pub is_stranger: bool,
}

impl Ceiling {
    /// What a stranger registered is a default; its bound is what is open to strangers (decision record 0055).
    pub fn allows(&self, scopes: &Scopes) -> bool {
        let open = |scope: &&str| SCOPES.iter().any(|(name, _, open)| name == scope && *open);
        if self.is_stranger { scopes.iter().all(open) } else { scopes.is_subset(&self.registered) }
    }
}

/// What a request asks for.
#[derive(Debug, Clone)]
pub struct Asked {
    pub scopes: Scopes,
    pub resource: Option<&'static str>,
}

/// One authorization and everything that came of it.
#[derive(Debug)]
pub struct Lineage {
    pub client: usize,
    pub scopes: Scopes,
    pub audience: &'static str,
    pub code: String,
    pub verifier: String,
    pub redeemed: bool,
    pub dead: bool,
    /// Oldest first; the last is current.
    pub refresh: Vec<String>,
    pub access: Vec<(String, Scopes)>,
}

pub fn words(scopes: &Scopes) -> String {
    scopes.iter().copied().collect::<Vec<_>>().join(" ")
}

pub fn read(text: &str) -> BTreeSet<&str> {
    text.split(' ').collect()
}

pub fn subset(random: &Random, of: &Scopes) -> Scopes {
    let mut some: Scopes = of.iter().copied().filter(|_| random.percent(50)).collect();
    if some.is_empty() {
        let all: Vec<_> = of.iter().copied().collect();
        some.extend(random.of(&all).copied());
    }
    some
}

impl Asked {
    /// Mostly something sensible, often enough not.
    pub fn any(random: &Random, ceiling: &Ceiling) -> Self {
        let everything: Scopes = SCOPES.iter().map(|(name, _, _)| *name).collect();
        let from = if random.percent(75) { &ceiling.registered } else { &everything };
        let mut scopes = subset(random, from);
        let resource = random.of(&[None, None, Some(LEDGER), Some(ARCHIVE), Some(ISSUER)]).copied().flatten();
        if random.percent(70) {
            // All of one API, so that more requests are good ones.
            let api = resource.unwrap_or(LEDGER);
            scopes.retain(|scope| home(scope).is_none_or(|home| home == api));
            if scopes.is_empty() {
                scopes.insert("openid");
            }
        }
        Self { scopes, resource }
    }

    /// The audience of the grant, or none where it must be refused.
    pub fn granted(&self, ceiling: &Ceiling) -> Option<&'static str> {
        let homes: BTreeSet<&'static str> = self.scopes.iter().filter_map(|scope| home(scope)).collect();
        let audience = match (self.resource, homes.len()) {
            (Some(resource), _) if homes.iter().all(|home| *home == resource) => resource,
            (None, 0) => ISSUER,
            (None, 1) => homes.into_iter().next()?,
            (Some(_) | None, _) => return None,
        };
        ceiling.allows(&self.scopes).then_some(audience)
    }
}

fn home(scope: &str) -> Option<&'static str> {
    SCOPES.iter().find(|(name, _, _)| *name == scope).and_then(|(_, home, _)| *home)
}
