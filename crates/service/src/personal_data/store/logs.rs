//! What of the logs is a person's: network addresses and devices beside their entries, what the platform noted about them,
//! and their names at a directory that did not let them in. The entries stay.

use porteiro_protocol::{
    id::{AccountId, ordered_floor},
    time::{Duration, OffsetDateTime},
};

use crate::store::{Decode, Store, StoreError, Tx};

const LOG: &str = "DELETE FROM security_log_personal t USING (
        SELECT l.entry_id FROM security_log l JOIN security_log_personal p USING (entry_id, subject_id)
        WHERE l.subject_id = $1 LIMIT 2000) l
    WHERE t.entry_id = l.entry_id AND t.subject_id = $1 RETURNING 1";
/// Of the person as a member, also by their keys.
const TRAIL: &str = "DELETE FROM trail_personal t USING (
        SELECT l.organization_id, l.entry_id
        FROM membership m
            CROSS JOIN LATERAL (SELECT m.membership_id::text AS id UNION ALL SELECT k.key_id::text FROM api_key k
                WHERE k.organization_id = m.organization_id AND k.membership_id = m.membership_id) actor
            JOIN trail l ON l.organization_id = m.organization_id AND l.actor->>'id' = actor.id
            JOIN trail_personal p ON p.organization_id = l.organization_id AND p.entry_id = l.entry_id
        WHERE m.account_id = $1 LIMIT 2000) l
    WHERE t.organization_id = l.organization_id AND t.entry_id = l.entry_id RETURNING 1";
/// Of the person as a platform administrator, in every organization.
const PLATFORM: &str = "DELETE FROM trail_personal t USING (
        SELECT l.organization_id, l.entry_id
        FROM platform_authority a CROSS JOIN organization o
            JOIN trail l ON l.organization_id = o.organization_id AND l.actor->>'id' = a.account_id::text
            JOIN trail_personal p ON p.organization_id = l.organization_id AND p.entry_id = l.entry_id
        WHERE a.account_id = $1 LIMIT 2000) l
    WHERE t.organization_id = l.organization_id AND t.entry_id = l.entry_id RETURNING 1";
/// Of the person before they were a member: sign-ins by an identity that is theirs now.
const REJECTED: &str = "DELETE FROM trail_personal t USING (
        SELECT l.organization_id, l.entry_id
        FROM membership m JOIN directory_identity i USING (organization_id, membership_id)
            JOIN trail l ON l.organization_id = i.organization_id AND l.kind = 'sso.rejected'
                AND l.actor->>'id' = i.connection_id::text
            JOIN trail_personal p ON p.organization_id = l.organization_id AND p.entry_id = l.entry_id
        WHERE m.account_id = $1 AND p.personal->>'directory_subject' = i.subject LIMIT 2000) l
    WHERE t.organization_id = l.organization_id AND t.entry_id = l.entry_id RETURNING 1";

/// A few of them, as many at once as a short statement can delete. Returns how many.
pub(in super::super) async fn erase_addresses(
    store: &Store,
    account: AccountId,
) -> Result<usize, StoreError> {
    let mut erased = 0;
    for (name, sql) in [
        ("personal_data.log", LOG),
        ("personal_data.trail", TRAIL),
        ("personal_data.platform", PLATFORM),
        ("personal_data.rejected", REJECTED),
    ] {
        erased += store.write(name, sql, &[&account.uuid()]).await?.len();
    }
    Ok(erased)
}

/// What was written since [`erase_addresses`].
pub(super) async fn erase_rest(tx: &Tx, account: AccountId) -> Result<(), StoreError> {
    for sql in [LOG, TRAIL, PLATFORM] {
        tx.query(sql, &[&account.uuid()]).await?;
    }
    Ok(())
}

/// The addresses and devices of a platform administrator in entries about others, which say by whom they are. No index
/// leads there: a statement reads the entries of one day. What was noted is about the others, and stays.
pub(in super::super) async fn erase_administered(
    store: &Store,
    account: AccountId,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    let sql = "SELECT a.created_at FROM platform_authority p JOIN account a USING (account_id) WHERE p.account_id = $1";
    let rows = store.read("personal_data.administrator", sql, &[&account.uuid()]).await?;
    let Some(row) = rows.first() else { return Ok(()) };
    // Nodes name entries by their own clocks: a day more on either side.
    let created: OffsetDateTime = Decode::new("account", account, row).get("created_at")?;
    let mut day = created - Duration::DAY;
    let by = format!("platform:{account}");
    while day <= now + Duration::DAY {
        let next = day + Duration::DAY;
        store
            .write(
                "personal_data.administered",
                "UPDATE security_log_personal t SET personal = t.personal - 'address' - 'user_agent' FROM security_log l
                 WHERE l.entry_id >= $1 AND l.entry_id < $2 AND l.payload->>'by' = $3
                   AND t.entry_id = l.entry_id AND t.subject_id = l.subject_id RETURNING 1",
                &[&ordered_floor(day), &ordered_floor(next), &by],
            )
            .await?;
        day = next;
    }
    Ok(())
}
