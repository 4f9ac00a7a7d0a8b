//! Lists of members: one range of one index, whatever the filter and the number of members.

use porteiro_protocol::{
    id::{MembershipId, OrganizationId},
    time::OffsetDateTime,
};
use uuid::Uuid;

use super::{super::Member, MEMBERS, State};
use crate::store::{Reader, StoreError};

/// Which members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// `None`: all but removed members.
    pub state: Option<State>,
    pub role: Option<String>,
    pub created_after: Option<OffsetDateTime>,
}

/// The member after which a page starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub created_at: OffsetDateTime,
    pub id: MembershipId,
}

impl From<&Member> for Position {
    fn from(member: &Member) -> Self {
        Self { created_at: member.created_at, id: member.id }
    }
}

impl Filter {
    /// The later of the position and the filter's start.
    fn from(&self, after: Option<Position>) -> (OffsetDateTime, Uuid) {
        let asked = self.created_after.map(|at| (at, Uuid::max()));
        let after = after.map(|it| (it.created_at, it.id.uuid()));
        asked.max(after).unwrap_or((OffsetDateTime::UNIX_EPOCH, Uuid::nil()))
    }

    /// The statement of a page: it follows one index and looks everything else up by key. Its parameters are the
    /// organization, the position and the role.
    pub fn statement(&self, limit: u32) -> String {
        let state = match self.state {
            None => "m.state <> 'removed'".to_owned(),
            // Explicit for the planner: most members are active.
            Some(State::Active) => "m.state = 'active' AND a.state IS DISTINCT FROM 'disabled' \
                 AND a.state IS DISTINCT FROM 'deleted'"
                .to_owned(),
            Some(state @ (State::Provisioned | State::Disabled | State::Removed)) => {
                format!("m.state = '{}'", state.as_str())
            }
        };
        match (&self.role, self.state) {
            (None, _) => format!(
                "{MEMBERS} WHERE m.organization_id = $1 AND {state} AND (m.created_at, m.membership_id) > ($2, $3)
                 ORDER BY m.created_at, m.membership_id LIMIT {limit}"
            ),
            // Follows the disabled members, who are fewer, and checks the role of each.
            (Some(_), Some(State::Disabled)) => format!(
                "{MEMBERS} WHERE m.organization_id = $1 AND {state} AND (m.created_at, m.membership_id) > ($2, $3)
                   AND $4 = ANY(ARRAY(SELECT f.role_key FROM membership_role f
                       WHERE f.organization_id = m.organization_id AND f.membership_id = m.membership_id))
                 ORDER BY m.created_at, m.membership_id LIMIT {limit}"
            ),
            (Some(_), None | Some(State::Provisioned | State::Active | State::Removed)) => format!(
                "{MEMBERS} JOIN membership_role f
                     ON f.organization_id = m.organization_id AND f.membership_id = m.membership_id
                 WHERE f.organization_id = $1 AND f.role_key = $4 AND {state}
                   AND (f.created_at, f.membership_id) > ($2, $3)
                 ORDER BY f.created_at, f.membership_id LIMIT {limit}"
            ),
        }
    }
}

/// At most `limit`, in the order in which they joined.
pub async fn list(
    reader: &impl Reader,
    organization: OrganizationId,
    filter: &Filter,
    after: Option<Position>,
    limit: u32,
) -> Result<Vec<Member>, StoreError> {
    // Removed members have no roles.
    if filter.role.is_some() && filter.state == Some(State::Removed) {
        return Ok(Vec::new());
    }
    let (sql, (at, id)) = (filter.statement(limit), filter.from(after));
    let organization = organization.uuid();
    let rows = match &filter.role {
        None => reader.rows("members.list", &sql, &[&organization, &at, &id]).await?,
        Some(role) => reader.rows("members.list_role", &sql, &[&organization, &at, &id, role]).await?,
    };
    rows.iter().map(Member::try_from).collect::<Result<_, _>>().map_err(Into::into)
}
