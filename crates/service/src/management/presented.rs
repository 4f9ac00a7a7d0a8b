//! The token a call was made with, as far as it matters after the call was let in.

use std::sync::Arc;

use porteiro_protocol::{permission::Permission, scope::Scope};

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
        let binding = match (spoken.claims.key, spoken.claims.certificate) {
            (Some(key), _) => Binding::Key(key),
            (None, Some(hash)) => Binding::Certificate(hash),
            (None, None) => Binding::Bearer,
        };
        Self { client: Arc::clone(&spoken.client), scope: spoken.claims.scope.clone(), binding }
    }
}

impl Presented {
    /// Whether what is made with this token may hold it: a client of the same house does what the person may, any other
    /// passes on no more than its token carries.
    pub fn passes_on(&self, asked: &Permission) -> bool {
        match self.client.trust {
            Trust::FirstParty => true,
            Trust::Verified | Trust::Unverified => {
                self.scope.iter().any(|name| Permission::parse(name).is_ok_and(|held| held.covers(asked)))
            }
        }
    }
}
