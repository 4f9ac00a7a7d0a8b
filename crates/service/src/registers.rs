//! Lists that grow with the features, for floors that must not import them. One line per entry.

use crate::{
    App, Core, api_keys, approvals, directories, domains,
    endings::Dependent,
    flow::{self, Purpose},
    impersonation,
    jobs::{self, Host, JobKind},
    limits, mail,
    oauth::{self, token_request::Grant},
    organization_sign_in, personal_data, sms, web_push,
};

/// Read by the floors below through [`App::registers`].
#[derive(Debug)]
pub struct Registers {
    /// The purposes of flows.
    pub purposes: &'static [&'static dyn Purpose],
    /// What ends together with authority, in the order in which rows are locked.
    pub dependents: &'static [Dependent],
    /// The grant types of the token endpoint.
    pub grants: &'static [Grant],
}

pub const REGISTERS: Registers = Registers {
    purposes: &[
        &oauth::authorization::AuthorizationPurpose,
        &oauth::client_documents::ClientDocumentPurpose,
        &oauth::device::DevicePurpose,
        &organization_sign_in::OrganizationPurpose,
    ],
    dependents: &[
        oauth::authorization::DEPENDENT,
        oauth::logout::DEPENDENT,
        oauth::delegations::DEPENDENT,
        approvals::DEPENDENT,
        api_keys::DEPENDENT,
        impersonation::DEPENDENT,
        web_push::DEPENDENT,
    ],
    grants: &[
        oauth::code_grant::GRANT,
        oauth::refresh::GRANT,
        oauth::client_credentials::GRANT,
        oauth::device::GRANT,
        oauth::exchange::GRANT,
        oauth::ciba::GRANT,
        oauth::jwt_bearer::GRANT,
    ],
};

/// All kinds of jobs.
pub const JOBS: &[JobKind<App>] = &[
    mail::delivery(),
    sms::delivery(),
    jobs::maintenance(),
    jobs::sweep(),
    limits::sweeping(),
    directories::ENDING,
    directories::SWEEPING,
    domains::CHECKING,
    approvals::ANNOUNCE,
    approvals::PING,
    approvals::REMIND,
    approvals::SWEEPING,
    approvals::TELL_EXPIRED,
    flow::HOLD_REMINDERS,
    impersonation::EXPIRY,
    oauth::client_documents::EXPIRY,
    oauth::delegations::ENDING,
    oauth::delegations::SWEEPING,
    oauth::device::SWEEPING,
    oauth::keys::ROTATION,
    oauth::logout::ENDING,
    oauth::logout::NOTIFICATION,
    oauth::pushed_authorization::SWEEPING,
    oauth::registration::EXPIRY,
    personal_data::ERASURE,
    web_push::SENDING,
];

impl Host for App {
    fn core(&self) -> &Core {
        self
    }

    fn job_kinds(&self) -> &'static [JobKind<Self>] {
        JOBS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::grant_types::NAMES;

    #[test]
    fn every_grant_type_is_served_by_one_grant() {
        assert_eq!(NAMES, REGISTERS.grants.iter().map(|grant| grant.name).collect::<Vec<_>>());
    }
}
