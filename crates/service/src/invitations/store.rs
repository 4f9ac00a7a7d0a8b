use porteiro_protocol::{
    id::{Id, InvitationId, MembershipId, OrganizationId},
    time::OffsetDateTime,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    secrets::Presented,
    store::{Decode, Reader, RowError, StoreError, Tx, text_enum},
};

text_enum! {
    State { Pending = "pending", Accepted = "accepted", Revoked = "revoked" }
}

/// Contains an address, so it is not printed.
#[derive(Clone)]
pub struct Invitation {
    pub id: InvitationId,
    pub organization: OrganizationId,
    pub email: String,
    pub role: String,
    pub state: State,
    /// It is pending, but can no longer be accepted.
    pub expired: bool,
    pub invited_by: String,
    pub membership: Option<MembershipId>,
    pub created_at: OffsetDateTime,
    pub expires_at: OffsetDateTime,
}

impl std::fmt::Debug for Invitation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<invitation {}>", self.id)
    }
}

/// All columns of invitations but the hash. `WHERE` follows.
const INVITATIONS: &str =
    "SELECT i.organization_id, i.invitation_id, i.email, i.role_key, i.state, i.invited_by,
        i.membership_id, i.created_at, i.expires_at, i.state = 'pending' AND i.expires_at <= now() AS expired
     FROM invitation i";

impl TryFrom<&Row> for Invitation {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let (invitation, id) = Decode::keyed::<Uuid>("invitation", "invitation_id", row)?;
        Ok(Self {
            id: id.into(),
            organization: invitation.get::<Uuid>("organization_id")?.into(),
            email: invitation.get("email")?,
            role: invitation.get("role_key")?,
            state: invitation.parsed("state")?,
            expired: invitation.get("expired")?,
            invited_by: invitation.get("invited_by")?,
            membership: invitation.get::<Option<Uuid>>("membership_id")?.map(Into::into),
            created_at: invitation.get("created_at")?,
            expires_at: invitation.get("expires_at")?,
        })
    }
}

fn invitations(rows: &[Row]) -> Result<Vec<Invitation>, StoreError> {
    rows.iter().map(Invitation::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

pub async fn show(
    reader: &impl Reader,
    organization: OrganizationId,
    id: InvitationId,
) -> Result<Option<Invitation>, StoreError> {
    let sql = format!("{INVITATIONS} WHERE i.organization_id = $1 AND i.invitation_id = $2");
    let rows = reader.rows("invitations.show", &sql, &[&organization.uuid(), &id.uuid()]).await?;
    Ok(invitations(&rows)?.pop())
}

/// A page of them, oldest first, in any state.
pub async fn list(
    reader: &impl Reader,
    organization: OrganizationId,
    after: Option<(OffsetDateTime, Uuid)>,
    most: i64,
) -> Result<Vec<Invitation>, StoreError> {
    let (at, id) = after.unzip();
    let sql = format!(
        "{INVITATIONS} WHERE i.organization_id = $1
           AND ($2::timestamptz IS NULL OR (i.created_at, i.invitation_id) > ($2, $3))
         ORDER BY i.created_at, i.invitation_id LIMIT $4"
    );
    let rows = reader.rows("invitations.list", &sql, &[&organization.uuid(), &at, &id, &most]).await?;
    invitations(&rows)
}

/// Pending invitations to one of these mailboxes, of organizations that are not suspended.
pub async fn waiting_for(reader: &impl Reader, mailboxes: &[Vec<u8>]) -> Result<Vec<Invitation>, StoreError> {
    let sql = format!(
        "{INVITATIONS} JOIN organization o USING (organization_id)
         WHERE i.email_key = ANY($1) AND i.state = 'pending' AND i.expires_at > now() AND o.status = 'enabled'
         ORDER BY i.created_at, i.invitation_id LIMIT 100"
    );
    let rows = reader.rows("invitations.waiting_for", &sql, &[&mailboxes]).await?;
    invitations(&rows)
}

/// An invitation that can be accepted now, if this is its secret.
pub async fn presented(
    reader: &impl Reader,
    presented: &Presented,
) -> Result<Option<Invitation>, StoreError> {
    let sql = format!(
        "{INVITATIONS} JOIN organization o USING (organization_id)
         WHERE i.organization_id = $1 AND i.invitation_id = $2 AND i.secret_hash = $3
           AND i.state = 'pending' AND i.expires_at > now() AND o.status = 'enabled'"
    );
    let (route, hash) = (presented.route, presented.hash.as_slice());
    let rows = reader.rows("invitations.presented", &sql, &[&route.owner, &route.row, &hash]).await?;
    Ok(invitations(&rows)?.pop())
}

/// The mailbox of an invitation that can be accepted now, if this is its secret.
pub async fn mailbox(reader: &impl Reader, presented: &Presented) -> Result<Option<Vec<u8>>, StoreError> {
    let rows = reader
        .rows(
            "invitations.mailbox",
            "SELECT i.email_key FROM invitation i JOIN organization o USING (organization_id)
             WHERE i.organization_id = $1 AND i.invitation_id = $2 AND i.secret_hash = $3
               AND i.state = 'pending' AND i.expires_at > now() AND o.status = 'enabled'",
            &[&presented.route.owner, &presented.route.row, &presented.hash.as_slice()],
        )
        .await?;
    let key = |row| Decode::new("invitation", presented.route.row, row).get("email_key");
    Ok(rows.first().map(key).transpose()?)
}

/// The pending invitation to a mailbox, expired or not. The caller holds the organization's lock.
pub async fn waiting_in(
    tx: &Tx,
    organization: OrganizationId,
    mailbox: &[u8; 32],
) -> Result<Option<InvitationId>, StoreError> {
    let rows = tx
        .query(
            "SELECT invitation_id FROM invitation
             WHERE organization_id = $1 AND email_key = $2 AND state = 'pending' FOR UPDATE",
            &[&organization.uuid(), &mailbox.as_slice()],
        )
        .await?;
    let id = |row| Decode::new("invitation", organization, row).get::<Uuid>("invitation_id");
    Ok(rows.first().map(id).transpose()?.map(Into::into))
}

pub struct NewInvitation<'a> {
    pub organization: OrganizationId,
    pub id: InvitationId,
    pub email: &'a str,
    pub mailbox: &'a [u8; 32],
    pub role: &'a str,
    pub hash: &'a [u8; 32],
    pub invited_by: &'a str,
    pub seconds: f64,
}

/// Contains an address, so it is not printed.
impl std::fmt::Debug for NewInvitation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<invitation {}>", self.id)
    }
}

/// Creates an invitation, or replaces secret, role and expiry of a pending one.
pub async fn put(tx: &Tx, new: &NewInvitation<'_>) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO invitation (organization_id, invitation_id, email, email_key, role_key, secret_hash, state,
                invited_by, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, now() + make_interval(secs => $8))
         ON CONFLICT (organization_id, invitation_id) DO UPDATE SET email = excluded.email,
             role_key = excluded.role_key, secret_hash = excluded.secret_hash, invited_by = excluded.invited_by,
             expires_at = excluded.expires_at",
        &[
            &new.organization.uuid(),
            &new.id.uuid(),
            &new.email,
            &new.mailbox.as_slice(),
            &new.role,
            &new.hash.as_slice(),
            &new.invited_by,
            &new.seconds,
        ],
    )
    .await
    .map(|_| ())
}

/// `false` if it is no longer pending.
pub async fn revoke(tx: &Tx, organization: OrganizationId, id: InvitationId) -> Result<bool, StoreError> {
    let revoked = tx
        .execute(
            "UPDATE invitation SET state = 'revoked'
             WHERE organization_id = $1 AND invitation_id = $2 AND state = 'pending'",
            &[&organization.uuid(), &id.uuid()],
        )
        .await?;
    Ok(revoked == 1)
}

/// Revokes the pending invitations to these mailboxes.
pub async fn revoke_waiting(
    tx: &Tx,
    organization: OrganizationId,
    mailboxes: &[Vec<u8>],
) -> Result<Vec<InvitationId>, StoreError> {
    let rows = tx
        .query(
            "UPDATE invitation SET state = 'revoked'
             WHERE organization_id = $1 AND email_key = ANY($2) AND state = 'pending' RETURNING invitation_id",
            &[&organization.uuid(), &mailboxes],
        )
        .await?;
    rows.iter().map(|row| Ok(Decode::keyed::<Uuid>("invitation", "invitation_id", row)?.1.into())).collect()
}

/// What shows that the person was invited: the secret from the mail, or the mailbox itself.
#[derive(Debug)]
pub enum Proof<'a> {
    Secret(&'a [u8; 32]),
    Mailbox(&'a [Vec<u8>]),
}

/// Uses an invitation that is pending, not expired, and the person's. Of concurrent calls, one succeeds.
pub async fn spend(
    tx: &Tx,
    organization: OrganizationId,
    id: InvitationId,
    proof: &Proof<'_>,
) -> Result<Option<String>, StoreError> {
    let (hash, mailboxes) = match proof {
        Proof::Secret(hash) => (Some(hash.as_slice()), None),
        Proof::Mailbox(mailboxes) => (None, Some(*mailboxes)),
    };
    let rows = tx
        .query(
            "UPDATE invitation SET state = 'accepted'
             WHERE organization_id = $1 AND invitation_id = $2 AND state = 'pending' AND expires_at > now()
               AND (secret_hash = $3 OR email_key = ANY($4))
             RETURNING role_key",
            &[&organization.uuid(), &id.uuid(), &hash, &mailboxes],
        )
        .await?;
    let role = |row| Decode::new("invitation", id, row).get("role_key");
    Ok(rows.first().map(role).transpose()?)
}

/// Stores the membership it led to.
pub async fn led_to(
    tx: &Tx,
    organization: OrganizationId,
    id: InvitationId,
    membership: MembershipId,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE invitation SET membership_id = $3 WHERE organization_id = $1 AND invitation_id = $2",
        &[&organization.uuid(), &id.uuid(), &Id::uuid(membership)],
    )
    .await
    .map(|_| ())
}
