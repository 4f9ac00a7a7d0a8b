//! The operator changes the platform permissions of an account on the command line.

use porteiro_protocol::{
    entropy::Entropy,
    id::AccountId,
    permission::{Held, Permission},
    time::OffsetDateTime,
};
use serde_json::json;

use crate::{
    accounts, impersonation,
    platform::{held, lock_active, set},
    security_log::{self, EventKind},
    store::{Store, StoreError},
};

/// A change of an account's permissions.
#[derive(Debug, Clone)]
pub enum Change {
    Grant(Vec<Permission>),
    Revoke(Vec<Permission>),
}

impl Change {
    /// The permissions afterwards. Revoking a permission that only a wildcard covers changes nothing: the wildcard has
    /// to be revoked.
    fn applied(&self, before: &Held) -> Vec<Permission> {
        let mut after: Vec<Permission> = before.named().cloned().collect();
        match self {
            Self::Grant(given) => after.extend(given.iter().cloned()),
            Self::Revoke(taken) => after.retain(|held| !taken.contains(held)),
        }
        after.sort();
        after.dedup();
        after
    }
}

/// For the command line. Returns the permissions afterwards; `None` if there is no such active account, or one that
/// is being deleted would be given something.
pub async fn change_at_console(
    store: &Store,
    now: OffsetDateTime,
    entropy: &dyn Entropy,
    account: AccountId,
    change: &Change,
) -> Result<Option<Vec<Permission>>, StoreError> {
    store
        .run_tx("platform.change_at_console", |tx| async move {
            let gives = matches!(change, Change::Grant(_));
            if !lock_active(&tx, account).await? || (gives && accounts::is_leaving(&tx, account).await?) {
                return Ok(None);
            }
            let before = held(&tx, account).await?;
            let after = change.applied(&before);
            set(&tx, account, &after).await?;
            if !impersonation::is_allowed(&tx, &account.to_string()).await? {
                impersonation::end_of_actor_at_console(&tx, entropy, account).await?;
            }
            let payload = json!({"before": before.named().collect::<Vec<_>>(), "after": after});
            let event = security_log::Event {
                kind: EventKind::PlatformAuthorityChanged,
                subject: account.uuid(),
                payload,
            };
            security_log::record_at_console(&tx, now, entropy, event).await?;
            Ok(Some(after))
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permissions(names: &[&str]) -> Vec<Permission> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn changes_are_by_name() {
        let before = Held::of(permissions(&["platform.clients:*", "platform.log:read"]));
        let names = |change: Change| {
            change.applied(&before).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        let given = Change::Grant(permissions(&["platform.log:read", "members:impersonate"]));
        assert_eq!(names(given), "members:impersonate platform.clients:* platform.log:read");
        assert_eq!(names(Change::Revoke(permissions(&["platform.log:read"]))), "platform.clients:*");
        let covered = Change::Revoke(permissions(&["platform.clients:read"]));
        assert_eq!(names(covered), "platform.clients:* platform.log:read");
    }
}
