//! Access tokens presented to our own APIs (RFC 6750, RFC 9068 §4, RFC 9449 §7, RFC 8705 §3).
//!
//! 1. One token, in the header (or, where a standard allows it, the form); never in the query.
//! 2. It is an access token of this issuer, has the required audience and is not expired; its claims are used only
//!    after its signature was verified.
//! 3. A bound token requires its key or certificate.
//! 4. Its grant and account are valid now, according to the database.
//! 5. Its client may still have this authority, as client and API are defined now (docs/decisions/0074).

mod remembered;

use std::sync::Arc;

use porteiro_protocol::{
    assurance::Level,
    authority::Authority,
    error::ErrorCode,
    id::{AccountId, MembershipId},
    jose::{Algorithm, verify_compact},
    scope::Scope,
    time::OffsetDateTime,
};

pub use porteiro_protocol::access_token::Claims;
pub use remembered::Signatures;

use super::{
    acting::{self, Refused},
    apis::Apis,
    authority::still_allowed,
    binding::{self, Remember},
    clients::Client,
    grants,
    grants::GrantId,
};
use crate::{
    App,
    http::{OAuthError, RequestContext},
    impersonation,
    members::{self, Member, Unusable, Whom},
    organizations::{Entrance, Proved, Unmet},
    store::StoreError,
};

/// Where a request may carry its token.
#[derive(Debug)]
pub struct Carried<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// `access_token` of a form (RFC 6750 §2.2).
    pub form: Option<&'a str>,
}

/// A person's token that is valid now. Only [`check`] creates one.
#[derive(Debug)]
pub struct Bearer {
    pub account: AccountId,
    /// The subject of the token: in an organization, the member.
    pub subject: String,
    pub grant: GrantId,
    pub client_id: String,
    pub scope: Scope,
    pub level: Level,
    pub auth_time: i64,
}

/// A valid token with its client, account and member from the database. Only [`spoken`] creates one.
#[derive(Debug)]
pub struct Spoken {
    pub claims: Claims,
    pub client: Arc<Client>,
    /// The person; `None` where a client acts for itself.
    pub account: Option<AccountId>,
    /// The member, where the token is for an organization.
    pub member: Option<Member>,
    /// How the person came, where the organization requires a way.
    pub entrance: Entrance,
}

impl Spoken {
    /// What the person proved when the token was granted. `None` for a client that acts for itself and for an
    /// impersonation, which requires more at the platform (docs/decisions/0054): neither the deployment's minimum level
    /// nor the organization's policy applies to them.
    pub fn proved(&self, now: OffsetDateTime) -> Option<Proved> {
        let claims = &self.claims;
        match (self.account, claims.impersonator()) {
            (Some(_), None) => {
                let at = claims.auth_time.and_then(|at| OffsetDateTime::from_unix_timestamp(at).ok());
                Some(Proved { level: claims.proved_level(), at, entrance: self.entrance, now })
            }
            (None, _) | (Some(_), Some(_)) => None,
        }
    }

    /// Whether the proof meets the deployment's minimum level and the organization's policy now.
    pub fn admitted(&self, app: &App) -> Result<(), Unmet> {
        let minimum = app.checked.settings.minimum_level;
        match (&self.member, self.proved(app.clock.now())) {
            (Some(member), Some(proved)) => member.admits(minimum, &proved),
            (None, Some(proved)) => proved.reaches(minimum),
            (Some(_) | None, None) => Ok(()),
        }
    }
}

/// Why a token whose signature was verified is not accepted.
#[derive(Debug)]
pub enum Unspoken {
    Invalid,
    /// Nothing is wrong with it, but the organization of this member is suspended.
    Suspended(Box<Member>),
}

/// Checks a token whose signature was verified: its grant, account or membership, client and authority. One
/// statement, and one more for an impersonation and where the organization requires a connection.
pub async fn spoken(app: &App, claims: Claims) -> Result<Option<Spoken>, StoreError> {
    Ok(judged(app, claims).await?.ok())
}

/// The same, with the reason.
pub async fn judged(app: &App, claims: Claims) -> Result<Result<Spoken, Unspoken>, StoreError> {
    let Some(client) = app.directory.client(&app.store, &claims.client_id).await? else {
        return Ok(Err(Unspoken::Invalid));
    };
    let apis = app.directory.apis(&app.store).await?;
    if !still_defined(app, &claims, &client, &apis) {
        return Ok(Err(Unspoken::Invalid));
    }
    if let Some(actor) = claims.impersonator()
        && !impersonation::is_allowed(&app.store, actor).await?
    {
        return Ok(Err(Unspoken::Invalid));
    }
    let (account, member) = match (claims.organization, claims.grant) {
        (None, Some(grant)) => {
            let Ok(account) = claims.subject.parse::<AccountId>() else {
                return Ok(Err(Unspoken::Invalid));
            };
            if !grants::is_alive(&app.store, grant, account, &client).await? {
                return Ok(Err(Unspoken::Invalid));
            }
            (Some(account), None)
        }
        // A token of a client that acts for itself is valid as long as the client's registration.
        (None, None) if claims.subject == claims.client_id && issued_after_cut(&claims, &client) => {
            (None, None)
        }
        (None, None) => return Ok(Err(Unspoken::Invalid)),
        (Some(organization), grant) => {
            let Ok(id) = claims.subject.parse::<MembershipId>() else {
                return Ok(Err(Unspoken::Invalid));
            };
            let member = match grant {
                Some(grant) => grants::find_member(&app.store, organization, id, grant, &client).await?,
                None => members::find(&app.store, organization, Whom::Id(id))
                    .await?
                    .filter(|member| member.client_id.as_deref() == Some(client.id.as_str()))
                    .filter(|_| issued_after_cut(&claims, &client)),
            };
            let Some(member) = member else {
                return Ok(Err(Unspoken::Invalid));
            };
            let agents = member.organization.policy.agents;
            if !agents.admit(claims.actor.as_ref())
                || !agents.admit_itself(&client.metadata, claims.impersonator().is_some())
            {
                return Ok(Err(Unspoken::Invalid));
            }
            match still_held(&claims, &member, &apis) {
                Ok(()) => {}
                Err(Refused::Unusable(Unusable::Suspended)) => {
                    return Ok(Err(Unspoken::Suspended(Box::new(member))));
                }
                Err(
                    Refused::Unusable(Unusable::Unclaimed | Unusable::Disabled | Unusable::Removed)
                    | Refused::Lacks(_),
                ) => return Ok(Err(Unspoken::Invalid)),
            }
            (member.account, Some(member))
        }
    };
    let entrance = match (&member, claims.grant, account) {
        (Some(member), Some(grant), Some(account)) if member.door().is_some() => {
            grants::entrance(&app.store, grant, account).await?
        }
        (Some(_) | None, _, _) => Entrance::default(),
    };
    Ok(Ok(Spoken { claims, client, account, member, entrance }))
}

/// Whether the client may still have the token's authority: its trust, its registration or the API may have changed.
fn still_defined(app: &App, claims: &Claims, client: &Client, apis: &Apis) -> bool {
    let api = apis.find(&claims.audience);
    let known = api.is_some() || claims.audience == app.issuer();
    known && still_allowed(client, api, &carried_authority(claims)).is_ok()
}

fn carried_authority(claims: &Claims) -> Authority {
    Authority::granted(claims.scope.clone(), claims.audience.clone(), claims.details.clone())
}

/// Whether a client's own token was issued after the client was last disabled, lost trust, or changed so much that it
/// counts as another client.
fn issued_after_cut(claims: &Claims, client: &Client) -> bool {
    client.grants_from <= client.created_at || claims.issued > client.grants_from.unix_timestamp()
}

/// Whether the member still holds the token's scopes, and the token was issued after the member was last disabled.
fn still_held(claims: &Claims, member: &Member, apis: &Apis) -> Result<(), Refused> {
    // A grant ends with its membership; a token without a grant is judged by its time of issue.
    if claims.grant.is_none() && claims.issued <= member.grants_from.unix_timestamp() {
        return Err(Refused::Unusable(Unusable::Disabled));
    }
    acting::check(member, &carried_authority(claims), apis.find(&claims.audience))
}

/// RFC 6750 §3.1: one error for every invalid token.
pub fn invalid_token() -> OAuthError {
    OAuthError::new(ErrorCode::InvalidToken, "the token is unknown, expired, revoked, or not for this API")
}

/// The claims of a token that this service signed, for any API; its grant is not checked.
pub fn own(app: &App, token: &str) -> Option<Claims> {
    let rings = app.keys.current();
    let now = app.clock.now().unix_timestamp();
    let verified = app.signatures.verified(rings.verifying_keys(), token, || {
        verify_compact(token, rings.verifying_keys(), Algorithm::ALL).ok()
    })?;
    Claims::read(&verified, app.issuer(), now)
}

/// The token of a request, checked without the database.
pub async fn carried(
    app: &App,
    context: &RequestContext,
    request: &Carried<'_>,
) -> Result<Claims, OAuthError> {
    let header = context.authorization.as_ref();
    let (scheme, token) = match (header, request.form) {
        (Some((scheme, token)), None) if scheme == "bearer" || scheme == "dpop" => {
            (scheme.as_str(), token.as_str())
        }
        (None, Some(token)) => ("bearer", token),
        (Some(_), Some(_)) => {
            return Err(OAuthError::new(ErrorCode::InvalidRequest, "send the token by one method only"));
        }
        (_, None) => {
            return Err(OAuthError::new(ErrorCode::InvalidToken, "an access token is required").missing());
        }
    };
    let claims = own(app, token).ok_or_else(invalid_token)?;
    bound(app, context, request, &claims, scheme, token).await?;
    Ok(claims)
}

/// Refuses a bound token without its key or certificate (RFC 9449 §7.2).
async fn bound(
    app: &App,
    context: &RequestContext,
    request: &Carried<'_>,
    claims: &Claims,
    scheme: &str,
    token: &str,
) -> Result<(), OAuthError> {
    let proof = binding::proof(app, context, request.method, request.path, Some(token)).await;
    let proof = proof.map_err(OAuthError::at_resource)?;
    let certificate = binding::certificate(context);
    match (claims.confirmation.key, claims.confirmation.certificate) {
        (Some(key), _) if scheme == "dpop" => {
            let proof = proof.filter(|proof| proof.jkt == key);
            let proof = proof.ok_or_else(|| invalid_token().challenge(Some("DPoP")))?;
            let remember = remember(app, claims).await?;
            binding::spend(app, &proof, remember).await.map_err(OAuthError::at_resource)
        }
        (Some(_), _) => Err(invalid_token().challenge(Some("DPoP"))),
        (None, Some(hash)) if certificate == Some(hash) => Ok(()),
        (None, None) if scheme == "bearer" => Ok(()),
        (None, Some(_) | None) => Err(invalid_token()),
    }
}

/// How the proof of possession is remembered: the token is genuine, and its grant determines the limit.
async fn remember(app: &App, claims: &Claims) -> Result<Remember, StoreError> {
    let client = app.directory.client(&app.store, &claims.client_id).await?;
    Ok(match (client, claims.grant) {
        (Some(client), Some(grant)) => Remember::within(&client, grant.uuid()),
        // A client's own token or a key's: anonymous callers cannot obtain either.
        (Some(_), None) | (None, _) => Remember::Yes,
    })
}

/// Requires a person's token with this scope and a valid grant.
pub async fn check(
    app: &Arc<App>,
    context: &RequestContext,
    request: &Carried<'_>,
    scope: &str,
) -> Result<Bearer, OAuthError> {
    let claims = carried(app, context, request).await?;
    // A client's own token is not a person's.
    if claims.grant.is_none() {
        return Err(invalid_token());
    }
    // Userinfo accepts a token for any API (OpenID Connect Core §5.3). Our other endpoints do not: an API must not be
    // able to use tokens that were sent to it.
    if scope != "openid" && claims.audience != app.issuer() {
        return Err(invalid_token());
    }
    if !claims.scope.contains(scope) {
        return Err(OAuthError::new(
            ErrorCode::InsufficientScope,
            format!("the token lacks the scope {scope}"),
        ));
    }
    let spoken = spoken(app, claims).await?.ok_or_else(invalid_token)?;
    spoken.admitted(app)?;
    let claims = spoken.claims;
    let (Some(grant), Some(account)) = (claims.grant, spoken.account) else {
        return Err(invalid_token());
    };
    // The account API is not for tokens of an organization or with an actor.
    if scope != "openid" && (spoken.member.is_some() || claims.actor.is_some()) {
        return Err(invalid_token());
    }
    Ok(Bearer {
        account,
        level: claims.proved_level(),
        subject: claims.subject,
        grant,
        client_id: claims.client_id,
        scope: claims.scope,
        auth_time: claims.auth_time.unwrap_or_default(),
    })
}
