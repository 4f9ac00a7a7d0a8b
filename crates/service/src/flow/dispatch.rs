//! From an action to the module that looks at it. The one table of modules.

use porteiro_protocol::plain_text;
use serde_json::Value;

use super::{
    actions::Action,
    step::{Effect, Step, Stopped},
};
use crate::{
    credentials::{email, passkey, password, recovery_code, sms, totp},
    oauth::device,
};

pub async fn run(step: &Step<'_>, action: Action, input: &Value) -> Result<Effect, Stopped> {
    match action {
        Action::PasskeyBegin => passkey::begin(step),
        Action::PasskeyFinish => passkey::finish(step, input).await,
        Action::PasskeyEnrolBegin => passkey::enrol_begin(step, input),
        Action::PasskeyEnrolFinish => passkey::enrol_finish(step, input),
        Action::PasswordCheck => password::check(step, input).await,
        Action::PasswordSet => password::set(step, input).await,
        Action::EmailSend => email::send(step, input).await,
        Action::EmailCheck => email::check(step, input).await,
        Action::EmailRedeem => email::redeem(step, input).await,
        Action::EmailAdd => email::add(step, input).await,
        Action::EmailVerify => email::verify(step, input).await,
        Action::SmsSend => sms::send(step).await,
        Action::SmsCheck => sms::check(step, input).await,
        Action::PhoneAdd => sms::add(step, input).await,
        Action::PhoneVerify => sms::verify(step, input).await,
        Action::TotpCheck => totp::check(step, input),
        Action::TotpEnrolBegin => totp::enrol_begin(step),
        Action::TotpEnrolFinish => totp::enrol_finish(step, input),
        Action::RecoveryCodeCheck => recovery_code::check(step, input).await,
        Action::RecoveryCodesGenerate => recovery_code::generate(step).await,
        Action::Profile => profile(step, input),
        Action::EnrolSkip => Ok(Effect::Skip),
        Action::Back => Ok(Effect::Back),
        Action::RecoveryHold => Ok(Effect::Hold),
        Action::AccountConfirm => Ok(Effect::Confirm),
        Action::AccountSwitch => Ok(Effect::Switch),
        Action::OrganizationChoose => organization(step, input),
        Action::DeviceLook => device::look(step, input).await,
        Action::ConsentAllow => Ok(Effect::Allow),
        Action::ConsentDeny => Ok(Effect::Deny),
    }
}

/// One of those that were offered, by id or slug.
fn organization(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let text = step.text(input, "organization")?;
    let choices = step.facts.authorization.as_ref().map(|standing| standing.choices.as_slice());
    let mut choices = choices.unwrap_or_default().iter();
    let chosen = choices.find(|choice| {
        choice.unavailable.is_none() && (choice.slug == text || choice.id.to_string() == text)
    });
    let chosen = chosen.ok_or_else(|| Stopped::Invalid {
        field: "organization",
        detail: "is none of those offered".into(),
    })?;
    Ok(Effect::Choose { organization: chosen.id })
}

/// A name people call themselves: anything that can be seen, within reason.
fn profile(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let name = plain_text::name(step.text(input, "display_name")?, 100);
    let name = name.ok_or_else(|| Stopped::Invalid {
        field: "display_name",
        detail: "has 1 to 100 printable characters".into(),
    })?;
    Ok(Effect::Profile { display_name: name.to_owned() })
}
