//! The access token of a call, as far as use cases need it.

use std::sync::Arc;

use porteiro_protocol::{
    permission::{Held, Permission},
    scope::Scope,
};

use crate::oauth::{
    access_token::Spoken,
    binding::Binding,
    clients::{Client, Trust},
};

/// A presented access token: its client, its scope and its binding.
#[derive(Debug, Clone)]
pub struct Presented {
    pub client: Arc<Client>,
    pub scope: Scope,
    pub binding: Binding,
}

impl From<&Spoken> for Presented {
    fn from(spoken: &Spoken) -> Self {
        let binding = spoken.claims.confirmation.into();
        Self { client: Arc::clone(&spoken.client), scope: spoken.claims.scope.clone(), binding }
    }
}

impl Presented {
    /// The part of a holder's authority that this token gives. A first-party client has all of it; the token of any
    /// other client gives no more than it carries (decision 0045).
    pub fn narrows(&self, held: Held) -> Held {
        match self.client.trust {
            Trust::FirstParty => held,
            Trust::Verified | Trust::Unverified => held.within(&carried(&self.scope)),
        }
    }
}

/// The permissions among the scopes.
pub fn carried(scope: &Scope) -> Held {
    Held::of(scope.iter().filter_map(|name| Permission::parse(name).ok()))
}
