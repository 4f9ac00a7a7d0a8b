//! Every kind of security event, what it means, and what its payload holds. One table; the documentation is written
//! from it.

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

            /// Members of the payload, each present or absent, none other.
            pub const fn payload(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($member),*]),+ }
            }
        }
    };
}

events! {
    AccountCreated = "account.created", "A person registered.", ["platform_administrator"];
    AccountRecovered = "account.recovered", "A person regained access through recovery.", ["methods"];
    AccountRecoveryHeld = "account.recovery_held", "Recovery with nothing left was asked for; it waits.", ["until"];
    AccountRecoveryStopped = "account.recovery_stopped", "A waiting recovery was stopped.", [];
    AccountDisabled = "account.disabled", "The platform disabled an account; everything it had allowed or opened ended.", ["reason"];
    AccountEnabled = "account.enabled", "The platform enabled an account again; what had ended stays ended.", [];
    MembershipJoined = "membership.joined", "A person became a member of an organization.", ["organization_id", "membership_id", "role"];
    MembershipDisabled = "membership.disabled", "An organization disabled a member; what they had allowed there ended.", ["organization_id", "membership_id"];
    MembershipEnabled = "membership.enabled", "An organization enabled a member again.", ["organization_id", "membership_id"];
    MembershipRemoved = "membership.removed", "A person left an organization or was removed from it.", ["organization_id", "membership_id"];
    MembershipChanged = "membership.changed", "An organization changed a member's roles.", ["organization_id", "membership_id", "roles"];
    SignInSucceeded = "sign_in.succeeded", "A person signed in.", ["session_id", "methods", "level", "new_device"];
    ProofRefused = "proof.refused", "A proof was presented and refused.", ["method", "flow_id", "reason"];
    ProofLimited = "proof.limited", "An attempt was not looked at because of a limit.", ["action", "rule"];
    CredentialAdded = "credential.added", "A credential or address was added.", ["credential_id", "kind"];
    CredentialChanged = "credential.changed", "A credential was renamed or replaced.", ["credential_id", "kind"];
    CredentialRemoved = "credential.removed", "A credential or address was removed.", ["credential_id", "kind"];
    CredentialExhausted = "credential.exhausted", "A credential failed too often and must be bound again.", ["credential_id", "kind"];
    SessionRaised = "session.raised", "A session gained a proof and a new token.", ["session_id", "methods"];
    SessionEnded = "session.ended", "A session was ended.", ["session_id", "reason"];
    GrantIssued = "grant.issued", "A client was given a code for what a person allowed.", ["grant_id", "client_id", "audience", "scope", "consented", "device"];
    GrantRefused = "grant.refused", "A genuine code or token was presented by somebody who may not use it, or too late.", ["grant_id", "client_id", "generation"];
    GrantReused = "grant.reused", "A code or refresh token was presented a second time; the grant is revoked.", ["grant_id", "client_id", "generation", "current"];
    GrantRevoked = "grant.revoked", "A grant ended before its time; or a number of them, where very many ended together.", ["grant_id", "client_id", "reason", "number"];
    ConsentWithdrawn = "consent.withdrawn", "A person took back what they had allowed a client.", ["client_id"];
    ClientRegistered = "client.registered", "A client registered itself.", ["client_id"];
    ClientChanged = "client.changed", "A client replaced its registration; it is trusted like a new one.", ["client_id", "members"];
    ClientRemoved = "client.removed", "A client ended its registration.", ["client_id"];
    ClientExpired = "client.expired", "A self-registered client was not used for too long, and ended.", ["client_id"];
    OrganizationCreated = "organization.created", "An organization was made; the subject is its owner.", ["organization_id", "actor"];
    OrganizationSuspended = "organization.suspended", "The platform suspended an organization.", ["organization_id", "actor"];
    OrganizationResumed = "organization.resumed", "The platform resumed an organization.", ["organization_id", "actor"];
    AccountAdministered = "account.administered", "Somebody of the platform disabled or enabled an account, or ended its sessions.", ["action", "by"];
    ClientCreated = "client.created", "Somebody of the platform made a client.", ["client_id", "by"];
    ClientAdministered = "client.administered", "Somebody of the platform changed a client's trust, mode or branding, disabled it or enabled it.", ["client_id", "by", "before", "after"];
    ApiChanged = "api.changed", "Somebody of the platform registered an API or replaced what is said about it.", ["identifier", "by"];
    ApiRemoved = "api.removed", "Somebody of the platform removed an API.", ["identifier", "by"];
    ImpersonationStarted = "impersonation.started", "Somebody of the platform began to act as this person in an organization.", ["impersonation_id", "organization_id", "by"];
    ImpersonationEnded = "impersonation.ended", "They stopped before their time was up.", ["impersonation_id", "organization_id", "by"];
    ApiKeyCreated = "api_key.created", "A personal key or a platform key was made.", ["key_id", "kind", "organization_id", "reason"];
    ApiKeyUsedFirst = "api_key.used_first", "It was used for the first time.", ["key_id", "kind", "organization_id"];
    ApiKeyRevoked = "api_key.revoked", "It was revoked.", ["key_id", "kind", "organization_id", "reason"];
    PlatformAuthorityChanged = "platform.authority_changed", "What a person may do to the installation changed.", ["before", "after"];
    ConsoleCommand = "console.command", "A command that changes something was run on the machine; what came of it has entries of its own.", ["command", "target"];
    StuffingSuspected = "stuffing.suspected", "One address tried passwords for many people.", ["people"];
}
