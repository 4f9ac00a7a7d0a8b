//! Time-based one-time passwords (RFC 6238): a step is accepted once and must increase.
//!
//! 1. `enrol_begin` shows a secret once; 2. `enrol_finish` takes a code of it and binds it; 3. `check` proves it.

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use porteiro_protocol::{assurance::Method, totp::TotpSecret};
use serde_json::{Value, json};

use super::{
    Action, CODE, Credential, CredentialKind, Definition, Effect, KindInfo, NewChallenge, NewCredential,
    Once, Purpose, Step, Stopped, failed, refused,
};
use crate::{
    limits::{STEP_ADDRESS, TOTP_ADDRESS, TOTP_SUBJECT},
    mail::templates::Change,
};

const CHALLENGE: &str = "totp_enrol";

pub const CHECK: Action = Action::new(&Definition {
    path: "totp/check",
    rank: 50,
    fields: &[CODE],
    limits: &[TOTP_ADDRESS, TOTP_SUBJECT],
});
pub const ENROL_BEGIN: Action =
    Action::new(&Definition { path: "totp/enrol_begin", rank: 130, fields: &[], limits: &[STEP_ADDRESS] });
pub const ENROL_FINISH: Action = Action::new(&Definition {
    path: "totp/enrol_finish",
    rank: 131,
    fields: &[CODE],
    limits: &[TOTP_ADDRESS, TOTP_SUBJECT],
});

pub const KIND: KindInfo = KindInfo {
    max_failures: Some(30),
    single: true,
    prove: &[CHECK],
    enrol: &[ENROL_BEGIN, ENROL_FINISH],
    challenges: &[CHALLENGE],
    is_strong: true,
    is_second_factor: true,
    raises_level: true,
    proved_by_binding: |_| Some(false),
    ..KindInfo::new(
        CredentialKind::Totp,
        Method::Totp,
        [Change::TotpAdded, Change::TotpRemoved],
        &[
            (CHECK, |step, input| Box::pin(async move { check(step, input) })),
            (ENROL_BEGIN, |step, _| Box::pin(async move { enrol_begin(step) })),
            (ENROL_FINISH, |step, input| Box::pin(async move { enrol_finish(step, input) })),
        ],
    )
};

/// Ties the sealed secret to its credential.
fn context(id: porteiro_protocol::id::CredentialId) -> Vec<u8> {
    format!("totp|{id}").into_bytes()
}

fn open(
    step: &Step<'_>,
    id: porteiro_protocol::id::CredentialId,
    sealed: &Value,
) -> Result<TotpSecret, Stopped> {
    let unreadable = || Stopped::Internal("a TOTP secret cannot be read".into());
    let sealed = STANDARD_NO_PAD.decode(sealed.as_str().unwrap_or_default()).map_err(|_| unreadable())?;
    let plain = step.app.secrets.open(&context(id), &sealed)?;
    TotpSecret::from_bytes(&plain).ok_or_else(unreadable)
}

pub fn check(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let code = step.text(input, "code")?;
    let Some(credential) = step.of_kind(CredentialKind::Totp).next() else {
        return Err(refused(Method::Totp, "no such credential"));
    };
    let secret = open(step, credential.id, &credential.body["secret"])?;
    match secret.matching_step(code, step.now, credential.counter) {
        Some(counter) => Ok(proved(step, credential, counter)),
        None => Err(failed(Method::Totp, credential, "wrong or used code")),
    }
}

fn proved(step: &Step<'_>, credential: &Credential, counter: i64) -> Effect {
    Effect::Prove {
        account: credential.account_id,
        proof: step.proof(Method::Totp, credential.id, false),
        once: vec![Once::Counter { credential: credential.id, counter }],
        stored: None,
    }
}

pub fn enrol_begin(step: &Step<'_>) -> Result<Effect, Stopped> {
    let secret = TotpSecret::generate(&*step.app.entropy);
    let id = step.new_credential_id();
    let sealed = step.app.secrets.seal(&context(id), secret.as_bytes(), &*step.app.entropy)?;
    let pending = step.pending.and_then(|pending| pending.display_name.clone());
    let name = step.account.map(|account| account.display_name.clone()).or(pending).unwrap_or_default();
    let uri = secret.otpauth_uri(&step.app.checked.settings.service_name, &name);
    Ok(Effect::Challenge {
        new: NewChallenge {
            id: step.new_challenge_id(),
            module: CHALLENGE,
            purpose: Purpose::Enrol,
            body: json!({"credential_id": id, "secret": STANDARD_NO_PAD.encode(sealed)}),
            max_attempts: 5,
            lifetime_seconds: 600.0,
        },
        letter: None,
        typed: None,
        show: json!({"module": "totp", "secret": *secret.to_base32(), "uri": *uri}),
    })
}

pub fn enrol_finish(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let code = step.text(input, "code")?;
    let Some(challenge) = step.challenge(CHALLENGE) else {
        return Err(Stopped::Invalid { field: "code", detail: "begin first".into() });
    };
    let id = challenge.body["credential_id"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Stopped::Internal("a challenge without its credential".into()))?;
    let secret = open(step, id, &challenge.body["secret"])?;
    let Some(counter) = secret.matching_step(code, step.now, -1) else {
        return Err(Stopped::Invalid {
            field: "code",
            detail: "is not the current code; check the device's clock".into(),
        });
    };
    Ok(Effect::Bind {
        new: NewCredential {
            id,
            kind: CredentialKind::Totp,
            label: "Authenticator app".into(),
            body: json!({"secret": challenge.body["secret"]}),
            // The code just entered is used up.
            counter,
        },
        identifier: None,
        challenge: Some(challenge.id),
        recovery_codes: Vec::new(),
        show: Value::Null,
    })
}
