//! How an approval is shown.

use porteiro_protocol::{
    assurance::Level,
    client_metadata::ClientIdUrl,
    id::{ApprovalId, MembershipId, OrganizationId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    api::Time,
    approvals::{self, Approval, Shown, State, hex},
    oauth::apis::Apis,
};

/// One exact action that a client asks a person to approve.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Approval")]
pub(super) struct ApprovalView {
    id: ApprovalId,
    state: State,
    client_id: String,
    /// The names of client and API as they were when the client asked.
    client_name: Option<String>,
    /// The host that publishes what the client says of itself, for a client with a metadata document.
    client_host: Option<String>,
    /// The organization in which the client wants to act; null: for the person only.
    organization: Option<OrganizationId>,
    /// The member who is asked.
    membership: Option<MembershipId>,
    /// The API for which the token would be issued.
    audience: String,
    audience_name: Option<String>,
    scope: String,
    authorization_details: Vec<Value>,
    /// The same in words, in English (`en`) and Portuguese (`pt`), as they were when the client asked. Each value stands
    /// between U+2068 and U+2069, so that its letters do not move what is beside it.
    wants: Vec<Value>,
    /// What the client says about it, in its own words.
    binding_message: Option<String>,
    /// SHA-256 of what is asked for. It does not change.
    digest: String,
    /// The client shows one of these; the person picks it. Empty if there is nothing to pick.
    numbers: Vec<i16>,
    /// What the person must have proved to approve it.
    level: Level,
    /// Whether it cannot be undone: approving it needs a proof of the last five minutes.
    irreversible: bool,
    created_at: Time,
    expires_at: Time,
    decided_at: Option<Time>,
    /// When the API used the token up; null where it did not say so.
    used_at: Option<Time>,
}

impl ApprovalView {
    /// `mine`: for the person who is asked.
    pub(super) fn new(approval: Approval, apis: &Apis, mine: bool) -> Self {
        let picks = mine && approval.state == State::Pending;
        let (level, irreversible) = approvals::required(&approval, apis);
        let frozen = approval.frozen;
        let today = || Shown::new(None, apis, &frozen.authority());
        let shown = frozen.shown.clone().unwrap_or_else(today);
        Self {
            id: approval.id,
            state: approval.state,
            client_host: ClientIdUrl::parse(&approval.client_id).ok().map(|url| url.host().to_owned()),
            client_id: approval.client_id,
            client_name: shown.client_name,
            organization: approval.organization,
            membership: approval.membership,
            wants: shown.wants,
            audience_name: shown.audience_name,
            audience: frozen.audience,
            scope: frozen.scope.to_string(),
            authorization_details: frozen.details,
            binding_message: frozen.binding_message,
            digest: hex(&approval.digest),
            numbers: if picks { approval.numbers } else { Vec::new() },
            level,
            irreversible,
            created_at: approval.created_at.into(),
            expires_at: approval.expires_at.into(),
            decided_at: approval.decided_at.map(Into::into),
            used_at: approval.used_at.map(Into::into),
        }
    }
}

/// The number that the client shows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ApprovalPick")]
pub(super) struct Pick {
    pub number: i16,
}
