//! Every request that is measured, under the name of its row.

use crate::{fill::Filled, load::Kind, report};

/// Of the grants of people for themselves, and of members of organizations.
pub fn all(filled: &Filled) -> Vec<(&'static str, Kind)> {
    let (own, organization) = (&filled.confidential, &filled.organization);
    vec![
        (report::GROUPED, Kind::Refresh(own.clone())),
        (report::PUBLIC, Kind::Refresh(filled.public.clone())),
        (report::ORGANIZATION, Kind::Refresh(organization.clone())),
        (report::CODE, Kind::Code(own.clone())),
        (report::CODE_ORGANIZATION, Kind::Code(organization.clone())),
        (report::CREDENTIALS, Kind::ClientCredentials(own.clone())),
        (report::INTROSPECTION, Kind::IntrospectRefresh(own.clone())),
        (report::INTROSPECTION_ACCESS, Kind::IntrospectAccess(own.clone())),
        (report::INTROSPECTION_ORGANIZATION, Kind::IntrospectRefresh(organization.clone())),
        (report::INTROSPECTION_ACCESS_ORGANIZATION, Kind::IntrospectAccess(organization.clone())),
        (report::EXCHANGE, Kind::Exchange(filled.agent.clone())),
        (report::POLL, Kind::Poll(filled.agent.clone())),
    ]
}
