//! Calls with a credential that would be accepted, were its organization not suspended.

use axum::http::request::Parts;
use porteiro_protocol::id::OrganizationId;

use super::{super::provisioning, admit::Guard, turned::Turned};
use crate::{
    audit_trail::Actor,
    http::{ProblemCode, RequestContext},
};

const WHY: ProblemCode = ProblemCode::OrganizationSuspended;
/// The SCIM status of it.
const STATUS: u16 = 403;

/// Keys and tokens are answered alike. A directory's request is in the list of its refusals too: otherwise the
/// administrators would see changes missing, and no reason (docs/decisions/0127).
pub(super) async fn suspended(
    guard: &Guard,
    context: &RequestContext,
    parts: &Parts,
    place: OrganizationId,
    actor: &Actor,
) -> Turned {
    if !guard.provisions {
        return WHY.into();
    }
    match provisioning::take(&guard.app, place).await {
        Err(error) => return error.into(),
        Ok(Some(limited)) => return Turned::Problem(limited.into()),
        Ok(None) => {}
    }
    let refused = provisioning::Refused {
        organization: place,
        actor: format!("{}:{}", actor.kind.as_str(), actor.id),
        method: parts.method.to_string(),
        resource: provisioning::resource(parts.uri.path()),
        status: STATUS,
        scim_type: None,
        detail: WHY.title().to_owned(),
        request_id: context.request_id,
    };
    if provisioning::record(&guard.app.store, &refused).await.is_err() {
        tracing::warn!("a refusal of a directory's request could not be recorded");
    }
    WHY.into()
}
