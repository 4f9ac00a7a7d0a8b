//! Checks that every operation has in common, once the caller is known: its rate limit ([`rates`]), and that the
//! request conforms to the operation ([`api::keep`]).

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::Extensions,
    middleware::Next,
    response::{IntoResponse, Response},
};
use porteiro_protocol::id::{MembershipId, OrganizationId};

use super::{
    super::{
        caller::{By, Caller},
        presented::Presented,
    },
    rates,
};
use crate::{
    App,
    api::{self, Operation},
    oauth::clients::Trust,
    sessions::SignedIn,
};

/// An operation, and the application it belongs to.
#[derive(Debug, Clone)]
pub struct Contract {
    pub app: Arc<App>,
    pub operation: Arc<Operation>,
}

/// The caller, as limits and idempotency keys identify it.
#[derive(Debug)]
pub(super) struct Whom {
    pub key: String,
    pub organization: Option<OrganizationId>,
    pub member: Option<AsMember>,
}

/// A calling member, and the credential used.
#[derive(Debug)]
pub(super) struct AsMember {
    pub id: MembershipId,
    pub with: With,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum With {
    /// The person's session or a first-party client.
    House,
    /// A client of a third party.
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
    /// The caller that the guard accepted; `None` at a public route.
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
    let Contract { app, operation } = &contract;
    let whom = Whom::of(request.extensions());
    let told = match &whom {
        None => None,
        Some(whom) => match rates::take(app, whom, api::writes(request.method())).await {
            Ok(told) => Some(told),
            Err(refused) => return refused.into_response(),
        },
    };
    let caller = whom.as_ref().map(|whom| whom.key.as_str());
    let mut response = Box::pin(api::keep(&app.core, operation, caller, request, next)).await;
    if let Some(told) = told {
        told.write(response.headers_mut());
    }
    response
}
