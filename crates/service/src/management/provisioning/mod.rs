//! Why requests of an organization's directory were refused, for its administrators.
//!
//! The list has a fixed number of places for each organization: a directory that repeats a mistake is counted, and a new
//! refusal takes the place of the oldest. A holder of the directory's credential cannot make it grow.

mod endpoint;
mod store;

use std::time::Instant;

use porteiro_protocol::{
    id::{OrganizationId, RequestId},
    time::OffsetDateTime,
};

pub use endpoint::routes;
pub use store::record;

use crate::{
    App,
    limits::{self, Bucket, Limited},
    secrets::sha256,
    store::StoreError,
};

/// The number of refusals that an organization's list keeps.
pub const PLACES: i64 = 500;
/// The longest path that is recorded.
const LONGEST_RESOURCE: usize = 120;

/// Counts a request of an organization's directory.
pub async fn take(app: &App, organization: OrganizationId) -> Result<Option<Limited>, StoreError> {
    let rule = limits::SCIM_ORGANIZATION.with_per_minute(app.checked.settings.scim_requests_per_minute);
    let key = app.secrets.limit_key(rule.name, organization.uuid().as_bytes());
    app.stock.take(&app.store, &Bucket { rule, key }, Instant::now()).await
}

/// What a path addresses, below the organization.
pub fn resource(path: &str) -> String {
    path.splitn(5, '/').nth(4).unwrap_or_default().chars().take(LONGEST_RESOURCE).collect()
}

/// A refused request.
#[derive(Debug, Clone)]
pub struct Refused {
    pub organization: OrganizationId,
    /// Kind and id, as in the audit trail.
    pub actor: String,
    pub method: String,
    /// What was addressed: `Users/{id}`.
    pub resource: String,
    pub status: u16,
    pub scim_type: Option<&'static str>,
    /// What was wrong, and with whom; no value that was sent.
    pub detail: String,
    pub request_id: RequestId,
}

impl Refused {
    /// The same for repetitions of one mistake.
    fn fingerprint(&self) -> [u8; 32] {
        let status = self.status.to_string();
        let parts = [&self.actor, &self.method, &self.resource, &status, &self.detail];
        sha256(parts.map(String::as_str).join("\n").as_bytes())
    }
}

/// An entry of the list.
#[derive(Debug, Clone)]
pub struct Entry {
    pub number: i64,
    pub actor: String,
    pub method: String,
    pub resource: String,
    pub status: i16,
    pub scim_type: Option<String>,
    pub detail: String,
    pub times: i64,
    pub request_id: RequestId,
    pub first_at: OffsetDateTime,
    pub last_at: OffsetDateTime,
}
