//! The connection by which somebody signed in last in this browser (docs/decisions/0133). The browser keeps it; it is
//! offered to that browser first, and proves nothing.

use porteiro_protocol::id::{ConnectionId, OrganizationId};
use serde::{Deserialize, Serialize};

use super::super::{
    purpose::{Source, Standing},
    state::State,
    vouched::Vouched,
};
use crate::{
    connections::{self, Offered},
    directories,
    store::StoreError,
};

/// A connection of an organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    pub organization: OrganizationId,
    pub connection: ConnectionId,
}

impl Remembered {
    /// The value of the cookie.
    pub(in crate::flow) fn parse(text: &str) -> Option<Self> {
        let (organization, connection) = text.split_once('.')?;
        Some(Self { organization: organization.parse().ok()?, connection: connection.parse().ok()? })
    }

    pub(in crate::flow) fn to_cookie(self) -> String {
        format!("{}.{}", self.organization, self.connection)
    }

    /// By which connection a member came in this flow, if it was in this flow.
    pub(in crate::flow) fn of(
        vouched: Option<&directories::Vouched>,
        facts: Option<&Vouched>,
    ) -> Option<Self> {
        let vouched = vouched.filter(|vouched| vouched.session.is_none())?;
        Some(Self { organization: vouched.organization, connection: facts?.connection })
    }
}

/// The connection that is offered again: the request needs an organization and names none, and the connection can be used.
pub(in crate::flow) async fn offered(
    source: Source<'_>,
    state: &State,
    standing: Option<&Standing>,
) -> Result<Option<(OrganizationId, Offered)>, StoreError> {
    let discovers = standing.is_some_and(|standing| standing.discovers);
    let Some(remembered) = state.remembered.filter(|_| discovers) else { return Ok(None) };
    let place = remembered.organization;
    let (_, offered) = connections::organizations::offered(&source, place).await?;
    let found = offered.into_iter().find(|offered| offered.id == remembered.connection);
    Ok(found.map(|offered| (place, offered)))
}

/// The same among the connections of an organization that is known: first.
pub(in crate::flow) fn first(state: &State, offered: &mut [Offered]) {
    let Some(remembered) = state.remembered else { return };
    if let Some(index) = offered.iter().position(|offered| offered.id == remembered.connection) {
        offered[..=index].rotate_right(1);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_cookie_is_read_as_it_was_written_and_nothing_else_is() {
        let [organization, connection] = [1, 2].map(Uuid::from_u128);
        let remembered = Remembered { organization: organization.into(), connection: connection.into() };
        assert_eq!(Remembered::parse(&remembered.to_cookie()), Some(remembered));
        for text in ["", ".", "x.y", "00000000-0000-0000-0000-000000000001"] {
            assert_eq!(Remembered::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_remembered_connection_is_first_and_the_others_stay_in_order() {
        let named = |id: u128| Offered { id: Uuid::from_u128(id).into(), name: id.to_string() };
        let mut offered = [1, 2, 3].map(named);
        let mut state = State::new(
            crate::flow::state::Kind::SignIn,
            crate::flow::state::Transport::Browser,
            "en",
            String::new(),
        );
        first(&state, &mut offered);
        assert_eq!(offered, [1, 2, 3].map(named));
        let [organization, connection] = [9, 3].map(Uuid::from_u128);
        state.remembered =
            Some(Remembered { organization: organization.into(), connection: connection.into() });
        first(&state, &mut offered);
        assert_eq!(offered, [3, 1, 2].map(named));
    }
}
