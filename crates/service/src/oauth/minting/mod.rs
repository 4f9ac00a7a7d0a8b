//! Tokens: the one place that mints them. Access tokens are RFC 9068, ID tokens OpenID Connect Core §2.

use aws_lc_rs::digest;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{
    authority::Authority,
    error::ErrorCode,
    id::{Id, OrganizationId},
    jose::Algorithm,
    time::numeric_date,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    acting::Acting,
    apis::Api,
    binding::Binding,
    clients::Client,
    grants::{GrantId, Live},
    keys::SignError,
    token_request::TokenResponse,
};
use crate::{App, http::OAuthError};

/// Where our own APIs' tokens are not said otherwise.
const OWN_SECONDS: i32 = 300;
const ID_TOKEN_SECONDS: i64 = 300;

/// Claims of an access token. Members without a value are absent.
#[derive(Serialize)]
struct AccessToken<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    exp: i64,
    iat: i64,
    jti: String,
    client_id: &'a str,
    scope: String,
    /// The grant it came from: what keeps it alive at our own APIs and at introspection.
    #[serde(skip_serializing_if = "Option::is_none")]
    grant_id: Option<GrantId>,
    /// The one organization it speaks for, and the subject's role there.
    #[serde(skip_serializing_if = "Option::is_none")]
    org: Option<OrganizationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    /// Who really acts (RFC 8693 §4.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    act: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    acr: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cnf: Option<Value>,
    #[serde(skip_serializing_if = "<[Value]>::is_empty")]
    authorization_details: &'a [Value],
}

/// Names a token.
enum Token {}

/// Whom a token speaks for, and what makes it so.
#[derive(Debug)]
pub enum Speaker<'a> {
    /// The client itself, or what it is in one organization.
    Client(Option<&'a Acting>),
    /// A person, by their grant.
    Person(&'a Live),
}

pub async fn access_token(
    app: &App,
    apis: &[Api],
    client: &Client,
    speaker: &Speaker<'_>,
    authority: &Authority,
    binding: Binding,
) -> Result<TokenResponse, OAuthError> {
    let api = apis.iter().find(|api| api.identifier == authority.audience());
    if api.is_none() && authority.audience() != app.issuer() {
        return Err(OAuthError::new(ErrorCode::InvalidTarget, "the API is gone"));
    }
    let now = numeric_date(app.clock.now());
    let seconds = i64::from(api.map_or(OWN_SECONDS, |api| api.token_seconds));
    let (acting, live) = match speaker {
        Speaker::Client(acting) => (*acting, None),
        Speaker::Person(live) => (live.acting.as_ref(), Some(*live)),
    };
    // Whoever acts as another gets no longer tokens than our own, and none beyond their time.
    let until = live.and_then(|live| live.terms.until);
    let expires_in = until.map_or(seconds, |until| seconds.min(i64::from(OWN_SECONDS)).min(until - now));
    if acting.map(|acting| acting.organization) != authority.organization() {
        return Err(OAuthError::new(ErrorCode::ServerError, "an organization without its member"));
    }
    let subject = match (acting, live) {
        (Some(acting), _) => acting.membership.to_string(),
        (None, Some(live)) => live.account.to_string(),
        (None, None) => client.id.clone(),
    };
    let claims = AccessToken {
        iss: app.issuer(),
        sub: &subject,
        aud: authority.audience(),
        exp: now + expires_in,
        iat: now,
        jti: Id::<Token>::random(&*app.entropy).to_string(),
        client_id: &client.id,
        scope: authority.scope().to_string(),
        grant_id: live.map(|live| live.id),
        org: authority.organization(),
        role: acting.map(|acting| acting.role.as_str()),
        act: live.and_then(|live| live.terms.actor.as_ref()).map(|actor| json!({"sub": actor})),
        auth_time: live.map(|live| live.terms.auth_time),
        acr: live.map(|live| live.terms.level.acr()),
        cnf: binding.confirmation(),
        authorization_details: authority.details(),
    };
    let algorithm = api.map_or(Algorithm::Es256, |api| api.algorithm);
    let access_token = sign(app, algorithm, "at+jwt", &claims).await?;
    Ok(TokenResponse {
        access_token,
        token_type: binding.token_type(),
        expires_in,
        scope: claims.scope,
        refresh_token: None,
        id_token: None,
        organization: authority.organization(),
        authorization_details: authority.details().to_vec(),
    })
}

/// Claims of an ID token: who, for whom, how and when. Never `org` or `role` (docs/decisions/0034).
#[derive(Serialize)]
struct IdToken<'a> {
    iss: &'a str,
    sub: String,
    aud: &'a str,
    exp: i64,
    iat: i64,
    auth_time: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    acr: &'static str,
    amr: &'a [String],
    at_hash: String,
    sid: String,
}

pub async fn id_token(
    app: &App,
    client: &Client,
    live: &Live,
    access_token: &str,
) -> Result<String, OAuthError> {
    let algorithm = identity_algorithm(client);
    let now = numeric_date(app.clock.now());
    let claims = IdToken {
        iss: app.issuer(),
        sub: live.subject().to_string(),
        aud: &client.id,
        exp: now + ID_TOKEN_SECONDS,
        iat: now,
        auth_time: live.terms.auth_time,
        nonce: live.terms.nonce.as_deref(),
        acr: live.terms.level.acr(),
        amr: &live.terms.amr,
        at_hash: half_hash(algorithm, access_token),
        sid: app.secrets.sid(live.session, &client.id, live.subject()),
    };
    sign(app, algorithm, "JWT", &claims).await
}

/// OpenID Connect Core §3.1.3.6: the left half of the hash the signature uses.
fn half_hash(algorithm: Algorithm, text: &str) -> String {
    let hash = match algorithm {
        Algorithm::Es256 | Algorithm::Rs256 | Algorithm::Ps256 => &digest::SHA256,
        Algorithm::EdDsa => &digest::SHA512,
    };
    let digest = digest::digest(hash, text.as_bytes());
    URL_SAFE_NO_PAD.encode(&digest.as_ref()[..digest.as_ref().len() / 2])
}

/// Whether what a grant of this client leads to can be signed: after a code an ID token too. Asked before the grant moves.
pub fn ready(app: &App, client: &Client, generation: u32) -> Result<(), OAuthError> {
    let rings = app.keys.current();
    let identity = Some(identity_algorithm(client)).filter(|_| generation == 0);
    let mut needed = std::iter::once(Algorithm::Es256).chain(identity);
    needed.try_for_each(|algorithm| rings.signer(algorithm).map(|_| ())).map_err(|error| unsigned(&error))
}

fn identity_algorithm(client: &Client) -> Algorithm {
    client.metadata.id_token_signed_response_alg.unwrap_or(Algorithm::Rs256)
}

fn unsigned(error: &SignError) -> OAuthError {
    tracing::error!(%error, "a token could not be signed");
    OAuthError::new(ErrorCode::TemporarilyUnavailable, "try again in a moment")
}

pub async fn sign<C: Serialize + Sync>(
    app: &App,
    algorithm: Algorithm,
    typ: &str,
    claims: &C,
) -> Result<String, OAuthError> {
    let signer = app.keys.current().signer(algorithm).map_err(|error| unsigned(&error))?;
    signer.jwt(typ, claims).await.map_err(|error| unsigned(&error))
}
