//! Errors for exchanges that request too much: the standard's code, and a reference under which readers of the audit trail
//! find the reason.

use porteiro_protocol::{authority::Widening, error::ErrorCode};

use super::super::{access_token::Spoken, token_request::TokenRequest};
use crate::{
    audit_trail::{Actor, ActorKind},
    http::OAuthError,
    refusals::{self, Holder, Refusal, Rule},
};

/// More is asked for than the subject token carries.
pub async fn widening(
    request: TokenRequest<'_>,
    spoken: &Spoken,
    widening: Widening,
    asked: &[String],
) -> OAuthError {
    let (rule, text) = match widening {
        Widening::Scope => (Rule::ScopeWidened, "scope exceeds what the subject token carries"),
        Widening::Audience => {
            (Rule::AudienceWidened, "the API does not take tokens of the subject token's API in exchange")
        }
        Widening::Organization => {
            (Rule::OrganizationSwitched, "organization is not that of the subject token")
        }
        Widening::Details => {
            (Rule::DetailsWidened, "authorization_details exceed what the subject token carries")
        }
    };
    let reference = record(request, spoken, rule, asked).await;
    OAuthError::new(widening.code(), text).with_reference(reference)
}

/// The exchange is not for this client, this token or this scope.
pub async fn by_rule(request: TokenRequest<'_>, spoken: &Spoken, rule: Rule, asked: &[String]) -> OAuthError {
    let reference = record(request, spoken, rule, asked).await;
    // RFC 8693 §2.2.2: tokens that policy does not accept are `invalid_request`.
    OAuthError::new(ErrorCode::InvalidRequest, rule.sentence()).with_reference(reference)
}

async fn record(
    request: TokenRequest<'_>,
    spoken: &Spoken,
    rule: Rule,
    asked: &[String],
) -> Option<impl std::fmt::Display + use<>> {
    let member = spoken.member.as_ref();
    let carried = spoken.claims.scope.iter().map(str::to_owned).collect();
    let subject = member.map(|member| Actor {
        kind: ActorKind::Member,
        id: member.id.to_string(),
        act: spoken.claims.actor.clone(),
    });
    let refusal = Refusal {
        organization: member.map(|member| member.organization.id),
        client_id: Some(request.client.id.clone()),
        subject,
        rule,
        asked: asked.to_vec(),
        holder: Holder::Named { what: "subject_token".into(), permissions: carried },
        would_pass: "what the subject token, a delegation to the client and its registration all allow"
            .into(),
    };
    refusals::record(request.app, request.context, &refusal).await
}
