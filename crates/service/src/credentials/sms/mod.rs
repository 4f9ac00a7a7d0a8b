//! Codes by text message: restricted (NIST SP 800-63B-4 §3.1.3.3), only to a verified number, never the only second
//! factor that is offered.

use porteiro_protocol::{
    address::PhoneNumber, assurance::Method, one_time_code::OneTimeCode, time::Duration,
};
use serde_json::{Value, json};

use super::{
    Action, CODE, CredentialKind, Definition, Effect, KindInfo, Letter, Needs, NewChallenge, NewCredential,
    Once, Purpose, Sent, Step, Stopped, email::answer, failed, field, refused,
};
use crate::{
    accounts::IdentifierKind,
    limits::{CODE_ADDRESS, CODE_SUBJECT, SEND_ADDRESS, SMS_ALL, SMS_NEW_ALL, SMS_SUBJECT, SMS_SUBJECT_DAY},
    mail::templates::{self, Change, Locale, SmsCode},
    sms::{self, Sms},
};

const PROVE: &str = "sms_code";
const ADD: &str = "phone_add";
const APART: Duration = Duration::seconds(30);

pub const SEND: Action = Action::new(&Definition {
    path: "sms_code/send",
    rank: 40,
    fields: &[],
    limits: &[SEND_ADDRESS, SMS_SUBJECT, SMS_SUBJECT_DAY, SMS_ALL],
});
pub const CHECK: Action = Action::new(&Definition {
    path: "sms_code/check",
    rank: 41,
    fields: &[CODE],
    limits: &[CODE_ADDRESS, CODE_SUBJECT],
});
pub const ADD_NUMBER: Action = Action::new(&Definition {
    path: "phone/add",
    rank: 160,
    fields: &[field("number", "tel", "tel")],
    limits: &[SEND_ADDRESS, SMS_SUBJECT, SMS_SUBJECT_DAY, SMS_NEW_ALL, SMS_ALL],
});
pub const VERIFY: Action = Action::new(&Definition {
    path: "phone/verify",
    rank: 161,
    fields: &[CODE],
    limits: &[CODE_ADDRESS, CODE_SUBJECT],
});

pub const KIND: KindInfo = KindInfo {
    max_failures: Some(30),
    needs: Needs::Sms,
    prove: &[SEND],
    sent: Some(Sent { module: PROVE, send: SEND, answers: &[CHECK] }),
    enrol: &[ADD_NUMBER, VERIFY],
    challenges: &[PROVE, ADD],
    is_strong: true,
    is_second_factor: true,
    identifier: |credential| {
        credential.body["number"].as_str().map(|it| ("phone", format!("{it}|{}", credential.id)))
    },
    ..KindInfo::new(
        CredentialKind::Phone,
        Method::SmsCode,
        [Change::PhoneAdded, Change::PhoneRemoved],
        &[
            (SEND, |step, _| Box::pin(send(step))),
            (CHECK, |step, input| Box::pin(check(step, input))),
            (ADD_NUMBER, |step, input| Box::pin(add(step, input))),
            (VERIFY, |step, input| Box::pin(verify(step, input))),
        ],
    )
};

/// The last line binds the code to this host, so that phones fill it in only there.
fn text(step: &Step<'_>, code: &str) -> String {
    let host = url::Url::parse(step.app.issuer()).ok().and_then(|url| url.host_str().map(str::to_owned));
    let host = host.unwrap_or_default();
    let service = &step.app.checked.settings.service_name;
    templates::sms_code(Locale::negotiate(step.locale), &SmsCode { code, service, host: &host })
}

async fn challenge(
    step: &Step<'_>,
    module: &'static str,
    purpose: Purpose,
    to: &PhoneNumber,
    mut body: Value,
) -> Result<Effect, Stopped> {
    step.sends_apart(module, APART, 3)?;
    let code = OneTimeCode::generate(&*step.app.entropy);
    let revealed = code.reveal();
    let secret = step.app.secrets.peppered(revealed.as_bytes()).to_vec();
    body["hash"] = json!(step.app.hasher.hash_code(secret, &*step.app.entropy).await?);
    let not_after = Some((step.now + Duration::minutes(10)).unix_timestamp());
    let letter = Sms { to: to.as_str().to_owned(), text: text(step, revealed), not_after };
    Ok(Effect::Challenge {
        new: NewChallenge {
            id: step.new_challenge_id(),
            module,
            purpose,
            body,
            max_attempts: 5,
            lifetime_seconds: 600.0,
        },
        letter: Some(Letter::Sms(letter)),
        typed: None,
        show: json!({"module": module, "masked_number": to.masked()}),
    })
}

fn number(text: &str) -> Result<PhoneNumber, Stopped> {
    PhoneNumber::parse(text).map_err(|_| Stopped::Invalid {
        field: "number",
        detail: "must begin with + and the country code".into(),
    })
}

/// A number in an allowed country.
fn allowed(step: &Step<'_>, number: PhoneNumber) -> Result<PhoneNumber, Stopped> {
    if sms::is_allowed(&step.app.checked.settings.sms_countries, number.as_str()) {
        return Ok(number);
    }
    let detail = "is in a country to which no text messages are sent".into();
    Err(Stopped::Invalid { field: "number", detail })
}

pub async fn send(step: &Step<'_>) -> Result<Effect, Stopped> {
    let Some(phone) = step.of_kind(CredentialKind::Phone).next() else {
        return Err(refused(Method::SmsCode, "no such credential"));
    };
    let to = allowed(step, number(phone.body["number"].as_str().unwrap_or_default())?)?;
    challenge(step, PROVE, Purpose::Prove, &to, json!({"credential_id": phone.id})).await
}

pub async fn check(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let answered = answer(step, input, PROVE, Method::SmsCode).await;
    if let (Err(Stopped::Refused { reason, .. }), Some(phone)) =
        (&answered, step.of_kind(CredentialKind::Phone).next())
    {
        return Err(failed(Method::SmsCode, phone, reason));
    }
    let challenge = answered?;
    let phone = step
        .of_kind(CredentialKind::Phone)
        .find(|phone| challenge.body["credential_id"] == json!(phone.id))
        .ok_or_else(|| refused(Method::SmsCode, "the number was removed"))?;
    Ok(Effect::Prove {
        account: phone.account_id,
        proof: step.proof(Method::SmsCode, phone.id, false),
        once: vec![Once::Challenge(challenge.id), Once::Repeatable(phone.id)],
        stored: None,
    })
}

pub async fn add(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    if !step.sends_sms {
        return Err(Stopped::Invalid {
            field: "number",
            detail: "cannot be used: text messages are not enabled".into(),
        });
    }
    let to = allowed(step, number(step.text(input, "number")?)?)?;
    challenge(step, ADD, Purpose::Enrol, &to, json!({"number": to.as_str()})).await
}

pub async fn verify(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let challenge = answer(step, input, ADD, Method::SmsCode).await?;
    let to = number(challenge.body["number"].as_str().unwrap_or_default())?;
    let id = step.new_credential_id();
    // Several people of a household may share a number: it identifies no account, so its key includes the credential's
    // id.
    let key = step.app.secrets.identifier_key("phone", format!("{}|{id}", to.as_str()).as_bytes());
    Ok(Effect::Bind {
        new: NewCredential {
            id,
            kind: CredentialKind::Phone,
            label: to.masked(),
            body: json!({"number": to.as_str()}),
            counter: -1,
        },
        identifier: Some((key, IdentifierKind::Phone)),
        challenge: Some(challenge.id),
        recovery_codes: Vec::new(),
        show: Value::Null,
    })
}
