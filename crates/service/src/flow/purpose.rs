//! What a flow leads to: an authorization, a device that was let in, or nothing but the person's own session.
//!
//! 1. A purpose is one entry of the register (`registers.rs`). A flow keeps its name and its request ([`Continuation`]).
//! 2. The purpose prepares the request from the database: once per call, and once more inside the transaction of a step.
//!    From then on the engine holds the prepared state and asks it what it requires ([`Standing`]), what it shows, and
//!    what it does when the flow completes or is refused.
//! 3. A person may open a flow for a purpose whose request is found in the flow itself ([`Opening`]).

use std::{borrow::Cow, fmt::Debug, pin::Pin};

use porteiro_protocol::{
    assurance::{Level, Proof},
    authorization_request::Refused,
    id::{AccountId, OrganizationId, SessionId},
    time::OffsetDateTime,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    actions::{Action, Run},
    delivery::Delivery,
    open::OpenRequest,
    state::{Kind, Refusal, Stage, State},
    step::{Effect, Stopped},
};
use crate::{
    App,
    branding::Audience,
    http::RequestContext,
    members::Member,
    organizations::Status,
    refusals,
    store::{Params, Reader, Row, Store, StoreError, Tx},
};

/// Work that reads or writes the database.
pub type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A step that is being looked at.
pub type Looking<'a> = Pin<Box<dyn Future<Output = Result<Effect, Stopped>> + Send + 'a>>;

/// Where a purpose reads: outside a transaction, or inside the one of the step.
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

/// What flows can lead to.
pub trait Purpose: Debug + Sync {
    /// As it is stored with the flow; also the flow's kind, where a person opens one for it.
    fn name(&self) -> &'static str;

    /// Reads and checks the request.
    fn prepare<'a>(
        &'a self,
        app: &'a App,
        source: Source<'a>,
        continuation: &'a Continuation,
    ) -> Work<'a, Box<dyn Prepared>>;

    /// How a person opens a flow for it; `None` where only a client does.
    fn opening(&self) -> Option<&'static Opening> {
        None
    }

    /// The person found this request in their flow: it is theirs to decide. `false` where it is not.
    fn claim<'a>(
        &'a self,
        _tx: &'a Tx,
        _continuation: &'a Continuation,
        _account: AccountId,
    ) -> Work<'a, bool> {
        Box::pin(async { Ok(true) })
    }
}

/// A request as its purpose read it from the database.
pub trait Prepared: Debug + Send + Sync {
    /// Where it stands for whoever the flow is about: what it requires of them.
    fn stand<'a>(
        &'a mut self,
        source: Source<'a>,
        continuation: &'a Continuation,
        account: Option<AccountId>,
    ) -> Work<'a, Standing>;

    /// Whether the request can still be answered with a yes.
    fn is_good(&self) -> bool;

    /// What a person is shown of it.
    fn describe(&self, locale: &str) -> Option<Value>;

    /// In whose look it is shown.
    fn audience(&self) -> Option<Audience<'_>>;

    /// How many bytes of the flow it takes.
    fn size(&self) -> usize {
        0
    }

    /// A flow was opened for it, in this transaction, that may take so many seconds.
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

    /// What whoever asked is told of a flow that ended without success; `None`: nothing.
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

    /// The person turned out to be somebody else, in this transaction.
    fn release<'a>(&'a self, _tx: &'a Tx, _account: AccountId) -> Work<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// A flow that a person opens for a purpose, before there is a request.
pub struct Opening {
    /// What the person is asked, once it is known who they are.
    pub stage: Stage,
    /// Its actions, and what finds the request from what they typed.
    pub actions: &'static [(Action, Run)],
    /// What a link carried, kept to be shown under this name.
    pub brought: fn(&OpenRequest) -> Option<String>,
    pub shown_as: &'static str,
}

impl Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<opening at {}>", self.stage.as_str())
    }
}

/// What a flow leads back to. The request is checked again whenever it is used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Continuation {
    /// Rows of before there were purposes have none: they lead to authorizations.
    #[serde(default = "of_old_rows")]
    pub purpose: Cow<'static, str>,
    /// The person said which account it is.
    pub confirmed: bool,
    /// In which organization the person said they act.
    #[serde(default)]
    pub organization: Option<OrganizationId>,
    /// What the person is being shown, by its digest: what they say elsewhere meanwhile is no answer here.
    pub shown: Option<String>,
    /// What the person allowed in this flow, by its digest: nothing else.
    pub consented: Option<String>,
    /// As the purpose wrote it.
    #[serde(flatten)]
    pub request: Map<String, Value>,
}

const fn of_old_rows() -> Cow<'static, str> {
    Cow::Borrowed("authorization")
}

impl Continuation {
    /// As it arrives: nobody was asked anything yet.
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

    /// The request, as the purpose knows it.
    ///
    /// # Errors
    /// Where another version wrote it in a way this one cannot read.
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

    /// Whether this is what the flow leads to now: another step may have changed it.
    fn is_of(&self, continuation: &Continuation) -> bool {
        self.request == continuation.request
    }
}

/// The purpose a flow is for, if it is for any.
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

/// What is asked in a flow of this kind, where a person opened it for a purpose.
pub fn opening_of(app: &App, kind: &Kind) -> Option<&'static Opening> {
    match kind {
        Kind::Purpose(name) => find(app, name)?.opening(),
        Kind::SignIn | Kind::Register | Kind::Recover | Kind::Reauthenticate | Kind::Enrol => None,
    }
}

/// The request of a flow, prepared; as it was prepared before, where that was a moment ago.
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

/// What the engine must know of the request it leads back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub refused: Option<Refused>,
    /// What is remembered of it, where authority was refused.
    pub why: Option<Box<refusals::Refusal>>,
    pub needs_choice: bool,
    /// Organizations of which the person must choose one.
    pub choices: Vec<Choice>,
    /// What the organization asks of whoever acts for it.
    pub level: Level,
    pub max_age: Option<u32>,
    pub needs_consent: bool,
    /// Of everything a person decides about.
    pub digest: Option<String>,
}

impl Standing {
    /// The request cannot be answered with a yes.
    pub const fn refused(refused: Refused) -> Self {
        Self {
            refused: Some(refused),
            why: None,
            needs_choice: false,
            choices: Vec::new(),
            level: Level::None,
            max_age: None,
            needs_consent: false,
            digest: None,
        }
    }
}

/// An organization a person may act for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub id: OrganizationId,
    pub slug: String,
    pub name: String,
    pub role: String,
    /// Why it cannot be chosen, where it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<Unavailable>,
}

/// Why somebody cannot act for an organization they belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unavailable {
    Suspended,
}

impl From<&Member> for Choice {
    fn from(member: &Member) -> Self {
        let organization = &member.organization;
        Self {
            id: organization.id,
            slug: organization.slug.clone(),
            name: organization.name.clone(),
            role: member.primary_role.clone(),
            unavailable: match organization.status {
                Status::Enabled => None,
                Status::Suspended => Some(Unavailable::Suspended),
            },
        }
    }
}

/// Who authenticated, and how.
#[derive(Debug)]
pub struct Authentication<'a> {
    pub account: AccountId,
    pub session: SessionId,
    pub proofs: &'a [Proof],
    pub level: Level,
    pub now: OffsetDateTime,
}

/// What a purpose knows of the flow that completes.
#[derive(Debug, Clone, Copy)]
pub struct Completing<'a> {
    pub authentication: &'a Authentication<'a>,
    pub continuation: &'a Continuation,
    pub locale: &'a str,
}
