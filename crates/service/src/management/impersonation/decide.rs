//! Decides who may impersonate which member, and with which scopes. Pure.
//!
//! Impersonation never raises authority: `members:impersonate` gives at most what an administrator of an organization
//! may do. So a platform administrator, an owner and a holder of reserved permissions cannot be impersonated, and no
//! token carries more than the member holds.

use porteiro_protocol::{
    permission::{Held, Permission, RESERVED},
    scope::Scope,
};

use crate::{impersonation::holds_permission, members::Unusable, permissions::OWNER, refusals::Rule};

/// Standard scopes that only identify the person.
const WHO: &[&str] = &["openid", "profile", "email", "phone"];

/// The platform administrator who wants to impersonate.
#[derive(Debug)]
pub struct Impersonator<'a> {
    /// Whether it is a person with a token; a key cannot impersonate.
    pub is_person: bool,
    /// The permissions held on the platform.
    pub held: &'a Held,
}

/// The impersonated member.
#[derive(Debug)]
pub struct Target<'a> {
    /// The permissions held in the organization, if the membership is usable.
    pub held: Result<&'a Held, Unusable>,
    pub roles: &'a [String],
    /// A client's membership cannot be impersonated: there is no person to notify.
    pub is_person: bool,
    /// The permissions held on the platform.
    pub platform: &'a Held,
    pub platform_administrator: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The membership cannot be used now.
    Unusable(Unusable),
    /// The member is a client.
    NotAPerson,
    Rule(Rule),
}

/// Whether this person may impersonate this member.
///
/// # Errors
/// The rule that forbids it.
pub fn may_act(who: &Impersonator<'_>, whom: &Target<'_>) -> Result<(), Refused> {
    let refuse = |rule| Err(Refused::Rule(rule));
    if !who.is_person {
        return refuse(Rule::ImpersonationByKey);
    }
    if !holds_permission(who.held) {
        return refuse(Rule::ImpersonationNotHeld);
    }
    if !whom.is_person {
        return Err(Refused::NotAPerson);
    }
    let held = whom.held.map_err(Refused::Unusable)?;
    if whom.platform_administrator || *whom.platform != Held::nothing() {
        return refuse(Rule::ImpersonationOfPlatform);
    }
    if held.is_everything() || whom.roles.iter().any(|role| role == OWNER) {
        return refuse(Rule::ImpersonationOfOwner);
    }
    let holds = |text: &str| Permission::parse(text).is_ok_and(|permission| held.covers(&permission));
    if RESERVED.iter().any(|text| holds(text)) {
        return refuse(Rule::ImpersonationOfReserved);
    }
    Ok(())
}

/// Whether a token for the member may carry `scope`. `permissions`: those of its scopes that are permissions; `held`:
/// what the member holds.
///
/// # Errors
/// When a scope is neither held nor one that identifies the person.
pub fn may_carry(scope: &Scope, permissions: &[Permission], held: &Held) -> Result<(), Rule> {
    let fits = |name: &str| {
        WHO.contains(&name)
            || permissions.iter().any(|permission| permission.as_str() == name && held.covers(permission))
    };
    if !scope.is_empty() && scope.iter().all(fits) { Ok(()) } else { Err(Rule::ImpersonationScope) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMES: &[&str] = &[
        "members:read",
        "members:*",
        "members:impersonate",
        "organizations:*",
        "organizations:administer",
        "invoices:write",
        "platform.log:read",
    ];

    fn held() -> impl Strategy<Value = Held> {
        (prop::collection::vec(prop::sample::select(NAMES), 0..4), prop::bool::weighted(0.1)).prop_map(
            |(names, everything)| {
                let named = Held::of(names.iter().map(|name| name.parse().unwrap()));
                if everything { named.and(Held::everything()) } else { named }
            },
        )
    }

    fn unusable() -> impl Strategy<Value = Option<Unusable>> {
        prop::sample::select(vec![
            None,
            None,
            None,
            Some(Unusable::Suspended),
            Some(Unusable::Unclaimed),
            Some(Unusable::Disabled),
            Some(Unusable::Removed),
        ])
    }

    fn names(held: &Held) -> Vec<&str> {
        held.named().map(Permission::as_str).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn nobody_acts_as_somebody_above(
            who in held(), is_person in prop::bool::weighted(0.9), target in held(), state in unusable(),
            platform in held(), owner in prop::bool::weighted(0.2), person in prop::bool::weighted(0.9),
            administrator in prop::bool::weighted(0.1),
        ) {
            let roles = if owner { vec!["owner".to_owned()] } else { vec!["admin".to_owned()] };
            let whom = Target {
                held: state.map_or(Ok(&target), Err), roles: &roles, is_person: person, platform: &platform,
                platform_administrator: administrator,
            };
            let may = may_act(&Impersonator { is_person, held: &who }, &whom).is_ok();
            // The rule again, as it is documented.
            let by_name = names(&who).contains(&"members:impersonate");
            let above = owner || target.is_everything() || administrator
                || names(&target).iter().any(|name| RESERVED.contains(name))
                || platform.is_everything() || !names(&platform).is_empty();
            prop_assert_eq!(may, is_person && by_name && person && state.is_none() && !above);
        }

        #[test]
        fn giving_the_target_more_or_the_actor_less_never_opens_it(
            who in held(), target in held(), platform in held(), more in held(), where_to in 0..3u8,
        ) {
            let roles = ["member".to_owned()];
            let may = |who: &Held, target: &Held, platform: &Held| {
                let whom = Target {
                    held: Ok(target), roles: &roles, is_person: true, platform, platform_administrator: false,
                };
                may_act(&Impersonator { is_person: true, held: who }, &whom).is_ok()
            };
            let before = may(&who, &target, &platform);
            let after = match where_to {
                0 => may(&who, &target.clone().and(more), &platform),
                1 => may(&who, &target, &platform.clone().and(more)),
                _ => may(&Held::nothing(), &target, &platform),
            };
            prop_assert!(before || !after);
        }

        #[test]
        fn a_token_carries_only_what_the_member_holds(
            target in held(), asked in prop::collection::vec(
                prop::sample::select(vec!["openid", "account", "offline_access", "members:read", "members:write",
                    "members:*", "members:impersonate", "invoices:write", "invoices:read"]), 0..4),
        ) {
            let scope: Scope = asked.join(" ").parse().unwrap();
            let permissions: Vec<Permission> =
                asked.iter().filter_map(|name| Permission::parse(name).ok()).collect();
            if may_carry(&scope, &permissions, &target).is_ok() {
                prop_assert!(!asked.is_empty());
                for name in asked {
                    let held = Permission::parse(name).is_ok_and(|permission| target.covers(&permission));
                    prop_assert!(name == "openid" || held, "{name}");
                }
            }
        }
    }
}
