//! What can be delegated, and for how long. Pure.

use porteiro_protocol::{authority::Authority, scope::Scope};

use super::super::scopes;
use crate::permissions::{self, Reach};

pub const DEFAULT_SECONDS: i64 = 30 * 86_400;
pub const MAX_SECONDS: i64 = 90 * 86_400;
/// Most delegations of one person, or of one organization, that count at a time.
pub const MAX_PER_OWNER: i64 = 200;

/// The first scope that cannot be delegated. `offline_access` is about refresh tokens, which an exchange does not issue;
/// the account itself and the platform are not for agents.
pub fn first_undelegable(authority: &Authority) -> Option<&str> {
    authority.scope().iter().find(|name| !is_delegable(name))
}

/// The scopes of these that can be delegated.
pub fn delegable(scope: &Scope) -> Scope {
    let names: Vec<&str> = scope.iter().filter(|name| is_delegable(name)).collect();
    names.join(" ").parse().unwrap_or_default()
}

fn is_delegable(name: &str) -> bool {
    if scopes::is_standard(name) {
        return scopes::is_open(name) && name != "offline_access";
    }
    match permissions::find(name).map(|own| own.reach) {
        Some(Reach::Platform) => false,
        Some(Reach::Organization) | None => true,
    }
}

/// The life of a delegation in seconds.
///
/// # Errors
/// When more is asked for than is allowed.
pub fn life(seconds: Option<i64>) -> Result<i64, String> {
    match seconds {
        None => Ok(DEFAULT_SECONDS),
        Some(seconds) if (60..=MAX_SECONDS).contains(&seconds) => Ok(seconds),
        Some(_) => Err(format!("expires_in must be between 60 and {MAX_SECONDS} seconds (90 days)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(scope: &str) -> Option<String> {
        let authority = Authority::granted(scope.parse().unwrap(), "https://a.example".into(), Vec::new());
        first_undelegable(&authority).map(str::to_owned)
    }

    #[test]
    fn the_account_the_platform_and_refresh_tokens_are_not_delegated() {
        assert_eq!(first("openid profile invoices:read members:read"), None);
        for wrong in ["offline_access", "account", "platform.accounts:read", "organizations:administer"] {
            assert_eq!(first(&format!("openid {wrong}")), Some(wrong.to_owned()));
        }
    }

    #[test]
    fn a_delegation_lives_thirty_days_and_ninety_at_most() {
        assert_eq!(life(None), Ok(2_592_000));
        assert_eq!(life(Some(MAX_SECONDS)), Ok(7_776_000));
        for wrong in [-1, 0, 59, MAX_SECONDS + 1, i64::MAX] {
            assert!(life(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
