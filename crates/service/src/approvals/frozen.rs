//! What an approval is for. It is stored as text with its digest, and never changes.

use std::fmt::Write;

use porteiro_protocol::{
    authority::Authority,
    id::{AccountId, MembershipId, OrganizationId},
    scope::Scope,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::secrets::sha256;

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
        };
        let (text, digest) = frozen.seal().unwrap();
        assert_eq!(Frozen::open(&text, &digest), Some(frozen));
        assert_eq!(Frozen::open(&text.replace("10.00", "99.00"), &digest), None);
    }
}
