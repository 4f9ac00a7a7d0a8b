//! Memberships in the database: reading, inserting and listing ([`listing`]).

mod listing;
mod provisioned;

use porteiro_protocol::{
    id::{AccountId, MembershipId, OrganizationId},
    permission::{Held, Permission},
};
use tokio_postgres::Row;
use uuid::Uuid;

pub use listing::{Filter, Position, list};
pub use provisioned::{by_external_id, claim};

use super::{Ended, Member};
use crate::{
    organizations::Organization,
    permissions,
    store::{Decode, Reader, RowError, StoreError, Tx, text_enum},
};

text_enum! {
    State { Provisioned = "provisioned", Active = "active", Disabled = "disabled", Removed = "removed" }
}
text_enum! {
    /// How the member joined.
    Source { Invitation = "invitation", Admin = "admin", Founder = "founder", Scim = "scim",
             Jit = "jit" }
}

/// Whose membership.
#[derive(Debug, Clone, Copy)]
pub enum Whom<'a> {
    Id(MembershipId),
    Account(AccountId),
    Client(&'a str),
}

/// All columns of members, with the permissions of their roles. `WHERE` follows.
pub(crate) const MEMBERS: &str = "SELECT o.organization_id, o.slug, o.name, o.status, o.policy, o.locale, o.authority_version,
        o.version, o.created_at, m.membership_id, m.account_id, m.client_id, m.display_name,
        CASE WHEN m.state = 'active' AND a.state <> 'active' THEN 'disabled' ELSE m.state END AS state,
        m.source, m.disabled_at, m.disabled_by, m.disable_reason,
        m.user_name, m.external_id, m.previous_id, m.primary_role, m.grants_from, m.version AS member_version, m.created_at AS member_created_at,
        ARRAY(SELECT mr.role_key FROM membership_role mr WHERE mr.organization_id = m.organization_id
              AND mr.membership_id = m.membership_id ORDER BY mr.role_key) AS roles,
        ARRAY(SELECT unnest(r.permissions) FROM membership_role mr JOIN role r USING (organization_id, role_key)
              WHERE mr.organization_id = m.organization_id AND mr.membership_id = m.membership_id) AS permissions
     FROM membership m JOIN organization o USING (organization_id) LEFT JOIN account a ON a.account_id = m.account_id";

impl TryFrom<&Row> for Member {
    type Error = RowError;
    fn try_from(row: &Row) -> Result<Self, RowError> {
        let organization = Organization::try_from(row)?;
        let (member, id) = Decode::keyed::<Uuid>("membership", "membership_id", row)?;
        let roles: Vec<String> = member.get("roles")?;
        let permissions: Vec<String> = member.get("permissions")?;
        let custom = permissions
            .iter()
            .map(|text| Permission::parse(text).map_err(|error| member.wrong("permissions", error)))
            .collect::<Result<Vec<_>, _>>()?;
        let held =
            roles.iter().filter_map(|key| permissions::built_in(key)).fold(Held::of(custom), Held::and);
        Ok(Self {
            organization,
            id: id.into(),
            account: member.get::<Option<Uuid>>("account_id")?.map(Into::into),
            client_id: member.get("client_id")?,
            state: member.parsed("state")?,
            display_name: member.get("display_name")?,
            source: member.parsed("source")?,
            ended: match (member.get("disabled_at")?, member.get("disabled_by")?) {
                (Some(at), Some(by)) => Some(Ended { at, by, reason: member.get("disable_reason")? }),
                (_, _) => None,
            },
            roles,
            primary_role: member.get("primary_role")?,
            user_name: member.get("user_name")?,
            external_id: member.get("external_id")?,
            previous: member.get::<Option<Uuid>>("previous_id")?.map(Into::into),
            held,
            grants_from: member.get("grants_from")?,
            version: member.get("member_version")?,
            created_at: member.get("member_created_at")?,
        })
    }
}

pub async fn find(
    reader: &impl Reader,
    organization: OrganizationId,
    whom: Whom<'_>,
) -> Result<Option<Member>, StoreError> {
    let organization = organization.uuid();
    let rows = match whom {
        Whom::Id(id) => {
            let sql = format!("{MEMBERS} WHERE m.organization_id = $1 AND m.membership_id = $2");
            reader.rows("members.find", &sql, &[&organization, &id.uuid()]).await?
        }
        Whom::Account(account) => {
            let sql = format!("{MEMBERS} WHERE m.organization_id = $1 AND m.account_id = $2");
            reader.rows("members.find_account", &sql, &[&organization, &account.uuid()]).await?
        }
        Whom::Client(client_id) => {
            let sql = format!("{MEMBERS} WHERE m.organization_id = $1 AND m.client_id = $2");
            reader.rows("members.find_client", &sql, &[&organization, &client_id]).await?
        }
    };
    rows.first().map(Member::try_from).transpose().map_err(Into::into)
}

/// A person's memberships, usable or not, except removed ones.
pub async fn of_account(reader: &impl Reader, account: AccountId) -> Result<Vec<Member>, StoreError> {
    let sql = format!(
        "{MEMBERS} WHERE m.account_id = $1 AND m.state <> 'removed' ORDER BY o.created_at, o.organization_id LIMIT 500"
    );
    let rows = reader.rows("members.of_account", &sql, &[&account.uuid()]).await?;
    rows.iter().map(Member::try_from).collect::<Result<_, _>>().map_err(Into::into)
}

/// The organization and account of a membership, by id alone: for our ID tokens, which do not contain the organization.
pub async fn place_of(
    reader: &impl Reader,
    id: MembershipId,
) -> Result<Option<(OrganizationId, AccountId)>, StoreError> {
    let rows = reader
        .rows(
            "members.place_of",
            "SELECT organization_id, account_id FROM membership
             WHERE membership_id = $1 AND account_id IS NOT NULL",
            &[&id.uuid()],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let row = Decode::new("membership", id, row);
    let (organization, account) = (row.get::<Uuid>("organization_id")?, row.get::<Uuid>("account_id")?);
    Ok(Some((organization.into(), account.into())))
}

/// Locked until the transaction ends: the member's permissions do not change meanwhile.
pub async fn hold(tx: &Tx, organization: OrganizationId, id: MembershipId) -> Result<(), StoreError> {
    tx.execute(
        "SELECT 1 FROM membership WHERE organization_id = $1 AND membership_id = $2 FOR SHARE",
        &[&organization.uuid(), &id.uuid()],
    )
    .await
    .map(|_| ())
}

#[derive(Debug)]
pub struct NewMember<'a> {
    pub organization: OrganizationId,
    pub id: MembershipId,
    pub account: Option<AccountId>,
    pub client_id: Option<&'a str>,
    pub display_name: &'a str,
    pub role: &'a str,
    pub source: Source,
}

/// Adds a member. A former member gets the old row back: the same subject, but none of the former grants, and no name in
/// a directory. `None` if the person or client is already a member.
pub async fn insert(tx: &Tx, new: &NewMember<'_>) -> Result<Option<MembershipId>, StoreError> {
    let (organization, account) = (new.organization.uuid(), new.account.map(porteiro_protocol::id::Id::uuid));
    let rows = tx
        .query(
            "SELECT membership_id, state FROM membership
             WHERE organization_id = $1 AND (account_id = $2 OR client_id = $3) FOR UPDATE",
            &[&organization, &account, &new.client_id],
        )
        .await?;
    let id = match rows.first() {
        None => {
            tx.execute(
                "INSERT INTO membership (organization_id, membership_id, account_id, client_id, state, source,
                        display_name, primary_role)
                 VALUES ($1, $2, $3, $4, 'active', $5, $6, $7)",
                &[
                    &organization,
                    &new.id.uuid(),
                    &account,
                    &new.client_id,
                    &new.source.as_str(),
                    &new.display_name,
                    &new.role,
                ],
            )
            .await?;
            new.id
        }
        Some(row) => {
            let (member, id) = Decode::keyed::<Uuid>("membership", "membership_id", row)?;
            if member.parsed::<State>("state")? != State::Removed {
                return Ok(None);
            }
            tx.execute(
                "UPDATE membership SET state = 'active', primary_role = $3, grants_from = clock_timestamp(),
                     version = version + 1, disabled_at = NULL, disabled_by = NULL, disable_reason = NULL,
                     disabled_by_directory = false, deactivated = false,
                     user_name = NULL, user_name_key = NULL, external_id = NULL, profile = NULL,
                     email_keys = NULL
                 WHERE organization_id = $1 AND membership_id = $2",
                &[&organization, &id, &new.role],
            )
            .await?;
            tx.execute(
                "DELETE FROM membership_role WHERE organization_id = $1 AND membership_id = $2",
                &[&organization, &id],
            )
            .await?;
            id.into()
        }
    };
    tx.execute(
        "INSERT INTO membership_role (organization_id, role_key, created_at, membership_id)
         SELECT organization_id, $3, created_at, membership_id FROM membership
         WHERE organization_id = $1 AND membership_id = $2",
        &[&organization, &id.uuid(), &new.role],
    )
    .await?;
    Ok(Some(id))
}
