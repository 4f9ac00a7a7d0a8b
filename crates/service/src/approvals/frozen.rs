//! What an approval is for. It is stored as text with its digest, and never changes.

use std::fmt::Write;

use porteiro_protocol::{
    authority::Authority,
    id::{AccountId, MembershipId, OrganizationId},
    scope::Scope,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    oauth::{apis::Apis, authorization::in_words},
    secrets::sha256,
};

/// Everything that a decision is about. The members are written in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frozen {
    pub account: AccountId,
    pub client_id: String,
    pub organization: Option<OrganizationId>,
    pub membership: Option<MembershipId>,
    pub audience: String,
    pub scope: Scope,
    pub details: Vec<Value>,
    /// The client's own words, shown as a quotation.
    pub binding_message: Option<String>,
    /// None in rows from before there was this member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
}

/// What the person reads: names and words as they were when the client asked, whatever becomes of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    pub client_name: Option<String>,
    pub audience_name: Option<String>,
    /// Scopes and details in words, in English (`en`) and Portuguese (`pt`).
    pub wants: Vec<Value>,
}

impl Shown {
    /// As the API is registered now.
    pub fn new(client_name: Option<String>, apis: &Apis, authority: &Authority) -> Self {
        let api = apis.find(authority.audience());
        Self {
            client_name,
            audience_name: api.map(|api| api.name.clone()),
            wants: in_words(api, &authority.scope().to_string(), authority.details()),
        }
    }
}

impl Frozen {
    /// The text that is stored, and its digest.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn seal(&self) -> Result<(String, [u8; 32]), serde_json::Error> {
        let text = serde_json::to_string(self)?;
        let digest = sha256(text.as_bytes());
        Ok((text, digest))
    }

    /// Reads the stored text; `None` where it is not the text of the digest.
    pub fn open(text: &str, digest: &[u8]) -> Option<Self> {
        if sha256(text.as_bytes()) != digest {
            return None;
        }
        serde_json::from_str(text).ok()
    }

    pub fn authority(&self) -> Authority {
        let authority = Authority::granted(self.scope.clone(), self.audience.clone(), self.details.clone());
        match self.organization {
            Some(organization) => authority.acting_for(organization),
            None => authority,
        }
    }
}

/// A digest as people compare it.
pub fn hex(digest: &[u8; 32]) -> String {
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_changed_text_does_not_open() {
        let frozen = Frozen {
            account: Uuid::nil().into(),
            client_id: "agent".into(),
            organization: None,
            membership: None,
            audience: "https://a.example".into(),
            scope: "payments".parse().unwrap(),
            details: vec![json!({"type": "payment", "amount": "10.00"})],
            binding_message: Some("order 7".into()),
            shown: Some(Shown { wants: vec![json!({"en": "Pay", "pt": "Pagar"})], ..Shown::default() }),
        };
        let (text, digest) = frozen.seal().unwrap();
        assert_eq!(Frozen::open(&text, &digest), Some(frozen));
        for (was, is) in [("10.00", "99.00"), ("Pagar", "Ler")] {
            assert_eq!(Frozen::open(&text.replace(was, is), &digest), None);
        }
    }
}
