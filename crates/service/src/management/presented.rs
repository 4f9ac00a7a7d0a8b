//! The token a call was made with, as far as it matters after the call was let in.

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

/// What matters of a token that was shown: whose it is, and what it is bound to.
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
    /// What of a holder's authority a call with this token is worth: a client of the same house does what the person may,
    /// any other's token is worth no more than it carries, whatever is made, given or taken with it (decision 0045).
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
