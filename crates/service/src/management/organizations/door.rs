//! Which connection an organization may require (docs/decisions/0132): one by which somebody can enter who can change
//! that again.

use porteiro_protocol::id::{ConnectionId, MembershipId, OrganizationId};

use super::{field_invalid, store};
use crate::{
    App,
    connections::organizations as connections,
    http::{Problem, ProblemCode, TxProblem},
    management::{members::decide::may_give, standing::Standing},
    members::{self, Member, State, Whom},
    organizations::Policy,
    permissions::OWNER,
    roles,
    store::Tx,
};

/// The caller holds the organization's lock.
pub(super) async fn check(app: &App, tx: &Tx, standing: &Standing, policy: &Policy) -> Result<(), TxProblem> {
    let before = &standing.organization;
    let old = &before.policy;
    if (old.require_connection, old.break_glass) == (policy.require_connection, policy.break_glass) {
        return Ok(());
    }
    // Who decides how members sign in can become any of them.
    may_give(&standing.held, &roles::definitions(tx, before.id).await?, OWNER)?;
    standing.of_own_account()?;
    match (policy.require_connection, policy.break_glass) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(field_invalid(("break_glass", "needs require_connection")).into()),
        (Some(connection), glass) => {
            usable(app, tx, before.id, connection).await?;
            match glass {
                Some(member) => may_break(tx, before.id, member).await,
                None => has_passed(tx, before.id, connection).await,
            }
        }
    }
}

/// Whether people can sign in by the connection.
async fn usable(app: &App, tx: &Tx, place: OrganizationId, id: ConnectionId) -> Result<(), TxProblem> {
    if app.checked.settings.federation_page_path.is_none() {
        let text =
            "this service has no page for sign-ins by connections: the operator sets federation_page_path";
        return Err(Problem::new(ProblemCode::Conflict, text).into());
    }
    let found = connections::find(tx, place, id).await?;
    if found.is_some_and(|connection| connection.enabled) {
        return Ok(());
    }
    Err(field_invalid(("require_connection", "is not an enabled connection of the organization")).into())
}

/// Whether the member is an owner with a passkey.
async fn may_break(tx: &Tx, place: OrganizationId, id: MembershipId) -> Result<(), TxProblem> {
    let is_owner =
        |member: &Member| member.state == State::Active && member.roles.iter().any(|role| role == OWNER);
    let member = members::find(tx, place, Whom::Id(id)).await?.filter(is_owner);
    let Some(account) = member.and_then(|member| member.account) else {
        return Err(field_invalid(("break_glass", "is not an owner of the organization")).into());
    };
    if store::has_passkey(tx, account).await? {
        return Ok(());
    }
    Err(field_invalid(("break_glass", "has no passkey; enrol one first")).into())
}

/// Whether an owner with a credential of their own has signed in by the connection. Then it works, and somebody can sign in
/// and change the policy.
async fn has_passed(tx: &Tx, place: OrganizationId, connection: ConnectionId) -> Result<(), TxProblem> {
    if store::has_linked_owner(tx, place, connection).await? {
        return Ok(());
    }
    let text = "no owner with a credential of their own has signed in by this connection: sign in by it first, or name a \
                break_glass member";
    Err(Problem::new(ProblemCode::Conflict, text).into())
}
