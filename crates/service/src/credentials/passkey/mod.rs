//! Passkeys (WebAuthn): discoverable, user verification always required.
//!
//! 1. `begin` creates a challenge with an empty allow-list: no identifier is needed.
//! 2. `finish` finds the account by the user handle that the authenticator returns, and verifies.
//! 3. `enrol_begin` and `enrol_finish` bind a new one.

mod endpoint;
mod webauthn;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{assurance::Method, plain_text};
use serde_json::{Value, json};

pub use webauthn::{PasskeyError, RelyingParty, StoredPasskey};

use super::{
    Action, Credential, CredentialKind, Definition, Effect, Field, KindInfo, NewChallenge, NewCredential,
    Occasion, Once, Purpose, Step, Stopped, challenges::attempt, failed, field, refused,
};
use crate::{
    accounts,
    limits::{PASSKEY_ADDRESS, STEP_ADDRESS},
    mail::templates::Change,
};

pub fn routes() -> Vec<crate::http::Route> {
    endpoint::routes()
}

const SIGN_IN: &str = "passkey";
const ENROL: &str = "passkey_enrol";
const CHALLENGE_SECONDS: f64 = 300.0;

const CREDENTIAL: Field = field("credential", "public_key_credential", "");
pub const BEGIN: Action =
    Action::new(&Definition { path: "passkey/begin", rank: 10, fields: &[], limits: &[STEP_ADDRESS] });
pub const FINISH: Action = Action::new(&Definition {
    path: "passkey/finish",
    rank: 11,
    fields: &[CREDENTIAL],
    limits: &[PASSKEY_ADDRESS],
});
pub const ENROL_BEGIN: Action =
    Action::new(&Definition { path: "passkey/enrol_begin", rank: 110, fields: &[], limits: &[STEP_ADDRESS] });
pub const ENROL_FINISH: Action = Action::new(&Definition {
    path: "passkey/enrol_finish",
    rank: 111,
    fields: &[CREDENTIAL],
    limits: &[PASSKEY_ADDRESS],
});

pub const KIND: KindInfo = KindInfo {
    prove: &[BEGIN, FINISH],
    sign_in: &[BEGIN, FINISH],
    enrol: &[ENROL_BEGIN, ENROL_FINISH],
    challenges: &[SIGN_IN, ENROL],
    is_strong: true,
    can_sign_in_alone: true,
    is_offered_first: true,
    raises_level: true,
    // A passkey created without user verification counts from its first verified use.
    proved_by_binding: |new| (new.body["passkey"]["user_verified"] == true).then_some(true),
    ..KindInfo::new(
        CredentialKind::Passkey,
        Method::Passkey,
        [Change::PasskeyAdded, Change::PasskeyRemoved],
        &[
            (BEGIN, |step, _| Box::pin(async move { begin(step) })),
            (FINISH, |step, input| Box::pin(finish(step, input))),
            (ENROL_BEGIN, |step, input| Box::pin(async move { enrol_begin(step, input) })),
            (ENROL_FINISH, |step, input| Box::pin(async move { enrol_finish(step, input) })),
        ],
    )
};

impl From<PasskeyError> for Stopped {
    fn from(error: PasskeyError) -> Self {
        match error {
            PasskeyError::Malformed => {
                Self::Invalid { field: "credential", detail: "is not a WebAuthn response".into() }
            }
            PasskeyError::Refused(reason) => refused(Method::Passkey, reason),
            PasskeyError::Library(what) => Self::Internal(what),
        }
    }
}

fn stored(credential: &Credential) -> Result<StoredPasskey, Stopped> {
    serde_json::from_value(credential.body["passkey"].clone())
        .map_err(|_| Stopped::Internal("a stored passkey cannot be read".into()))
}

pub fn begin(step: &Step<'_>) -> Result<Effect, Stopped> {
    let (options, state) = step.app.passkeys.begin_authentication()?;
    Ok(Effect::Challenge {
        new: NewChallenge {
            id: step.new_challenge_id(),
            module: SIGN_IN,
            purpose: Purpose::Prove,
            body: state,
            max_attempts: 10,
            lifetime_seconds: CHALLENGE_SECONDS,
        },
        letter: None,
        typed: None,
        show: json!({"module": "passkey", "public_key": options}),
    })
}

pub async fn finish(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let response = &input["credential"];
    let Some(challenge) = step.challenge(SIGN_IN) else {
        return Err(refused(Method::Passkey, "no challenge is out"));
    };
    if !attempt(&step.app.store, step.flow_id, challenge.id).await? {
        return Err(refused(Method::Passkey, "no attempt is left"));
    }
    let named = RelyingParty::identify(response)?;
    let key = step.app.secrets.identifier_key("user_handle", &named.user_handle);
    let account = accounts::find_by_identifier(&step.app.store, &key).await?;
    let credentials = match account {
        Some(account) => super::find_all(&step.app.store, account).await?,
        None => Vec::new(),
    };
    let unknown = || Stopped::UnknownPasskey { credential_id: URL_SAFE_NO_PAD.encode(&named.credential_id) };
    let mut found = None;
    for credential in credentials.into_iter().filter(|credential| credential.kind == CredentialKind::Passkey)
    {
        let passkey = stored(&credential)?;
        if passkey.credential_id() == named.credential_id.as_slice() {
            found = Some((credential, passkey));
            break;
        }
    }
    let (credential, passkey) = found.ok_or_else(unknown)?;
    let verified = match step.app.passkeys.finish_authentication(&challenge.body, response, &passkey) {
        Ok(verified) => verified,
        Err(PasskeyError::Refused(reason)) => return Err(failed(Method::Passkey, &credential, reason)),
        Err(other) => return Err(other.into()),
    };
    if verified.counter_regressed {
        // Synced passkeys may do this legitimately, and a cloned one looks the same. It is logged, not refused.
        tracing::warn!(credential = %credential.id, "the signature counter of a passkey decreased");
    }
    let body = json!({"passkey": verified.updated});
    Ok(Effect::Prove {
        account: credential.account_id,
        proof: step.proof(Method::Passkey, credential.id, verified.user_verified),
        once: vec![Once::Challenge(challenge.id), Once::Repeatable(credential.id)],
        stored: Some((credential.id, body)),
    })
}

/// `conditional` lets the browser create a passkey without interaction, right after a password was typed: it reaches
/// AAL2 only from its first verified use, and sign-in requires verification in any case.
pub fn enrol_begin(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let typed_password = step.proofs.iter().any(|proof| proof.method == Method::Password);
    let conditional = input["conditional"] == true && step.occasion == Occasion::SignIn && typed_password;
    let (user_handle, display_name) = match (step.account, step.pending) {
        (Some(account), _) => (account.user_handle.clone(), account.display_name.clone()),
        (None, Some(pending)) => {
            (pending.user_handle.clone(), pending.display_name.clone().unwrap_or_default())
        }
        (None, None) => return Err(Stopped::Internal("no account to bind a passkey to".into())),
    };
    let user_handle: [u8; 32] =
        user_handle.try_into().map_err(|_| Stopped::Internal("a user handle has the wrong length".into()))?;
    let address = step
        .of_kind(CredentialKind::Email)
        .find_map(|credential| credential.body["address"].as_str().map(str::to_owned))
        .or_else(|| step.proved_address.map(str::to_owned));
    let existing: Vec<StoredPasskey> =
        step.of_kind(CredentialKind::Passkey).map(stored).collect::<Result<_, _>>()?;
    let name = address.unwrap_or_else(|| display_name.clone());
    let (options, state) =
        step.app.passkeys.begin_registration(&user_handle, &name, &display_name, &existing, conditional)?;
    Ok(Effect::Challenge {
        new: NewChallenge {
            id: step.new_challenge_id(),
            module: ENROL,
            purpose: Purpose::Enrol,
            body: state,
            max_attempts: 5,
            lifetime_seconds: CHALLENGE_SECONDS,
        },
        letter: None,
        typed: None,
        show: json!({"module": "passkey", "public_key": options}),
    })
}

pub fn enrol_finish(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let Some(challenge) = step.challenge(ENROL) else {
        return Err(Stopped::Invalid { field: "credential", detail: "begin first".into() });
    };
    let passkey = step.app.passkeys.finish_registration(&challenge.body, &input["credential"])?;
    // The browser suggests the label: one that cannot be shown is replaced, not refused.
    let label = input["label"].as_str().and_then(|label| plain_text::name(label, 60)).unwrap_or("Passkey");
    Ok(Effect::Bind {
        new: NewCredential {
            id: step.new_credential_id(),
            kind: CredentialKind::Passkey,
            label: label.to_owned(),
            body: json!({"passkey": passkey}),
            counter: -1,
        },
        identifier: None,
        challenge: Some(challenge.id),
        recovery_codes: Vec::new(),
        show: Value::Null,
    })
}
