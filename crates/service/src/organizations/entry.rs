//! Checks the deployment's minimum level and an organization's policy outside the flow engine: for a session cookie, an
//! access token and the creation of a key (docs/decisions/0082, docs/decisions/0137).

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

const WHY: &str = "a higher level or a more recent authentication is required";

/// The level a person has proved, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proved {
    pub level: Level,
    /// The oldest proof that the level rests on; `None` without one.
    pub at: Option<OffsetDateTime>,
    /// The time of the check.
    pub now: OffsetDateTime,
}

/// What is required.
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

/// For a call with a token (RFC 9470 §3).
impl From<Unmet> for OAuthError {
    fn from(unmet: Unmet) -> Self {
        Self::step_up_to(unmet.level, unmet.max_age.map(i64::from), WHY)
    }
}

/// For a call with a session: the flow that steps up.
impl From<Unmet> for Problem {
    fn from(unmet: Unmet) -> Self {
        let body = json!({"kind": "reauthenticate", "level": unmet.level});
        let open = json!({"method": "POST", "path": "/v1/flows", "body": body});
        Self::new(ProblemCode::StepUpRequired, WHY).with(Map::from_iter([("flow".to_owned(), open)]))
    }
}

impl Proved {
    /// Whether the level is the deployment's minimum or higher, where no organization is concerned.
    ///
    /// # Errors
    /// What is required, when the level is too low.
    pub fn reaches(&self, minimum: Level) -> Result<(), Unmet> {
        if self.level >= minimum { Ok(()) } else { Err(Unmet { level: minimum, max_age: None }) }
    }
}

impl Policy {
    /// Whether these proofs meet the policy, and the deployment's minimum level.
    ///
    /// # Errors
    /// What is required, when the level is too low or the proof too old.
    pub fn admits(&self, minimum: Level, proved: &Proved) -> Result<(), Unmet> {
        let level = self.min_level.max(minimum);
        let young = match (self.max_age, proved.at) {
            (None, _) => true,
            (Some(longest), Some(at)) => proved.now - at <= Duration::seconds(longest.into()),
            (Some(_), None) => false,
        };
        if proved.level >= level && young {
            return Ok(());
        }
        Err(Unmet { level, max_age: self.max_age })
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
        assert_eq!(policy.admits(Level::None, &proved(Level::Aal2, 60)), Ok(()));
        let unmet = Err(Unmet { level: Level::Aal2, max_age: Some(60) });
        assert_eq!(policy.admits(Level::None, &proved(Level::Aal2, 61)), unmet);
        assert_eq!(policy.admits(Level::None, &proved(Level::Aal1, 1)), unmet);
        assert_eq!(policy.admits(Level::None, &Proved { level: Level::Aal2, at: None, now }), unmet);
        let lenient = Policy::default();
        assert_eq!(lenient.admits(Level::None, &Proved { level: Level::None, at: None, now }), Ok(()));
    }
    #[test]
    fn the_higher_of_the_deployments_and_the_organizations_level_is_required() {
        let now = OffsetDateTime::UNIX_EPOCH;
        for (place, minimum) in Level::ALL.into_iter().flat_map(|one| Level::ALL.map(|other| (one, other))) {
            let policy = Policy { min_level: place, ..Policy::default() };
            for level in Level::ALL {
                let proved = Proved { level, at: Some(now), now };
                let unmet = Unmet { level: place.max(minimum), max_age: None };
                let enough = if level >= place && level >= minimum { Ok(()) } else { Err(unmet) };
                assert_eq!(policy.admits(minimum, &proved), enough);
                assert_eq!(proved.reaches(minimum).is_ok(), level >= minimum);
            }
        }
    }
}
