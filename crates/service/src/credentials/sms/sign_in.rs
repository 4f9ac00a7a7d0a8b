//! A code by text message as the first step of a sign-in, where `sms_sign_in` allows it (docs/decisions/0138).
//!
//! 1. The person types an address. If its account has a sign-in number, that number gets a code. Otherwise nobody does:
//!    the answer and the rows are the same.
//! 2. The code proves the number and leads to its account.
//!
//! A number that is a second factor is never a way in: the same phone would be both steps.

use porteiro_protocol::{
    address::{EmailAddress, PhoneNumber},
    id::AccountId,
};
use serde_json::{Value, json};

use super::{
    super::{Credential, CredentialKind, CredentialState, Effect, Step, Stopped, find_all},
    PROVE, challenge, number,
};
use crate::{
    accounts,
    limits::{Bucket, Rule, SMS_ALL, SMS_NEW_ALL, SMS_SUBJECT, SMS_SUBJECT_DAY, take},
    sms::{NOBODY, is_allowed},
};

/// Whether its owner added it to sign in with. It is then no second factor.
pub fn is_sign_in_number(credential: &Credential) -> bool {
    credential.kind == CredentialKind::Phone && credential.body["signs_in"] == true
}

/// Whether the account's numbers are all of this use. Otherwise one phone could be both steps of a sign-in.
pub fn have_use(all: &[Credential], signs_in: bool) -> bool {
    let mut phones = all.iter().filter(|credential| credential.kind == CredentialKind::Phone);
    phones.all(|phone| is_sign_in_number(phone) == signs_in)
}

/// The number that the account with the typed address signs in with, if it may get a message now.
pub(super) async fn send(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let typed = EmailAddress::parse(step.text(input, "identifier")?)
        .map_err(|_| Stopped::Invalid { field: "identifier", detail: "is not a mail address".into() })?;
    step.sends_apart(PROVE, super::APART, super::SENDS_PER_FLOW)?;
    let key = step.app.secrets.identifier_key("email", typed.canonical().as_bytes());
    let account = accounts::find_by_identifier(&step.app.store, &key).await?;
    let all = of_account(step, account).await?;
    let found = all.iter().find(|credential| is_usable(credential)).and_then(|phone| {
        let to = number(phone.body["number"].as_str()?).ok()?;
        let countries = &step.app.checked.settings.sms_countries;
        is_allowed(countries, to.as_str()).then_some((phone, to))
    });
    let may_send = is_within_limits(step, found.as_ref().map(|(_, to)| to)).await?;
    let found = found.filter(|_| may_send);
    let to = found.as_ref().map_or(NOBODY, |(_, to)| to.as_str());
    let phone = found.as_ref().map(|(phone, _)| (phone.account_id, phone.id));
    let body =
        json!({"account_id": phone.map(|(account, _)| account), "credential_id": phone.map(|(_, id)| id)});
    // Even a masked number would show that there is one.
    let show = json!({"module": PROVE});
    let mut effect = challenge(step, PROVE, super::Purpose::Prove, to, body, show).await?;
    if let Effect::Challenge { typed: identifier, .. } = &mut effect {
        *identifier = Some(typed.as_str().to_owned());
    }
    Ok(effect)
}

fn is_usable(credential: &Credential) -> bool {
    is_sign_in_number(credential) && credential.state == CredentialState::Active
}

/// Credentials are read for an unknown account too.
async fn of_account(step: &Step<'_>, account: Option<AccountId>) -> Result<Vec<Credential>, Stopped> {
    Ok(find_all(&step.app.store, account.unwrap_or_else(|| uuid::Uuid::nil().into())).await?)
}

/// The limits that depend on the number. An empty bucket sends nothing and is not answered otherwise: the caller may not
/// know that there is a number. Nobody has buckets, so that typed addresses use up nothing that others need.
async fn is_within_limits(step: &Step<'_>, to: Option<&PhoneNumber>) -> Result<bool, Stopped> {
    let secrets = &step.app.secrets;
    let number = to.map(|to| secrets.identifier_key("phone", to.as_str().as_bytes())).unwrap_or_default();
    let everybody: &[u8] = if to.is_some() { b"" } else { b"nobody" };
    let budget = step.app.checked.settings.sms_budget_per_day;
    let bucket = |rule: Rule, whom: &[u8]| Bucket { rule, key: secrets.limit_key(rule.name, whom) };
    let buckets = [
        bucket(SMS_SUBJECT, &number),
        bucket(SMS_SUBJECT_DAY, &number),
        bucket(SMS_NEW_ALL.with_per_day(budget / 2), everybody),
        bucket(SMS_ALL.with_per_day(budget), everybody),
    ];
    let limited = take(&step.app.store, &buckets).await?;
    if let (Some(limited), Some(_)) = (&limited, to) {
        metrics::counter!("porteiro_limited_total", "rule" => limited.bucket.rule.name).increment(1);
    }
    Ok(limited.is_none())
}

/// The credentials among which a code proves one: the account's, or those of the account that the message went to.
pub(super) async fn candidates(step: &Step<'_>) -> Result<Vec<Credential>, Stopped> {
    if step.account.is_some() {
        return Ok(step.credentials.to_vec());
    }
    let account = step.challenge(PROVE).and_then(|challenge| challenge.body["account_id"].as_str());
    let all = of_account(step, account.and_then(|text| text.parse().ok())).await?;
    Ok(all.into_iter().filter(is_sign_in_number).collect())
}
