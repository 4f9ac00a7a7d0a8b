//! From an action to the module that looks at it. The one table of modules.

use porteiro_protocol::plain_text;
use serde_json::Value;

use super::{
    actions::Action,
    step::{Effect, Step, Stopped, text},
};
use crate::credentials::{email, passkey, password, recovery_code, sms, totp};

pub async fn run(step: &Step<'_>, action: Action, input: &Value) -> Result<Effect, Stopped> {
    let credential = &step.of_credential();
    let effect = match action {
        Action::PasskeyBegin => passkey::begin(credential),
        Action::PasskeyFinish => passkey::finish(credential, input).await,
        Action::PasskeyEnrolBegin => passkey::enrol_begin(credential, input),
        Action::PasskeyEnrolFinish => passkey::enrol_finish(credential, input),
        Action::PasswordCheck => password::check(credential, input).await,
        Action::PasswordSet => password::set(credential, input).await,
        Action::EmailSend => email::send(credential, input).await,
        Action::EmailCheck => email::check(credential, input).await,
        Action::EmailRedeem => email::redeem(credential, input).await,
        Action::EmailAdd => email::add(credential, input).await,
        Action::EmailVerify => email::verify(credential, input).await,
        Action::SmsSend => sms::send(credential).await,
        Action::SmsCheck => sms::check(credential, input).await,
        Action::PhoneAdd => sms::add(credential, input).await,
        Action::PhoneVerify => sms::verify(credential, input).await,
        Action::TotpCheck => totp::check(credential, input),
        Action::TotpEnrolBegin => totp::enrol_begin(credential),
        Action::TotpEnrolFinish => totp::enrol_finish(credential, input),
        Action::RecoveryCodeCheck => recovery_code::check(credential, input).await,
        Action::RecoveryCodesGenerate => recovery_code::generate(credential).await,
        Action::Profile => return profile(input),
        Action::EnrolSkip => return Ok(Effect::Skip),
        Action::Back => return Ok(Effect::Back),
        Action::RecoveryHold => return Ok(Effect::Hold),
        Action::AccountConfirm => return Ok(Effect::Confirm),
        Action::AccountSwitch => return Ok(Effect::Switch),
        Action::OrganizationChoose => return organization(step, input),
        Action::DeviceLook => return find(step, input).await,
        Action::ConsentAllow => return Ok(Effect::Allow),
        Action::ConsentDeny => return Ok(Effect::Deny),
    };
    effect.map(|effect| Effect::Credential(Box::new(effect)))
}

/// As the purpose finds what the person decides about.
async fn find(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    match step.facts.opening {
        Some(opening) => (opening.find)(step, input).await,
        None => Err(Stopped::Internal("an action without its purpose".into())),
    }
}

/// One of those that were offered, by id or slug.
fn organization(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let text = text(input, "organization")?;
    let choices = step.facts.standing.as_ref().map(|standing| standing.choices.as_slice());
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
fn profile(input: &Value) -> Result<Effect, Stopped> {
    let name = plain_text::name(text(input, "display_name")?, 100);
    let name = name.ok_or_else(|| Stopped::Invalid {
        field: "display_name",
        detail: "has 1 to 100 printable characters".into(),
    })?;
    Ok(Effect::Profile { display_name: name.to_owned() })
}
