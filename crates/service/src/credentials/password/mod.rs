//! Passwords: supported, never required. Argon2id over a keyed step; length is the only rule beside the blocklist.
//!
//! 1. `check`: an identifier and a password, or a password if the account is known. An unknown person costs the same
//!    hash as a known one.
//! 2. `set`: for a person who may enrol a credential; a change requires the current password too (ASVS 6.2.3).

mod breached;

use porteiro_protocol::{
    address::EmailAddress,
    assurance::Method,
    password::{self, PasswordPolicy, PasswordRefused},
};
use serde_json::{Value, json};

use super::{
    Action, Credential, CredentialKind, CredentialState, Definition, Effect, Field, IDENTIFIER, KindInfo,
    NewCredential, Occasion, Once, Step, Stopped, failed, field,
    hashing::{HashError, Hasher},
    refused,
};
use crate::{
    accounts,
    limits::{PASSWORD_ADDRESS, PASSWORD_KNOWN_DEVICE, PASSWORD_SUBJECT},
    mail::templates::Change,
};

/// Required if the account has a password and the flow changes it.
const CURRENT_PASSWORD: Field =
    Field { name: "current_password", r#type: "password", autocomplete: "current-password", required: false };
pub const CHECK: Action = Action::new(&Definition {
    path: "password/check",
    rank: 20,
    fields: &[IDENTIFIER, field("password", "password", "current-password")],
    limits: &[PASSWORD_ADDRESS, PASSWORD_SUBJECT, PASSWORD_KNOWN_DEVICE],
});
pub const SET: Action = Action::new(&Definition {
    path: "password/set",
    rank: 120,
    fields: &[CURRENT_PASSWORD, field("new_password", "password", "new-password")],
    limits: &[PASSWORD_ADDRESS, PASSWORD_SUBJECT, PASSWORD_KNOWN_DEVICE],
});

pub const KIND: KindInfo = KindInfo {
    max_failures: Some(50),
    single: true,
    prove: &[CHECK],
    sign_in: &[CHECK],
    enrol: &[SET],
    is_offered_first: true,
    raises_level: true,
    proved_by_binding: |_| Some(false),
    ..KindInfo::new(
        CredentialKind::Password,
        Method::Password,
        [Change::PasswordSet, Change::PasswordRemoved],
        &[
            (CHECK, |step, input| Box::pin(check(step, input))),
            (SET, |step, input| Box::pin(set(step, input))),
        ],
    )
};

impl From<HashError> for Stopped {
    fn from(error: HashError) -> Self {
        match error {
            HashError::Busy => Self::Busy,
            HashError::Failed => Self::Internal(error.to_string()),
        }
    }
}

fn stored_hash(credential: &Credential) -> Option<String> {
    credential.body["hash"].as_str().map(str::to_owned)
}

pub async fn check(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let typed = step.text(input, "password")?;
    let Some(normal) = password::normalise(typed) else {
        return Err(Stopped::Invalid { field: "password", detail: "is too long".into() });
    };
    let candidate = find(step, input).await?;
    let usable = candidate.as_ref().filter(|credential| credential.state == CredentialState::Active);
    let peppered = step.app.secrets.peppered(normal.as_bytes()).to_vec();
    let matches = step.app.hasher.verify(step.typed, usable.and_then(stored_hash), peppered.clone()).await?;
    match (matches, usable) {
        (true, Some(credential)) => {
            let stored = upgraded(step, credential, peppered).await?;
            Ok(Effect::Prove {
                account: credential.account_id,
                proof: step.proof(Method::Password, credential.id, false),
                once: vec![Once::Repeatable(credential.id)],
                stored,
            })
        }
        (false, Some(credential)) => Err(failed(Method::Password, credential, "wrong password")),
        (_, None) => Err(refused(Method::Password, "no such person, or no password")),
    }
}

/// The password of the known account, or of the account with the identifier. The same queries in both cases.
async fn find(step: &Step<'_>, input: &Value) -> Result<Option<Credential>, Stopped> {
    if step.account.is_some() {
        return Ok(step
            .credentials
            .iter()
            .find(|credential| credential.kind == CredentialKind::Password)
            .cloned());
    }
    let typed = step.text(input, "identifier")?;
    let address = EmailAddress::parse(typed)
        .map_err(|_| Stopped::Invalid { field: "identifier", detail: "is not a mail address".into() })?;
    let key = step.app.secrets.identifier_key("email", address.canonical().as_bytes());
    let account = accounts::find_by_identifier(&step.app.store, &key).await?;
    // Credentials are read for an unknown account too.
    let account = account.unwrap_or_else(|| uuid::Uuid::nil().into());
    let all = super::find_all(&step.app.store, account).await?;
    Ok(all.into_iter().find(|credential| credential.kind == CredentialKind::Password))
}

/// Rehashes with the present parameters while the password is known, so that real and dummy hashes cost the same.
async fn upgraded(
    step: &Step<'_>,
    credential: &Credential,
    peppered: Vec<u8>,
) -> Result<Option<(porteiro_protocol::id::CredentialId, Value)>, Stopped> {
    if stored_hash(credential).is_some_and(|hash| Hasher::is_current(&hash)) {
        return Ok(None);
    }
    let hash = step.app.hasher.hash(step.typed, peppered, &*step.app.entropy).await?;
    Ok(Some((credential.id, json!({"hash": hash}))))
}

pub async fn set(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let existing = step.credentials.iter().find(|credential| credential.kind == CredentialKind::Password);
    if let (Some(current), Occasion::Enrol) = (existing, step.occasion) {
        let typed = step.text(input, "current_password")?;
        let normal = password::normalise(typed)
            .ok_or_else(|| Stopped::Invalid { field: "current_password", detail: "is too long".into() })?;
        let peppered = step.app.secrets.peppered(normal.as_bytes()).to_vec();
        let usable = Some(current).filter(|current| current.state == CredentialState::Active);
        if !step.app.hasher.verify(step.typed, usable.and_then(stored_hash), peppered).await? {
            return Err(failed(Method::Password, current, "wrong current password"));
        }
    }
    let typed = step.text(input, "new_password")?;
    let words = context_words(step);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let normal = password::check(&PasswordPolicy::default(), typed, &words)
        .map_err(|reason| Stopped::Password(Unfit::Policy(reason)))?;
    if breached::is_known(step.app, normal.as_bytes()).await {
        return Err(Stopped::Password(Unfit::Breached));
    }
    let peppered = step.app.secrets.peppered(normal.as_bytes()).to_vec();
    let hash = step.app.hasher.hash(step.typed, peppered, &*step.app.entropy).await?;
    Ok(Effect::Bind {
        new: NewCredential {
            id: step.new_credential_id(),
            kind: CredentialKind::Password,
            label: "Password".into(),
            body: json!({"hash": hash}),
            counter: -1,
        },
        identifier: None,
        challenge: None,
        recovery_codes: Vec::new(),
        show: Value::Null,
    })
}

/// Words that an attacker would try first: the service, its host, the person's name and address (ASVS 6.1.2).
fn context_words(step: &Step<'_>) -> Vec<String> {
    let mut words = vec!["porteiro".to_owned()];
    if let Ok(url) = url::Url::parse(step.app.issuer()) {
        words.extend(url.host_str().into_iter().flat_map(|host| host.split('.').map(str::to_owned)));
    }
    let addresses = step
        .credentials
        .iter()
        .filter(|credential| credential.kind == CredentialKind::Email)
        .filter_map(|credential| credential.body["address"].as_str())
        .chain(step.proved_address);
    words.extend(addresses.flat_map(|address| {
        let local = address.split('@').next().unwrap_or_default().to_owned();
        [address.to_owned(), local]
    }));
    words.extend(step.account.map(|account| account.display_name.clone()));
    words.extend(step.pending.and_then(|pending| pending.display_name.clone()));
    words.retain(|word| word.chars().count() >= 3);
    words
}

/// Why a new password is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    Policy(PasswordRefused),
    Breached,
}

impl Unfit {
    /// For clients that have their own texts.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Policy(PasswordRefused::TooShort { .. }) => "too_short",
            Self::Policy(PasswordRefused::TooLong { .. }) => "too_long",
            Self::Policy(PasswordRefused::Common) => "common",
            Self::Policy(PasswordRefused::ContextWord) => "guessable",
            Self::Breached => "breached",
        }
    }
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Policy(PasswordRefused::TooShort { min }) => {
                write!(f, "must have at least {min} characters; several words work well")
            }
            Self::Policy(PasswordRefused::TooLong { max }) => write!(f, "must have at most {max} characters"),
            Self::Policy(PasswordRefused::Common) => f.write_str("is too common; choose another"),
            Self::Policy(PasswordRefused::ContextWord) => {
                f.write_str("contains your name, your address or the name of this service; choose another")
            }
            Self::Breached => f.write_str("has appeared in a data breach; choose another"),
        }
    }
}
