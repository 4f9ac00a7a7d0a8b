//! Sessions in the database; what directories vouch for in them: [`directories`].

mod directories;

use porteiro_protocol::{
    assurance::{DirectoryProof, Proof},
    id::{AccountId, OrganizationId, SessionId},
    time::OffsetDateTime,
};
use serde::Serialize;
use uuid::Uuid;

pub use directories::{
    Forget, Forgotten, add_directory, directory_proof, end_resting_on, forget_directory, forget_identity,
};

use super::{
    NewSession, SignedIn, TOUCH_SECONDS,
    held::{Held, newest_within},
};
use crate::{
    secrets::Presented,
    security_log::Origin,
    store::{Decode, Reader, Store, StoreError, Tx, text_enum},
};

text_enum! {
    /// Why a session ended.
    Ended { SignedOut = "signed_out", EndedByOwner = "ended_by_owner", TooMany = "too_many", Recovered = "recovered",
            CredentialChanged = "credential_changed", AccountDisabled = "account_disabled",
            AccountDeleted = "account_deleted", EndedByPlatform = "ended_by_platform",
            MembershipEnded = "membership_ended", DirectoryEnded = "directory_ended",
            SignedOutElsewhere = "signed_out_elsewhere" }
}

/// A valid session, as its owner sees it.
#[derive(Debug)]
pub struct SessionRecord {
    pub id: SessionId,
    pub created_at: OffsetDateTime,
    pub seen_at: OffsetDateTime,
    pub address: Option<String>,
    pub user_agent: String,
    /// Those of the account.
    pub proofs: Vec<Proof>,
}

/// A valid session, before its reach is known.
pub(super) struct Found {
    person: SignedIn,
    is_confined: bool,
    directories: Vec<DirectoryProof>,
}

impl Found {
    /// The person, unless only an organization's directory vouches for them.
    pub fn signed_in(self) -> Option<SignedIn> {
        (!self.is_confined).then_some(self.person)
    }

    pub const fn now(&self) -> OffsetDateTime {
        self.person.now
    }

    /// What a directory of this organization vouches for.
    pub fn within(&self, organization: OrganizationId) -> Option<&DirectoryProof> {
        newest_within(&self.directories, organization)
    }
}

/// Valid: not ended, used in the last seven days (and the minute by which a touch may be late), begun in the last
/// thirty.
pub(crate) const ALIVE: &str = "ended_at IS NULL AND seen_at > now() - interval '7 days 60 seconds'
    AND created_at > now() - interval '30 days'";

/// NIST SP 800-63B-4 §2.2.3: an hour without use. Using the session again does not undo it.
const LAPSED: &str = "(lapsed OR seen_at < now() - interval '1 hour')";

fn json(proofs: &impl Serialize) -> Result<serde_json::Value, StoreError> {
    serde_json::to_value(proofs).map_err(|error| StoreError::Inconsistent(error.to_string()))
}

pub(super) async fn insert(
    tx: &Tx,
    account: AccountId,
    session: &NewSession,
    proofs: &impl Serialize,
    origin: &Origin<'_>,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO session (session_id, account_id, token_hash, proofs, address, user_agent)
         VALUES ($1, $2, $3, $4, $5, $6)",
        &[
            &session.id.uuid(),
            &account.uuid(),
            &session.token.hash.as_slice(),
            &json(proofs)?,
            &origin.address,
            &origin.user_agent,
        ],
    )
    .await
    .map(|_| ())
}

pub(super) async fn find(store: &Store, presented: &Presented) -> Result<Option<(Found, bool)>, StoreError> {
    let sql = format!(
        "SELECT proofs, {LAPSED} AS lapsed, now() AS now,
                seen_at < now() - make_interval(secs => $4) AS stale
         FROM session JOIN account USING (account_id)
         WHERE session_id = $1 AND account_id = $2 AND token_hash = $3 AND account.state = 'active' AND {}",
        ALIVE.replace("created_at", "session.created_at")
    );
    let route = presented.route;
    let rows = store
        .read("sessions.find", &sql, &[&route.row, &route.owner, &presented.hash.as_slice(), &TOUCH_SECONDS])
        .await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let session = Decode::new("session", route.row, row);
    let held: Held = session.json("proofs")?;
    let is_confined = held.is_confined();
    let person = SignedIn {
        session_id: route.row.into(),
        token_hash: presented.hash,
        account_id: route.owner.into(),
        proofs: held.account,
        lapsed: session.get("lapsed")?,
        now: session.get("now")?,
    };
    Ok(Some((Found { person, is_confined, directories: held.directories }, session.get("stale")?)))
}

/// The person of the valid session in which a grant was made.
pub async fn of_grant(
    store: &Store,
    grant: Uuid,
    account: AccountId,
) -> Result<Option<SignedIn>, StoreError> {
    let sql = format!(
        "SELECT session_id, token_hash, proofs, {LAPSED} AS lapsed, now() AS now
         FROM session JOIN account USING (account_id)
         WHERE session_id = (SELECT session_id FROM oauth_grant WHERE grant_id = $1 AND account_id = $2)
           AND account_id = $2 AND account.state = 'active' AND {}",
        ALIVE.replace("created_at", "session.created_at")
    );
    let rows = store.read("sessions.of_grant", &sql, &[&grant, &account.uuid()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let (session, id) = Decode::keyed::<Uuid>("session", "session_id", row)?;
    let hash: Vec<u8> = session.get("token_hash")?;
    let held: Held = session.json("proofs")?;
    let is_confined = held.is_confined();
    let person = SignedIn {
        session_id: id.into(),
        token_hash: hash.try_into().map_err(|_| session.wrong("token_hash", "not 32 bytes"))?,
        account_id: account,
        proofs: held.account,
        lapsed: session.get("lapsed")?,
        now: session.get("now")?,
    };
    Ok(Found { person, is_confined, directories: held.directories }.signed_in())
}

/// Whether a session is valid with this token.
pub async fn is_alive(
    reader: &impl Reader,
    session: SessionId,
    account: AccountId,
    token_hash: &[u8],
) -> Result<bool, StoreError> {
    let sql = format!(
        "SELECT 1 FROM session WHERE session_id = $1 AND account_id = $2 AND token_hash = $3 AND {ALIVE}"
    );
    let rows =
        reader.rows("sessions.is_alive", &sql, &[&session.uuid(), &account.uuid(), &token_hash]).await?;
    Ok(!rows.is_empty())
}

/// Whether a session has not ended, whichever token it has now.
pub async fn is_open(
    reader: &impl Reader,
    session: SessionId,
    account: AccountId,
) -> Result<bool, StoreError> {
    let sql = format!("SELECT 1 FROM session WHERE session_id = $1 AND account_id = $2 AND {ALIVE}");
    let rows = reader.rows("sessions.is_open", &sql, &[&session.uuid(), &account.uuid()]).await?;
    Ok(!rows.is_empty())
}

/// Ends the session of a presented token; a replaced token ends nothing.
pub async fn end_presented(tx: &Tx, presented: &Presented, reason: Ended) -> Result<bool, StoreError> {
    let ended = tx
        .execute(
            "UPDATE session SET ended_at = now(), end_reason = $4
             WHERE session_id = $1 AND account_id = $2 AND token_hash = $3 AND ended_at IS NULL",
            &[&presented.route.row, &presented.route.owner, &presented.hash.as_slice(), &reason.as_str()],
        )
        .await?;
    Ok(ended == 1)
}

/// Ends every session that rests on a removed or replaced credential, whatever else was proved there. The session in
/// which its owner removed it stays, without that proof.
pub async fn forget_credential(
    tx: &Tx,
    account: AccountId,
    credential: porteiro_protocol::id::CredentialId,
    keep: Option<SessionId>,
) -> Result<Vec<SessionId>, StoreError> {
    let rows = tx
        .query(
            "UPDATE session SET
                    proofs = coalesce((SELECT jsonb_agg(proof) FROM jsonb_array_elements(proofs) proof
                                       WHERE proof->>'credential' IS DISTINCT FROM $2), '[]'),
                    ended_at = CASE WHEN session_id IS DISTINCT FROM $3 THEN now() END,
                    end_reason = CASE WHEN session_id IS DISTINCT FROM $3 THEN 'credential_changed' END
             WHERE account_id = $1 AND ended_at IS NULL
               AND proofs @> jsonb_build_array(jsonb_build_object('credential', $2::text))
             RETURNING session_id, ended_at IS NOT NULL AS ended",
            &[&account.uuid(), &credential.to_string(), &keep.map(porteiro_protocol::id::Id::uuid)],
        )
        .await?;
    let ended: Vec<_> = rows.into_iter().filter(|row| row.get::<_, bool>("ended")).collect();
    ids(&ended)
}

/// At most one write a minute, however many requests.
pub(super) async fn touch(store: &Store, presented: &Presented) -> Result<(), StoreError> {
    store
        .write(
            "sessions.touch",
            &format!(
                "UPDATE session SET seen_at = now(), lapsed = {LAPSED}
                 WHERE session_id = $1 AND account_id = $2 AND token_hash = $3 AND ended_at IS NULL
                   AND seen_at < now() - make_interval(secs => $4)"
            ),
            &[&presented.route.row, &presented.route.owner, &presented.hash.as_slice(), &TOUCH_SECONDS],
        )
        .await
        .map(|_| ())
}

pub(super) async fn raise(
    tx: &Tx,
    session: SessionId,
    account: AccountId,
    token_hash: &[u8; 32],
    proofs: &[Proof],
) -> Result<bool, StoreError> {
    // What directories vouch for has no part in a flow of the account, and stays.
    let sql = format!(
        "UPDATE session SET token_hash = $3, seen_at = now(), lapsed = false,
                proofs = $4 || coalesce((SELECT jsonb_agg(proof) FROM jsonb_array_elements(proofs) proof
                                         WHERE proof ? 'organization'), '[]')
         WHERE session_id = $1 AND account_id = $2 AND {ALIVE}"
    );
    let raised = tx
        .execute(&sql, &[&session.uuid(), &account.uuid(), &token_hash.as_slice(), &json(&proofs)?])
        .await?;
    Ok(raised == 1)
}

/// Ends the sessions beyond the limit that were unused for longest. Without a `place`, sessions of the account are
/// counted; with one, those for which only directories vouch, that of `place` among them.
pub(super) async fn end_beyond(
    tx: &Tx,
    account: AccountId,
    most: i64,
    place: Option<OrganizationId>,
) -> Result<Vec<SessionId>, StoreError> {
    let sql = format!(
        "UPDATE session SET ended_at = now(), end_reason = 'too_many'
         WHERE account_id = $1 AND session_id IN (
             SELECT session_id FROM session WHERE account_id = $1 AND {ALIVE}
               AND (proofs @? '$[*].organization' AND NOT proofs @? '$[*].method') = ($3::text IS NOT NULL)
               AND ($3::text IS NULL OR proofs @> jsonb_build_array(jsonb_build_object('organization', $3::text)))
             ORDER BY seen_at DESC, session_id DESC OFFSET $2)
         RETURNING session_id"
    );
    ids(&tx.query(&sql, &[&account.uuid(), &most, &place.map(|place| place.to_string())]).await?)
}

fn ids(rows: &[tokio_postgres::Row]) -> Result<Vec<SessionId>, StoreError> {
    rows.iter()
        .map(|row| Ok(Decode::new("session", "ended", row).get::<Uuid>("session_id")?.into()))
        .collect()
}

pub async fn end(tx: &Tx, session: SessionId, account: AccountId, reason: Ended) -> Result<bool, StoreError> {
    let ended = tx
        .execute(
            "UPDATE session SET ended_at = now(), end_reason = $3
             WHERE session_id = $1 AND account_id = $2 AND ended_at IS NULL",
            &[&session.uuid(), &account.uuid(), &reason.as_str()],
        )
        .await?;
    Ok(ended == 1)
}

/// Ends every session of an account but one.
pub async fn end_others(
    tx: &Tx,
    account: AccountId,
    keep: Option<SessionId>,
    reason: Ended,
) -> Result<Vec<SessionId>, StoreError> {
    let rows = tx
        .query(
            "UPDATE session SET ended_at = now(), end_reason = $3
             WHERE account_id = $1 AND ended_at IS NULL AND ($2::uuid IS NULL OR session_id <> $2)
             RETURNING session_id",
            &[&account.uuid(), &keep.map(porteiro_protocol::id::Id::uuid), &reason.as_str()],
        )
        .await?;
    ids(&rows)
}

pub async fn list(store: &Store, account: AccountId) -> Result<Vec<SessionRecord>, StoreError> {
    let sql = format!(
        "SELECT session_id, created_at, seen_at, host(address) AS address, user_agent, proofs
         FROM session WHERE account_id = $1 AND {ALIVE} ORDER BY seen_at DESC"
    );
    let rows = store.read("sessions.list", &sql, &[&account.uuid()]).await?;
    rows.iter()
        .map(|row| {
            let (session, id) = Decode::keyed::<Uuid>("session", "session_id", row)?;
            Ok(SessionRecord {
                id: id.into(),
                created_at: session.get("created_at")?,
                seen_at: session.get("seen_at")?,
                address: session.get("address")?,
                user_agent: session.get("user_agent")?,
                proofs: session.json::<Held>("proofs")?.account,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::{CEILING_DAYS, IDLE_DAYS};

    #[test]
    fn what_is_documented_is_what_is_asked() {
        assert!(
            ALIVE.contains(&format!("seen_at > now() - interval '{IDLE_DAYS} days {TOUCH_SECONDS} seconds'"))
        );
        let idle = porteiro_protocol::assurance::Decay::default().aal2_idle;
        assert!(LAPSED.contains(&format!("interval '{} hour'", idle.whole_hours())));
        assert!(ALIVE.contains(&format!("created_at > now() - interval '{CEILING_DAYS} days'")));
    }
}
