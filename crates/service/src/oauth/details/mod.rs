//! Authorization details (RFC 9396) and the types their API registered: the expensive checks.
//!
//! 1. The cheap checks come before: number and size (`authorization_details::read`), and whether the client
//!    registered each type and the API knows it ([`check_types`]).
//! 2. Comparing and validating run off the async threads, a bounded number at a time; further callers are asked to
//!    try again.
//! 3. A schema is compiled once for each version of a type ([`schemas`]).

mod schemas;

use std::sync::Arc;

use porteiro_protocol::{
    authority::Authority,
    authorization_details::{DetailType, list_narrows},
    authorization_request::Refused,
    error::ErrorCode,
};
use serde_json::Value;
use tokio::sync::Semaphore;

use self::schemas::Schemas;
use super::{
    apis::{Api, Apis},
    clients::Client,
};
use crate::{http::OAuthError, store::StoreError};

/// Callers per core that may wait before others are refused.
const QUEUE_PER_CORE: usize = 32;

/// Why details are refused.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfit {
    /// They do not match the schema; the text is for the client.
    Invalid(String),
    /// They exceed the grant.
    Wider,
    /// Too many other checks are running.
    Busy,
}

#[derive(Debug)]
pub struct Details {
    schemas: Arc<Schemas>,
    places: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

/// Details that were found to narrow the held ones.
#[derive(Debug)]
pub struct Narrowed {
    held: Vec<Value>,
    asked: Vec<Value>,
}

impl Narrowed {
    pub fn asked(&self) -> &[Value] {
        &self.asked
    }

    /// Whether these are the details that were compared.
    pub fn is_of(&self, held: &[Value], asked: &[Value]) -> bool {
        self.held == held && self.asked == asked
    }
}

impl Default for Details {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        Self {
            schemas: Arc::default(),
            places: Arc::new(Semaphore::new(cores * QUEUE_PER_CORE)),
            running: Arc::new(Semaphore::new(cores)),
        }
    }
}

impl Details {
    /// Whether each detail matches the current schema of its type.
    pub async fn check(&self, apis: &Arc<Apis>, authority: &Authority) -> Result<(), Unfit> {
        if authority.details().is_empty() {
            return Ok(());
        }
        let (schemas, apis, authority) = (Arc::clone(&self.schemas), Arc::clone(apis), authority.clone());
        let work = move || schemas.validate(types(&apis, &authority), authority.details());
        self.off_thread(work).await?.map_err(Unfit::Invalid)
    }

    /// Whether the details narrow the held ones and are valid themselves (RFC 9396 §6).
    pub async fn narrow(
        &self,
        apis: &Arc<Apis>,
        held: &Authority,
        asked: Vec<Value>,
    ) -> Result<Narrowed, Unfit> {
        let (schemas, apis, held) = (Arc::clone(&self.schemas), Arc::clone(apis), held.clone());
        let work = move || {
            let types = types(&apis, &held);
            if !list_narrows(types, held.details(), &asked) {
                return Err(Unfit::Wider);
            }
            schemas.validate(types, &asked).map_err(Unfit::Invalid)?;
            Ok(Narrowed { held: held.details().to_vec(), asked })
        };
        self.off_thread(work).await?
    }

    /// Whether an API can be registered. Compiles its schemas.
    pub async fn check_api(&self, api: &Api, issuer: &str) -> Result<Result<(), String>, Unfit> {
        let (api, issuer) = (api.clone(), issuer.to_owned());
        self.off_thread(move || api.check(&issuer)).await
    }

    /// The number of schemas compiled so far.
    pub fn compiled(&self) -> u64 {
        self.schemas.compiled()
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unfit> {
        let _place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Unfit::Busy)?;
        let running = Arc::clone(&self.running).acquire_owned().await.map_err(|_| Unfit::Busy)?;
        tokio::task::spawn_blocking(move || {
            let _running = running;
            work()
        })
        .await
        .map_err(|_| Unfit::Busy)
    }
}

fn types<'a>(apis: &'a Apis, authority: &Authority) -> &'a [DetailType] {
    apis.find(authority.audience()).map(|api| api.details.as_slice()).unwrap_or_default()
}

/// Whether the client registered every type, and the API knows it. Unknown types are refused (RFC 9396 §5).
pub fn check_types(client: &Client, api: Option<&Api>, details: &[Value]) -> Result<(), Refused> {
    let refused =
        |text: &str| Refused { code: ErrorCode::InvalidAuthorizationDetails, description: text.to_owned() };
    let registered = &client.metadata.authorization_details_types;
    for detail in details {
        let name = detail["type"].as_str().unwrap_or_default();
        if !registered.iter().any(|one| one == name) {
            return Err(refused("the client did not register this type of authorization details"));
        }
        let api = api.ok_or_else(|| refused("send the API in resource"))?;
        if !api.details.iter().any(|one| one.name == name) {
            return Err(refused("this API does not define this type"));
        }
    }
    Ok(())
}

const BUSY: &str = "too many authorization details are being validated; try again later";

/// For endpoints that the client itself calls.
impl From<Unfit> for OAuthError {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Invalid(text) => Self::new(ErrorCode::InvalidAuthorizationDetails, text),
            Unfit::Wider => Self::new(
                ErrorCode::InvalidAuthorizationDetails,
                "authorization_details exceed what was granted",
            ),
            Unfit::Busy => Self::new(ErrorCode::TemporarilyUnavailable, BUSY),
        }
    }
}

impl Unfit {
    /// For authorization requests: a refusal for the client, or a temporary fault.
    pub fn refused(self) -> Result<Refused, StoreError> {
        match self {
            Self::Busy => Err(StoreError::Unavailable(BUSY.into())),
            Self::Invalid(_) | Self::Wider => {
                let error = OAuthError::from(self);
                Ok(Refused { code: error.code, description: error.description })
            }
        }
    }
}
