//! How recently the provider must have authenticated the person (OpenID Connect Core §3.1.2.1). Pure.

use porteiro_protocol::time::OffsetDateTime;
use serde::{Deserialize, Serialize};

/// Accepted difference between the provider's clock and ours.
const SKEW_SECONDS: i64 = 60;

/// What the request for which the person signs in requires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recency {
    /// `prompt=login`.
    pub login: bool,
    /// `max_age`, of the request or of the organization.
    pub max_age: Option<u32>,
}

/// What the provider was asked for, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requested {
    /// With `prompt=login` zero: only then must the provider say when it authenticated the person.
    pub max_age: u32,
    pub login: bool,
    /// In seconds since 1970.
    at: i64,
}

impl Recency {
    /// What the provider is asked for; `None` if it may have authenticated the person at any time.
    pub fn requested(self, now: OffsetDateTime) -> Option<Requested> {
        let max_age = if self.login { Some(0) } else { self.max_age };
        max_age.map(|max_age| Requested { max_age, login: self.login, at: now.unix_timestamp() })
    }
}

impl Requested {
    /// Whether the provider did what it was asked for.
    ///
    /// # Errors
    /// What it did not do, in a fixed text.
    pub fn check(self, auth_time: Option<OffsetDateTime>) -> Result<(), &'static str> {
        let Some(when) = auth_time else {
            return Err("the provider was sent max_age and did not say when it authenticated the person: \
                        its ID token has no auth_time");
        };
        let oldest = self.at - i64::from(self.max_age) - SKEW_SECONDS;
        if when.unix_timestamp() < oldest {
            return Err("the provider was sent max_age and authenticated the person longer ago: \
                        the auth_time of its ID token is too old");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(seconds).unwrap()
    }

    #[test]
    fn a_provider_that_was_asked_says_when_and_not_too_long_ago() {
        let now = at(10_000);
        assert_eq!(Recency::default().requested(now), None);
        let aged = Recency { login: false, max_age: Some(300) }.requested(now).unwrap();
        assert!(aged.check(None).is_err());
        assert!(aged.check(Some(at(10_000 - 361))).is_err());
        assert_eq!(aged.check(Some(at(10_000 - 360))), Ok(()));
        assert_eq!(aged.check(Some(at(10_400))), Ok(()));
        let again = Recency { login: true, max_age: Some(300) }.requested(now).unwrap();
        assert_eq!((again.max_age, again.login), (0, true));
        assert!(again.check(Some(at(10_000 - 61))).is_err());
        assert_eq!(again.check(Some(at(10_005))), Ok(()));
    }
}
