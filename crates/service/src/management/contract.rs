//! What holds around every operation, once the caller is known, in this order:
//!
//! 1. It has calls left ([`rates`]).
//! 2. Its query names nothing the operation does not take ([`Query`]).
//! 3. Where something known is changed, it says which version it has seen ([`version`]).
//! 4. Where something is made, the same `Idempotency-Key` makes it once ([`repeat`]).
//! 5. Who prefers a short answer gets one ([`answer`]).

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{Extensions, Method},
    middleware::Next,
    response::{IntoResponse, Response},
};
use porteiro_protocol::id::{MembershipId, OrganizationId};

use super::{
    By, Caller, answer, operation::Operation, presented::Presented, query::Query, rates, repeat, version,
};
use crate::{App, http::Problem, oauth::clients::Trust, sessions::SignedIn};

/// An operation and the application it is one of.
#[derive(Debug, Clone)]
pub struct Contract {
    pub app: Arc<App>,
    pub operation: Arc<Operation>,
}

/// Whose call it is, for what is counted and remembered.
#[derive(Debug)]
pub(super) struct Whom {
    pub key: String,
    pub organization: Option<OrganizationId>,
    pub member: Option<AsMember>,
}

/// A member who calls, and with what.
#[derive(Debug)]
pub(super) struct AsMember {
    pub id: MembershipId,
    pub with: With,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum With {
    /// A page of the house, where they do what they do themselves.
    House,
    /// A client of somebody else's.
    Client(String),
    Key,
}

impl AsMember {
    fn of(caller: &Caller) -> Option<Self> {
        let with = |token: &Presented| match token.client.trust {
            Trust::FirstParty => With::House,
            Trust::Verified | Trust::Unverified => With::Client(token.client.id.clone()),
        };
        match &caller.by {
            By::Member { membership, .. } => {
                Some(Self { id: *membership, with: caller.token.as_ref().map_or(With::House, with) })
            }
            By::Key { membership, .. } => membership.map(|id| Self { id, with: With::Key }),
            By::Operator(_) => None,
        }
    }
}

impl Whom {
    /// Whoever the guard let in; nobody at a public route.
    fn of(extensions: &Extensions) -> Option<Self> {
        if let Some(caller) = extensions.get::<Caller>() {
            let own = caller.organization.as_ref().filter(|_| caller.reason.is_none());
            let (organization, member) = (own.map(|it| it.id), AsMember::of(caller));
            return Some(Self { key: caller.key(), organization, member });
        }
        let signed_in = extensions.get::<SignedIn>()?;
        Some(Self { key: format!("account:{}", signed_in.account_id), organization: None, member: None })
    }
}

/// The layer around an operation's handler, inside the guard of its access.
pub async fn keep(State(contract): State<Contract>, request: Request, next: Next) -> Response {
    let whom = Whom::of(request.extensions());
    let writes = *request.method() != Method::GET && *request.method() != Method::HEAD;
    let told = match &whom {
        None => None,
        Some(whom) => match rates::take(&contract.app, whom, writes).await {
            Ok(Ok(told)) => Some(told),
            Ok(Err(refused)) => return refused,
            Err(error) => return Problem::from(error).into_response(),
        },
    };
    let kept = Box::pin(kept(&contract, whom.as_ref(), writes, request, next)).await;
    let mut response = kept.unwrap_or_else(IntoResponse::into_response);
    if let Some(told) = told {
        told.write(response.headers_mut());
    }
    response
}

async fn kept(
    contract: &Contract,
    whom: Option<&Whom>,
    writes: bool,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let operation = &contract.operation;
    let query = Query::read(operation, request.uri().query())?;
    // Looking at what would come of a change is nothing without the answer.
    let minimal = writes && !query.flag("dry_run") && answer::wants_minimal(request.headers());
    request.extensions_mut().insert(query);
    if operation.needs_version(request.method()) {
        let seen = version::seen(request.headers())?;
        request.extensions_mut().insert(seen);
    }
    let response = match whom {
        Some(whom) if operation.creates => repeat::once(&contract.app, &whom.key, request, next).await?,
        Some(_) | None => next.run(request).await,
    };
    Ok(if minimal { answer::minimal(response) } else { response })
}
