//! The problems that an operation may answer with.

use std::collections::BTreeMap;

use axum::http::Method;

use crate::http::{Access, Operation, ProblemCode, Route, Taken};

/// By status: the codes that follow from the access of the route, from its body and from what it does.
pub(super) fn refusals<A>(route: &Route<A>, operation: &Operation) -> BTreeMap<u16, Vec<ProblemCode>> {
    use ProblemCode as P;
    let mut codes = vec![P::Malformed, P::TooLarge, P::HeadersTooLarge, P::Unavailable];
    let writes = route.method != Method::GET;
    match route.access {
        Access::Organization(_) => codes.extend([
            P::Unauthenticated,
            P::Forbidden,
            P::StepUpRequired,
            P::ReasonRequired,
            P::NotFound,
            P::OrganizationSuspended,
            P::SlowDown,
        ]),
        Access::Platform(_) => {
            codes.extend([P::Unauthenticated, P::Forbidden, P::ReasonRequired, P::SlowDown]);
        }
        Access::Session => {
            codes.extend([P::Unauthenticated, P::Forbidden, P::StepUpRequired, P::SlowDown]);
            codes.extend(writes.then_some(P::OriginRefused));
        }
        Access::Public(_)
        | Access::FlowOwner
        | Access::Client
        | Access::RegistrationToken
        | Access::Token(_)
        | Access::Provisioning(_) => {}
    }
    if route.path.contains('{') {
        codes.push(P::NotFound);
    }
    if !matches!(operation.takes, Taken::Nothing) {
        codes.extend([P::UnsupportedMedia, P::TooSlow, P::FieldInvalid]);
    }
    if operation.needs_version(&route.method) {
        codes.extend([P::VersionRequired, P::VersionMismatch]);
    }
    if operation.creates {
        codes.extend([P::IdempotencyConflict, P::IdempotencyInProgress, P::SecretAlreadyShown, P::TooSlow]);
    }
    codes.extend_from_slice(&operation.refusals);
    let mut by_status: BTreeMap<u16, Vec<ProblemCode>> = BTreeMap::new();
    for code in codes {
        let there = by_status.entry(code.status().as_u16()).or_default();
        if !there.contains(&code) {
            there.push(code);
        }
    }
    by_status
}
