//! Typed ids: the compiler distinguishes an account id from an organization id.

use std::{fmt, hash, marker::PhantomData, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::{entropy::Entropy, time::OffsetDateTime};

/// A UUID that remembers what it names.
pub struct Id<K> {
    uuid: Uuid,
    kind: PhantomData<fn() -> K>,
}

impl<K> Id<K> {
    /// UUIDv7: sorts by creation time, so inserts append and a range of ids is a range of time. It reveals its
    /// creation time; use [`Id::random`] where outsiders must not learn that.
    #[must_use]
    pub fn ordered(now: OffsetDateTime, entropy: &dyn Entropy) -> Self {
        let millis = u64::try_from(now.unix_timestamp_nanos() / 1_000_000).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(millis, &entropy.bytes()).into_uuid().into()
    }

    /// UUIDv4: reveals nothing.
    #[must_use]
    pub fn random(entropy: &dyn Entropy) -> Self {
        uuid::Builder::from_random_bytes(entropy.bytes()).into_uuid().into()
    }

    #[must_use]
    pub const fn uuid(self) -> Uuid {
        self.uuid
    }
}

/// The smallest UUIDv7 of an instant: the lower bound of a partition by time.
#[must_use]
pub fn ordered_floor(at: OffsetDateTime) -> Uuid {
    let millis = u64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or(0);
    Uuid::from_u128(u128::from(millis) << 80)
}

impl<K> From<Uuid> for Id<K> {
    fn from(uuid: Uuid) -> Self {
        Self { uuid, kind: PhantomData }
    }
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Id<K> {}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.uuid == other.uuid
    }
}
impl<K> Eq for Id<K> {}
impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.uuid.cmp(&other.uuid)
    }
}
impl<K> hash::Hash for Id<K> {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.uuid.hash(state);
    }
}
impl<K> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uuid.fmt(f)
    }
}
impl<K> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uuid.fmt(f)
    }
}
impl<K> FromStr for Id<K> {
    type Err = uuid::Error;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::try_parse(text).map(Self::from)
    }
}
impl<K> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.uuid.serialize(serializer)
    }
}
impl<'de, K> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Uuid::deserialize(deserializer).map(Self::from)
    }
}

impl<K> schemars::JsonSchema for Id<K> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Id".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "uuid"})
    }
}

macro_rules! kinds {
    ($($kind:ident => $alias:ident),+ $(,)?) => {
        $(
            #[derive(Debug)]
            pub enum $kind {}
            pub type $alias = Id<$kind>;
        )+
    };
}

kinds! {
    Account => AccountId,
    Approval => ApprovalId,
    AssertionIssuer => AssertionIssuerId,
    AuthorizationServer => AuthorizationServerId,
    Challenge => ChallengeId,
    Connection => ConnectionId,
    Domain => DomainId,
    Credential => CredentialId,
    Delegation => DelegationId,
    DirectoryIdentity => DirectoryIdentityId,
    ExternalIdentity => ExternalIdentityId,
    Flow => FlowId,
    Grant => GrantId,
    Group => GroupId,
    Invitation => InvitationId,
    Job => JobId,
    Membership => MembershipId,
    Organization => OrganizationId,
    Request => RequestId,
    Session => SessionId,
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting;
    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            for (value, byte) in (1..).zip(bytes) {
                *byte = value;
            }
        }
    }

    #[test]
    fn ordered_ids_sort_by_time_and_floors_bound_them() {
        let at = OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap();
        let (early, late) = (
            JobId::ordered(at, &Counting),
            JobId::ordered(at + crate::time::Duration::MILLISECOND, &Counting),
        );
        assert!(early < late);
        assert!(ordered_floor(at) < early.uuid());
        assert!(early.uuid() < ordered_floor(at + crate::time::Duration::MILLISECOND));
        assert_eq!(early.uuid().get_version_num(), 7);
    }

    #[test]
    fn ids_travel_as_plain_text() {
        let id = RequestId::random(&Counting);
        assert_eq!(id.to_string().parse::<RequestId>().unwrap(), id);
        assert!("not-a-uuid".parse::<RequestId>().is_err());
    }
}
