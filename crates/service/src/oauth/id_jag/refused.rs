//! Errors for assertions that are not issued: the standard's code, and a reference under which readers of the audit trail
//! find the reason.

use porteiro_protocol::error::ErrorCode;

use super::{super::token_request::TokenRequest, subject::Subject};
use crate::{
    http::OAuthError,
    refusals::{self, Refusal, Rule},
};

pub async fn by_rule(
    request: TokenRequest<'_>,
    subject: &Subject,
    rule: Rule,
    asked: &[String],
) -> OAuthError {
    let member = (subject.member.organization.id, subject.member.id);
    let would_pass = "what the organization registered for this client and server, or less";
    let refusal = Refusal::of_member(request.client.id.clone(), member, rule, asked, would_pass);
    let reference = refusals::record(request.app, request.context, &refusal).await;
    OAuthError::new(code(rule), rule.sentence()).with_reference(reference)
}

/// RFC 8693 §2.2.2: a target that is not accepted is `invalid_target`; whatever else policy does not accept is
/// `invalid_request`.
fn code(rule: Rule) -> ErrorCode {
    if rule == Rule::ServerNotRegistered || rule == Rule::OrganizationSwitched {
        ErrorCode::InvalidTarget
    } else if rule == Rule::AssertionWidened {
        ErrorCode::InvalidScope
    } else {
        ErrorCode::InvalidRequest
    }
}
