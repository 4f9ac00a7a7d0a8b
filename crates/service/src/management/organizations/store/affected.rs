//! Whom a change of the policy would keep out, judging by credentials and identities.

use porteiro_protocol::{
    assurance::{Factor, Level},
    id::{Id, MembershipId, OrganizationId},
};
use uuid::Uuid;

use crate::{
    credentials::names_of,
    organizations::Policy,
    store::{Decode, Reader, StoreError},
};

/// Members and keys beyond this number are not counted.
const MOST_COUNTED: usize = 10_000;
const SHOWN: usize = 25;

/// Members who would lose access.
#[derive(Debug)]
pub(in super::super) struct Affected {
    pub count: usize,
    pub more: bool,
    pub first: Vec<Loses>,
    /// Personal keys that would not be accepted any more.
    pub personal_keys: usize,
}

/// A member, and what they would lack.
#[derive(Debug)]
pub(in super::super) struct Loses {
    pub id: MembershipId,
    pub display_name: String,
    /// No credentials for the level.
    pub lacks_level: bool,
    /// No identity by the connection.
    pub lacks_connection: bool,
}

/// The condition that a member can reach a level (`protocol/assurance.rs`): $3 are the kinds that are two factors in
/// one, $4 those of something the person knows, $5 those of something the person has. What a directory says is one factor.
const fn can_prove(level: Level) -> &'static str {
    match level {
        Level::None => "true",
        Level::Aal1 => {
            "(EXISTS (SELECT 1 FROM credential c WHERE c.account_id = m.account_id AND c.state = 'active'
                         AND c.kind = ANY ($3::text[] || $4::text[] || $5::text[]))
                 OR EXISTS (SELECT 1 FROM directory_identity i WHERE i.organization_id = m.organization_id
                         AND i.membership_id = m.membership_id))"
        }
        Level::Aal2 => {
            "(SELECT coalesce(bool_or(c.kind = ANY ($3::text[])), false)
                  OR (coalesce(bool_or(c.kind = ANY ($4::text[])), false)
                         AND coalesce(bool_or(c.kind = ANY ($5::text[])), false))
              FROM credential c WHERE c.account_id = m.account_id AND c.state = 'active')"
        }
    }
}

/// The condition that a member can pass the connection `$n`, if it is one, or may break the glass as the member `$n + 1`.
fn can_pass(n: u8) -> String {
    format!(
        "(${n}::uuid IS NULL OR m.membership_id IS NOT DISTINCT FROM ${glass}::uuid
             OR EXISTS (SELECT 1 FROM directory_identity i WHERE i.organization_id = m.organization_id
                        AND i.membership_id = m.membership_id AND i.connection_id = ${n}))",
        glass = n + 1
    )
}

/// Members who can enter under the present policy and could not under the new one.
pub(in super::super) async fn affected(
    reader: &impl Reader,
    id: OrganizationId,
    now: &Policy,
    then: &Policy,
) -> Result<Affected, StoreError> {
    let (level, connection) = (can_prove(then.min_level), can_pass(8));
    // The kinds are named also where no level asks for them: PostgreSQL wants to know the type of each parameter.
    let sql = format!(
        "SELECT m.membership_id, m.display_name, NOT {level} AS lacks_level, NOT {connection} AS lacks_connection
         FROM membership m
         WHERE m.organization_id = $1 AND m.state = 'active' AND m.account_id IS NOT NULL
           AND cardinality($3::text[] || $4::text[] || $5::text[]) > 0 AND {} AND {} AND NOT ({level} AND {connection})
         ORDER BY m.created_at, m.membership_id LIMIT $2",
        can_prove(now.min_level),
        can_pass(6)
    );
    let most = i64::try_from(MOST_COUNTED).unwrap_or(i64::MAX - 1) + 1;
    let [both, known, held] = [Factor::Multi, Factor::Knowledge, Factor::Possession].map(names_of);
    let [from, to] = [now, then].map(|policy| policy.require_connection.map(Id::uuid));
    let [from_glass, to_glass] = [now, then].map(|policy| policy.break_glass.map(Id::uuid));
    let params: crate::store::Params<'_> =
        &[&id.uuid(), &most, &both, &known, &held, &from, &from_glass, &to, &to_glass];
    let rows = reader.rows("organizations.affected", &sql, params).await?;
    let read = |row| {
        let (member, id) = Decode::keyed::<Uuid>("membership", "membership_id", row)?;
        Ok(Loses {
            id: id.into(),
            display_name: member.get("display_name")?,
            lacks_level: member.get("lacks_level")?,
            lacks_connection: member.get("lacks_connection")?,
        })
    };
    let first = rows.iter().take(SHOWN).map(read).collect::<Result<_, StoreError>>()?;
    let personal_keys = match (from, to) {
        (None, Some(_)) => personal_keys(reader, id).await?,
        (Some(_), _) | (None, None) => 0,
    };
    let count = rows.len().min(MOST_COUNTED);
    Ok(Affected { count, more: rows.len() > MOST_COUNTED, first, personal_keys })
}

/// Personal keys that can be used now.
async fn personal_keys(reader: &impl Reader, id: OrganizationId) -> Result<usize, StoreError> {
    let rows = reader
        .rows(
            "organizations.personal_keys",
            "SELECT 1 FROM api_key WHERE organization_id = $1 AND kind = 'personal' AND revoked_at IS NULL
               AND expires_at > now() LIMIT $2",
            &[&id.uuid(), &i64::try_from(MOST_COUNTED).unwrap_or(i64::MAX)],
        )
        .await?;
    Ok(rows.len())
}
