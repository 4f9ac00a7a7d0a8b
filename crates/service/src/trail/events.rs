//! Every kind of entry and what it means. One table; the documentation is written from it.

macro_rules! kinds {
    ($($variant:ident = $name:literal, $meaning:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum TrailKind { $($variant),+ }

        impl TrailKind {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning),+ }
            }
        }
    };
}

kinds! {
    OrganizationCreated = "organization.created", "The organization was made.";
    OrganizationChanged = "organization.changed", "Its name, slug, policy or branding changed.";
    OrganizationSuspended = "organization.suspended", "The platform suspended it: nobody acts for it until it is resumed.";
    OrganizationResumed = "organization.resumed", "The platform resumed it.";
    PlatformAdministered = "platform.administered", "Somebody of the platform used organizations:administer here; the reason says why.";
    MemberJoined = "member.joined", "Somebody became a member.";
    MemberChanged = "member.changed", "A member's name or roles changed.";
    MemberDisabled = "member.disabled", "A member was disabled; everything they had allowed here ended.";
    MemberEnabled = "member.enabled", "A member was enabled again; what had ended stays ended.";
    MemberRemoved = "member.removed", "A member left or was removed; everything they had allowed here ended.";
    MemberInvited = "member.invited", "Somebody was invited.";
    InvitationRevoked = "invitation.revoked", "An invitation was taken back.";
    RoleCreated = "role.created", "A role was made.";
    RoleChanged = "role.changed", "What a role permits changed.";
    RoleRemoved = "role.removed", "A role was removed.";
    ClientPolicyChanged = "client_policy.changed", "A client was allowed, blocked, or neither any more.";
    ApiKeyCreated = "api_key.created", "An API key was made.";
    ApiKeyUsedFirst = "api_key.used_first", "An API key was used for the first time.";
    ApiKeyRevoked = "api_key.revoked", "An API key was revoked.";
    GrantCreated = "grant.created", "A member allowed a client to act for them here.";
    GrantRevoked = "grant.revoked", "What a member had allowed a client here ended.";
    AuthorityRefused = "authority.refused", "Somebody asked for more than they hold here; the reference explains it.";
    ImpersonationStarted = "impersonation.started", "Somebody of the platform began to act as a member.";
    ImpersonationToken = "impersonation.token", "A token was made for them.";
    ImpersonationEnded = "impersonation.ended", "They stopped, or their time was up.";
}
