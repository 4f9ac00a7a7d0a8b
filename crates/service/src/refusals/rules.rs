//! All rules by which authority is refused, with a sentence each. The documentation is generated from this table.

macro_rules! rules {
    ($($variant:ident = $name:literal, $sentence:literal;)+) => {
        /// Why authority was refused.
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
                    other => Err(format!("'{other}' is not a rule")),
                }
            }
        }
    };
}

rules! {
    CredentialLacksPermission = "credential_lacks_permission", "The token or key does not carry the required permission.";
    PermissionNotHeld = "permission_not_held", "The caller does not hold all requested permissions through any role.";
    KeyExceedsOwner = "key_exceeds_owner", "The key has permissions that its owner no longer holds; it is refused until the owner holds all of them again.";
    OtherPlace = "other_place", "The credential belongs to another organization, or to the platform instead of an organization, or the reverse.";
    ReadOnlyForActing = "read_only_for_acting", "A token of someone who acts for a member, an impersonator or an agent, has read-only access to the management API.";
    DirectoryAlone = "directory_alone", "Only the organization's directory vouches for the caller, and what they ask for would outlast its word: keys, invitations, connections, trusts, domains, delegations, a role that raises, or how members must sign in.";
    NotAMember = "not_a_member", "The caller is not a member of the organization.";
    MemberDisabled = "member_disabled", "The membership is disabled or was removed.";
    OrganizationSuspended = "organization_suspended", "The organization is suspended: no one can act for it.";
    OrganizationNeeded = "organization_needed", "The requested permissions exist only in an organization, and the request names none.";
    OrganizationNotForClient = "organization_not_for_client", "The client does not act for organizations, or only for another one.";
    ClientNotAllowed = "client_not_allowed", "The organization does not allow this client.";
    AssuranceTooLow = "assurance_too_low", "The organization or the API requires a higher level or a more recent authentication.";
    ScopeNotForClient = "scope_not_for_client", "The client may not request this scope: it did not register the scope, or its trust is too low.";
    ScopeWidened = "scope_widened", "The requested scope exceeds the granted scope.";
    AudienceWidened = "audience_widened", "The requested API is not the granted one.";
    OrganizationSwitched = "organization_switched", "The requested organization is not the granted one.";
    DetailsWidened = "details_widened", "The requested authorization details exceed the granted ones.";
    NotDelegated = "not_delegated", "No delegation to this client covers the requested authority.";
    AgentsFrozen = "agents_frozen", "The organization has frozen its agents: no client may act for a member.";
    NotRedelegable = "not_redelegable", "The delegation by which the token was issued does not allow another client to act.";
    ChainTooLong = "chain_too_long", "The token has passed through as many clients as it may.";
    ExchangeOfActing = "exchange_of_acting", "An impersonation token cannot be exchanged.";
    ServerNotRegistered = "server_not_registered", "The organization did not register this authorization server, or this resource of it, for the client.";
    AssertionWidened = "assertion_widened", "The requested scope exceeds what the organization registered for this authorization server.";
    SubjectNotLinked = "subject_not_linked", "No member is linked to this issuer and subject: an administrator links them, and an equal address is not enough.";
    NotAPermission = "not_a_permission", "An assertion gives permissions in an organization; other scopes are the person's own.";
    AgentOnPlatform = "agent_on_platform", "An agent cannot use platform permissions; only the administrator can, without an agent.";
    ImpersonationByKey = "impersonation_by_key", "Only a person can impersonate a member; an API key cannot.";
    ImpersonationNotHeld = "impersonation_not_held", "Impersonation requires the permission members:impersonate, given by name.";
    ImpersonationOfPlatform = "impersonation_of_platform", "A person with platform permissions cannot be impersonated.";
    ImpersonationOfOwner = "impersonation_of_owner", "An owner, or a member who holds permissions that only owners hold, cannot be impersonated.";
    ImpersonationOfReserved = "impersonation_of_reserved", "A member who holds a reserved permission cannot be impersonated.";
    ImpersonationScope = "impersonation_scope", "An impersonation can only request permissions that the member holds and scopes about the member's identity.";
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
