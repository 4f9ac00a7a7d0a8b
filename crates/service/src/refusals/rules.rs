//! Every rule by which authority is refused, in one sentence each. One table; the documentation is written from it.

macro_rules! rules {
    ($($variant:ident = $name:literal, $sentence:literal;)+) => {
        /// Why authority was refused. A closed list.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Rule { $($variant),+ }

        impl Rule {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence),+ }
            }
        }

        impl std::str::FromStr for Rule {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    other => Err(format!("'{other}' is no rule")),
                }
            }
        }
    };
}

rules! {
    CredentialLacksPermission = "credential_lacks_permission", "The token or key does not carry the permission that was needed.";
    PermissionNotHeld = "permission_not_held", "Whoever asked does not hold all of it, by any role they have.";
    KeyExceedsOwner = "key_exceeds_owner", "The key says more than its owner holds now; it does nothing until all of it is held again.";
    OtherPlace = "other_place", "The credential is good in another place: an organization's in its own, the platform's at the platform.";
    ReadOnlyForActing = "read_only_for_acting", "A token with which somebody acts as a member only reads at the management API.";
    NotAMember = "not_a_member", "There is no membership in that organization for whoever asked.";
    MemberDisabled = "member_disabled", "The membership is disabled or was removed.";
    OrganizationSuspended = "organization_suspended", "The organization is suspended: nobody acts for it.";
    OrganizationNeeded = "organization_needed", "Permissions exist only in an organization, and none was named.";
    OrganizationNotForClient = "organization_not_for_client", "The client speaks for no organization, or for another one alone.";
    ClientNotAllowed = "client_not_allowed", "The organization does not let this client act for it.";
    AssuranceTooLow = "assurance_too_low", "The organization or the API asks for a stronger or more recent proof of who it is.";
    ScopeNotForClient = "scope_not_for_client", "The client may not ask for this: it did not register it, or is not trusted enough.";
    ScopeWidened = "scope_widened", "More scope was asked for than had been granted.";
    AudienceWidened = "audience_widened", "Another API was asked for than the one that had been granted.";
    OrganizationSwitched = "organization_switched", "Another organization was asked for than the one that had been granted.";
    DetailsWidened = "details_widened", "The authorization details ask for more than had been granted.";
    ImpersonationByKey = "impersonation_by_key", "Only a person acts as a member, never a key.";
    ImpersonationNotHeld = "impersonation_not_held", "Acting as a member needs members:impersonate, given by name.";
    ImpersonationOfPlatform = "impersonation_of_platform", "Nobody acts as somebody who may do anything to the installation.";
    ImpersonationOfOwner = "impersonation_of_owner", "Nobody acts as an owner, or as somebody who holds what only owners hold.";
    ImpersonationOfReserved = "impersonation_of_reserved", "Nobody acts as somebody who holds a reserved permission.";
    ImpersonationScope = "impersonation_scope", "While acting as a member only permissions they hold and who they are can be asked for.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own_and_a_sentence() {
        for rule in Rule::ALL {
            assert_eq!(rule.as_str().parse(), Ok(*rule));
            assert!(rule.sentence().ends_with('.') && rule.sentence().matches(". ").count() == 0);
        }
    }
}
