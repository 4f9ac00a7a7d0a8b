//! The proofs of a session, by their reach: the account, or one organization (docs/decisions/0097). Pure.

use porteiro_protocol::{
    assurance::{DirectoryProof, Proof},
    id::OrganizationId,
};
use serde::{Deserialize, Serialize};

/// All proofs of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub account: Vec<Proof>,
    pub directories: Vec<DirectoryProof>,
}

/// One element of the stored list.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Account(Proof),
    Directory(DirectoryProof),
}

impl Held {
    /// Only directories vouch for the person: the session is worth nothing outside their organizations. A session that
    /// lost its last proof is none of these: its owner removed that credential in it.
    pub fn is_confined(&self) -> bool {
        self.account.is_empty() && !self.directories.is_empty()
    }
}

/// The newest proof by a directory of this organization.
pub(super) fn newest_within(
    directories: &[DirectoryProof],
    organization: OrganizationId,
) -> Option<&DirectoryProof> {
    let there = directories.iter().filter(|proof| proof.within(organization).is_some());
    there.max_by_key(|proof| proof.within(organization).map(|proof| proof.at))
}

impl<'de> Deserialize<'de> for Held {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut held = Self::default();
        for stored in Vec::<Stored>::deserialize(deserializer)? {
            match stored {
                Stored::Account(proof) => held.account.push(proof),
                Stored::Directory(proof) => held.directories.push(proof),
            }
        }
        Ok(held)
    }
}

#[cfg(test)]
mod tests {
    use porteiro_protocol::{assurance::Method, id::OrganizationId, time::OffsetDateTime};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn stored_proofs_are_read_by_their_reach() {
        let proof = Proof {
            method: Method::Federated,
            credential: Some(Uuid::from_u128(7)),
            at: OffsetDateTime::UNIX_EPOCH,
            user_verified: false,
        };
        let directory = DirectoryProof::new(OrganizationId::from(Uuid::from_u128(1)), proof.clone(), 1, None);
        let read = |value| serde_json::from_value::<Held>(value).unwrap();
        let both = read(json!([proof, directory]));
        assert_eq!(both, Held { account: vec![proof.clone()], directories: vec![directory.clone()] });
        assert!(!both.is_confined() && !read(json!([])).is_confined() && !read(json!([proof])).is_confined());
        assert!(read(json!([directory])).is_confined());
    }
}
