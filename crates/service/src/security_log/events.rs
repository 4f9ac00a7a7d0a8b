//! All kinds of security events, their meaning and the members of their payload. The documentation is generated from
//! this table.

macro_rules! events {
    ($($variant:ident = $name:literal, $meaning:literal, [$($member:literal),*];)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum EventKind { $($variant),+ }

        impl EventKind {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning),+ }
            }

            /// The members of the payload; each may be absent, and there are no others.
            pub const fn payload(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($member),*]),+ }
            }
        }
    };
}

events! {
    AccountCreated = "account.created", "A person registered.", ["platform_administrator"];
    AccountRecovered = "account.recovered", "A person regained access through recovery.", ["methods"];
    AccountRecoveryHeld = "account.recovery_held", "A recovery without any remaining factor was requested, by the person or for them by the platform; it is on hold.", ["until", "by"];
    AccountRecoveryStopped = "account.recovery_stopped", "A pending recovery was cancelled.", [];
    AccountChanged = "account.changed", "A person changed the name or the language of their account.", ["members"];
    AccountExported = "account.exported", "A person exported what is stored about them.", ["session_id"];
    AccountDeletionRequested = "account.deletion_requested", "A person asked for their account to be deleted; its sessions and grants ended.", ["at"];
    AccountDeletionCancelled = "account.deletion_cancelled", "A person kept the account that was to be deleted.", [];
    AccountDeleted = "account.deleted", "An account was deleted, with everything a person can be known by.", [];
    AccountDisabled = "account.disabled", "The platform disabled an account; its sessions and grants ended.", ["by"];
    AccountEnabled = "account.enabled", "The platform enabled an account; ended sessions and grants stay ended.", ["by"];
    MembershipJoined = "membership.joined", "A person became a member of an organization.", ["organization_id", "membership_id", "role"];
    MembershipDisabled = "membership.disabled", "An organization disabled a member; the member's grants there ended.", ["organization_id", "membership_id"];
    MembershipEnabled = "membership.enabled", "An organization enabled a member.", ["organization_id", "membership_id"];
    MembershipRemoved = "membership.removed", "A person left an organization or was removed from it.", ["organization_id", "membership_id"];
    MembershipChanged = "membership.changed", "An organization changed a member's roles.", ["organization_id", "membership_id", "roles"];
    SignInSucceeded = "sign_in.succeeded", "A person signed in; with an organization, to that one alone.", ["session_id", "methods", "level", "new_device", "organization_id"];
    BreakGlassUsed = "break_glass.used", "An owner signed in to an organization with a passkey, not by the connection that it requires.", ["organization_id", "membership_id", "client_id", "session_id"];
    ProofRefused = "proof.refused", "A proof was presented and refused.", ["method", "flow_id", "reason"];
    ProofLimited = "proof.limited", "An attempt was refused because of a limit.", ["action", "rule"];
    CredentialAdded = "credential.added", "A credential or address was added.", ["credential_id", "kind"];
    CredentialChanged = "credential.changed", "A credential was renamed or replaced.", ["credential_id", "kind"];
    CredentialRemoved = "credential.removed", "A credential or address was removed.", ["credential_id", "kind"];
    CredentialExhausted = "credential.exhausted", "A credential failed too often and must be enrolled again.", ["credential_id", "kind"];
    SessionRaised = "session.raised", "A session received a new proof and a new token.", ["session_id", "methods", "organization_id"];
    SessionEnded = "session.ended", "A session ended.", ["session_id", "reason"];
    GrantIssued = "grant.issued", "A grant was issued to a client.", ["grant_id", "client_id", "audience", "scope", "consented", "device"];
    GrantRefused = "grant.refused", "A genuine code or token was presented too late, or by a client that may not use it.", ["grant_id", "client_id", "generation"];
    GrantReused = "grant.reused", "A code or refresh token was reused; its grant was revoked.", ["grant_id", "client_id", "generation", "current"];
    GrantRevoked = "grant.revoked", "A grant was revoked, or a number of grants that ended together.", ["grant_id", "client_id", "reason", "number"];
    DelegationCreated = "delegation.created", "A person delegated authority to a client.", ["delegation_id", "client_id", "audience", "scope", "source", "redelegable"];
    DelegationRevoked = "delegation.revoked", "A delegation was revoked; what was issued by it ended.", ["delegation_id", "client_id", "reason"];
    TokenExchanged = "token.exchanged", "A client exchanged a token of this person for one of its own.", ["grant_id", "from_grant_id", "client_id", "audience", "scope", "act", "delegation_id"];
    AssertionIssued = "assertion.issued", "A client got an assertion about this person for another authorization server.", ["grant_id", "client_id", "audience", "resource", "scope", "jti"];
    AssertionRedeemed = "assertion.redeemed", "A client redeemed another server's assertion about this person for a token.", ["grant_id", "client_id", "issuer", "identity_id", "audience", "scope", "act"];
    ExternalIdentityLinked = "external_identity.linked", "An organization linked a subject of another server to this person.", ["identity_id", "issuer", "organization"];
    ExternalIdentityRemoved = "external_identity.removed", "A link of this person to a subject of another server was removed.", ["identity_id", "issuer", "organization"];
    ApprovalRequested = "approval.requested", "A client asked this person to approve an action.", ["approval_id", "client_id", "audience", "scope", "digest"];
    ApprovalDecided = "approval.decided", "A person approved, denied or reported a request of a client.", ["approval_id", "client_id", "state"];
    ApprovalRedeemed = "approval.redeemed", "A client redeemed an approval for its one token.", ["approval_id", "grant_id", "client_id", "audience", "scope", "digest"];
    ApprovalClientBlocked = "approval.client_blocked", "A client may not ask this person for a day: it was denied too often, or reported.", ["client_id", "reason", "until"];
    ConsentWithdrawn = "consent.withdrawn", "A person revoked their grants to a client.", ["client_id"];
    ClientRegistered = "client.registered", "A client registered itself.", ["client_id"];
    ClientChanged = "client.changed", "A client replaced its registration; its trust is that of a new client.", ["client_id", "members"];
    ClientRemoved = "client.removed", "A client deleted its registration.", ["client_id"];
    ClientExpired = "client.expired", "A self-registered client was deleted because it was unused for too long.", ["client_id"];
    OrganizationCreated = "organization.created", "An organization was created; the subject is its owner.", ["organization_id", "actor"];
    OrganizationSuspended = "organization.suspended", "The platform suspended an organization.", ["organization_id", "actor"];
    OrganizationResumed = "organization.resumed", "The platform resumed an organization.", ["organization_id", "actor"];
    AccountAdministered = "account.administered", "A platform administrator disabled or enabled an account, ended its sessions or started its recovery. The reason stands apart and is erased with the person.", ["action", "by"];
    ClientCreated = "client.created", "A platform administrator created a client.", ["client_id", "by"];
    ClientAdministered = "client.administered", "A platform administrator changed the trust, mode, metadata or branding of a client, or disabled or enabled it.", ["client_id", "by", "before", "after", "members"];
    ClientSecretRotated = "client.secret_rotated", "A platform administrator replaced the secret of a client.", ["client_id", "by"];
    ApiChanged = "api.changed", "A platform administrator registered an API or replaced its definition.", ["identifier", "by"];
    ApiRemoved = "api.removed", "A platform administrator deleted an API.", ["identifier", "by"];
    ConnectionChanged = "connection.changed", "A platform administrator created, changed or disabled a connection to another provider.", ["connection_id", "issuer", "enabled", "by"];
    ImpersonationStarted = "impersonation.started", "A platform administrator started to impersonate this person in an organization.", ["impersonation_id", "organization_id", "by"];
    ImpersonationEnded = "impersonation.ended", "A platform administrator ended the impersonation before it expired.", ["impersonation_id", "organization_id", "by"];
    ApiKeyCreated = "api_key.created", "A personal or platform API key was created.", ["key_id", "kind", "organization_id", "reason"];
    ApiKeyUsedFirst = "api_key.used_first", "A personal or platform API key was used for the first time.", ["key_id", "kind", "organization_id"];
    ApiKeyRevoked = "api_key.revoked", "A personal or platform API key was revoked.", ["key_id", "kind", "organization_id", "reason"];
    PlatformAuthorityChanged = "platform.authority_changed", "The platform permissions of an account changed.", ["before", "after"];
    ConsoleCommand = "console.command", "An operator ran a command that changes data; the changes have their own entries.", ["command", "target"];
    StuffingSuspected = "stuffing.suspected", "One network address tried passwords for many accounts.", ["people"];
}
