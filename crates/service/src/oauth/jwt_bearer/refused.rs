//! Errors for assertions that are not redeemed: the standard's code, and a reference under which readers of the audit trail
//! find the reason.

use porteiro_protocol::error::ErrorCode;

use super::super::token_request::TokenRequest;
use crate::{
    http::OAuthError,
    members::Member,
    refusals::{self, Holder, Refusal, Rule},
    trusts::AssertionIssuer,
};

/// Nobody is linked to the subject, which is not repeated: it may be an address.
pub async fn unlinked(request: TokenRequest<'_>, trust: &AssertionIssuer) -> OAuthError {
    let refusal = Refusal {
        organization: Some(trust.organization),
        client_id: Some(request.client.id.clone()),
        subject: None,
        rule: Rule::SubjectNotLinked,
        asked: vec![trust.issuer.clone()],
        holder: Holder::Nobody,
        would_pass: "the same after an administrator has linked the issuer and subject to a member".into(),
    };
    let reference = refusals::record(request.app, request.context, &refusal).await;
    OAuthError::new(ErrorCode::InvalidGrant, Rule::SubjectNotLinked.sentence()).with_reference(reference)
}

pub async fn by_rule(request: TokenRequest<'_>, member: &Member, rule: Rule, asked: &[String]) -> OAuthError {
    let member = (member.organization.id, member.id);
    let would_pass = "permissions in the organization that the member holds and the client may have";
    let refusal = Refusal::of_member(request.client.id.clone(), member, rule, asked, would_pass);
    let reference = refusals::record(request.app, request.context, &refusal).await;
    let code = if rule == Rule::NotAPermission { ErrorCode::InvalidScope } else { ErrorCode::InvalidGrant };
    OAuthError::new(code, rule.sentence()).with_reference(reference)
}
