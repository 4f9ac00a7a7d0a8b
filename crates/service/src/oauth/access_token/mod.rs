//! Access tokens presented to our own APIs (RFC 6750, RFC 9068 §4, RFC 9449 §7, RFC 8705 §3).
//!
//! 1. One token, in the header (or, where a standard says so, the form); never in the query.
//! 2. Ours, of the right type, for us, not expired; what it says counts only after its signature.
//! 3. Bound as it says: no key or certificate, no use.
//! 4. Alive: its grant and the account behind it, asked of the database.
//! 5. Still the client's to have, as it and the API are defined now (docs/decisions/0074).

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
    acting,
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
    members::{self, Member, Whom},
    organizations::{Proved, Unmet},
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

/// A person's token that is good now. Only [`check`] makes one.
#[derive(Debug)]
pub struct Bearer {
    pub account: AccountId,
    /// As the client knows them: in an organization, by what they are there.
    pub subject: String,
    pub grant: GrantId,
    pub client_id: String,
    pub scope: Scope,
    pub level: Level,
    pub auth_time: i64,
}

/// Whoever a good token speaks for, as the database says now. Only [`spoken`] makes one.
#[derive(Debug)]
pub struct Spoken {
    pub claims: Claims,
    pub client: Arc<Client>,
    /// The person behind it; none where a client speaks for itself.
    pub account: Option<AccountId>,
    /// As whom they speak, where the token is an organization's.
    pub member: Option<Member>,
}

impl Spoken {
    /// What the person behind a token proved when it was granted. A client speaks for itself, and whoever acts as a member
    /// proved more than that to the platform (docs/decisions/0054): neither is asked what the organization asks of its
    /// people.
    pub fn proved(&self, now: OffsetDateTime) -> Option<Proved> {
        let claims = &self.claims;
        match (self.member.as_ref()?.account, claims.impersonator()) {
            (Some(_), None) => {
                let at = claims.auth_time.and_then(|at| OffsetDateTime::from_unix_timestamp(at).ok());
                Some(Proved { level: claims.proved_level(), at, now })
            }
            (None, _) | (Some(_), Some(_)) => None,
        }
    }

    /// Whether that is what the organization asks of its people now.
    pub fn admitted(&self, now: OffsetDateTime) -> Result<(), Unmet> {
        match (&self.member, self.proved(now)) {
            (Some(member), Some(proved)) => member.organization.policy.admits(&proved),
            (Some(_) | None, None) | (None, Some(_)) => Ok(()),
        }
    }
}

/// Whether a token whose signature holds counts: its grant, the account or membership behind it, its client, and what
/// it carries. One statement, and one more where somebody acts as another.
pub async fn spoken(app: &App, claims: Claims) -> Result<Option<Spoken>, StoreError> {
    let Some(client) = app.directory.client(&app.store, &claims.client_id).await? else { return Ok(None) };
    let apis = app.directory.apis(&app.store).await?;
    if !still_defined(app, &claims, &client, &apis) {
        return Ok(None);
    }
    if let Some(actor) = claims.impersonator()
        && !impersonation::is_allowed(&app.store, actor).await?
    {
        return Ok(None);
    }
    let (account, member) = match (claims.organization, claims.grant) {
        (None, Some(grant)) => {
            let Ok(account) = claims.subject.parse::<AccountId>() else { return Ok(None) };
            if !grants::is_alive(&app.store, grant, account, &client).await? {
                return Ok(None);
            }
            (Some(account), None)
        }
        // A client that speaks for itself lives as long as its registration.
        (None, None) if claims.subject == claims.client_id && is_after_the_cut(&claims, &client) => {
            (None, None)
        }
        (None, None) => return Ok(None),
        (Some(organization), grant) => {
            let Ok(id) = claims.subject.parse::<MembershipId>() else { return Ok(None) };
            let member = match grant {
                Some(grant) => grants::find_member(&app.store, organization, id, grant, &client).await?,
                None => members::find(&app.store, organization, Whom::Id(id))
                    .await?
                    .filter(|member| member.client_id.as_deref() == Some(client.id.as_str()))
                    .filter(|_| is_after_the_cut(&claims, &client)),
            };
            let Some(member) = member else { return Ok(None) };
            if !still_held(&claims, &member, &apis) {
                return Ok(None);
            }
            (member.account, Some(member))
        }
    };
    Ok(Some(Spoken { claims, client, account, member }))
}

/// Whether the client may still have what the token carries: its trust, its registration or the API may have changed.
fn still_defined(app: &App, claims: &Claims, client: &Client, apis: &Apis) -> bool {
    let api = apis.find(&claims.audience);
    let known = api.is_some() || claims.audience == app.issuer();
    known && still_allowed(client, api, &carried_authority(claims)).is_ok()
}

fn carried_authority(claims: &Claims) -> Authority {
    Authority::granted(claims.scope.clone(), claims.audience.clone(), Vec::new())
}

/// Whether a client's own token is from after it was last disabled, trusted less or became another client.
fn is_after_the_cut(claims: &Claims, client: &Client) -> bool {
    client.grants_from <= client.created_at || claims.issued > client.grants_from.unix_timestamp()
}

/// What the token carries is held by its subject still, and it is not from before they were disabled.
fn still_held(claims: &Claims, member: &Member, apis: &Apis) -> bool {
    let held = acting::check(member, &carried_authority(claims), apis.find(&claims.audience)).is_ok();
    // A grant ends with its membership; a token without one is told by its age.
    held && (claims.grant.is_some() || claims.issued > member.grants_from.unix_timestamp())
}

/// RFC 6750 §3.1: one answer for whatever is wrong with a token.
pub fn invalid_token() -> OAuthError {
    OAuthError::new(ErrorCode::InvalidToken, "the token is unknown, expired, revoked, or not for this API")
}

/// The claims of a token of ours, for whichever API, alive or not.
pub fn own(app: &App, token: &str) -> Option<Claims> {
    let rings = app.keys.current();
    let now = app.clock.now().unix_timestamp();
    let verified = app.signatures.verified(rings.verifying_keys(), token, now, || {
        verify_compact(token, rings.verifying_keys(), Algorithm::ALL).ok()
    })?;
    Claims::read(&verified, app.issuer(), now)
}

/// The token a request carries, with everything but the database's word.
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

/// A bound token without what it is bound to is nobody's (RFC 9449 §7.2).
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

/// A token of ours is genuine; whose it is says how many proofs may come with it.
async fn remember(app: &App, claims: &Claims) -> Result<Remember, StoreError> {
    let client = app.directory.client(&app.store, &claims.client_id).await?;
    Ok(match (client, claims.grant) {
        (Some(client), Some(grant)) => Remember::within(&client, grant.uuid()),
        // A client's own token, or a key's: somebody gave it the right to one.
        (Some(_), None) | (None, _) => Remember::Yes,
    })
}

/// A person's token that carries this scope and whose grant lives.
pub async fn check(
    app: &Arc<App>,
    context: &RequestContext,
    request: &Carried<'_>,
    scope: &str,
) -> Result<Bearer, OAuthError> {
    let claims = carried(app, context, request).await?;
    // A client's own token is no person's, whatever it says.
    if claims.grant.is_none() {
        return Err(invalid_token());
    }
    // Userinfo takes a token for any API (OpenID Connect Core §5.3); nothing else of ours does: an API must not be able
    // to use what was sent to it.
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
    spoken.admitted(app.clock.now())?;
    let claims = spoken.claims;
    let (Some(grant), Some(account)) = (claims.grant, spoken.account) else {
        return Err(invalid_token());
    };
    // What is the account's own is not an organization's, nor anybody's who only acts as them.
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
