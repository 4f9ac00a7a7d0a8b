//! The authority of a grant: scopes and authorization details at one API, for one organization or none. The type only
//! narrows (RFC 6749 §6, RFC 8707 §2.2, RFC 9396 §6): a request for more is refused, never reduced.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{error::ErrorCode, id::OrganizationId, scope::Scope};

/// Created once, when the grant is given; afterwards only [`Authority::narrowed`] and [`Authority::moved`] derive
/// from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Authority {
    scope: Scope,
    audience: String,
    /// The organization it is for; `None`: it carries no authority in an organization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    organization: Option<OrganizationId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    details: Vec<Value>,
}

/// What a token request asks for. Parameters that it omits stay as granted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    pub scope: Option<&'a Scope>,
    pub audience: Option<&'a str>,
    pub organization: Option<OrganizationId>,
    pub details: Option<&'a [Value]>,
}

/// Another registered API: the API it accepts authority from, and its scopes.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub audience: &'a str,
    /// The API whose tokens it accepts.
    pub from: &'a str,
    pub maps: &'a [ScopeMap<'a>],
}

/// A scope of the target, and held scopes of which any one suffices. Names are compared as they are: a held wildcard
/// covers its permissions (decision record 0078); a wildcard of the target must be requested by name.
#[derive(Debug, Clone, Copy)]
pub struct ScopeMap<'a> {
    pub to: &'a str,
    pub from: &'a [&'a str],
}

/// The request asks for more than the grant holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Widening {
    #[error("scope exceeds what was granted")]
    Scope,
    #[error("resource is not the granted one")]
    Audience,
    #[error("organization is not the granted one")]
    Organization,
    #[error("authorization_details exceed what was granted")]
    Details,
}

impl Widening {
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::Scope => ErrorCode::InvalidScope,
            Self::Audience | Self::Organization => ErrorCode::InvalidTarget,
            Self::Details => ErrorCode::InvalidAuthorizationDetails,
        }
    }
}

impl Authority {
    #[must_use]
    pub const fn granted(scope: Scope, audience: String, details: Vec<Value>) -> Self {
        Self { scope, audience, organization: None, details }
    }

    /// The same authority for one organization. Called once, when the grant is given.
    #[must_use]
    pub const fn acting_for(mut self, organization: OrganizationId) -> Self {
        self.organization = Some(organization);
        self
    }

    #[must_use]
    pub const fn organization(&self) -> Option<OrganizationId> {
        self.organization
    }

    #[must_use]
    pub const fn scope(&self) -> &Scope {
        &self.scope
    }

    #[must_use]
    pub fn audience(&self) -> &str {
        &self.audience
    }

    #[must_use]
    pub fn details(&self) -> &[Value] {
        &self.details
    }

    /// The requested authority, or a refusal. Only the type of a detail can compare two details:
    /// `narrows(held, asked)`.
    ///
    /// # Errors
    /// When the request goes beyond the grant.
    pub fn narrowed(
        &self,
        asked: Asked<'_>,
        narrows: impl Fn(&[Value], &[Value]) -> bool,
    ) -> Result<Self, Widening> {
        if asked.audience.is_some_and(|audience| audience != self.audience) {
            return Err(Widening::Audience);
        }
        if asked.organization.is_some_and(|organization| Some(organization) != self.organization) {
            return Err(Widening::Organization);
        }
        if asked.scope.is_some_and(|scope| !self.scope.covers_all(scope)) {
            return Err(Widening::Scope);
        }
        if asked.details.is_some_and(|details| !narrows(&self.details, details)) {
            return Err(Widening::Details);
        }
        Ok(Self {
            scope: asked.scope.unwrap_or(&self.scope).clone(),
            audience: self.audience.clone(),
            organization: self.organization,
            details: asked.details.map_or_else(|| self.details.clone(), <[Value]>::to_vec),
        })
    }

    /// The same authority at another API (RFC 8693 §2.1): exactly the requested scopes, each of which the API maps
    /// from a held one. Organization and person stay; details are not moved, since only the API they were granted for
    /// can interpret them.
    ///
    /// # Errors
    /// When the API accepts nothing from this one, or a requested scope is not mapped from a held one.
    pub fn moved(&self, target: Target<'_>, scope: &Scope) -> Result<Self, Widening> {
        let maps = |asked: &str| {
            let sources = target.maps.iter().filter(|map| map.to == asked);
            sources.flat_map(|map| map.from.iter()).any(|from| self.scope.covers(from))
        };
        if target.from != self.audience || target.audience == self.audience {
            return Err(Widening::Audience);
        }
        if scope.is_empty() || !scope.iter().all(maps) {
            return Err(Widening::Scope);
        }
        Ok(Self {
            scope: scope.clone(),
            audience: target.audience.to_owned(),
            organization: self.organization,
            details: Vec::new(),
        })
    }

    /// Whether this allows nothing beyond `other`.
    #[must_use]
    pub fn is_within(&self, other: &Self, narrows: impl Fn(&[Value], &[Value]) -> bool) -> bool {
        self.audience == other.audience
            && self.organization == other.organization
            && other.scope.covers_all(&self.scope)
            && narrows(&other.details, &self.details)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::permission::{Held, Permission};

    fn same(held: &[Value], asked: &[Value]) -> bool {
        asked.iter().all(|one| held.contains(one))
    }

    fn scope() -> impl Strategy<Value = Scope> {
        let token = "([a-c]|(a|members):(read|impersonate|\\*))";
        prop::collection::vec(token, 0..5).prop_map(|words| words.join(" ").parse().unwrap())
    }

    fn name() -> impl Strategy<Value = String> {
        "([a-c]|(a|members):(read|impersonate|\\*))"
    }

    /// What a scope allows at APIs whose scopes are permissions.
    fn allowed(scope: &Scope) -> (Held, Vec<&str>) {
        let permission = |token: &&str| Permission::parse(token).is_ok();
        let held = Held::of(scope.iter().filter_map(|token| Permission::parse(token).ok()));
        (held, scope.iter().filter(|token| !permission(token)).collect())
    }

    fn details() -> impl Strategy<Value = Vec<Value>> {
        prop::collection::vec((0..4i32).prop_map(Value::from), 0..3)
    }

    proptest! {
        #[test]
        fn p1_a_token_is_within_what_was_granted_and_p2_exactly_what_was_asked(
            held in scope(), asked in prop::option::of(scope()),
            held_details in details(), asked_details in prop::option::of(details()),
            audience in prop::option::of("[ab]"),
        ) {
            let held = Authority::granted(held, "a".into(), held_details);
            let request = Asked { scope: asked.as_ref(), audience: audience.as_deref(), details: asked_details.as_deref(), organization: None };
            if let Ok(narrowed) = held.narrowed(request, same) {
                prop_assert!(narrowed.is_within(&held, same));
                if let Some(asked) = &asked {
                    prop_assert_eq!(narrowed.scope(), asked);
                }
                if let Some(asked) = &asked_details {
                    prop_assert_eq!(narrowed.details(), asked.as_slice());
                }
            }
        }

        #[test]
        fn no_wildcard_makes_more_of_what_was_granted(held in scope(), asked in scope()) {
            let granted = Authority::granted(held, "a".into(), Vec::new());
            if let Ok(narrowed) = granted.narrowed(Asked { scope: Some(&asked), ..Asked::default() }, same) {
                let ((before, words), (after, fewer)) = (allowed(granted.scope()), allowed(narrowed.scope()));
                prop_assert!(before.covers_all(&after));
                prop_assert!(fewer.iter().all(|word| words.contains(word)));
            }
        }

        #[test]
        fn p3_whatever_asks_for_less_is_accepted_too(held in scope(), asked in scope(), fewer in 0..5usize) {
            let held = Authority::granted(held, "a".into(), Vec::new());
            let less: Scope = asked.iter().take(fewer).collect::<Vec<_>>().join(" ").parse().unwrap();
            let ask = |scope| held.narrowed(Asked { scope: Some(scope), ..Asked::default() }, same).is_ok();
            prop_assert!(!ask(&asked) || ask(&less));
        }

        #[test]
        fn no_narrowing_moves_to_another_organization(
            granted in prop::option::of(0..3u128), asked in prop::option::of(0..3u128), scope in scope(),
        ) {
            let id = |number: u128| OrganizationId::from(uuid::Uuid::from_u128(number));
            let plain = Authority::granted(scope, "a".into(), Vec::new());
            let held = granted.map_or(plain.clone(), |number| plain.acting_for(id(number)));
            let narrowed = held.narrowed(Asked { organization: asked.map(id), ..Asked::default() }, same);
            prop_assert_eq!(narrowed.is_ok(), asked.is_none() || asked == granted);
            if let Ok(narrowed) = narrowed {
                prop_assert_eq!(narrowed.organization(), granted.map(id));
            }
        }

        #[test]
        fn moving_never_widens(
            held in scope(), asked in scope(), details in details(), organization in prop::option::of(0..3u128),
            maps in prop::collection::vec((name(), prop::collection::vec(name(), 0..3)), 0..4),
            from in "[ab]", audience in "[abc]", fewer in 0..5usize,
        ) {
            let id = |number: u128| OrganizationId::from(uuid::Uuid::from_u128(number));
            let plain = Authority::granted(held, "a".into(), details);
            let held = organization.map_or(plain.clone(), |number| plain.acting_for(id(number)));
            let sources: Vec<(&str, Vec<&str>)> =
                maps.iter().map(|(to, from)| (to.as_str(), from.iter().map(String::as_str).collect())).collect();
            let maps: Vec<ScopeMap<'_>> = sources.iter().map(|(to, from)| ScopeMap { to, from }).collect();
            let target = Target { audience: &audience, from: &from, maps: &maps };
            let Ok(moved) = held.moved(target, &asked) else { return Ok(()) };
            // Exactly the requested scopes, at the target, for the same organization, without details.
            prop_assert_eq!(moved.scope(), &asked);
            prop_assert_eq!((moved.audience(), from.as_str()), (audience.as_str(), held.audience()));
            prop_assert_ne!(moved.audience(), held.audience());
            prop_assert_eq!(moved.organization(), held.organization());
            prop_assert!(moved.details().is_empty());
            // Each scope depends on a held one: without that one it is refused.
            for token in moved.scope().iter() {
                let grounds = maps.iter().filter(|map| map.to == token).flat_map(|map| map.from.iter());
                prop_assert!(grounds.clone().any(|from| held.scope().covers(from)));
            }
            // With fewer held scopes no more is moved. Fewer requested scopes are moved too.
            let less: Scope = held.scope().iter().take(fewer).collect::<Vec<_>>().join(" ").parse().unwrap();
            let narrower = held.narrowed(Asked { scope: Some(&less), ..Asked::default() }, |_, _| true).unwrap();
            if let Ok(again) = narrower.moved(target, &asked) {
                prop_assert!(again.is_within(&moved, same));
            }
            let part: Scope = asked.iter().take(fewer.max(1)).collect::<Vec<_>>().join(" ").parse().unwrap();
            prop_assert!(held.moved(target, &part).is_ok_and(|part| part.is_within(&moved, same)));
        }

        #[test]
        fn narrowing_twice_is_narrowing(a in scope(), b in scope(), c in scope()) {
            let first = Authority::granted(a, "a".into(), Vec::new());
            let ask = |from: &Authority, scope| from.narrowed(Asked { scope: Some(scope), ..Asked::default() }, same);
            if let Ok(second) = ask(&first, &b) && let Ok(third) = ask(&second, &c) {
                prop_assert!(third.is_within(&first, same));
                prop_assert!(ask(&first, &c).is_ok());
            }
        }
    }
}
