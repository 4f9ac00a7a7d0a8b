//! Checks the deployment's minimum level and an organization's policy outside the flow engine: for a session cookie, an
//! access token and the creation of a key (docs/decisions/0082, docs/decisions/0137).

use porteiro_protocol::{
    assurance::{Decay, Level, Method, Proof, auth_time},
    id::ConnectionId,
    time::{Duration, OffsetDateTime},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::Policy;
use crate::{
    http::{OAuthError, Problem, ProblemCode},
    sessions::SignedIn,
};

const WHY: &str = "a higher level or a more recent authentication is required";
const WHY_CONNECTION: &str =
    "the organization requires a sign-in by its own connection: sign in to one of its applications that way";

/// The proofs by which an organization may require its members to enter (docs/decisions/0132), with their times in
/// seconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entrance {
    /// The connection of the organization that vouched for the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<(ConnectionId, i64)>,
    /// When the person used a passkey, and verified themselves to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passkey: Option<i64>,
}

impl Entrance {
    pub fn new(proofs: &[Proof], connection: Option<(ConnectionId, OffsetDateTime)>) -> Self {
        let passkeys = proofs.iter().filter(|proof| proof.method == Method::Passkey && proof.user_verified);
        Self {
            connection: connection.map(|(id, at)| (id, at.unix_timestamp())),
            passkey: passkeys.map(|proof| proof.at.unix_timestamp()).max(),
        }
    }

    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The only way into an organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Door {
    pub connection: ConnectionId,
    /// Whether this member may use a passkey instead.
    pub breaks_glass: bool,
}

impl Door {
    /// Whether the connection vouched for the person, recently enough.
    pub fn is_passed(&self, entrance: &Entrance, max_age: Option<u32>, now: OffsetDateTime) -> bool {
        let passed = entrance.connection.filter(|(connection, _)| *connection == self.connection);
        passed.is_some_and(|(_, at)| is_young(at, max_age, now))
    }

    /// Whether the person used a passkey instead, recently enough, and may.
    pub fn is_broken(&self, entrance: &Entrance, max_age: Option<u32>, now: OffsetDateTime) -> bool {
        self.breaks_glass && entrance.passkey.is_some_and(|at| is_young(at, max_age, now))
    }
}

fn is_young(at: i64, max_age: Option<u32>, now: OffsetDateTime) -> bool {
    max_age.is_none_or(|longest| now.unix_timestamp() - at <= i64::from(longest))
}

/// The level a person has proved, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proved {
    pub level: Level,
    /// The oldest proof that the level rests on; `None` without one.
    pub at: Option<OffsetDateTime>,
    pub entrance: Entrance,
    /// The time of the check.
    pub now: OffsetDateTime,
}

/// What is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmet {
    pub level: Level,
    pub max_age: Option<u32>,
    /// The connection by which the person must sign in, if that is what is missing.
    pub connection: Option<ConnectionId>,
}

impl Unmet {
    const fn why(self) -> &'static str {
        match self.connection {
            Some(_) => WHY_CONNECTION,
            None => WHY,
        }
    }
}

/// Without an entrance: a session may have one by a directory (`directories::proved`), and a passkey opens no door
/// outside a flow, where its use would not be recorded.
impl From<&SignedIn> for Proved {
    fn from(me: &SignedIn) -> Self {
        let level = me.level();
        let at = auth_time(&me.proofs, level, me.now, &Decay::default());
        Self { level, at, entrance: Entrance::default(), now: me.now }
    }
}

/// For a call with a token (RFC 9470 §3).
impl From<Unmet> for OAuthError {
    fn from(unmet: Unmet) -> Self {
        Self::step_up_to(unmet.level, unmet.max_age.map(i64::from), unmet.why())
    }
}

/// For a call with a session: the flow that steps up, if one does. A connection is offered only to a request for its
/// organization.
impl From<Unmet> for Problem {
    fn from(unmet: Unmet) -> Self {
        let problem = Self::new(ProblemCode::StepUpRequired, unmet.why());
        if unmet.connection.is_some() {
            return problem;
        }
        let body = json!({"kind": "reauthenticate", "level": unmet.level});
        let open = json!({"method": "POST", "path": "/v1/flows", "body": body});
        problem.with(Map::from_iter([("flow".to_owned(), open)]))
    }
}

impl Proved {
    /// Whether the level is the deployment's minimum or higher, where no organization is concerned.
    ///
    /// # Errors
    /// What is required, when the level is too low.
    pub fn reaches(&self, minimum: Level) -> Result<(), Unmet> {
        if self.level >= minimum {
            Ok(())
        } else {
            Err(Unmet { level: minimum, max_age: None, connection: None })
        }
    }
}

impl Policy {
    /// The only way into the organization, if it requires one. `breaks_glass`: of the member who may use another.
    pub fn door(&self, breaks_glass: bool) -> Option<Door> {
        self.require_connection.map(|connection| Door { connection, breaks_glass })
    }

    /// Whether these proofs meet the policy, and the deployment's minimum level.
    ///
    /// # Errors
    /// What is required, when the level is too low, the proof too old or another way was taken.
    pub fn admits(&self, minimum: Level, proved: &Proved, breaks_glass: bool) -> Result<(), Unmet> {
        let level = self.min_level.max(minimum);
        let unmet = Unmet { level, max_age: self.max_age, connection: None };
        if let Some(door) = self.door(breaks_glass)
            && !door.is_passed(&proved.entrance, self.max_age, proved.now)
            && !door.is_broken(&proved.entrance, self.max_age, proved.now)
        {
            return Err(Unmet { connection: Some(door.connection), ..unmet });
        }
        let young = match (self.max_age, proved.at) {
            (None, _) => true,
            (Some(longest), Some(at)) => proved.now - at <= Duration::seconds(longest.into()),
            (Some(_), None) => false,
        };
        if proved.level >= level && young {
            return Ok(());
        }
        Err(unmet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_and_age_are_both_asked_and_the_limit_itself_is_enough() {
        let now = OffsetDateTime::UNIX_EPOCH + Duration::days(1);
        let entrance = Entrance::default();
        let proved = |level, age| Proved { level, at: Some(now - Duration::seconds(age)), entrance, now };
        let policy = Policy { min_level: Level::Aal2, max_age: Some(60), ..Policy::default() };
        assert_eq!(policy.admits(Level::None, &proved(Level::Aal2, 60), false), Ok(()));
        let unmet = Err(Unmet { level: Level::Aal2, max_age: Some(60), connection: None });
        assert_eq!(policy.admits(Level::None, &proved(Level::Aal2, 61), false), unmet);
        assert_eq!(policy.admits(Level::None, &proved(Level::Aal1, 1), false), unmet);
        assert_eq!(
            policy.admits(Level::None, &Proved { level: Level::Aal2, at: None, entrance, now }, false),
            unmet
        );
        let lenient = Policy::default();
        assert_eq!(
            lenient.admits(Level::None, &Proved { level: Level::None, at: None, entrance, now }, true),
            Ok(())
        );
    }

    #[test]
    fn only_the_required_connection_opens_and_a_passkey_only_for_the_member_who_may() {
        let now = OffsetDateTime::UNIX_EPOCH + Duration::days(1);
        let ago = |seconds: i64| now.unix_timestamp() - seconds;
        let [required, other] = [1, 2].map(|id| ConnectionId::from(uuid::Uuid::from_u128(id)));
        let policy = Policy { max_age: Some(60), require_connection: Some(required), ..Policy::default() };
        let admits = |entrance, breaks_glass| {
            let proved = Proved { level: Level::Aal2, at: Some(now), entrance, now };
            policy.admits(Level::None, &proved, breaks_glass).is_ok()
        };
        let by =
            |connection, age| Entrance { connection: Some((connection, ago(age))), passkey: Some(ago(0)) };
        assert!(admits(by(required, 60), false) && admits(by(required, 60), true));
        assert!(!admits(by(required, 61), false) && !admits(by(other, 0), false));
        let passkey = |age| Entrance { connection: None, passkey: Some(ago(age)) };
        assert!(admits(passkey(60), true) && !admits(passkey(61), true) && !admits(passkey(0), false));
        assert!(!admits(Entrance::default(), true));
    }

    #[test]
    fn the_higher_of_the_deployments_and_the_organizations_level_is_required() {
        let now = OffsetDateTime::UNIX_EPOCH;
        for (place, minimum) in Level::ALL.into_iter().flat_map(|one| Level::ALL.map(|other| (one, other))) {
            let policy = Policy { min_level: place, ..Policy::default() };
            for level in Level::ALL {
                let proved = Proved { level, at: Some(now), entrance: Entrance::default(), now };
                let unmet = Unmet { level: place.max(minimum), max_age: None, connection: None };
                let enough = if level >= place && level >= minimum { Ok(()) } else { Err(unmet) };
                assert_eq!(policy.admits(minimum, &proved, false), enough);
                assert_eq!(proved.reaches(minimum).is_ok(), level >= minimum);
            }
        }
    }
}
