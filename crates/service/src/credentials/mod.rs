//! The credentials with which a person proves who they are. One folder per kind, one row per kind in [`KINDS`].

mod action;
mod challenges;
pub mod email;
pub mod federated;
pub mod hashing;
mod kind;
pub mod passkey;
pub mod password;
pub mod recovery_code;
pub mod sms;
mod step;
mod store;
pub mod totp;

pub use action::{Action, CODE, Definition, Field, IDENTIFIER, Looking, Run, field};
pub use challenges::{
    Challenge, NewChallenge, Purpose, consume_challenge, drop_challenges, find_challenges, replace_challenge,
};
pub use kind::{KindInfo, Needs, Sent, is_strong, names_of};
pub use step::{Effect, Letter, Occasion, Once, Pending, Rejected, Step, Stopped, failed, refused, text};
pub use store::{
    Credential, CredentialState, NewCredential, advance_counter, count_failure, find_all, insert, remove,
    rename, replace_body, used,
};

use crate::store::text_enum;

macro_rules! kinds {
    ($($variant:ident = $name:literal, $info:expr;)+) => {
        text_enum! { CredentialKind { $($variant = $name),+ } }

        /// All kinds.
        pub const KINDS: &[&KindInfo] = &[$(&$info),+];

        impl CredentialKind {
            pub const fn info(self) -> &'static KindInfo {
                match self { $(Self::$variant => &$info),+ }
            }
        }
    };
}

// The table of kinds; the folder of each kind defines its properties.
kinds! {
    Passkey = "passkey", passkey::KIND;
    Password = "password", password::KIND;
    Totp = "totp", totp::KIND;
    RecoveryCodes = "recovery_codes", recovery_code::KIND;
    Email = "email", email::KIND;
    Phone = "phone", sms::KIND;
    Federated = "federated", federated::KIND;
}
