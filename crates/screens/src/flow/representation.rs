//! A flow as its API returns it: only what pages need.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::language::Phrase;

#[derive(Debug, Clone, Deserialize)]
pub struct Flow {
    /// Empty if it ended at once.
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub kind: String,
    pub stage: String,
    #[serde(default)]
    pub step: i64,
    #[serde(default)]
    pub phrase: String,
    #[serde(default)]
    pub account: Option<Account>,
    #[serde(default)]
    pub assurance: Assurance,
    #[serde(default)]
    pub actions: Vec<Action>,
    #[serde(default)]
    pub challenge: Value,
    #[serde(default)]
    pub notices: Vec<String>,
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default)]
    pub request: Option<Asked>,
    #[serde(default)]
    pub organizations: Vec<Organization>,
    #[serde(default)]
    pub connections: Vec<Connection>,
    #[serde(default)]
    pub remembered: Option<Connection>,
    #[serde(default)]
    pub claim: Option<Claim>,
    #[serde(default)]
    pub user_code: Option<String>,
    #[serde(default)]
    pub branding: Option<Branding>,
    #[serde(default, rename = "continue")]
    pub next: Value,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Account {
    #[serde(default)]
    pub display_name: Option<String>,
    #[serde(default)]
    pub masked_address: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct Assurance {
    #[serde(default)]
    pub fresh: bool,
    #[serde(default)]
    have: String,
    #[serde(default)]
    need: String,
}

impl Assurance {
    /// Whether the request requires a higher level than was proved so far.
    pub fn lacks(&self) -> bool {
        let rank = |level: &str| ["none", "aal1", "aal2"].iter().position(|known| *known == level);
        rank(&self.need) > rank(&self.have)
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct Action {
    pub name: String,
}

/// The flow's authorization request.
#[derive(Debug, Clone, Deserialize)]
pub struct Asked {
    pub client: Client,
    #[serde(default)]
    pub redirect_host: Option<String>,
    #[serde(default)]
    pub audience_name: Option<String>,
    #[serde(default)]
    pub scopes: Vec<Scope>,
    #[serde(default)]
    pub details: Vec<Detail>,
    #[serde(default)]
    pub organization: Option<Organization>,
    #[serde(default)]
    pub login_hint: Option<String>,
    #[serde(default)]
    pub device: Option<Device>,
}

/// The device that requests access.
#[derive(Debug, Clone, Deserialize)]
pub struct Device {
    pub user_code: String,
    pub address: String,
    pub user_agent: String,
    pub asked_at: String,
    pub same_network: bool,
}

/// The branding of the flow.
#[derive(Debug, Clone, Deserialize)]
pub struct Branding {
    #[serde(default)]
    pub of: String,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub logo: Option<Logo>,
    #[serde(default)]
    pub color: Option<String>,
    #[serde(default)]
    pub color_dark: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Logo {
    pub uri: String,
    pub width: u32,
    pub height: u32,
}

impl Branding {
    /// A client's name alone is already on the page.
    pub fn is_seen(&self) -> bool {
        self.logo.is_some() || self.of == "organization"
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct Client {
    #[serde(default)]
    pub name: Option<String>,
    pub trust: String,
    /// Who publishes the document that describes it, where it has one.
    #[serde(default)]
    pub document_host: Option<String>,
    #[serde(default)]
    pub policy_uri: Option<String>,
    #[serde(default)]
    pub tos_uri: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Scope {
    pub description: String,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Detail {
    #[serde(default)]
    pub text: Option<String>,
    pub detail: Map<String, Value>,
}

/// Another provider by which the person may sign in.
#[derive(Debug, Clone, Deserialize)]
pub struct Connection {
    pub id: String,
    pub name: String,
}

/// Whom a directory of the organization vouched for.
#[derive(Debug, Clone, Deserialize)]
pub struct Claim {
    connection: String,
    /// The administrator who configured the connection chose its name, but not this.
    issuer_host: String,
    pub identity: String,
}

impl Claim {
    /// The connection, by both.
    pub fn connection(&self) -> String {
        format!("{} ({})", self.connection, self.issuer_host)
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct Organization {
    pub id: String,
    pub name: String,
    /// Unique, unlike names.
    pub slug: String,
    pub role: String,
    /// Why it cannot be chosen.
    #[serde(default)]
    pub unavailable: Option<String>,
}

impl Flow {
    pub fn offers(&self, action: &str) -> bool {
        self.actions.iter().any(|offered| offered.name == action)
    }

    /// Whether a credential must be enrolled because more is required than the account can prove. What a recovery enrols
    /// first, it enrols in any case.
    pub fn is_demanded(&self) -> bool {
        let beyond = match self.kind.as_str() {
            "enrol" => false,
            "recover" => self.offers("totp/enrol_begin"),
            _ => true,
        };
        beyond && self.assurance.lacks()
    }

    pub fn known(&self) -> bool {
        self.account.is_some()
    }

    pub fn noticed(&self, notice: &str) -> bool {
        self.notices.iter().any(|one| one == notice)
    }

    /// The masked address or number a code was sent to.
    pub fn sent_to(&self) -> Option<&str> {
        self.challenge["masked_address"].as_str().or_else(|| self.challenge["masked_number"].as_str())
    }

    pub fn codes(&self) -> Vec<&str> {
        self.challenge["codes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    pub fn secret(&self) -> Option<&str> {
        self.challenge["secret"].as_str()
    }

    /// The client's name for people: of an unverified client only the host of its redirect URI, which it cannot fake.
    pub fn app(&self) -> Option<&str> {
        let asked = self.request.as_ref()?;
        let name = asked.client.name.as_deref().filter(|_| asked.client.trust != "unverified");
        name.or(asked.redirect_host.as_deref().filter(|host| !host.is_empty()))
    }
}

impl Asked {
    /// The client's policy and terms: label and address. No links to pages of unverified clients.
    pub fn promises(&self) -> Vec<(&'static str, &str)> {
        let links = [("consent-policy", &self.client.policy_uri), ("consent-terms", &self.client.tos_uri)];
        let known = links.into_iter().filter(|_| !self.is_unverified());
        known.filter_map(|(label, uri)| Some((label, uri.as_deref()?))).collect()
    }

    pub fn is_unverified(&self) -> bool {
        self.client.trust == "unverified"
    }

    /// Denying is the safer answer: the client is unverified, or another person may have sent the code.
    pub fn needs_care(&self) -> bool {
        self.is_unverified() || self.device.is_some()
    }

    /// A port of the person's own machine, or an installed app.
    pub fn is_local(&self) -> bool {
        self.redirect_host.as_deref().is_none_or(|host| {
            matches!(host.split(':').next(), Some("localhost" | "127.0.0.1" | ""))
                || host.starts_with("[::1]")
        })
    }
}

impl Detail {
    /// In the words of the API.
    pub fn phrase(&self) -> Option<Phrase> {
        self.text.as_deref().map(Phrase::from)
    }

    /// The plain members, if the API has no text for them.
    pub fn facts(&self) -> Vec<(String, String)> {
        let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        self.detail.iter().map(|(name, value)| (name.clone(), shown(value))).collect()
    }
}
