//! SCIM 2.0 (RFC 7643, RFC 7644, RFC 9865) for each organization: its directory provisions members and groups
//! (docs/scim.md).
//!
//! 1. The directory presents an API key of the organization, or the access token of a client that is its member. The
//!    path names the organization; another credential's organization does not exist there (`management/guard`).
//! 2. A user is a membership, never an account: creating one touches no account and compares no address. A person claims
//!    it by signing in (`members`, docs/decisions/0124).
//! 3. Requests are read tolerantly (`porteiro_protocol::scim`), but what may concern `active` is never ignored.
//! 4. A change takes the organization's lock, reads the credential's permission again, and is recorded in the audit
//!    trail; what changes nothing writes nothing.
//! 5. `active: false` and DELETE end everything the member was given, in the same transaction (`management/members/cut`).
//! 6. A refusal says why, and the organization's administrators can read it (`management/provisioning`).

pub mod decide;
mod endpoint;
mod groups;
mod listing;
mod represent;
mod store;
mod users;

use std::sync::Arc;

use porteiro_protocol::{
    id::OrganizationId,
    scim::{ErrorKind, resource::Resource},
};
use serde_json::Value;

pub use endpoint::routes;

use crate::{
    App,
    http::{RequestContext, ScimError},
    management::Caller,
};

pub const PERMISSION: &str = "scim:provision";

/// A request of a directory.
#[derive(Debug)]
pub(crate) struct Call {
    pub app: Arc<App>,
    pub caller: Caller,
    pub context: RequestContext,
    pub organization: OrganizationId,
}

impl Call {
    /// The address of the organization's resources.
    pub(crate) fn base(&self) -> String {
        format!("{}/scim/v2/{}", self.app.issuer(), self.organization)
    }
}

/// The versions that a change may start from: `If-Match`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Any,
    One(Vec<i64>),
}

impl Seen {
    /// # Errors
    /// When the resource has another version: 412.
    pub(crate) fn admits(&self, version: i64) -> Result<(), ScimError> {
        match self {
            Self::Any => Ok(()),
            Self::One(versions) if versions.contains(&version) => Ok(()),
            Self::One(_) => Err(ScimError::new(
                http::StatusCode::PRECONDITION_FAILED,
                "the resource was changed since; read it again",
            )),
        }
    }
}

/// The body as an object.
pub(crate) fn body_object(body: &Value) -> Result<&Resource, ScimError> {
    let wrong = || {
        let text = "the body must be a JSON object";
        ScimError::of(http::StatusCode::BAD_REQUEST, ErrorKind::InvalidSyntax, text)
    };
    body.as_object().ok_or_else(wrong)
}

pub(crate) fn not_found() -> ScimError {
    ScimError::new(http::StatusCode::NOT_FOUND, "there is no such resource in this organization")
}
