//! Recovery codes: ten look-up secrets of 80 bits, shown once, each good once (NIST SP 800-63B-4 §3.1.2).
//!
//! A selector finds the row, so that one hash is enough; the row of a used code is deleted.

mod store;

use porteiro_protocol::{assurance::Method, recovery_code};
use serde_json::{Value, json};

pub use store::{remaining, replace_all, spend};

use super::{
    Action, CredentialKind, Definition, Effect, KindInfo, NewCredential, Once, Step, Stopped, failed, field,
    refused,
};
use crate::{
    limits::{RECOVERY_ADDRESS, RECOVERY_SUBJECT, STEP_ADDRESS},
    mail::templates::Change,
};

pub const CHECK: Action = Action::new(&Definition {
    path: "recovery_code/check",
    rank: 60,
    fields: &[field("code", "text", "off")],
    limits: &[RECOVERY_ADDRESS, RECOVERY_SUBJECT],
});
pub const GENERATE: Action = Action::new(&Definition {
    path: "recovery_code/generate",
    rank: 140,
    fields: &[],
    limits: &[STEP_ADDRESS],
});

/// The fallback of a second factor; not required at sign-in itself.
pub const KIND: KindInfo = KindInfo {
    max_failures: Some(30),
    single: true,
    prove: &[CHECK],
    enrol: &[GENERATE],
    is_strong: true,
    ..KindInfo::new(
        CredentialKind::RecoveryCodes,
        Method::RecoveryCode,
        [Change::RecoveryCodesMade, Change::RecoveryCodesMade],
        &[
            (CHECK, |step, input| Box::pin(check(step, input))),
            (GENERATE, |step, _| Box::pin(generate(step))),
        ],
    )
};

const SET: u8 = 10;

pub async fn check(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let typed = step.text(input, "code")?;
    let Some(credential) = step.of_kind(CredentialKind::RecoveryCodes).next() else {
        return Err(refused(Method::RecoveryCode, "no such credential"));
    };
    let Some((selector, secret)) = recovery_code::parse(typed) else {
        return Err(failed(Method::RecoveryCode, credential, "not a recovery code"));
    };
    let stored = store::find(&step.app.store, credential.account_id, &selector).await?;
    if !step.app.hasher.verify_code(stored, secret.as_bytes().to_vec()).await? {
        return Err(failed(Method::RecoveryCode, credential, "wrong or used code"));
    }
    Ok(Effect::Prove {
        account: credential.account_id,
        proof: step.proof(Method::RecoveryCode, credential.id, false),
        once: vec![Once::RecoveryCode { credential: credential.id, selector }],
        stored: None,
    })
}

/// A new set replaces the old one; only this response contains the codes.
pub async fn generate(step: &Step<'_>) -> Result<Effect, Stopped> {
    let codes = recovery_code::generate_set(&*step.app.entropy, SET);
    let mut hashed = Vec::with_capacity(SET.into());
    let mut shown = Vec::with_capacity(SET.into());
    for code in &codes {
        let revealed = code.reveal();
        let Some((selector, secret)) = recovery_code::parse(&revealed) else {
            return Err(Stopped::Internal("a recovery code that does not parse".into()));
        };
        let hash = step.app.hasher.hash_code(secret.as_bytes().to_vec(), &*step.app.entropy).await?;
        hashed.push((selector, hash));
        shown.push(revealed.to_string());
    }
    Ok(Effect::Bind {
        new: NewCredential {
            id: step.new_credential_id(),
            kind: CredentialKind::RecoveryCodes,
            label: "Recovery codes".into(),
            body: json!({}),
            counter: -1,
        },
        identifier: None,
        challenge: None,
        recovery_codes: hashed,
        show: json!({"module": "recovery_code", "codes": shown}),
    })
}
