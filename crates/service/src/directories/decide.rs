//! Whether a person enters whom a directory vouches for and the organization does not know. Pure.

use porteiro_protocol::{address::EmailAddress, id::MembershipId, plain_text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::connections::Entry;

/// What a directory says about a person, as far as it matters. Addresses are not among it: only their domain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Described {
    /// The domain of the asserted address.
    pub domain: Option<String>,
    /// The directory says that the address is verified.
    pub is_verified: bool,
    pub name: Option<String>,
    /// What the connection's `subject_claim` is: the `externalId` that SCIM gave the person.
    #[serde(default)]
    pub external_id: Option<String>,
}

impl Described {
    /// Reads the claims of an ID token.
    pub fn read(claims: &Value, entry: &Entry) -> Self {
        let address = claims["email"].as_str().and_then(|text| EmailAddress::parse(text).ok());
        let name = claims["name"].as_str().and_then(|text| plain_text::name(text, 100));
        Self {
            domain: address.map(|address| address.domain().to_owned()),
            is_verified: claims["email_verified"] == true,
            name: name.map(str::to_owned),
            external_id: claims[&entry.subject_claim].as_str().map(str::to_owned),
        }
    }
}

/// What the organization knows about such a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known {
    /// The role with which people join exists.
    pub has_role: bool,
    /// The organization has verified the domain.
    pub has_domain: bool,
    /// Whom SCIM provisioned with the person's `externalId`.
    pub provisioned: Option<Provisioned>,
}

/// A membership that SCIM provisioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provisioned {
    Unclaimed(MembershipId),
    Claimed,
    Disabled,
}

/// How a person enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Admission {
    /// Only an account that is a member already.
    Member,
    /// As a new member, because a verified domain vouches for the address.
    Joins,
    /// As the member whom the directory provisioned.
    Claims(MembershipId),
}

/// How a person enters, or why only members do, in words by which an administrator can change it.
///
/// # Errors
/// Why only members enter.
pub fn admit(entry: &Entry, described: &Described, known: &Known) -> Result<Admission, String> {
    // Whom SCIM provisioned does not join a second time, least of all after being disabled.
    match known.provisioned {
        None => {}
        Some(Provisioned::Unclaimed(membership)) if entry.match_provisioned => {
            return Ok(Admission::Claims(membership));
        }
        Some(Provisioned::Unclaimed(_)) => {
            return Err(
                "SCIM provisioned the person, and people do not claim provisioned memberships by this \
                        connection: set match_provisioned"
                    .into(),
            );
        }
        Some(Provisioned::Claimed) => {
            return Err(
                "an account has claimed the membership that SCIM provisioned for the person: they continue \
                        with that account, or an administrator removes the membership"
                    .into(),
            );
        }
        Some(Provisioned::Disabled) => {
            return Err("SCIM or an administrator disabled the member with this externalId".into());
        }
    }
    if entry.jit_role.is_none() {
        let mut why =
            "no member is linked to the identity, and people do not join by this connection: invite the \
                       person, or set jit_role"
                .to_owned();
        if entry.match_provisioned {
            why.push_str(&unmatched(entry, described));
        }
        return Err(why);
    }
    if !known.has_role {
        return Err("the role in jit_role does not exist any more: choose another one".into());
    }
    let Some(domain) = &described.domain else {
        return Err("the directory asserts no address: let its client have the scope and claim email".into());
    };
    if !described.is_verified && !entry.authoritative {
        return Err(
            "the directory does not say that the address is verified (email_verified): if it verifies all addresses, \
             mark the connection as authoritative"
                .into(),
        );
    }
    if !known.has_domain {
        return Err(format!("the organization has not verified the domain {domain}"));
    }
    Ok(Admission::Joins)
}

/// Why no provisioned membership was found, for the most frequent mistake: Microsoft Entra ID sends `mailNickname` as
/// `externalId` unless told otherwise.
fn unmatched(entry: &Entry, described: &Described) -> String {
    let claim = &entry.subject_claim;
    match &described.external_id {
        // The value is personal: the entry has the subject apart.
        Some(_) => format!(
            "; no provisioned member has the claim {claim} of this subject as externalId: map the same attribute of the \
             directory to externalId (in Microsoft Entra ID objectId, not mailNickname)"
        ),
        None => format!(
            "; the ID token has no claim {claim}, which is compared with externalId: change subject_claim"
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Entry {
        Entry {
            subject_claim: "oid".into(),
            jit_role: Some("member".into()),
            authoritative: false,
            match_provisioned: false,
        }
    }

    fn described() -> Described {
        let said = json!({"email": "ana@Example.test", "email_verified": true, "name": "Ana", "sub": "s", "oid": "o"});
        Described::read(&said, &entry())
    }

    const KNOWN: Known = Known { has_role: true, has_domain: true, provisioned: None };

    #[test]
    fn only_the_domain_of_an_address_is_read() {
        assert_eq!(
            described(),
            Described {
                domain: Some("example.test".into()),
                is_verified: true,
                name: Some("Ana".into()),
                external_id: Some("o".into()),
            }
        );
        let odd = json!({"email": "ana", "email_verified": "true", "name": "\u{202e}"});
        assert_eq!(Described::read(&odd, &entry()), Described::default());
    }

    #[test]
    fn a_person_joins_only_where_a_verified_domain_vouches_for_a_verified_address() {
        assert_eq!(admit(&entry(), &described(), &KNOWN), Ok(Admission::Joins));
        let unverified = Described { is_verified: false, ..described() };
        let refused = |entry: &Entry, described: &Described, known: &Known, words: &str| {
            let why = admit(entry, described, known).unwrap_err();
            assert!(why.contains(words), "{why}");
        };
        refused(&entry(), &unverified, &KNOWN, "authoritative");
        let authoritative = Entry { authoritative: true, ..entry() };
        assert_eq!(admit(&authoritative, &unverified, &KNOWN), Ok(Admission::Joins));
        let lapsed = Known { has_domain: false, ..KNOWN };
        refused(&authoritative, &described(), &lapsed, "has not verified the domain example.test");
        refused(&entry(), &Described { domain: None, ..described() }, &KNOWN, "asserts no address");
        refused(&entry(), &described(), &Known { has_role: false, ..KNOWN }, "jit_role");
        let closed = Entry { jit_role: None, ..entry() };
        refused(&closed, &described(), &KNOWN, "set jit_role");
    }

    #[test]
    fn whom_scim_provisioned_claims_that_membership_or_nothing() {
        let id: MembershipId = uuid::Uuid::nil().into();
        let matching = Entry { match_provisioned: true, ..entry() };
        let known = |it| Known { provisioned: Some(it), ..KNOWN };
        let admitted = admit(&matching, &described(), &known(Provisioned::Unclaimed(id)));
        assert_eq!(admitted, Ok(Admission::Claims(id)));
        let cases = [
            (entry(), Provisioned::Unclaimed(id), "match_provisioned"),
            (matching.clone(), Provisioned::Claimed, "that account"),
            (entry(), Provisioned::Claimed, "that account"),
            (matching.clone(), Provisioned::Disabled, "disabled"),
            (entry(), Provisioned::Disabled, "disabled"),
        ];
        for (entry, provisioned, words) in cases {
            let why = admit(&entry, &described(), &known(provisioned)).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
        let only = Entry { jit_role: None, ..matching };
        let why = admit(&only, &described(), &KNOWN).unwrap_err();
        assert!(why.contains("mailNickname") && why.contains("the claim oid of this subject"), "{why}");
        let why = admit(&only, &Described::default(), &KNOWN).unwrap_err();
        assert!(why.contains("no claim oid"), "{why}");
    }
}
