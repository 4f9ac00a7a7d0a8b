//! Refusals of authority at the token endpoint: the standard error, and a reference by which an administrator finds
//! the reason.

use porteiro_protocol::{authority::Widening, error::ErrorCode};

use super::{
    super::{acting, grants::Live, token_request::TokenRequest},
    invalid_grant,
};
use crate::{
    audit_trail::{Actor, ActorKind},
    http::OAuthError,
    members::{Member, Unusable},
    refusals::{self, Holder, Refusal, Rule},
};

/// The request asks for more than the grant.
pub async fn widening(
    request: TokenRequest<'_>,
    live: &Live,
    widening: Widening,
    asked: Option<&str>,
) -> OAuthError {
    let rule = match widening {
        Widening::Scope => Rule::ScopeWidened,
        Widening::Audience => Rule::AudienceWidened,
        Widening::Organization => Rule::OrganizationSwitched,
        Widening::Details => Rule::DetailsWidened,
    };
    let acting = live.acting.as_ref();
    let granted = live.authority.scope().iter().map(str::to_owned).collect();
    let refusal = Refusal {
        organization: acting.map(|acting| acting.organization),
        client_id: Some(request.client.id.clone()),
        subject: acting.map(|acting| member(acting.membership.to_string())),
        rule,
        asked: asked.map(str::to_owned).into_iter().collect(),
        holder: Holder::Named { what: "grant".into(), permissions: granted },
        would_pass: "the granted authority or less; more requires a new authorization request".into(),
    };
    let reference = refusals::record(request.app, request.context, &refusal).await;
    OAuthError::new(widening.code(), widening.to_string()).with_reference(reference)
}

/// The member does not hold a permission, or not now. Refused, not reduced: the client may ask for less.
pub async fn unheld(
    request: TokenRequest<'_>,
    found: &Member,
    asked: &[String],
    lacking: &acting::Refused,
) -> OAuthError {
    let (rule, would_pass) = acting::explain(lacking);
    let refusal = Refusal {
        organization: Some(found.organization.id),
        client_id: Some(request.client.id.clone()),
        subject: Some(member(found.id.to_string())),
        rule,
        asked: asked.to_vec(),
        holder: Holder::Member(found.organization.id, found.id),
        would_pass,
    };
    let reference = refusals::record(request.app, request.context, &refusal).await;
    let error = match lacking {
        acting::Refused::Unusable(Unusable::Suspended) => {
            OAuthError::new(ErrorCode::InvalidGrant, "the organization is suspended")
        }
        acting::Refused::Unusable(Unusable::Unclaimed | Unusable::Disabled | Unusable::Removed) => {
            invalid_grant()
        }
        acting::Refused::Lacks(_) => OAuthError::new(
            ErrorCode::InvalidScope,
            "the member does not hold all of these scopes in the organization; request fewer",
        ),
    };
    error.with_reference(reference)
}

fn member(id: String) -> Actor {
    Actor { kind: ActorKind::Member, id, act: None }
}
