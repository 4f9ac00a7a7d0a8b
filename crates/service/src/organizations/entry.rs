//! What a policy asks of a person who enters, decided here for every door outside the flow engine: a session
//! cookie, an access token and the making of a key (docs/decisions/0082).

use porteiro_protocol::{
    assurance::{Decay, Level, auth_time},
    time::{Duration, OffsetDateTime},
};

use serde_json::{Map, json};

use super::Policy;
use crate::{
    http::{OAuthError, Problem, ProblemCode},
    sessions::SignedIn,
};

const WHY: &str = "the organization requires a higher level or a more recent authentication";

/// What a person has proved, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proved {
    pub level: Level,
    /// The oldest proof the level rests on; none where nothing supports it.
    pub at: Option<OffsetDateTime>,
    /// When somebody looked.
    pub now: OffsetDateTime,
}

/// What would be enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmet {
    pub level: Level,
    pub max_age: Option<u32>,
}

impl From<&SignedIn> for Proved {
    fn from(me: &SignedIn) -> Self {
        let level = me.level();
        Self { level, at: auth_time(&me.proofs, level, me.now, &Decay::default()), now: me.now }
    }
}

/// For whoever presents a token (RFC 9470 §3).
impl From<Unmet> for OAuthError {
    fn from(unmet: Unmet) -> Self {
        Self::step_up_to(unmet.level, unmet.max_age.map(i64::from), WHY)
    }
}

/// For whoever has a session: the flow that raises it.
impl From<Unmet> for Problem {
    fn from(unmet: Unmet) -> Self {
        let body = json!({"kind": "reauthenticate", "level": unmet.level});
        let open = json!({"method": "POST", "path": "/v1/flows", "body": body});
        Self::new(ProblemCode::StepUpRequired, WHY).with(Map::from_iter([("flow".to_owned(), open)]))
    }
}

impl Policy {
    /// Whether these proofs let a person in.
    ///
    /// # Errors
    /// When the level is too low or the proof too old: what would be enough.
    pub fn admits(&self, proved: &Proved) -> Result<(), Unmet> {
        let young = match (self.max_age, proved.at) {
            (None, _) => true,
            (Some(longest), Some(at)) => proved.now - at <= Duration::seconds(longest.into()),
            (Some(_), None) => false,
        };
        if proved.level >= self.min_level && young {
            return Ok(());
        }
        Err(Unmet { level: self.min_level, max_age: self.max_age })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_and_age_are_both_asked_and_the_limit_itself_is_enough() {
        let now = OffsetDateTime::UNIX_EPOCH + Duration::days(1);
        let proved = |level, age| Proved { level, at: Some(now - Duration::seconds(age)), now };
        let policy = Policy { min_level: Level::Aal2, max_age: Some(60), ..Policy::default() };
        assert_eq!(policy.admits(&proved(Level::Aal2, 60)), Ok(()));
        let unmet = Err(Unmet { level: Level::Aal2, max_age: Some(60) });
        assert_eq!(policy.admits(&proved(Level::Aal2, 61)), unmet);
        assert_eq!(policy.admits(&proved(Level::Aal1, 1)), unmet);
        assert_eq!(policy.admits(&Proved { level: Level::Aal2, at: None, now }), unmet);
        let lenient = Policy::default();
        assert_eq!(lenient.admits(&Proved { level: Level::None, at: None, now }), Ok(()));
    }
}
