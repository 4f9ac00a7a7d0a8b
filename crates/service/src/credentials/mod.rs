//! Every way a person can prove who they are. One folder per kind, one row per kind in [`KINDS`].

mod challenges;
pub mod email;
pub mod hashing;
pub mod passkey;
pub mod password;
pub mod recovery_code;
pub mod sms;
mod step;
mod store;
pub mod totp;

use porteiro_protocol::assurance::Method;

pub use challenges::{
    Challenge, NewChallenge, Purpose, consume_challenge, drop_challenges, find_challenges, replace_challenge,
};
pub use step::{Effect, Letter, Occasion, Once, Pending, Step, Stopped, failed, refused, text};
pub use store::{
    Credential, CredentialKind, CredentialState, NewCredential, advance_counter, count_failure, find_all,
    insert, remove, rename, replace_body, used,
};

/// What the engine, the limits and the documentation need to know of a kind.
#[derive(Debug)]
pub struct KindInfo {
    pub kind: CredentialKind,
    /// What a verification of it proves.
    pub method: Method,
    /// Failures in a row after which it must be bound again (NIST SP 800-63B-4 §3.2.2 allows 100 at most).
    pub max_failures: Option<i32>,
    /// Whether the account keeps at most one.
    pub single: bool,
}

/// Every kind there is.
pub const KINDS: &[KindInfo] = &[
    KindInfo { kind: CredentialKind::Passkey, method: Method::Passkey, max_failures: None, single: false },
    KindInfo {
        kind: CredentialKind::Password,
        method: Method::Password,
        max_failures: Some(50),
        single: true,
    },
    KindInfo { kind: CredentialKind::Totp, method: Method::Totp, max_failures: Some(30), single: true },
    KindInfo {
        kind: CredentialKind::RecoveryCodes,
        method: Method::RecoveryCode,
        max_failures: Some(30),
        single: true,
    },
    // Held down by tries and buckets instead (docs/decisions/0012): a stranger must not shut out a mailbox.
    KindInfo { kind: CredentialKind::Email, method: Method::Email, max_failures: None, single: false },
    KindInfo { kind: CredentialKind::Phone, method: Method::SmsCode, max_failures: Some(30), single: false },
];

impl CredentialKind {
    pub fn info(self) -> &'static KindInfo {
        KINDS.iter().find(|info| info.kind == self).unwrap_or(&KINDS[0])
    }

    pub const fn method(self) -> Method {
        match self {
            Self::Passkey => Method::Passkey,
            Self::Password => Method::Password,
            Self::Totp => Method::Totp,
            Self::RecoveryCodes => Method::RecoveryCode,
            Self::Email => Method::Email,
            Self::Phone => Method::SmsCode,
        }
    }
}
