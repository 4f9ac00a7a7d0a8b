//! The connection that an organization requires (docs/decisions/0132): whether it vouched for the person, and how it is
//! asked for.

use porteiro_protocol::id::OrganizationId;

use super::{
    actions::{self, Action},
    decide::{Facts, Next, raise_or_refuse},
    discovery::was_discovered,
    proofs::vouched,
    purpose::{Source, Standing},
    state::{Kind, State},
};
use crate::{
    connections::organizations::Ways,
    credentials::{federated, passkey},
    directories::Vouched,
    organizations::Entrance,
    sessions,
    store::StoreError,
};

/// By which of the ways that an organization may require the person came.
pub(super) fn entrance(state: &State, facts: &Facts) -> Entrance {
    Entrance::new(&state.proofs, vouched(state, facts).map(|it| (it.connection, it.proof.at)))
}

/// Whether the organization requires a connection that did not vouch for the person, recently enough.
pub(super) fn lacks_connection(state: &State, facts: &Facts) -> bool {
    let Some(standing) = &facts.standing else { return false };
    let Some(door) = standing.door else { return false };
    let (entrance, max_age) = (entrance(state, facts), standing.max_age);
    !door.is_passed(&entrance, max_age, facts.now) && !door.is_broken(&entrance, max_age, facts.now)
}

/// The account is proved, and the connection is asked for.
pub(super) fn ask(state: &State, facts: &Facts) -> Next {
    let mut actions = Vec::new();
    if !facts.connections.is_empty() && facts.directory.is_some() {
        actions.extend(federated::KIND.sign_in);
    }
    if facts.standing.as_ref().and_then(|standing| standing.door).is_some_and(|door| door.breaks_glass)
        && facts.account.as_ref().is_some_and(|account| account.usable.contains(&passkey::KIND.kind))
    {
        actions.extend(passkey::KIND.prove);
    }
    if !actions.is_empty() && state.session.is_some() {
        actions.push(actions::ACCOUNT_SWITCH);
    }
    raise_or_refuse(facts, actions)
}

/// The ways in for a person who is not known yet, if the organization requires a connection or an address led to it. A
/// person who says that they have an account proves it by any of its credentials.
pub(super) fn ways(state: &State, facts: &Facts) -> Option<Vec<Action>> {
    let signs_in = match state.kind {
        Kind::SignIn | Kind::Purpose(_) => true,
        Kind::Register | Kind::Recover | Kind::Reauthenticate | Kind::Enrol => false,
    };
    if !signs_in || state.claim.is_some() || facts.connections.is_empty() {
        return None;
    }
    let mut actions = federated::KIND.sign_in.to_vec();
    if was_discovered(state) {
        actions.push(actions::BACK);
    }
    match facts.ways {
        Ways::Any if !was_discovered(state) => return None,
        Ways::Any | Ways::Connection => {}
        Ways::ConnectionOrPasskey => actions.extend(passkey::KIND.sign_in),
    }
    actions.sort();
    Some(actions)
}

/// What the session of the flow holds already, if the organization requires a connection and the person need not prove
/// it again.
pub(super) async fn held(
    source: Source<'_>,
    state: &State,
    standing: Option<&Standing>,
) -> Result<Option<Vouched>, StoreError> {
    let (Some(place), Some(account), Some(session)) = (required_by(standing), state.account(), state.session)
    else {
        return Ok(None);
    };
    if state.kind == Kind::Reauthenticate {
        return Ok(None);
    }
    let Some(proof) = sessions::directory_proof(&source, session, account, place).await? else {
        return Ok(None);
    };
    let token = state.session_token.clone().unwrap_or_default();
    Ok(Vouched::of_session(place, account, proof, (session, token)))
}

/// The organization of the request, if it requires a connection of its members.
pub(super) fn required_by(standing: Option<&Standing>) -> Option<OrganizationId> {
    let standing = standing.filter(|standing| standing.door.is_some())?;
    standing.organization
}
