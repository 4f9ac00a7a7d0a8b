//! Sets that grow with the features, for floors that know none of them. One line per entry.

use crate::{
    App, Core, api_keys,
    endings::Dependent,
    flow::{self, Purpose},
    impersonation,
    jobs::{self, Host, JobKind},
    limits, mail, oauth, sms,
};

/// What the floors below read through [`App::registers`].
#[derive(Debug)]
pub struct Registers {
    /// What a flow can lead to.
    pub purposes: &'static [&'static dyn Purpose],
    /// What ends with authority, in the order in which rows are locked.
    pub dependents: &'static [Dependent],
}

pub const REGISTERS: Registers = Registers {
    purposes: &[&oauth::authorization::AuthorizationPurpose, &oauth::device::DevicePurpose],
    dependents: &[
        oauth::authorization::DEPENDENT,
        oauth::logout::DEPENDENT,
        api_keys::DEPENDENT,
        impersonation::DEPENDENT,
    ],
};

/// Every kind of job.
pub const JOBS: &[JobKind<App>] = &[
    mail::delivery(),
    sms::delivery(),
    jobs::maintenance(),
    jobs::sweep(),
    limits::sweeping(),
    flow::HOLD_REMINDERS,
    impersonation::EXPIRY,
    oauth::device::SWEEPING,
    oauth::keys::ROTATION,
    oauth::logout::ENDING,
    oauth::logout::NOTIFICATION,
    oauth::pushed_authorization::SWEEPING,
    oauth::registration::EXPIRY,
];

impl Host for App {
    fn core(&self) -> &Core {
        self
    }

    fn job_kinds(&self) -> &'static [JobKind<Self>] {
        JOBS
    }
}
