//! Identities at other OpenID providers, linked to the account (docs/decisions/0098).
//!
//! 1. `begin` sends the person to the provider of a connection; `finish` takes the answer and proves the account to which
//!    the identity is linked. Provider and subject are the identity; no address is ever compared.
//! 2. `enrol_begin` and `enrol_finish` link an identity, in a flow of a person who just proved a credential of their own.
//!
//! An answer counts once, for the flow and connection that asked for it.

use porteiro_protocol::{
    assurance::{Method, Proof},
    id::{AccountId, ConnectionId, CredentialId},
};
use serde_json::{Value, json};

use super::{
    Action, Challenge, Credential, CredentialKind, Definition, Effect, Field, KindInfo, NewChallenge,
    NewCredential, Once, Purpose, Step, Stopped, challenges::attempt, field, refused, text,
};
use crate::{
    App,
    accounts::{self, IdentifierKind},
    connections::{self, Answer, Broken, Connection, Requested, Secrets, Verified},
    limits::{FEDERATED_ADDRESS, STEP_ADDRESS},
    mail::templates::Change,
    store::StoreError,
};

pub const PROVE: &str = "federated";
const LINK: &str = "federated_enrol";
const LIFETIME_SECONDS: f64 = 600.0;

const CONNECTION: Field = field("connection", "hidden", "");
const fn optional(name: &'static str) -> Field {
    Field { name, r#type: "hidden", autocomplete: "", required: false }
}
/// The parameters of the provider's answer, and the connection at whose address it arrived.
const ANSWER: &[Field] =
    &[CONNECTION, field("state", "hidden", ""), optional("code"), optional("iss"), optional("error")];

pub const BEGIN: Action = Action::new(&Definition {
    path: "federated/begin",
    rank: 60,
    fields: &[CONNECTION],
    limits: &[STEP_ADDRESS],
});
pub const FINISH: Action = Action::new(&Definition {
    path: "federated/finish",
    rank: 61,
    fields: ANSWER,
    limits: &[FEDERATED_ADDRESS],
});
pub const ENROL_BEGIN: Action = Action::new(&Definition {
    path: "federated/enrol_begin",
    rank: 170,
    fields: &[CONNECTION],
    limits: &[STEP_ADDRESS],
});
pub const ENROL_FINISH: Action = Action::new(&Definition {
    path: "federated/enrol_finish",
    rank: 171,
    fields: ANSWER,
    limits: &[FEDERATED_ADDRESS],
});

pub const KIND: KindInfo = KindInfo {
    sign_in: &[BEGIN, FINISH],
    enrol: &[ENROL_BEGIN, ENROL_FINISH],
    challenges: &[PROVE, LINK],
    identifier: |credential| {
        let part = |name: &str| credential.body[name].as_str();
        Some((IDENTITY, identity(part("connection")?, part("issuer")?, part("subject")?)))
    },
    ..KindInfo::new(
        CredentialKind::Federated,
        Method::Federated,
        [Change::IdentityLinked, Change::IdentityUnlinked],
        &[
            (BEGIN, |step, input| Box::pin(begin_here(step, input, PROVE))),
            (FINISH, |step, input| Box::pin(finish(step, input))),
            (ENROL_BEGIN, |step, input| Box::pin(begin_here(step, input, LINK))),
            (ENROL_FINISH, |step, input| Box::pin(enrol_finish(step, input))),
        ],
    )
};

/// The kind of identifier that is hashed.
const IDENTITY: &str = "external_identity";

/// None of the parts contains a space.
fn identity(connection: &str, issuer: &str, subject: &str) -> String {
    format!("{connection} {issuer} {subject}")
}

/// The connection that a person chose.
pub fn chosen(input: &Value) -> Result<ConnectionId, Stopped> {
    text(input, "connection")?.parse().map_err(|_| unknown())
}

/// The connection is not offered.
pub fn unknown() -> Stopped {
    Stopped::Invalid { field: "connection", detail: "is not one of the offered values".into() }
}

/// A connection of the deployment.
async fn connection(step: &Step<'_>, id: ConnectionId) -> Result<Connection, Stopped> {
    let found = connections::find(&step.app.store, id).await?;
    found.filter(|connection| connection.enabled).ok_or_else(unknown)
}

async fn begin_here(step: &Step<'_>, input: &Value, module: &'static str) -> Result<Effect, Stopped> {
    begin(step, &connection(step, chosen(input)?).await?, module).await
}

/// Sends the person to the provider of a connection.
pub async fn begin(
    step: &Step<'_>,
    connection: &Connection,
    module: &'static str,
) -> Result<Effect, Stopped> {
    let id = step.new_challenge_id();
    let secrets = Secrets::new(step.app, step.flow_id, id);
    let requested = step.recency.requested(step.now);
    let to = connections::request(step.app, connection, &secrets, requested).await;
    let to = to.map_err(|_| Stopped::Invalid {
        field: "connection",
        detail: "cannot be reached now; try again later or another way".into(),
    })?;
    Ok(Effect::Challenge {
        new: NewChallenge {
            id,
            module,
            purpose: if module == PROVE { Purpose::Prove } else { Purpose::Enrol },
            body: json!({"connection": connection.id, "requested": requested}),
            // One answer is sent on to the provider, however many arrive at once.
            max_attempts: 1,
            lifetime_seconds: LIFETIME_SECONDS,
        },
        letter: None,
        typed: None,
        show: json!({"module": "federated", "redirect_to": to}),
    })
}

/// The challenge that awaits an answer, and the connection that it was made for.
pub fn awaited<'a>(step: &'a Step<'_>, module: &str) -> Result<(&'a Challenge, ConnectionId), Stopped> {
    let nothing = || refused(Method::Federated, "no answer is awaited");
    let challenge = step.challenge(module).ok_or_else(nothing)?;
    let id = challenge.body["connection"].as_str().and_then(|id| id.parse().ok());
    Ok((challenge, id.ok_or_else(nothing)?))
}

/// Whether the provider authenticated the person as recently as the challenge asked for.
///
/// # Errors
/// What it did not do, in a fixed text.
pub fn is_recent(challenge: &Challenge, verified: &Verified) -> Result<(), &'static str> {
    let requested: Option<Requested> = serde_json::from_value(challenge.body["requested"].clone())
        .map_err(|_| "what was asked of the provider cannot be read")?;
    requested.map_or(Ok(()), |requested| requested.check(verified.asserted.auth_time))
}

/// Why an answer proves nobody.
#[derive(Debug)]
pub enum Unverified {
    Stopped(Stopped),
    /// The provider gave an ID token that breaks this rule.
    IdToken(&'static str),
}

impl From<Unverified> for Stopped {
    fn from(unverified: Unverified) -> Self {
        match unverified {
            Unverified::Stopped(stopped) => stopped,
            Unverified::IdToken(rule) => refused(Method::Federated, rule),
        }
    }
}

impl From<Stopped> for Unverified {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl From<StoreError> for Unverified {
    fn from(error: StoreError) -> Self {
        Self::Stopped(error.into())
    }
}

/// Whom the provider of a connection vouches for in this answer to the challenge.
pub async fn verified(
    step: &Step<'_>,
    input: &Value,
    challenge: &Challenge,
    connection: &Connection,
) -> Result<Verified, Unverified> {
    let wrong = |reason| Unverified::Stopped(refused(Method::Federated, reason));
    let secrets = Secrets::new(step.app, step.flow_id, challenge.id);
    if !secrets.is_state(text(input, "state")?) {
        return Err(wrong("the answer belongs to another request"));
    }
    // Each connection has its own address: an answer that arrives at another one is a mix-up (RFC 9700 §4.4).
    if text(input, "connection")? != connection.id.to_string() {
        return Err(wrong("the answer arrived at the address of another connection"));
    }
    if !attempt(&step.app.store, step.flow_id, challenge.id).await? {
        return Err(wrong("the answer was used before"));
    }
    let Some(code) = input["code"].as_str().filter(|code| !code.is_empty()) else {
        return Err(wrong("the provider refused"));
    };
    let answer = Answer { code, iss: input["iss"].as_str() };
    connections::exchange(step.app, connection, &secrets, answer).await.map_err(|broken| match broken {
        Broken::Answer(rule) => wrong(rule),
        Broken::IdToken(rule) => Unverified::IdToken(rule),
    })
}

/// The account to which an identity is linked, and the credential that is the link.
pub async fn find_linked(
    app: &App,
    connection: &Connection,
    subject: &str,
) -> Result<Option<(AccountId, CredentialId)>, StoreError> {
    let value = identity(&connection.id.to_string(), &connection.issuer, subject);
    let key = app.secrets.identifier_key(IDENTITY, value.as_bytes());
    let Some(account) = accounts::find_by_identifier(&app.store, &key).await? else { return Ok(None) };
    let all = super::find_all(&app.store, account).await?;
    let is_it = |credential: &&Credential| credential.identifier() == Some((IDENTITY, value.clone()));
    Ok(all.iter().find(is_it).map(|credential| (account, credential.id)))
}

async fn finish(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let (challenge, id) = awaited(step, PROVE)?;
    let connection = connection(step, id).await?;
    let verified = verified(step, input, challenge, &connection).await?;
    is_recent(challenge, &verified).map_err(|reason| refused(Method::Federated, reason))?;
    let asserted = verified.asserted;
    let linked = find_linked(step.app, &connection, &asserted.subject).await?;
    let unlinked = || refused(Method::Federated, "the identity is not linked to an account");
    let (account, credential) = linked.ok_or_else(unlinked)?;
    Ok(Effect::Prove {
        account,
        proof: Proof {
            // What the provider says about its own age can only make the proof older.
            at: asserted.auth_time.map_or(step.now, |at| at.min(step.now)),
            ..step.proof(Method::Federated, credential, false)
        },
        once: vec![Once::Challenge(challenge.id), Once::Repeatable(credential)],
        stored: None,
    })
}

async fn enrol_finish(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let (challenge, id) = awaited(step, LINK)?;
    let connection = connection(step, id).await?;
    let asserted = verified(step, input, challenge, &connection).await?.asserted;
    let value = identity(&connection.id.to_string(), &connection.issuer, &asserted.subject);
    let key = step.app.secrets.identifier_key(IDENTITY, value.as_bytes());
    if accounts::find_by_identifier(&step.app.store, &key).await?.is_some() {
        return Err(refused(Method::Federated, "the identity is linked to an account already"));
    }
    let body = json!({"connection": connection.id, "issuer": connection.issuer, "subject": asserted.subject});
    Ok(Effect::Bind {
        new: NewCredential {
            id: step.new_credential_id(),
            kind: CredentialKind::Federated,
            label: connection.name,
            body,
            counter: -1,
        },
        identifier: Some((key, IdentifierKind::External)),
        challenge: Some(challenge.id),
        recovery_codes: Vec::new(),
        show: Value::Null,
    })
}
