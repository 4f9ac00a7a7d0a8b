//! The representations of organizations.

use porteiro_protocol::{
    assurance::Level,
    id::{AccountId, ConnectionId, MembershipId, OrganizationId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    decide::english,
    store::{Affected, Loses, Suspension},
};
use crate::{
    api::Time,
    members::{Member, State},
    organizations::{Discovery, Language, Organization, Policy, Status, ThirdParty},
};

/// An organization.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Organization")]
pub struct OrganizationView {
    pub id: OrganizationId,
    pub slug: String,
    pub name: String,
    pub status: Status,
    /// When and why the organization was suspended.
    pub suspension: Option<SuspensionView>,
    pub policy: Policy,
    pub locale: String,
    pub created_at: Time,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Suspension")]
pub struct SuspensionView {
    pub at: Time,
    pub reason_code: String,
    /// Visible to the platform only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Visible to the platform only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl OrganizationView {
    pub fn new(organization: Organization, suspension: Option<Suspension>, to_platform: bool) -> Self {
        let suspension = suspension.map(|it| SuspensionView {
            at: it.at.into(),
            reason_code: it.reason_code,
            by: it.by.filter(|_| to_platform),
            note: it.note.filter(|_| to_platform),
        });
        Self {
            id: organization.id,
            slug: organization.slug,
            name: organization.name,
            status: organization.status,
            suspension,
            policy: organization.policy,
            locale: organization.locale,
            created_at: organization.created_at.into(),
        }
    }
}

/// An organization of the caller, with the caller's roles.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MyOrganization {
    pub id: OrganizationId,
    pub slug: String,
    pub name: String,
    pub status: Status,
    /// The `sub` of the caller's tokens for the organization.
    pub membership_id: MembershipId,
    pub state: State,
    pub roles: Vec<String>,
    pub primary_role: String,
    pub joined_at: Time,
}

impl From<Member> for MyOrganization {
    fn from(member: Member) -> Self {
        Self {
            id: member.organization.id,
            slug: member.organization.slug,
            name: member.organization.name,
            status: member.organization.status,
            membership_id: member.id,
            state: member.state,
            roles: member.roles,
            primary_role: member.primary_role,
            joined_at: member.created_at.into(),
        }
    }
}

/// A new organization; the caller becomes its owner.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewOrganization {
    #[schemars(length(min = 1, max = 100))]
    pub name: String,
    #[schemars(regex(pattern = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$"))]
    pub slug: String,
    #[serde(default = "english")]
    pub locale: Language,
}

/// A new organization, created by the platform.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewOrganizationFor {
    #[schemars(length(min = 1, max = 100))]
    pub name: String,
    #[schemars(regex(pattern = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$"))]
    pub slug: String,
    #[serde(default = "english")]
    pub locale: Language,
    /// The account that becomes its owner; without it, the organization has no members yet.
    pub owner: Option<AccountId>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suspend {
    /// A code that the platform chooses; visible to the organization's members.
    #[schemars(regex(pattern = "^[a-z_]{1,40}$"))]
    pub reason_code: String,
    /// Visible to the platform only.
    #[schemars(length(max = 500))]
    pub note: Option<String>,
}

/// The policy after the change, or after the change that a dry run describes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PolicyChange {
    pub min_level: Level,
    pub max_age: Option<u32>,
    pub third_party_clients: ThirdParty,
    /// The connection by which members must sign in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_connection: Option<ConnectionId>,
    /// The owner who may use a passkey instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub break_glass: Option<MembershipId>,
    /// Whether addresses at a verified domain lead to the organization's connections.
    pub discovery: Discovery,
    /// Whether this was a dry run: nothing was changed.
    pub dry_run: bool,
    /// Who cannot reach the required level with their credentials, or has no identity by the required connection. Only
    /// in a dry run.
    pub would_lose_access: Option<WouldLose>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccessLoss")]
pub struct WouldLose {
    /// The number of members; `more`: there are others that were not counted.
    pub count: usize,
    pub more: bool,
    /// The first of these members.
    pub members: Vec<WhoLoses>,
    /// Personal API keys that would not be accepted any more, because a connection is required.
    pub personal_keys: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AffectedMember")]
pub struct WhoLoses {
    pub id: MembershipId,
    pub display_name: String,
    /// The members of the policy that they do not meet.
    pub lacks: Vec<Lacks>,
}

/// What a member lacks. Who has no identity by the connection gets one at the first sign-in by it, if the directory
/// knows them.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "LackedRequirement")]
pub enum Lacks {
    MinLevel,
    RequireConnection,
}

impl From<Loses> for WhoLoses {
    fn from(loses: Loses) -> Self {
        let lacks =
            [(loses.lacks_level, Lacks::MinLevel), (loses.lacks_connection, Lacks::RequireConnection)];
        let lacks = lacks.into_iter().filter(|(lacks, _)| *lacks).map(|(_, what)| what).collect();
        Self { id: loses.id, display_name: loses.display_name, lacks }
    }
}

impl PolicyChange {
    pub fn new(policy: &Policy, affected: Option<Affected>) -> Self {
        Self {
            min_level: policy.min_level,
            max_age: policy.max_age,
            third_party_clients: policy.third_party_clients,
            require_connection: policy.require_connection,
            break_glass: policy.break_glass,
            discovery: policy.discovery,
            dry_run: affected.is_some(),
            would_lose_access: affected.map(|affected| WouldLose {
                count: affected.count,
                more: affected.more,
                members: affected.first.into_iter().map(WhoLoses::from).collect(),
                personal_keys: affected.personal_keys,
            }),
        }
    }
}
