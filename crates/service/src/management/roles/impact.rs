//! Who would lose what. The change is made, read back and rolled back (`Tx::tentatively`); this file compares the
//! permissions before and after.
//!
//! Members with the same roles lose the same permissions: there are few such sets, however many members.

use porteiro_protocol::{
    authority::Authority,
    id::{MembershipId, OrganizationId},
    permission::{Held, Permission},
    scope::Scope,
};

use super::{decide, store};
use crate::{
    members::Member,
    oauth::{acting, apis, apis::Api, grants},
    roles::{Definitions, grantable},
    store::{StoreError, Tx},
};

/// This many members are listed; all are counted.
pub const EXAMPLES: i64 = 25;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Impact {
    /// How many active members would lose something.
    pub members: i64,
    pub examples: Vec<AffectedMember>,
    /// The number of valid grants that would be refused from then on.
    pub grants: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffectedMember {
    pub id: MembershipId,
    pub display_name: String,
    pub loses: Vec<Permission>,
}

/// Permissions before and after, by set of roles.
struct Changes<'a> {
    apis: &'a [Api],
    known: Vec<Permission>,
    held: Vec<(String, Held, Held)>,
}

impl Changes<'_> {
    fn lost(&self, roles: &str) -> Vec<Permission> {
        let find = self.held.iter().find(|(set, _, _)| set == roles);
        find.map(|(_, before, after)| decide::lost(before, after, &self.known)).unwrap_or_default()
    }

    /// The sets of roles whose members lose a permission.
    fn losing(&self) -> Vec<String> {
        let sets = self.held.iter().map(|(set, _, _)| set);
        sets.filter(|set| !self.lost(set).is_empty()).cloned().collect()
    }

    /// Whether a grant that is valid now would be refused.
    fn refuses(&self, roles: &str, scope: &str, audience: &str) -> bool {
        let Some((_, before, after)) = self.held.iter().find(|(set, _, _)| set == roles) else {
            return false;
        };
        let Ok(scope) = scope.parse::<Scope>() else { return false };
        let api = self.apis.iter().find(|api| api.identifier == audience);
        let asked = acting::permissions(&Authority::granted(scope, audience.to_owned(), Vec::new()), api);
        before.missing(&asked).is_empty() && !after.missing(&asked).is_empty()
    }

    async fn grants(
        &self,
        tx: &Tx,
        organization: OrganizationId,
        losing: &[String],
        member: Option<MembershipId>,
    ) -> Result<i64, StoreError> {
        let living = grants::refusable(tx, organization, losing, member).await?;
        let refused =
            living.iter().filter(|(roles, scope, audience, _)| self.refuses(roles, scope, audience));
        Ok(refused.map(|(_, _, _, number)| number).sum())
    }
}

/// The impact of changing or removing a role.
pub async fn of_role(
    tx: &Tx,
    organization: OrganizationId,
    role: &str,
    before: &Definitions,
    after: &Definitions,
) -> Result<Impact, StoreError> {
    let apis = apis::list(tx).await?;
    let sets = store::role_sets(tx, organization, role).await?;
    let held =
        sets.iter().map(|(set, _)| (set.clone(), before.held(set.split(' ')), after.held(set.split(' '))));
    let changes = Changes { apis: &apis, known: grantable(&apis), held: held.collect() };
    let losing = changes.losing();
    if losing.is_empty() {
        return Ok(Impact::default());
    }
    let members_with = store::members_with(tx, organization, role, &losing, EXAMPLES).await?;
    let examples = members_with.into_iter().map(|one| {
        let loses = changes.lost(&one.roles);
        AffectedMember { id: one.id, display_name: one.display_name, loses }
    });
    Ok(Impact {
        members: sets.iter().filter(|(set, _)| losing.contains(set)).map(|(_, number)| number).sum(),
        examples: examples.collect(),
        grants: changes.grants(tx, organization, &losing, None).await?,
    })
}

/// The impact of changing one member's roles.
pub async fn of_member(tx: &Tx, member: &Member, after: &Held) -> Result<Impact, StoreError> {
    // A disabled member has nothing to lose.
    let Ok(before) = member.held() else { return Ok(Impact::default()) };
    let apis = apis::list(tx).await?;
    let set = member.roles.join(" ");
    let held = vec![(set.clone(), before.clone(), after.clone())];
    let changes = Changes { apis: &apis, known: grantable(&apis), held };
    let loses = changes.lost(&set);
    if loses.is_empty() {
        return Ok(Impact::default());
    }
    let grants = changes.grants(tx, member.organization.id, &[set], Some(member.id)).await?;
    let loser = AffectedMember { id: member.id, display_name: member.display_name.clone(), loses };
    Ok(Impact { members: 1, examples: vec![loser], grants })
}
