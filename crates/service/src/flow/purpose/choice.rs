//! Organizations that a person chooses from.

use porteiro_protocol::id::OrganizationId;
use serde::Serialize;

use crate::{members::Member, organizations::Status};

/// An organization a person may act for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub id: OrganizationId,
    pub slug: String,
    pub name: String,
    pub role: String,
    /// Why it cannot be chosen, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<Unavailable>,
}

/// Why a member cannot act for an organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unavailable {
    Suspended,
}

impl From<&Member> for Choice {
    fn from(member: &Member) -> Self {
        let organization = &member.organization;
        Self {
            id: organization.id,
            slug: organization.slug.clone(),
            name: organization.name.clone(),
            role: member.primary_role.clone(),
            unavailable: match organization.status {
                Status::Enabled => None,
                Status::Suspended => Some(Unavailable::Suspended),
            },
        }
    }
}
