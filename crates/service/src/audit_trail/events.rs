//! All kinds of entries and their meaning. The documentation is generated from this table.

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
    OrganizationCreated = "organization.created", "The organization was created.";
    OrganizationChanged = "organization.changed", "The name, slug, policy or branding of the organization changed.";
    OrganizationSuspended = "organization.suspended", "The platform suspended the organization: no one can act for it until it is resumed.";
    OrganizationResumed = "organization.resumed", "The platform resumed the organization.";
    PlatformAdministered = "platform.administered", "A platform administrator used organizations:administer in the organization; the entry contains the reason.";
    MemberJoined = "member.joined", "A person or client became a member.";
    MemberProvisioned = "member.provisioned", "The organization's directory provisioned a member, whom no account has claimed yet.";
    MemberChanged = "member.changed", "A member's name, roles or attributes changed.";
    MemberDisabled = "member.disabled", "A member was disabled; the member's grants in the organization ended.";
    MemberEnabled = "member.enabled", "A member was enabled; ended grants stay ended.";
    MemberRemoved = "member.removed", "A member left or was removed; the member's grants in the organization ended.";
    MemberInvited = "member.invited", "A person was invited.";
    InvitationRevoked = "invitation.revoked", "An invitation was revoked.";
    RoleCreated = "role.created", "A role was created.";
    RoleChanged = "role.changed", "The name or permissions of a role changed.";
    RoleRemoved = "role.removed", "A role was deleted.";
    GroupCreated = "group.created", "The organization's directory created a group.";
    GroupChanged = "group.changed", "The name or members of a group changed.";
    GroupRemoved = "group.removed", "The organization's directory deleted a group.";
    GroupMapped = "group.mapped", "The role that members of a group have was set or removed.";
    ClientPolicyChanged = "client_policy.changed", "The policy for a client was set or deleted.";
    ApiKeyCreated = "api_key.created", "An API key was created.";
    ApiKeyUsedFirst = "api_key.used_first", "An API key was used for the first time.";
    ApiKeyRevoked = "api_key.revoked", "An API key was revoked.";
    GrantCreated = "grant.created", "A member granted a client access in the organization.";
    GrantRevoked = "grant.revoked", "A grant of a member to a client ended.";
    DelegationCreated = "delegation.created", "Authority in the organization was delegated to a client.";
    DelegationRevoked = "delegation.revoked", "A delegation was revoked; what was issued by it ended.";
    TokenExchanged = "token.exchanged", "A client exchanged a member's token for one of its own.";
    ApprovalRequested = "approval.requested", "A client asked a member to approve an action.";
    ApprovalDecided = "approval.decided", "A member approved, denied or reported a request of a client.";
    ApprovalRedeemed = "approval.redeemed", "A client redeemed an approval for its one token.";
    ApprovalClientBlocked = "approval.client_blocked", "A client may not ask a member for a day: it was denied too often, or reported.";
    ConnectionChanged = "connection.changed", "A connection to a directory of the organization was created, changed, disabled or deleted.";
    SignInRejected = "sso.rejected", "The directory vouched for a person whom the organization does not admit, or gave an ID token that is not accepted; the reason says what to change.";
    BreakGlassUsed = "break_glass.used", "The owner who may break the glass signed in with a passkey, not by the connection that the organization requires.";
    DomainAdded = "domain.added", "A domain was added; it counts for nothing before it is verified.";
    DomainVerified = "domain.verified", "The record that proves a domain was found. The organization's directory may vouch for addresses there.";
    DomainLapsed = "domain.lapsed", "The record of a verified domain was missing for seven days. The organization's directory vouches for no address there any more.";
    DomainTakenOver = "domain.taken_over", "Another organization verified a domain that had lapsed here.";
    DomainRemoved = "domain.removed", "A domain was removed.";
    AuthorizationServerAdded = "authorization_server.added", "A client may get assertions about members for another authorization server.";
    AuthorizationServerRemoved = "authorization_server.removed", "A client may not get assertions for an authorization server any more.";
    AssertionIssuerTrusted = "assertion_issuer.trusted", "A client may redeem another server's assertions about members.";
    AssertionIssuerRemoved = "assertion_issuer.removed", "An issuer of assertions is not trusted any more; tokens that were issued for its assertions ended.";
    ExternalIdentityLinked = "external_identity.linked", "A subject of another server was linked to a member.";
    ExternalIdentityRemoved = "external_identity.removed", "A subject of another server is not linked to a member any more; tokens that were issued by the link ended.";
    AssertionRedeemed = "assertion.redeemed", "A client redeemed another server's assertion about a member for a token.";
    AssertionIssued = "assertion.issued", "A client got an assertion about a member for another authorization server.";
    AuthorityRefused = "authority.refused", "A request was refused because it exceeds the caller's authority; the reference identifies the refusal.";
    ImpersonationStarted = "impersonation.started", "A platform administrator started to impersonate a member.";
    ImpersonationToken = "impersonation.token", "An access token was issued for an impersonation.";
    ImpersonationEnded = "impersonation.ended", "An impersonation ended or expired.";
}
