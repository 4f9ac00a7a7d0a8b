//! Codes by text message: restricted (NIST SP 800-63B-4 §3.1.3.3), only to a verified number, never the only second
//! factor that is offered.
//!
//! A number is either a second factor or, where the operator allows it, a way in ([`sign_in`]); its owner says which when
//! they add it.

mod sign_in;

use porteiro_protocol::{
    address::PhoneNumber, assurance::Method, one_time_code::OneTimeCode, time::Duration,
};
use serde_json::{Value, json};

use super::{
    Action, CODE, Credential, CredentialKind, CredentialState, Definition, Effect, Field, IDENTIFIER,
    KindInfo, Letter, Needs, NewChallenge, NewCredential, Once, Purpose, Sent, Step, Stopped, email::answer,
    failed, field, refused,
};
use crate::{
    accounts::IdentifierKind,
    limits::{CODE_ADDRESS, CODE_SUBJECT, SEND_ADDRESS, SMS_ALL, SMS_NEW_ALL, SMS_SUBJECT, SMS_SUBJECT_DAY},
    mail::templates::{self, Change, Locale, SmsCode},
    sms::{self, Sms},
};
pub use sign_in::{have_use, is_sign_in_number};

pub const PROVE: &str = "sms_code";
const ADD: &str = "phone_add";
const APART: Duration = Duration::seconds(30);
const SENDS_PER_FLOW: u8 = 3;
/// True to sign in with the number; otherwise it is a second factor.
const SIGNS_IN: Field = Field { name: "signs_in", r#type: "checkbox", autocomplete: "off", required: false };

pub const SEND: Action = Action::new(&Definition {
    path: "sms_code/send",
    rank: 40,
    fields: &[IDENTIFIER],
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
    fields: &[field("number", "tel", "tel"), SIGNS_IN],
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
            (SEND, |step, input| Box::pin(send(step, input))),
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
    to: &str,
    mut body: Value,
    show: Value,
) -> Result<Effect, Stopped> {
    let code = OneTimeCode::generate(&*step.app.entropy);
    let revealed = code.reveal();
    let secret = step.app.secrets.peppered(revealed.as_bytes()).to_vec();
    body["hash"] = json!(step.app.hasher.hash_code(secret, &*step.app.entropy).await?);
    let not_after = Some((step.now + Duration::minutes(10)).unix_timestamp());
    let letter = Sms { to: to.to_owned(), text: text(step, revealed), not_after };
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
        show,
    })
}

/// A code to a number that the caller may know.
async fn text_to(
    step: &Step<'_>,
    module: &'static str,
    purpose: Purpose,
    to: &PhoneNumber,
    body: Value,
) -> Result<Effect, Stopped> {
    step.sends_apart(module, APART, SENDS_PER_FLOW)?;
    let show = json!({"module": module, "masked_number": to.masked()});
    challenge(step, module, purpose, to.as_str(), body, show).await
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

pub async fn send(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    if step.account.is_none() {
        return sign_in::send(step, input).await;
    }
    // What is asked for after the first step is the second factor, if the account has both.
    let mut phones: Vec<&Credential> = step.of_kind(CredentialKind::Phone).collect();
    phones.sort_by_key(|phone| is_sign_in_number(phone));
    let Some(phone) = phones.first() else {
        return Err(refused(Method::SmsCode, "no such credential"));
    };
    let to = allowed(step, number(phone.body["number"].as_str().unwrap_or_default())?)?;
    text_to(step, PROVE, Purpose::Prove, &to, json!({"credential_id": phone.id})).await
}

pub async fn check(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let texted = step.challenge(PROVE).map(|challenge| challenge.body["credential_id"].clone());
    let candidates = sign_in::candidates(step).await?;
    let phone = candidates.iter().find(|phone| {
        phone.kind == CredentialKind::Phone
            && phone.state == CredentialState::Active
            && texted.as_ref().is_some_and(|texted| *texted == json!(phone.id))
    });
    let answered = answer(step, input, PROVE, Method::SmsCode).await;
    if let (Err(Stopped::Refused { reason, .. }), Some(phone)) = (&answered, phone) {
        return Err(failed(Method::SmsCode, phone, reason));
    }
    let challenge = answered?;
    let phone = phone.ok_or_else(|| refused(Method::SmsCode, "no such number, or it was removed"))?;
    Ok(Effect::Prove {
        account: phone.account_id,
        proof: step.proof(Method::SmsCode, phone.id, false),
        once: vec![Once::Challenge(challenge.id), Once::Repeatable(phone.id)],
        stored: None,
    })
}

/// Whether the number is to be a way in.
fn signs_in(step: &Step<'_>, input: &Value) -> Result<bool, Stopped> {
    let refuse = |detail: &str| Err(Stopped::Invalid { field: "signs_in", detail: detail.into() });
    let wanted = match &input["signs_in"] {
        Value::Null => false,
        Value::Bool(wanted) => *wanted,
        _ => return refuse("must be true or false"),
    };
    if wanted && !step.app.checked.settings.sms_sign_in {
        return refuse("cannot be used: text messages do not sign in here");
    }
    if !have_use(step.credentials, wanted) {
        return refuse("must be the same for all numbers: remove the other number first");
    }
    Ok(wanted)
}

pub async fn add(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    if !step.sends_sms {
        return Err(Stopped::Invalid {
            field: "number",
            detail: "cannot be used: text messages are not enabled".into(),
        });
    }
    let to = allowed(step, number(step.text(input, "number")?)?)?;
    let signs_in = signs_in(step, input)?;
    let body = json!({"number": to.as_str(), "signs_in": signs_in});
    text_to(step, ADD, Purpose::Enrol, &to, body).await
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
            body: json!({"number": to.as_str(), "signs_in": signs_in(step, &challenge.body)?}),
            counter: -1,
        },
        identifier: Some((key, IdentifierKind::Phone)),
        challenge: Some(challenge.id),
        recovery_codes: Vec::new(),
        show: Value::Null,
    })
}
