//! What redeeming a code and refreshing have in common: presenting a grant and issuing tokens for its person.

pub mod refused;
pub mod replay;

use std::sync::Arc;

use porteiro_protocol::{
    authority::{Asked, Authority, Widening},
    authorization_details,
    error::ErrorCode,
    scope::Scope,
};
use serde_json::{Value, json};

use super::{
    acting,
    apis::{Api, Apis},
    authority::still_allowed,
    clients::Client,
    details::{Narrowed, Unfit, check_types},
    grants::{self, Live, Outcome, Presentation, Rechecked, Versions},
    minting::{self, Speaker},
    token_request::{TokenRequest, TokenResponse},
};
use crate::{
    App, client_policies,
    http::OAuthError,
    limits::{self, Bucket, LIMIT_LOGGED},
    members::{self, Whom},
    organizations::{self, Name},
    secrets::{HandleKind, Issued, Presented, Route},
    security_log,
    store::StoreError,
};

/// One error for every invalid code or token.
pub fn invalid_grant() -> OAuthError {
    OAuthError::new(
        ErrorCode::InvalidGrant,
        "the code or token is unknown, expired, used, revoked, or belongs to another client",
    )
}

/// What the request adds to the presented grant.
#[derive(Debug, Default)]
pub struct Shown {
    pub challenge: Option<[u8; 32]>,
    pub redirect_uri: Option<String>,
    pub scope: Option<Scope>,
    /// Already narrowed.
    pub details: Option<Narrowed>,
}

/// Presents a genuine handle. Returns the grant as it is now, and the token that is current from now on.
pub async fn present(
    request: TokenRequest<'_>,
    handle: &Presented,
    shown: &Shown,
    apis: &Arc<Apis>,
) -> Result<(Box<Live>, Issued), OAuthError> {
    let app = request.app;
    minting::ready(app, request.client, handle.route.generation)?;
    let route = Route { generation: handle.route.generation + 1, ..handle.route };
    let next = app.secrets.handles.issue(HandleKind::Refresh, route, &*app.entropy).map_err(|error| {
        tracing::error!(%error, "a token could not be created");
        OAuthError::new(ErrorCode::ServerError, "")
    })?;
    let mut presentation = Presentation {
        grant: handle.route.row,
        account: handle.route.owner,
        client_id: request.client.id.clone(),
        hash: handle.hash,
        generation: i32::try_from(handle.route.generation).unwrap_or(i32::MAX),
        next_hash: next.hash,
        key: request.binding.thumbprint(),
        binds: request.client.is_public(),
        challenge: shown.challenge,
        redirect_uri: shown.redirect_uri.clone(),
        scope: shown.scope.as_ref().map(Scope::with_wildcards),
        audience: audience(request, apis).map(str::to_owned),
        definition: apis.definition(request.client, app.checked.settings.minimum_level),
        rechecked: None,
        log: replay::log_entry(app, request.context),
    };
    // Repeated only if the client, an API, roles, the policy or the deployment's minimum level changed since the last check,
    // or change concurrently.
    for _ in 0..3 {
        match app.presenter.present(&app.store, presentation.clone()).await? {
            // A row without stored definition; it had ended before, so nothing is lost.
            Outcome::Moved(live) if live.created_at < request.client.grants_from => {
                return Err(invalid_grant());
            }
            Outcome::Moved(live) => return Ok((live, next)),
            Outcome::Reused => return Err(invalid_grant()),
            Outcome::Refused => {}
        }
        match look_again(request, handle, shown, apis).await? {
            Looked::Held(rechecked) if presentation.rechecked != Some(rechecked) => {
                presentation.rechecked = Some(rechecked);
            }
            Looked::Held(_) => return Err(log_invalid_grant(request, handle).await?),
            Looked::Refused(error) => return Err(error),
        }
    }
    Err(OAuthError::new(ErrorCode::TemporarilyUnavailable, "temporarily unavailable; try again later"))
}

/// Why the row did not move.
enum Looked {
    /// Something changed, but the request is still allowed and held.
    Held(Rechecked),
    Refused(OAuthError),
}

/// Rechecks a grant that did not move. If the token is valid and only the request asks for too much, the error may
/// say so. Every possible error is found here, before the grant moves, so that no error consumes a token
/// (docs/decisions/0075).
async fn look_again(
    request: TokenRequest<'_>,
    handle: &Presented,
    shown: &Shown,
    apis: &Arc<Apis>,
) -> Result<Looked, OAuthError> {
    let (app, route) = (request.app, handle.route);
    let client = request.client;
    let live = grants::diagnose(&app.store, route.row, route.owner, &client.id, &handle.hash).await?;
    // Grants from before the client was disabled or lost trust have ended.
    let live = live.filter(|live| live.created_at >= client.grants_from);
    let Some(live) = live else { return Ok(Looked::Refused(log_invalid_grant(request, handle).await?)) };
    let (proved, minimum) = (live.terms.proved(app.clock.now()), app.checked.settings.minimum_level);
    if let Err(unmet) = proved.reaches(minimum) {
        return Ok(Looked::Refused(OAuthError::from(unmet).at_token_endpoint()));
    }
    let asked = match asked(request, apis, &live, shown) {
        Ok(asked) => asked,
        Err(widening) => {
            let asked = shown.scope.as_ref().map(ToString::to_string);
            let refused = refused::widening(request, &live, widening, asked.as_deref()).await;
            return Ok(Looked::Refused(refused));
        }
    };
    let api = apis.find(asked.audience());
    if let Err(refused) = defined(app, client, api, &asked) {
        return Ok(Looked::Refused(refused));
    }
    // Schemas may have changed, too. Details narrowed for this request were already validated.
    let fits = match app.details.check(apis, &live.authority).await {
        Ok(()) => true,
        Err(unfit @ Unfit::Busy) => return Ok(Looked::Refused(unfit.into())),
        Err(unfit @ (Unfit::Invalid(_) | Unfit::Wider)) if shown.details.is_none() => {
            return Ok(Looked::Refused(unfit.into()));
        }
        Err(Unfit::Invalid(_) | Unfit::Wider) => false,
    };
    let whole = fits && defined(app, client, api, &live.authority).is_ok();
    let (Some(acting), Some(seen)) = (&live.acting, live.authority_version) else {
        return Ok(Looked::Held(Rechecked { roles: None, whole }));
    };
    // Roles and their version come from one statement; the next presentation notices any later change.
    let member = members::find(&app.store, acting.organization, Whom::Id(acting.membership)).await?;
    let Some(member) = member else { return Ok(Looked::Refused(log_invalid_grant(request, handle).await?)) };
    if !client_policies::allows(&app.store, &member.organization, client).await? {
        return Ok(Looked::Refused(log_invalid_grant(request, handle).await?));
    }
    if let Err(unmet) = member.admits(minimum, &proved) {
        return Ok(Looked::Refused(OAuthError::from(unmet).at_token_endpoint()));
    }
    match acting::check(&member, &asked, api) {
        Ok(()) => Ok(Looked::Held(Rechecked {
            roles: Some(Versions { seen, current: member.organization.authority_version }),
            whole: whole && acting::check(&member, &live.authority, api).is_ok(),
        })),
        Err(lacking) => {
            let asked: Vec<String> = asked.scope().iter().map(str::to_owned).collect();
            Ok(Looked::Refused(refused::unheld(request, &member, &asked, &lacking).await))
        }
    }
}

/// The audience that `resource` stands for, if it is sent.
fn audience<'a>(request: TokenRequest<'a>, apis: &'a Apis) -> Option<&'a str> {
    request.form.get("resource").map(|resource| apis.audience(resource, request.app.issuer()))
}

/// The part of the grant that this request asks for. Details were compared before, off the async threads.
fn asked(request: TokenRequest<'_>, apis: &Apis, live: &Live, shown: &Shown) -> Result<Authority, Widening> {
    let narrowed = shown.details.as_ref();
    let asked = Asked {
        scope: shown.scope.as_ref(),
        audience: audience(request, apis),
        details: narrowed.map(Narrowed::asked),
        ..Asked::default()
    };
    let compared = |held: &[Value], asked: &[Value]| narrowed.is_some_and(|it| it.is_of(held, asked));
    live.authority.narrowed(asked, compared)
}

/// Whether the client may have it under the current definitions: its registration, its trust, and the API.
fn defined(app: &App, client: &Client, api: Option<&Api>, authority: &Authority) -> Result<(), OAuthError> {
    if api.is_none() && authority.audience() != app.issuer() {
        return Err(OAuthError::new(ErrorCode::InvalidTarget, "the API no longer exists"));
    }
    still_allowed(client, api, authority)
        .map_err(|refused| OAuthError::new(refused.code, refused.description))
}

/// Logs any other error with a genuine token.
async fn log_invalid_grant(request: TokenRequest<'_>, handle: &Presented) -> Result<OAuthError, StoreError> {
    let (app, route) = (request.app, handle.route);
    let client_id = &request.client.id;
    // Once per grant and ten minutes: a flood must not fill an append-only log.
    let key = app.secrets.limit_key(LIMIT_LOGGED.name, route.row.as_bytes());
    if limits::take(&app.store, &[Bucket { rule: LIMIT_LOGGED, key }]).await?.is_none() {
        let payload = &json!({"grant_id": route.row, "client_id": client_id, "generation": route.generation});
        app.store
            .run_tx("grants.note_refusal", |tx| async move {
                let kind = security_log::EventKind::GrantRefused;
                let event = security_log::Event { kind, subject: route.owner, payload: payload.clone() };
                security_log::record(app, &tx, request.context, event).await
            })
            .await?;
    }
    Ok(invalid_grant())
}

/// `authorization_details` at the token endpoint (RFC 9396 §6): narrower than the grant, or refused. Checked before
/// the token is consumed, in the order of cost: the size of the list, the token, the types of the client.
pub async fn narrowed(
    request: TokenRequest<'_>,
    handle: &Presented,
    apis: &Arc<Apis>,
) -> Result<Option<Narrowed>, OAuthError> {
    let Some(text) = request.form.get("authorization_details") else { return Ok(None) };
    let refused = |text: String| OAuthError::new(ErrorCode::InvalidAuthorizationDetails, text);
    let asked = authorization_details::read(text).map_err(|error| refused(error.to_string()))?;
    let (app, route) = (request.app, handle.route);
    let live = grants::diagnose(&app.store, route.row, route.owner, &request.client.id, &handle.hash).await?;
    // Any other code or token is refused when it is presented.
    let Some(live) = live else { return Ok(None) };
    check_types(request.client, apis.find(live.authority.audience()), &asked)
        .map_err(|error| refused(error.description))?;
    match app.details.narrow(apis, &live.authority, asked).await {
        Ok(narrowed) => Ok(Some(narrowed)),
        Err(Unfit::Wider) => Err(refused::widening(request, &live, Widening::Details, Some(text)).await),
        Err(unfit @ (Unfit::Invalid(_) | Unfit::Busy)) => Err(unfit.into()),
    }
}

/// `organization` at the token endpoint must name the granted one: a grant never changes its organization. Checked
/// before the token is consumed.
pub async fn same_organization(request: TokenRequest<'_>, handle: &Presented) -> Result<(), OAuthError> {
    let Some(text) = request.form.get("organization") else { return Ok(()) };
    let (app, route) = (request.app, handle.route);
    let live = grants::diagnose(&app.store, route.row, route.owner, &request.client.id, &handle.hash).await?;
    // Any other code or token is refused when it is presented.
    let Some(live) = live else { return Ok(()) };
    let found = organizations::find_named(&app.store, &Name::parse(text)).await?;
    let asked = Asked { organization: found.map(|found| found.id), ..Asked::default() };
    match (asked.organization, live.authority.narrowed(asked, |_, _| true)) {
        (Some(_), Ok(_)) => Ok(()),
        (None, _) | (_, Err(_)) => {
            Err(refused::widening(request, &live, Widening::Organization, Some(text)).await)
        }
    }
}

/// The tokens of a valid grant, narrowed as requested. The statement and the checks before it have made every
/// refusal; the types repeat them here.
pub async fn for_person(
    request: TokenRequest<'_>,
    apis: &Arc<Apis>,
    live: &Live,
    shown: &Shown,
) -> Result<TokenResponse, OAuthError> {
    let authority = asked(request, apis, live, shown)
        .map_err(|widening| OAuthError::new(widening.code(), widening.to_string()))?;
    defined(request.app, request.client, apis.find(authority.audience()), &authority)?;
    minting::access_token(
        request.app,
        apis,
        &request.client.id,
        &Speaker::Person(live),
        &authority,
        request.binding,
    )
    .await
}
