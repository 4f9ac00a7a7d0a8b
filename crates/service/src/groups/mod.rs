//! Groups of an organization's directory, and the role that an administrator gives their members.
//!
//! The directory creates groups and fills them (`scim`); an administrator maps a group to a role (`management/groups`).
//! A role that a group gives is a row of the member like any other, marked as given by groups: it ends when the last
//! group that gives it ends, and nothing that reads roles needs to know about groups.

mod store;

use std::collections::BTreeSet;

use porteiro_protocol::{
    id::{AccountId, GroupId, MembershipId},
    time::OffsetDateTime,
};
use uuid::Uuid;

pub use store::{
    Position, among, change_members, count, describe, differs, find, find_external, find_named, insert, list,
    list_at, lock, members, of_member, of_members, reconcile, remove, set_role, unknown_member,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub id: GroupId,
    pub display_name: String,
    pub external_id: Option<String>,
    /// The role that its members have.
    pub role: Option<String>,
    /// How many members it has.
    pub size: i64,
    pub version: i64,
    pub created_at: OffsetDateTime,
    pub modified_at: OffsetDateTime,
}

/// A change of a group's members: applied to whatever they are, in one statement, so that changes at the same time do
/// not undo each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberChange {
    /// All others leave.
    pub only: bool,
    pub add: BTreeSet<Uuid>,
    pub remove: BTreeSet<Uuid>,
}

impl MemberChange {
    pub fn adding(&mut self, ids: BTreeSet<Uuid>) {
        self.remove.retain(|id| !ids.contains(id));
        self.add.extend(ids);
    }

    pub fn removing(&mut self, ids: BTreeSet<Uuid>) {
        self.add.retain(|id| !ids.contains(id));
        self.remove.extend(ids);
    }

    pub fn replacing(&mut self, ids: BTreeSet<Uuid>) {
        *self = Self { only: true, add: ids, remove: BTreeSet::new() };
    }

    pub fn is_nothing(&self) -> bool {
        !self.only && self.add.is_empty() && self.remove.is_empty()
    }
}

/// Who entered and who left a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MembersChanged {
    pub added: Vec<MembershipId>,
    pub removed: Vec<MembershipId>,
}

impl MembersChanged {
    pub fn all(&self) -> Vec<MembershipId> {
        self.added.iter().chain(&self.removed).copied().collect()
    }
}

/// A member of a group, or a group of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Belonging {
    pub group: GroupId,
    pub member: MembershipId,
    /// The name of the other one.
    pub display_name: String,
}

/// A member whose roles followed a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    pub member: MembershipId,
    pub account: Option<AccountId>,
    pub roles: Vec<String>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids() -> impl Strategy<Value = BTreeSet<Uuid>> {
        prop::collection::btree_set((0..6_u128).prop_map(Uuid::from_u128), 0..4)
    }

    proptest! {
        /// Several operations in one request do what they would do one after the other.
        #[test]
        fn a_sequence_of_operations_is_one_change(before in ids(), steps in prop::collection::vec((0..3, ids()), 0..6)) {
            let mut change = MemberChange::default();
            let mut after = before.clone();
            for (kind, ids) in steps {
                match kind {
                    0 => {
                        after.extend(ids.clone());
                        change.adding(ids);
                    }
                    1 => {
                        after.retain(|id| !ids.contains(id));
                        change.removing(ids);
                    }
                    _ => {
                        after.clone_from(&ids);
                        change.replacing(ids);
                    }
                }
            }
            let kept = before.iter().filter(|id| !change.only && !change.remove.contains(id));
            prop_assert_eq!(kept.chain(&change.add).copied().collect::<BTreeSet<_>>(), after);
        }
    }
}
