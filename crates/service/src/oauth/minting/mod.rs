//! Tokens are issued only here. Access tokens are RFC 9068, ID tokens OpenID Connect Core §2.

use aws_lc_rs::digest;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{
    access_token::{Claims, TYPE},
    authority::Authority,
    error::ErrorCode,
    id::{Id, OrganizationId},
    jose::Algorithm,
    time::numeric_date,
};
use serde::Serialize;

use super::{
    acting::Acting, apis::Api, binding::Binding, clients::Client, grants::Live, keys::SignError,
    token_request::TokenResponse,
};
use crate::{App, http::OAuthError};

/// The lifetime of tokens for our own APIs.
const OWN_SECONDS: i32 = 300;
const ID_TOKEN_SECONDS: i64 = 300;

/// Type of the ids of tokens.
enum Token {}

/// The subject of a token and its basis.
#[derive(Debug)]
pub enum Speaker<'a> {
    /// The client itself, or its membership in one organization.
    Client(Option<&'a Acting>),
    /// A person, with the grant.
    Person(&'a Live),
    /// An API key in its organization: as the member it belongs to, or as itself, and its expiry.
    Key { subject: &'a str, role: Option<&'a str>, until: i64 },
}

/// The claims that depend on the subject.
struct Said {
    subject: String,
    organization: Option<OrganizationId>,
    role: Option<String>,
    seconds: i64,
}

impl Speaker<'_> {
    const fn live(&self) -> Option<&Live> {
        match self {
            Self::Person(live) => Some(live),
            Self::Client(_) | Self::Key { .. } => None,
        }
    }

    /// `seconds` is the lifetime that the API defines.
    fn said(&self, client_id: &str, authority: &Authority, seconds: i64, now: i64) -> Said {
        let short = seconds.min(i64::from(OWN_SECONDS));
        let (acting, plain, seconds) = match self {
            Self::Client(acting) => (*acting, client_id.to_owned(), seconds),
            Self::Person(live) => {
                // Tokens of an impersonation have at most the lifetime of our own, and end with it.
                let seconds = live.terms.until.map_or(seconds, |until| short.min(until - now));
                (live.acting.as_ref(), live.account.to_string(), seconds)
            }
            Self::Key { subject, role, until } => {
                return Said {
                    subject: (*subject).to_owned(),
                    organization: authority.organization(),
                    role: role.map(str::to_owned),
                    seconds: short.min(until - now).max(1),
                };
            }
        };
        Said {
            subject: acting.map_or(plain, |acting| acting.membership.to_string()),
            organization: acting.map(|acting| acting.organization),
            role: acting.map(|acting| acting.role.clone()),
            seconds,
        }
    }
}

/// Issues an access token.
pub async fn access_token(
    app: &App,
    apis: &[Api],
    client_id: &str,
    speaker: &Speaker<'_>,
    authority: &Authority,
    binding: Binding,
) -> Result<TokenResponse, OAuthError> {
    let api = apis.iter().find(|api| api.identifier == authority.audience());
    if api.is_none() && authority.audience() != app.issuer() {
        return Err(OAuthError::new(ErrorCode::InvalidTarget, "the API no longer exists"));
    }
    let now = numeric_date(app.clock.now());
    let seconds = i64::from(api.map_or(OWN_SECONDS, |api| api.token_seconds));
    let said = speaker.said(client_id, authority, seconds, now);
    if said.organization != authority.organization() {
        return Err(OAuthError::new(ErrorCode::ServerError, "an organization without its member"));
    }
    let live = speaker.live();
    let claims = Claims {
        issuer: app.issuer().to_owned(),
        subject: said.subject,
        audience: authority.audience().to_owned(),
        expires: now + said.seconds,
        issued: now,
        id: Id::<Token>::random(&*app.entropy).to_string(),
        client_id: client_id.to_owned(),
        scope: authority.scope().clone(),
        grant: live.map(|live| live.id),
        organization: authority.organization(),
        role: said.role,
        actor: live.and_then(|live| live.terms.actor.clone()),
        // 0: another server asserted who it is, and is not believed about when they signed in.
        auth_time: live.map(|live| live.terms.auth_time).filter(|at| *at > 0),
        level: live.map(|live| live.terms.level),
        confirmation: binding.confirmation(),
        details: authority.details().to_vec(),
    };
    let algorithm = api.map_or(Algorithm::Es256, |api| api.algorithm);
    let access_token = sign(app, algorithm, TYPE, &claims).await?;
    Ok(TokenResponse {
        access_token,
        issued_token_type: None,
        token_type: binding.token_type(),
        expires_in: said.seconds,
        scope: claims.scope.to_string(),
        refresh_token: None,
        id_token: None,
        organization: authority.organization(),
        authorization_details: claims.details,
    })
}

/// Claims of an ID token: subject, client, time and methods. Never `org` or `role` (docs/decisions/0034).
#[derive(Serialize)]
struct IdToken<'a> {
    iss: &'a str,
    sub: String,
    aud: &'a str,
    exp: i64,
    iat: i64,
    /// None if a directory did not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_time: Option<i64>,
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
        auth_time: Some(live.terms.auth_time).filter(|at| *at > 0),
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

/// Whether the tokens of this client's grant can be signed: after a code also an ID token. Checked before the grant
/// moves.
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
    OAuthError::new(ErrorCode::TemporarilyUnavailable, "temporarily unavailable; try again later")
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
