//! What a flow continues to: an authorization, the approval of a device, or only the person's own session.
//!
//! 1. A purpose is one entry of the register (`registers.rs`). A flow keeps its name and its request ([`Continuation`]).
//! 2. The purpose prepares the request from the database: once per call, and once more inside the transaction of a step.
//!    From then on the engine uses the prepared state: what the request requires ([`Standing`]), what it shows, and what
//!    it does when the flow completes or is refused.
//! 3. A person may open a flow for a purpose and name its request within the flow ([`Opening`]).

mod choice;

use std::{borrow::Cow, fmt::Debug, pin::Pin};

use porteiro_protocol::{
    assurance::{Level, Proof},
    authorization_request::Refused,
    id::{AccountId, OrganizationId, SessionId},
    time::OffsetDateTime,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use choice::Choice;

use super::{
    FlowError,
    actions::{Action, Run},
    delivery::Delivery,
    open::{Entering, OpenRequest},
    representation::Answer,
    state::{Kind, Refusal, Stage, State},
    step::{Effect, Stopped},
};
use crate::{
    App,
    branding::Audience,
    connections::Recency,
    http::RequestContext,
    organizations::{Door, Entrance},
    refusals,
    store::{Params, Reader, Row, Store, StoreError, Tx},
};

/// Work that reads or writes the database.
pub type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The future of an action's handler.
pub type Looking<'a> = Pin<Box<dyn Future<Output = Result<Effect, Stopped>> + Send + 'a>>;

/// The start of a sign-in to an organization.
pub type Entered<'a> = Pin<Box<dyn Future<Output = Result<Answer, FlowError>> + Send + 'a>>;

/// Where a purpose reads: outside a transaction, or in the transaction of the step.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    Store(&'a Store),
    Tx(&'a Tx),
}

impl Reader for Source<'_> {
    async fn rows<'a>(
        &'a self,
        name: &'static str,
        sql: &'a str,
        params: Params<'a>,
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Store(store) => store.rows(name, sql, params).await,
            Self::Tx(tx) => tx.rows(name, sql, params).await,
        }
    }
}

/// A purpose of flows.
pub trait Purpose: Debug + Sync {
    /// The name stored with the flow; also the flow's kind, if people open flows for this purpose.
    fn name(&self) -> &'static str;

    /// Reads and checks the request.
    fn prepare<'a>(
        &'a self,
        app: &'a App,
        source: Source<'a>,
        continuation: &'a Continuation,
    ) -> Work<'a, Box<dyn Prepared>>;

    /// How a person opens a flow for it; `None` if only clients do.
    fn opening(&self) -> Option<&'static Opening> {
        None
    }

    /// Assigns a request to the account that named it in its flow. `false` if the account may not decide it.
    fn claim<'a>(
        &'a self,
        _tx: &'a Tx,
        _continuation: &'a Continuation,
        _account: AccountId,
    ) -> Work<'a, bool> {
        Box::pin(async { Ok(true) })
    }

    /// Signs a person in to an organization; `None` if another purpose does.
    fn enter<'a>(&'a self, _entering: Entering<'a>) -> Option<Entered<'a>> {
        None
    }
}

/// The person of a flow.
#[derive(Debug, Clone, Copy)]
pub struct Person {
    pub account: AccountId,
    /// Only a directory vouches for them. Consent of their account does not count here, and consent given here does not
    /// count for the account (docs/decisions/0120).
    pub confined: bool,
}

/// A request as its purpose read it from the database.
pub trait Prepared: Debug + Send + Sync {
    /// What the request requires of the flow's person.
    fn stand<'a>(
        &'a mut self,
        source: Source<'a>,
        continuation: &'a Continuation,
        person: Option<Person>,
    ) -> Work<'a, Standing>;

    /// Whether the request can still be granted.
    fn is_good(&self) -> bool;

    /// The description shown to the person.
    fn describe(&self, locale: &str) -> Option<Value>;

    /// For whose branding it is shown.
    fn audience(&self) -> Option<Audience<'_>>;

    /// Its size in the flow, in bytes.
    fn size(&self) -> usize {
        0
    }

    /// A flow with this lifetime was opened for it, in this transaction.
    fn opened<'a>(&'a self, _tx: &'a Tx, _seconds: f64) -> Work<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// The flow completes, in this transaction.
    fn complete<'a>(
        &'a self,
        app: &'a App,
        tx: &'a Tx,
        context: &'a RequestContext,
        completing: Completing<'a>,
    ) -> Work<'a, Delivery>;

    /// The response to the client when the flow ended without success; `None`: no response.
    fn tell<'a>(&'a self, app: &'a App, refusal: Refusal, refused: Refused) -> Work<'a, Option<Delivery>>;

    /// The flow ended without success, in this transaction.
    fn withdraw<'a>(
        &'a self,
        _app: &'a App,
        _tx: &'a Tx,
        _context: &'a RequestContext,
        _account: AccountId,
    ) -> Work<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// The person switched to another account, in this transaction.
    fn release<'a>(&'a self, _tx: &'a Tx, _account: AccountId) -> Work<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// A flow that a person opens for a purpose, before its request is known.
pub struct Opening {
    /// The stage at which the person names the request, once the account is known.
    pub stage: Stage,
    /// The actions of that stage, which find the request from the person's input.
    pub actions: &'static [(Action, Run)],
    /// The value that a link contained, shown under the name `shown_as`.
    pub brought: fn(&OpenRequest) -> Option<String>,
    pub shown_as: &'static str,
}

impl Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<opening at {}>", self.stage.as_str())
    }
}

/// What a flow continues to. The request is checked again whenever it is used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Continuation {
    /// Rows written before purposes existed have none: they are authorizations.
    #[serde(default = "of_old_rows")]
    pub purpose: Cow<'static, str>,
    /// The person confirmed the account.
    pub confirmed: bool,
    /// The organization that the person chose to act for.
    #[serde(default)]
    pub organization: Option<OrganizationId>,
    /// The digest of what is shown to the person: a consent given to anything else, for instance in another tab, does
    /// not count.
    pub shown: Option<String>,
    /// The digest of what the person consented to in this flow.
    pub consented: Option<String>,
    /// As serialized by the purpose.
    #[serde(flatten)]
    pub request: Map<String, Value>,
}

const fn of_old_rows() -> Cow<'static, str> {
    Cow::Borrowed("authorization")
}

impl Continuation {
    /// A new request; the person has not answered anything yet.
    ///
    /// # Errors
    /// Where the request is not a JSON object.
    pub fn new(purpose: &'static str, request: &impl Serialize) -> Result<Self, StoreError> {
        let request = serde_json::to_value(request).ok().and_then(|value| match value {
            Value::Object(request) => Some(request),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        });
        let request =
            request.ok_or_else(|| StoreError::Inconsistent("a request is not a JSON object".into()))?;
        Ok(Self {
            purpose: Cow::Borrowed(purpose),
            confirmed: false,
            organization: None,
            shown: None,
            consented: None,
            request,
        })
    }

    /// The request, deserialized by its purpose.
    ///
    /// # Errors
    /// When another version wrote it in a form that this one cannot read.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, StoreError> {
        serde_json::from_value(Value::Object(self.request.clone()))
            .map_err(|error| StoreError::Inconsistent(error.to_string()))
    }
}

/// A prepared request, and what it was prepared from.
#[derive(Debug)]
pub struct Ready {
    request: Map<String, Value>,
    pub prepared: Box<dyn Prepared>,
}

impl Ready {
    pub fn new(continuation: &Continuation, prepared: Box<dyn Prepared>) -> Self {
        Self { request: continuation.request.clone(), prepared }
    }

    /// Whether this was prepared from the flow's present request: another step may have changed it.
    fn is_of(&self, continuation: &Continuation) -> bool {
        self.request == continuation.request
    }
}

/// The purpose of a flow, if it has one.
pub fn purpose_of(app: &App, state: &State) -> Option<&'static dyn Purpose> {
    let name = match (&state.kind, &state.continuation) {
        (Kind::Purpose(name), _) => name,
        (_, Some(continuation)) => &continuation.purpose,
        (_, None) => return None,
    };
    find(app, name)
}

pub fn find(app: &App, name: &str) -> Option<&'static dyn Purpose> {
    app.registers.purposes.iter().copied().find(|purpose| purpose.name() == name)
}

/// The opening of a flow of this kind, if a person opened it for a purpose.
pub fn opening_of(app: &App, kind: &Kind) -> Option<&'static Opening> {
    match kind {
        Kind::Purpose(name) => find(app, name)?.opening(),
        Kind::SignIn | Kind::Register | Kind::Recover | Kind::Reauthenticate | Kind::Enrol => None,
    }
}

/// Prepares the flow's request, or keeps the one that was just prepared.
pub async fn prepare(
    app: &App,
    source: Source<'_>,
    state: &State,
    kept: Option<Ready>,
) -> Result<Option<Ready>, StoreError> {
    let Some(continuation) = &state.continuation else { return Ok(None) };
    if let Some(kept) = kept.filter(|kept| kept.is_of(continuation)) {
        return Ok(Some(kept));
    }
    let purpose = purpose_of(app, state);
    let purpose = purpose.ok_or_else(|| StoreError::Inconsistent("a flow for an unknown purpose".into()))?;
    let prepared = purpose.prepare(app, source, continuation).await?;
    Ok(Some(Ready::new(continuation, prepared)))
}

/// What the engine needs to know about the flow's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub refused: Option<Refused>,
    /// The record of the refusal, if authority was refused.
    pub why: Option<Box<refusals::Refusal>>,
    pub needs_choice: bool,
    /// The organization that the request is for. It does not depend on the person.
    pub organization: Option<OrganizationId>,
    /// It needs an organization, and the address that somebody types may lead to one.
    pub discovers: bool,
    /// Organizations of which the person must choose one.
    pub choices: Vec<Choice>,
    /// The level that the organization requires.
    pub level: Level,
    pub max_age: Option<u32>,
    /// The only way by which the member may enter the organization, if it requires one.
    pub door: Option<Door>,
    /// How recently another provider must have authenticated the person, by the request and by the organization.
    pub recency: Recency,
    pub needs_consent: bool,
    /// The digest of everything the person decides about.
    pub digest: Option<String>,
}

impl Standing {
    /// The request requires nothing of the person but that they are signed in.
    pub const fn met() -> Self {
        Self {
            refused: None,
            why: None,
            needs_choice: false,
            organization: None,
            discovers: false,
            choices: Vec::new(),
            level: Level::None,
            max_age: None,
            door: None,
            recency: Recency { login: false, max_age: None },
            needs_consent: false,
            digest: None,
        }
    }

    /// The request cannot be granted.
    pub fn refused(refused: Refused) -> Self {
        Self { refused: Some(refused), ..Self::met() }
    }
}

/// The account that authenticated, and how.
#[derive(Debug)]
pub struct Authentication<'a> {
    pub account: AccountId,
    pub session: SessionId,
    pub proofs: &'a [Proof],
    pub level: Level,
    /// Only a directory of this organization vouches for the person: nothing is granted elsewhere.
    pub confined_to: Option<OrganizationId>,
    /// The epoch of the directory that vouches for the person, also beside proofs of their own.
    pub directory_epoch: Option<i64>,
    pub entrance: Entrance,
    pub now: OffsetDateTime,
}

/// The facts of a completing flow that a purpose needs.
#[derive(Debug, Clone, Copy)]
pub struct Completing<'a> {
    pub authentication: &'a Authentication<'a>,
    pub continuation: &'a Continuation,
    pub locale: &'a str,
}
