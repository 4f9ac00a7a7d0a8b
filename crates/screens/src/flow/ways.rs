//! The methods that a flow offers, and which one a page shows.

use super::representation::Flow;

/// A method for the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A code was sent by mail.
    MailCode,
    TextCode,
    Passkey,
    Totp,
    Password,
    SendText,
    SendMail,
    RecoveryCode,
    Hold,
}

impl Way {
    /// The most convenient first: methods already started, then the strongest with the least effort.
    const ORDER: &'static [(Self, &'static str)] = &[
        (Self::MailCode, "email_code/check"),
        (Self::TextCode, "sms_code/check"),
        (Self::Passkey, "passkey/begin"),
        (Self::Totp, "totp/check"),
        (Self::Password, "password/check"),
        (Self::SendText, "sms_code/send"),
        (Self::SendMail, "email_code/send"),
        (Self::RecoveryCode, "recovery_code/check"),
        (Self::Hold, "recovery/hold"),
    ];

    /// A code that was sent can be sent again from its own page.
    pub fn offered(flow: &Flow) -> Vec<Self> {
        let mut ways: Vec<Self> =
            Self::ORDER.iter().filter(|(_, action)| flow.offers(action)).map(|(way, _)| *way).collect();
        for (out, send) in [(Self::MailCode, Self::SendMail), (Self::TextCode, Self::SendText)] {
            if ways.contains(&out) {
                ways.retain(|way| *way != send);
            }
        }
        ways
    }

    /// The value in the query of a page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MailCode => "mail",
            Self::TextCode => "text",
            Self::Passkey => "passkey",
            Self::Totp => "totp",
            Self::Password => "password",
            Self::SendText => "send-text",
            Self::SendMail => "send-mail",
            Self::RecoveryCode => "recovery-code",
            Self::Hold => "hold",
        }
    }

    /// The text of a link to it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::MailCode => "way-mail-code",
            Self::TextCode => "way-text-code",
            Self::Passkey => "way-passkey",
            Self::Totp => "way-totp",
            Self::Password => "way-password",
            Self::SendText => "way-send-text",
            Self::SendMail => "way-send-mail",
            Self::RecoveryCode => "way-recovery-code",
            Self::Hold => "way-hold",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ORDER.iter().map(|(way, _)| *way).find(|way| way.name() == name)
    }

    /// The method of an action: its page shows a refusal.
    pub fn of(action: &str) -> Option<Self> {
        Self::ORDER.iter().find(|(_, known)| *known == action).map(|(way, _)| *way)
    }
}
