//! Mails to people: one function per mail, in all languages.
//!
//! - The subject of a code begins with the code. Plain text comes first; the HTML has the same content.
//! - A [`Link`] leads only to our own address. Names that others chose are written so that mail programs do not turn
//!   them into links. No remote content, no tracking.
//! - A mail states what happened and whether anything has to be done.

mod acting;
mod codes;
mod directory;
mod invitation;
mod layout;
mod lifecycle;
mod link;
mod locale;
mod notices;
mod phone;
mod recovery;
#[cfg(test)]
mod tests;

pub use acting::{Acting, impersonation_started};
pub use codes::{CodeMail, recovery_code, registration_code, sign_in_code, verify_address_code};
pub use invitation::{InvitationMail, invitation};
pub use lifecycle::{
    account_deleted, account_exported, deletion_cancelled, deletion_requested, recovery_started,
};
pub use link::Link;
pub use locale::Locale;
pub use notices::{
    Change, Happening, Note, already_registered, approval_waiting, credential_changed, device_connected,
    new_device, no_account, sessions_ended, someone_tried,
};
pub use phone::{SmsCode, sms_code};
pub use recovery::recovery_hold_started;

use super::Mail;

/// A mail without its recipient.
#[derive(Clone, PartialEq, Eq)]
pub struct Rendered {
    pub subject: String,
    pub text: String,
    pub html: String,
}

/// May contain a code, so it is not printed.
impl std::fmt::Debug for Rendered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<rendered mail>")
    }
}

impl Rendered {
    pub fn to(&self, address: impl Into<String>) -> Mail {
        let Self { subject, text, html } = self.clone();
        Mail { to: address.into(), subject, text, html, not_after: None }
    }
}
