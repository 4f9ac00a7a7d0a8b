//! The responses of the account's routes. Handlers write them, and the OpenAPI document describes them.

use porteiro_protocol::{
    assurance::{Level, Method},
    id::{AccountId, CredentialId, Id, OrganizationId, SessionId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    accounts::Account,
    api::Time,
    connections::Offered,
    credentials::{Credential, CredentialKind, CredentialState, sms},
    oauth::{clients::Trust, grants},
    security_log,
    sessions::{self, SignedIn},
};

/// The account of the signed-in person.
#[derive(Serialize, JsonSchema)]
pub(super) struct OwnAccount {
    id: AccountId,
    display_name: String,
    locale: String,
    created_at: Time,
    platform_administrator: bool,
    /// When the hold of a pending recovery ends.
    recovery_hold_until: Option<Time>,
    /// When the account is deleted, if its deletion was requested.
    deletion_at: Option<Time>,
    assurance: OwnAssurance,
}

#[derive(Serialize, JsonSchema)]
struct OwnAssurance {
    have: Level,
    /// Whether the last proof is recent enough for sensitive changes.
    fresh: bool,
}

impl OwnAccount {
    pub(super) fn new(account: Account, me: &SignedIn) -> Self {
        Self {
            id: account.id,
            display_name: account.display_name,
            locale: account.locale,
            created_at: account.created_at.into(),
            platform_administrator: account.platform_administrator,
            recovery_hold_until: account.recovery_hold_until.map(Into::into),
            deletion_at: account.deletion_at.map(Into::into),
            assurance: OwnAssurance { have: me.level(), fresh: me.is_fresh() },
        }
    }
}

/// A credential, without its hashes and encrypted secrets.
#[derive(Serialize, JsonSchema)]
pub(super) struct OwnCredential {
    id: CredentialId,
    kind: CredentialKind,
    label: String,
    state: CredentialState,
    created_at: Time,
    last_used_at: Option<Time>,
    /// The number of unused recovery codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<i64>,
    /// Whether a phone number is a way to sign in; otherwise it is a second factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    signs_in: Option<bool>,
}

impl OwnCredential {
    pub(super) fn new(credential: &Credential, remaining: Option<i64>) -> Self {
        Self {
            id: credential.id,
            kind: credential.kind,
            label: credential.label.clone(),
            state: credential.state,
            created_at: credential.created_at.into(),
            last_used_at: credential.last_used_at.map(Into::into),
            remaining,
            signs_in: (credential.kind == CredentialKind::Phone).then(|| sms::is_sign_in_number(credential)),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OwnCredentials {
    pub items: Vec<OwnCredential>,
    /// Other providers whose identities can be linked.
    pub connections: Vec<Offered>,
    pub signals: Signals,
}

/// What a browser can signal to its passkey provider, so that deleted passkeys are removed there (WebAuthn Level 3
/// §5.1.10).
#[derive(Serialize, JsonSchema)]
pub(super) struct Signals {
    pub rp_id: String,
    pub user_id: String,
    pub all_accepted_credential_ids: Vec<Value>,
    pub display_name: String,
}

/// A new label for a credential.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CredentialLabel")]
pub(super) struct Rename {
    pub label: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OwnSession {
    id: SessionId,
    /// Whether this is the session of the request.
    current: bool,
    created_at: Time,
    seen_at: Time,
    address: Option<String>,
    user_agent: String,
    methods: Vec<Method>,
}

impl OwnSession {
    pub(super) fn new(session: sessions::SessionRecord, me: &SignedIn) -> Self {
        Self {
            id: session.id,
            current: session.id == me.session_id,
            created_at: session.created_at.into(),
            seen_at: session.seen_at.into(),
            address: session.address,
            user_agent: session.user_agent,
            methods: session.proofs.iter().map(|proof| proof.method).collect(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OwnSessions {
    pub items: Vec<OwnSession>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EndedOwnSessions")]
pub(super) struct EndedSessions {
    pub ended: usize,
}

/// Security events of the account.
#[derive(Serialize, JsonSchema)]
pub(super) struct OwnActivity {
    pub items: Vec<Happened>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OwnActivityEvent")]
pub(super) struct Happened {
    id: Id<security_log::Entry>,
    /// The kind of event (`docs/events.md`).
    kind: String,
    at: Time,
    details: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
}

impl From<security_log::Entry> for Happened {
    fn from(entry: security_log::Entry) -> Self {
        let security_log::Entry { id, kind, at, mut details, mut address, mut user_agent } = entry;
        // What the platform notes is for the platform, and the device is its administrator's.
        if let Value::Object(members) = &mut details
            && members.remove("by").is_some()
        {
            (address, user_agent) = (None, None);
        }
        Self { id: id.into(), kind, at: at.into(), details, address, user_agent }
    }
}

/// A client with the person's grants to it.
#[derive(Serialize, JsonSchema)]
pub(super) struct OwnClient {
    pub client_id: String,
    pub name: Option<String>,
    pub trust: Option<Trust>,
    pub grants: Vec<OwnGrant>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OwnClients {
    pub items: Vec<OwnClient>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OwnGrant {
    /// The organization that the client acts for; null: the person.
    organization: Option<OrganizationId>,
    audience: String,
    audience_name: Option<String>,
    /// What the client may do, described in each language.
    may: Vec<Value>,
    scope: String,
    details: Vec<Value>,
    offline: bool,
    created_at: Time,
    used_at: Time,
    expires_at: Time,
}

impl OwnGrant {
    pub(super) fn new(grant: &grants::Held, audience_name: Option<&str>, may: Vec<Value>) -> Self {
        Self {
            organization: grant.organization,
            audience: grant.audience.clone(),
            audience_name: audience_name.map(str::to_owned),
            may,
            scope: grant.scope.clone(),
            details: grant.details.clone(),
            offline: grant.offline,
            created_at: grant.created_at.into(),
            used_at: grant.used_at.into(),
            expires_at: grant.expires_at.into(),
        }
    }
}
