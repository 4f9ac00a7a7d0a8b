//! E-mail code and magic link: one mail, one challenge, two ways to answer.
//!
//! 1. `send` mails a code and a link. An unknown address gets the same response by the same path; what its reader
//!    receives depends on whether registration is open.
//! 2. `check` takes the code, `redeem` the link's token: both only from the flow's own browser, both by POST.
//! 3. `add` and `verify` bind a further address.
//!
//! The mail to an address whose domain leads to an organization's connections has another link, which leads there and proves
//! nothing (docs/decisions/0133).
//!
//! A mailbox proves no NIST level (docs/decisions/0012).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{
    address::EmailAddress,
    assurance::Method,
    id::{ChallengeId, CredentialId},
    one_time_code::OneTimeCode,
    time::Duration,
};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

use super::{
    Action, CODE, Challenge, CredentialKind, Definition, Effect, IDENTIFIER, KindInfo, Letter, Needs,
    NewChallenge, NewCredential, Occasion, Purpose, Sent, Step, Stopped, challenges::attempt, field, refused,
};
use crate::{
    accounts::{self, IdentifierKind},
    limits::{CODE_ADDRESS, CODE_SUBJECT, EMAIL_SUBJECT, EMAIL_SUBJECT_DAY, SEND_ADDRESS},
    mail::templates::{self, Change, CodeMail, Link, Locale, Note},
    secrets::sha256,
    settings::Registration,
};

pub const PROVE: &str = "email_code";
const ADD: &str = "email_add";
const LIFETIME_SECONDS: f64 = 600.0;
const MINUTES: u32 = 10;
const TRIES: i32 = 5;
const SENDS_PER_FLOW: u8 = 3;
const APART: Duration = Duration::seconds(30);

pub const SEND: Action = Action::new(&Definition {
    path: "email_code/send",
    rank: 30,
    fields: &[IDENTIFIER],
    limits: &[SEND_ADDRESS, EMAIL_SUBJECT, EMAIL_SUBJECT_DAY],
});
pub const CHECK: Action = Action::new(&Definition {
    path: "email_code/check",
    rank: 31,
    fields: &[CODE],
    limits: &[CODE_ADDRESS, CODE_SUBJECT],
});
pub const REDEEM: Action = Action::new(&Definition {
    path: "email_link/redeem",
    rank: 32,
    fields: &[field("token", "hidden", "")],
    limits: &[CODE_ADDRESS, CODE_SUBJECT],
});
pub const ADD_ADDRESS: Action = Action::new(&Definition {
    path: "email/add",
    rank: 150,
    fields: &[field("address", "email", "email")],
    limits: &[SEND_ADDRESS, EMAIL_SUBJECT, EMAIL_SUBJECT_DAY],
});
pub const VERIFY: Action = Action::new(&Definition {
    path: "email/verify",
    rank: 151,
    fields: &[CODE],
    limits: &[CODE_ADDRESS, CODE_SUBJECT],
});

pub const KIND: KindInfo = KindInfo {
    // Limited by attempts and buckets instead (docs/decisions/0012): an anonymous caller must not lock out a mailbox.
    max_failures: None,
    needs: Needs::Mail,
    prove: &[SEND],
    sent: Some(Sent { module: PROVE, send: SEND, answers: &[CHECK, REDEEM] }),
    enrol: &[ADD_ADDRESS, VERIFY],
    challenges: &[PROVE, ADD],
    can_sign_in_alone: true,
    identifier: |credential| credential.body["canonical"].as_str().map(|it| ("email", it.to_owned())),
    ..KindInfo::new(
        CredentialKind::Email,
        Method::Email,
        [Change::AddressAdded, Change::AddressRemoved],
        &[
            (SEND, |step, input| Box::pin(send(step, input))),
            (CHECK, |step, input| Box::pin(check(step, input))),
            (REDEEM, |step, input| Box::pin(redeem(step, input))),
            (ADD_ADDRESS, |step, input| Box::pin(add(step, input))),
            (VERIFY, |step, input| Box::pin(verify(step, input))),
        ],
    )
};

pub fn credential(id: CredentialId, address: &EmailAddress) -> NewCredential {
    NewCredential {
        id,
        kind: CredentialKind::Email,
        label: address.masked(),
        body: json!({"address": address.as_str(), "canonical": address.canonical()}),
        counter: -1,
    }
}

fn address(text: &str, field: &'static str) -> Result<EmailAddress, Stopped> {
    EmailAddress::parse(text).map_err(|_| Stopped::Invalid { field, detail: "is not a mail address".into() })
}

/// Limits the number and the interval of mails; sending again does not reset the count.
fn may_send(step: &Step<'_>, module: &str) -> Result<(), Stopped> {
    step.sends_apart(module, APART, SENDS_PER_FLOW)
}

pub async fn send(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    may_send(step, PROVE)?;
    let known =
        step.of_kind(CredentialKind::Email).find_map(|credential| credential.body["address"].as_str());
    let to = match known {
        Some(own) => address(own, "identifier")?,
        None => address(step.text(input, "identifier")?, "identifier")?,
    };
    let key = step.app.secrets.identifier_key("email", to.canonical().as_bytes());
    let account = accounts::find_by_identifier(&step.app.store, &key).await?;
    let exists = account.is_some();
    // To the spelling that the owner proved, never to the typed one: mail hosts may distinguish what we take for the
    // same address. Credentials are read for an unknown account too.
    let all = super::find_all(&step.app.store, account.unwrap_or_else(|| uuid::Uuid::nil().into())).await?;
    let stored = all
        .iter()
        .find(|credential| {
            credential.kind == CredentialKind::Email && credential.body["canonical"] == to.canonical()
        })
        .and_then(|credential| credential.body["address"].as_str());
    let deliver_to = stored.unwrap_or_else(|| to.as_str()).to_owned();
    let code = OneTimeCode::generate(&*step.app.entropy);
    let token = URL_SAFE_NO_PAD.encode(step.app.entropy.bytes::<32>());
    let hash = hash(step, &code).await?;
    let locale = Locale::negotiate(step.locale);
    let leading = step.has_directory.then(|| URL_SAFE_NO_PAD.encode(step.app.entropy.bytes::<32>()));
    let (link, directory) = (link(step, &token), leading.as_deref().and_then(|token| link(step, token)));
    let service = step.app.checked.settings.service_name.as_str();
    let revealed = code.reveal();
    let note = Note { service, link: None, directory: directory.clone() };
    let mail = CodeMail { code: revealed, link, directory, phrase: step.phrase, service, minutes: MINUTES };
    let invited = step.invited.is_some_and(|invited| invited == key);
    let open = step.app.checked.settings.registration == Registration::Open || step.bootstraps || invited;
    let rendered = match (step.occasion, exists) {
        (Occasion::Recover, true) => templates::recovery_code(locale, &mail),
        (Occasion::SignIn | Occasion::Register | Occasion::Enrol | Occasion::Confirm, true) => {
            templates::sign_in_code(locale, &mail)
        }
        (Occasion::SignIn | Occasion::Register, false) if open => templates::registration_code(locale, &mail),
        (_, false) => templates::someone_tried(locale, &note),
    };
    Ok(Effect::Challenge {
        new: NewChallenge {
            id: step.new_challenge_id(),
            module: PROVE,
            purpose: Purpose::Prove,
            body: json!({"address": deliver_to, "hash": hash, "link_hash": hashed(&token),
                         "directory": leading.map(|token| json!({"domain": to.domain(), "link_hash": hashed(&token)}))}),
            max_attempts: TRIES,
            lifetime_seconds: LIFETIME_SECONDS,
        },
        letter: Some(Letter::Mail(rendered.to(&deliver_to).until(expires_at(step)))),
        typed: Some(to.as_str().to_owned()),
        show: json!({"module": PROVE, "masked_address": to.masked()}),
    })
}

/// The mailed link: its page posts the token only from the flow's own browser.
fn link(step: &Step<'_>, token: &str) -> Option<Link> {
    let page = step.app.checked.settings.email_link_path.as_deref()?;
    Link::under(step.app.issuer(), &format!("{page}#{}.{token}", step.flow_id))
}

fn hashed(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(sha256(token.as_bytes()))
}

/// Whether a presented token is the one with this hash.
fn is_token(stored: &Value, presented: &str) -> bool {
    let stored = stored.as_str().and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
    let presented = sha256(presented.as_bytes());
    stored.is_some_and(|stored| bool::from(stored.as_slice().ct_eq(presented.as_slice())))
}

/// The domain to whose organization's connections the presented link leads, and its challenge; none if it is the other link.
pub fn leading(step: &Step<'_>, input: &Value) -> Option<(ChallengeId, String)> {
    let challenge = step.challenge(PROVE)?;
    let directory = &challenge.body["directory"];
    let is_it = is_token(&directory["link_hash"], input["token"].as_str()?);
    directory["domain"].as_str().filter(|_| is_it).map(|domain| (challenge.id, domain.to_owned()))
}

/// A mail whose code has expired is not sent.
fn expires_at(step: &Step<'_>) -> i64 {
    (step.now + Duration::minutes(MINUTES.into())).unix_timestamp()
}

/// Keyed first: with the database alone, a million codes could be tried quickly.
async fn hash(step: &Step<'_>, code: &OneTimeCode) -> Result<String, Stopped> {
    let secret = step.app.secrets.peppered(code.reveal().as_bytes()).to_vec();
    Ok(step.app.hasher.hash_code(secret, &*step.app.entropy).await?)
}

/// Verifies the code of a pending challenge; each attempt is counted before it is verified.
pub(super) async fn answer<'s>(
    step: &'s Step<'_>,
    input: &Value,
    module: &'static str,
    method: Method,
) -> Result<&'s Challenge, Stopped> {
    let typed = step.text(input, "code")?;
    let Some(challenge) = step.challenge(module) else { return Err(refused(method, "no code is out")) };
    if !attempt(&step.app.store, step.flow_id, challenge.id).await? {
        return Err(refused(method, "no attempt is left"));
    }
    let stored = challenge.body["hash"].as_str().map(str::to_owned);
    let code = OneTimeCode::normalise(typed).unwrap_or_default();
    let secret = step.app.secrets.peppered(code.as_bytes()).to_vec();
    if step.app.hasher.verify_code(stored, secret).await? {
        Ok(challenge)
    } else {
        Err(refused(method, "wrong code"))
    }
}

fn mailbox(challenge: &Challenge) -> Result<Effect, Stopped> {
    let address = challenge.body["address"].as_str().map(str::to_owned);
    let address = address.ok_or_else(|| Stopped::Internal("a challenge without its address".into()))?;
    Ok(Effect::ProveMailbox { address, challenge: challenge.id })
}

pub async fn check(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    mailbox(answer(step, input, PROVE, Method::Email).await?)
}

pub async fn redeem(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let token = step.text(input, "token")?;
    let Some(challenge) = step.challenge(PROVE) else { return Err(refused(Method::Email, "no link is out")) };
    if !attempt(&step.app.store, step.flow_id, challenge.id).await? {
        return Err(refused(Method::Email, "no attempt is left"));
    }
    if is_token(&challenge.body["link_hash"], token) {
        mailbox(challenge)
    } else {
        Err(refused(Method::Email, "wrong link"))
    }
}

pub async fn add(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    may_send(step, ADD)?;
    let to = address(step.text(input, "address")?, "address")?;
    let code = OneTimeCode::generate(&*step.app.entropy);
    let hash = hash(step, &code).await?;
    let revealed = code.reveal();
    let mail = CodeMail {
        code: revealed,
        link: None,
        directory: None,
        phrase: step.phrase,
        service: &step.app.checked.settings.service_name,
        minutes: MINUTES,
    };
    let rendered = templates::verify_address_code(Locale::negotiate(step.locale), &mail);
    Ok(Effect::Challenge {
        new: NewChallenge {
            id: step.new_challenge_id(),
            module: ADD,
            purpose: Purpose::Enrol,
            body: json!({"address": to.as_str(), "hash": hash}),
            max_attempts: TRIES,
            lifetime_seconds: LIFETIME_SECONDS,
        },
        letter: Some(Letter::Mail(rendered.to(to.as_str()).until(expires_at(step)))),
        typed: None,
        show: json!({"module": ADD, "masked_address": to.masked()}),
    })
}

pub async fn verify(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let challenge = answer(step, input, ADD, Method::Email).await?;
    let to = address(challenge.body["address"].as_str().unwrap_or_default(), "address")?;
    let key = step.app.secrets.identifier_key("email", to.canonical().as_bytes());
    Ok(Effect::Bind {
        new: credential(step.new_credential_id(), &to),
        identifier: Some((key, IdentifierKind::Email)),
        challenge: Some(challenge.id),
        recovery_codes: Vec::new(),
        show: Value::Null,
    })
}
