//! The authorization endpoint (OAuth 2.1 §4.1, OpenID Connect Core §3.1.2).
//!
//! 1. The request is found: in the parameters, pushed before (RFC 9126), or in a signed object (RFC 9101), by value
//!    or by reference.
//! 2. [`prepare`]: the client, the redirect URI, and then every check of [`decide::CHECKS`].
//! 3. The flow engine decides what is missing: nothing (the response is sent at once), or the person must sign in,
//!    step up or give consent.
//! 4. When the flow completes, the request is prepared again from the database, and the code is issued in the
//!    transaction that completes it: [`issue`].

mod begin;
mod continued;
pub mod decide;
mod describe;
mod ending;
mod endpoint;
mod hint;
mod issue;
mod life;
mod object;
mod place;
mod purpose;
pub mod pushed;
mod reference;
mod respond;
mod starting;
mod store;

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{
    assurance::Level,
    authority::Authority,
    authorization_request::{AuthorizationRequest, Prompt, RawRequest, Refused, ResponseMode, Undeliverable},
    error::ErrorCode,
};
use serde_json::json;

pub use begin::{Begun, Beside, begin, continued_from, naming};
pub use continued::{Asking, Continued, Way};
pub use describe::{describe, in_words};
pub use ending::DEPENDENT;
pub use hint::{Hint, read_hint};
pub use issue::{Admitted, Code, admit, write_grant};
pub use object::limited;
pub use purpose::{AuthorizationPurpose, Request};
pub use starting::start;
pub use store::{allowed_clients, remembered};

use self::place::{Known, Place};
use super::{
    apis::{self, Api},
    clients::{self, Client},
};
use crate::{
    App,
    connections::Recency,
    flow::{Choice, Continuation, Person, Standing},
    http::{OAuthError, Route},
    members::Member,
    secrets::sha256,
    store::{Reader, StoreError},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// A request that passed every check.
#[derive(Debug)]
pub struct Prepared {
    pub client: Client,
    pub request: AuthorizationRequest,
    pub redirect_uri: Option<String>,
    pub device: Option<Asking>,
    /// The requested authority, before an organization is known.
    asked: Authority,
    /// The requested authority for the organization the person acts for, once that is known.
    pub authority: Authority,
    pub api: Option<Api>,
    /// The definitions of client and APIs that it was checked under.
    pub definition: i64,
    pub level: Level,
    /// The member, once person and organization are known.
    pub member: Option<Member>,
}

/// Why a request is stopped.
#[derive(Debug)]
pub enum Stopped {
    /// Only the browser may show it.
    Page { code: ErrorCode, detail: String },
    /// The client may receive it.
    Client(Box<Turned>),
}

/// A refusal and its destination.
#[derive(Debug, Clone)]
pub struct Turned {
    pub client: Client,
    pub redirect_uri: Option<String>,
    pub mode: ResponseMode,
    pub state: Option<String>,
    pub refused: Refused,
}

impl From<Undeliverable> for Stopped {
    fn from(error: Undeliverable) -> Self {
        Self::Page { code: ErrorCode::InvalidRequest, detail: error.to_string() }
    }
}

/// For endpoints that the client itself calls.
impl From<Stopped> for OAuthError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Page { code, detail } => Self::new(code, detail),
            Stopped::Client(turned) => Self::new(turned.refused.code, turned.refused.description),
        }
    }
}

impl Prepared {
    /// How the response is delivered.
    pub const fn way(&self) -> Way {
        match (&self.device, &self.redirect_uri) {
            (Some(_), _) => Way::Device,
            (None, None) => Way::Direct,
            (None, Some(_)) => Way::Redirect,
        }
    }
}

impl Turned {
    pub fn new(prepared: &Prepared, refused: Refused) -> Self {
        Self {
            client: prepared.client.clone(),
            redirect_uri: prepared.redirect_uri.clone(),
            mode: decide::mode(&prepared.request),
            state: prepared.request.state.clone(),
            refused,
        }
    }
}

/// Step 2: read from the database every time.
pub async fn prepare(
    app: &App,
    reader: &impl Reader,
    continued: &Continued,
) -> Result<Result<Box<Prepared>, Stopped>, StoreError> {
    let raw = &continued.request;
    let addressee = match raw.addressee() {
        Ok(addressee) => addressee,
        Err(error) => return Ok(Err(error.into())),
    };
    let Some(client) = clients::find(reader, addressee.client_id).await? else {
        let detail = "the client is unknown".to_owned();
        return Ok(Err(Stopped::Page { code: ErrorCode::InvalidRequest, detail }));
    };
    let redirect_uri = match continued.way() {
        Way::Direct | Way::Device => None,
        Way::Redirect => match addressee.choose_redirect_uri(&client.metadata.redirect_uris) {
            Ok(uri) => Some(uri),
            Err(error) => return Ok(Err(error.into())),
        },
    };
    let apis = Arc::new(apis::all(reader).await?);
    let checked = raw.check().and_then(|request| {
        let asked = decide::Asked {
            client: &client,
            request: &request,
            pushed: continued.pushed.is_some(),
            signed: continued.signed,
            way: continued.way(),
            apis: &apis,
            issuer: app.issuer(),
        };
        for check in decide::CHECKS {
            (check.run)(&asked)?;
        }
        let authority = decide::authority(&asked)?;
        let level = decide::needed_level(&client, &request)?;
        Ok((request, authority, level))
    });
    let checked = match checked {
        Ok(passed) => match app.details.check(&apis, &passed.1).await {
            Ok(()) => Ok(passed),
            Err(unfit) => Err(unfit.refused()?),
        },
        Err(refused) => Err(refused),
    };
    Ok(match checked {
        Ok((request, authority, level)) => {
            let api = apis.find(authority.audience()).cloned();
            let definition = apis.definition(&client, app.checked.settings.minimum_level);
            let device = continued.device.clone();
            Ok(Box::new(Prepared {
                client,
                request,
                redirect_uri,
                device,
                asked: authority.clone(),
                authority,
                api,
                definition,
                level,
                member: None,
            }))
        }
        Err(refused) => Err(Stopped::Client(Box::new(Turned {
            mode: error_mode(&client, raw),
            client,
            redirect_uri,
            state: raw.state().map(str::to_owned),
            refused,
        }))),
    })
}

/// As requested, unless the client cannot read such a response.
fn error_mode(client: &Client, raw: &RawRequest) -> ResponseMode {
    let mode = raw.error_mode();
    let reads = client.metadata.authorization_signed_response_alg.is_some();
    if mode.is_signed() && !reads { ResponseMode::Query } else { mode }
}

/// A digest of client, trust, authority and destination. If any of these changes, an earlier consent is invalid.
fn digest(prepared: &Prepared) -> String {
    let Prepared { client, redirect_uri, device, authority, .. } = prepared;
    let decided = json!([
        client.id,
        client.metadata.client_name,
        client.trust,
        client.changed_at.unix_timestamp_nanos().to_string(),
        redirect_uri,
        device.as_ref().map(|device| device.id),
        authority
    ]);
    URL_SAFE_NO_PAD.encode(sha256(decided.to_string().as_bytes()))
}

/// The state of the request for the person of the flow. Once the person is known, so is the organization, and the
/// requested authority is for that one alone.
pub async fn standing(
    reader: &impl Reader,
    continued: &Continued,
    continuation: &Continuation,
    prepared: &mut Result<Box<Prepared>, Stopped>,
    person: Option<Person>,
) -> Result<Standing, StoreError> {
    let account = person.map(|person| person.account);
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(Stopped::Page { code, detail }) => return Ok(Standing::refused(decide::refuse(*code, detail))),
        Err(Stopped::Client(turned)) => return Ok(Standing::refused(turned.refused.clone())),
    };
    // Reset what an earlier person of this flow determined.
    prepared.member = None;
    prepared.authority = prepared.asked.clone();
    if let (Some(hinted), Some(account)) = (continued.hinted, account)
        && hinted != account
    {
        let text = "the person could not meet the request's requirements";
        return Ok(Standing::refused(decide::refuse(ErrorCode::LoginRequired, text)));
    }
    let mut choices = Vec::new();
    let (mut organization, mut discovers) = (None, false);
    if account.is_none() {
        match place::known(reader, continuation.organization, prepared).await? {
            Known::This(known) => organization = Some(known),
            Known::Any => discovers = true,
            Known::Nothing => {}
        }
    }
    if let Some(account) = account {
        let place = place::find(reader, continuation.organization, prepared, account).await?;
        if continued.subject.is_some_and(|subject| !place.may_be(subject, account)) {
            let text = "the person could not meet the request's requirements";
            return Ok(Standing::refused(decide::refuse(ErrorCode::LoginRequired, text)));
        }
        match place {
            Place::Nowhere => {}
            Place::Here(member) => {
                organization = Some(member.organization.id);
                prepared.authority = prepared.asked.clone().acting_for(member.organization.id);
                prepared.member = Some(*member);
            }
            Place::Choose(members) => choices = members.iter().map(Choice::from).collect(),
            Place::Refused(why_not, why) => {
                return Ok(Standing { why: Some(why), ..Standing::refused(why_not) });
            }
        }
    }
    let policy = prepared.member.as_ref().map(|member| &member.organization.policy);
    let (level, max_age) = policy.map_or((Level::None, None), |policy| (policy.min_level, policy.max_age));
    // In other flows the client's default applies when the flow begins; in a device flow the client is not known
    // then.
    let usual = prepared.client.metadata.default_max_age.filter(|_| prepared.device.is_some());
    let usual = usual.map(|usual| u32::try_from(usual).unwrap_or(u32::MAX));
    let max_age = max_age.into_iter().chain(usual).min();
    let before = match person {
        Some(person) => {
            let authority = &prepared.authority;
            let place = authority.organization();
            remembered(reader, person, &prepared.client, authority.audience(), place).await?
        }
        None => None,
    };
    let digest = digest(prepared);
    let needs_consent = continuation.consented.as_ref() != Some(&digest)
        && (continuation.shown.is_some()
            || continued.device.is_some()
            || decide::needs_consent(
                &prepared.client,
                prepared.redirect_uri.as_deref(),
                &prepared.request,
                &prepared.authority,
                before.as_ref(),
            ));
    let needs_choice = !continuation.confirmed && prepared.request.prompts(Prompt::SelectAccount);
    Ok(Standing {
        refused: None,
        why: None,
        needs_choice,
        organization,
        discovers,
        choices,
        level,
        max_age,
        door: prepared.member.as_ref().and_then(Member::door),
        recency: recency(prepared, max_age),
        needs_consent,
        digest: Some(digest),
    })
}

/// What is passed on to another provider by which the person signs in. `usual`: what the organization requires.
fn recency(prepared: &Prepared, usual: Option<u32>) -> Recency {
    let asked = prepared.request.max_age.or(prepared.client.metadata.default_max_age);
    let asked = asked.map(|asked| u32::try_from(asked).unwrap_or(u32::MAX));
    let max_age = asked.into_iter().chain(usual).min();
    Recency { login: prepared.request.prompts(Prompt::Login), max_age }
}
