//! Identifies the caller and reads the permissions it holds in the organization or platform now.
//!
//! 1. The credential is an API key, an access token, or (to read one's own organization) a session.
//! 2. Another organization does not exist for the caller: 404.
//! 3. The credential must carry the permission of the route, **and** its owner must hold it in the database now.
//! 4. The platform may act in an organization with `organizations:administer` and a reason, which is written to the
//!    organization's audit trail before the operation runs.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{Method, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use porteiro_protocol::{
    actor::ActorChain,
    api_key::{self, ApiKey},
    id::OrganizationId,
    permission::{Held, Permission},
};

use super::{
    super::{
        caller::{By, Caller},
        presented::{self, Presented},
    },
    administering::{administer, administering, reason, recently_proved},
    refused::Asking,
    suspended::suspended,
    turned::Turned,
};
use crate::{
    App, api_keys,
    audit_trail::{Actor, ActorKind},
    directories, flow,
    http::{Acting, OAuthError, Problem, ProblemCode, RequestContext},
    members::{self, Member, Unusable, Whom},
    oauth::{
        access_token::{self, Carried, Spoken, Unspoken},
        grants,
    },
    organizations::{Proved, Status},
    permissions::{self, Reach},
    platform,
    refusals::{Holder, Rule},
    store::StoreError,
};

const BELOW_LEVEL: &str =
    "the key was created at a lower level than the organization now requires; create a new key";

/// What a route requires of its caller.
#[derive(Debug, Clone)]
pub struct Guard {
    pub app: Arc<App>,
    pub permission: &'static str,
    pub reach: Reach,
    /// For a directory that provisions.
    pub provisions: bool,
}

/// Implements [`crate::http::Access::Organization`] and [`crate::http::Access::Platform`].
pub async fn require(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let Ok(context) =
        <RequestContext as axum::extract::FromRequestParts<()>>::from_request_parts(&mut parts, &()).await;
    match admit(&guard, &context, &parts).await {
        Ok(caller) => {
            if let Some(account) = caller.account() {
                parts.extensions.insert(Acting(account.uuid()));
            }
            parts.extensions.insert(caller);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(refused) => refused.into_response(),
    }
}

async fn admit(guard: &Guard, context: &RequestContext, parts: &Parts) -> Result<Caller, Turned> {
    let asked = Permission::parse(guard.permission)
        .map_err(|_| Problem::new(ProblemCode::Internal, "a route asks for no permission"))?;
    let place = match guard.reach {
        // A malformed id is treated as an unknown organization, so that the answer is the same.
        Reach::Organization => Some(named(parts).unwrap_or(uuid::Uuid::nil().into())),
        Reach::Platform => None,
    };
    let bearer = context.authorization.as_ref().filter(|(scheme, _)| scheme == "bearer" || scheme == "dpop");
    let caller = match bearer {
        Some((_, text)) if text.starts_with(api_key::PREFIX) => {
            with_key(guard, context, parts, text, place, &asked).await?
        }
        Some(_) => with_token(guard, context, parts, place, &asked).await?,
        None => with_session(guard, context, parts, place, &asked).await?,
    };
    if parts.method != Method::GET
        && guard.reach == Reach::Organization
        && caller.organization.as_ref().is_some_and(|it| it.status == Status::Suspended)
    {
        return Err(ProblemCode::OrganizationSuspended.into());
    }
    Ok(caller)
}

/// Whether only a directory vouches for the member.
async fn is_vouched_for(app: &App, spoken: &Spoken) -> Result<bool, StoreError> {
    match (spoken.claims.grant, spoken.account) {
        (Some(grant), Some(account)) => grants::is_confined(&app.store, grant, account).await,
        (_, _) => Ok(false),
    }
}

/// The organization in the path: `/v1/organizations/{id}/…`.
fn named(parts: &Parts) -> Option<OrganizationId> {
    parts.uri.path().split('/').nth(3)?.parse().ok()
}

async fn with_key(
    guard: &Guard,
    context: &RequestContext,
    parts: &Parts,
    text: &str,
    place: Option<OrganizationId>,
    asked: &Permission,
) -> Result<Caller, Turned> {
    let app = &guard.app;
    let key = ApiKey::parse(text).ok_or_else(access_token::invalid_token)?;
    let asking = Asking { app, context, asked, client_id: None };
    let usable = match api_keys::check(app, &key, context.address).await {
        Ok(usable) => usable,
        Err(api_keys::Refused::Store(error)) => return Err(error.into()),
        Err(api_keys::Refused::Invalid) => return Err(access_token::invalid_token().into()),
        Err(api_keys::Refused::Suspended(id)) if Some(id) == place => {
            let actor = Actor { kind: ActorKind::ApiKey, id: key.id().to_owned(), act: None };
            return Err(suspended(guard, context, parts, id, &actor).await);
        }
        Err(api_keys::Refused::BelowLevel(id)) if Some(id) == place => {
            return Err(Problem::new(ProblemCode::StepUpRequired, BELOW_LEVEL).into());
        }
        Err(api_keys::Refused::NotByConnection(id)) if Some(id) == place => {
            return Err(Problem::new(ProblemCode::StepUpRequired, api_keys::NOT_BY_CONNECTION).into());
        }
        Err(api_keys::Refused::Exceeds { organization, .. }) if Some(organization) == place => {
            return Err(asking.exceeds(&key, organization).await);
        }
        Err(
            api_keys::Refused::Suspended(_)
            | api_keys::Refused::BelowLevel(_)
            | api_keys::Refused::NotByConnection(_)
            | api_keys::Refused::Exceeds { .. },
        ) => {
            return Err(ProblemCode::NotFound.into());
        }
    };
    let actor = api_keys::actor(&usable.key);
    let home = usable.organization.as_ref().map(|organization| organization.id);
    let said = Holder::named("api_key", &usable.held);
    let lacks = async |rule: Rule| asking.forbidden(rule, home, actor.clone(), said.clone()).await;
    let by = By::Key { id: usable.key.id.clone(), membership: usable.key.membership };
    let held = usable.held.clone();
    let caller = match (place, usable.organization.clone()) {
        (None, None) => {
            if !held.covers(asked) {
                return Err(lacks(Rule::CredentialLacksPermission).await);
            }
            Caller { by, actor, organization: None, held, reason: reason(parts), token: None, proved: None }
        }
        (Some(place), None) => administering(guard, context, parts, place, held, by, actor).await?,
        (Some(place), Some(organization)) if organization.id == place => {
            if !held.covers(asked) {
                return Err(lacks(Rule::CredentialLacksPermission).await);
            }
            Caller {
                by,
                actor,
                organization: Some(organization),
                held,
                reason: None,
                token: None,
                proved: None,
            }
        }
        (Some(_), Some(_)) => return Err(ProblemCode::NotFound.into()),
        (None, Some(_)) => return Err(lacks(Rule::OtherPlace).await),
    };
    api_keys::used(app, context, &usable).await?;
    Ok(caller)
}

async fn with_token(
    guard: &Guard,
    context: &RequestContext,
    parts: &Parts,
    place: Option<OrganizationId>,
    asked: &Permission,
) -> Result<Caller, Turned> {
    let app = &guard.app;
    let carried = Carried { method: parts.method.as_str(), path: parts.uri.path(), form: None };
    let claims = access_token::carried(app, context, &carried).await?;
    if claims.audience != app.issuer() {
        return Err(access_token::invalid_token().into());
    }
    let spoken = match access_token::judged(app, claims).await? {
        Ok(spoken) => spoken,
        Err(Unspoken::Suspended(member)) if Some(member.organization.id) == place => {
            let actor = of_member(&member, Held::nothing(), None, None, false).actor;
            return Err(suspended(guard, context, parts, member.organization.id, &actor).await);
        }
        Err(Unspoken::Suspended(_) | Unspoken::Invalid) => return Err(access_token::invalid_token().into()),
    };
    let asking = Asking { app, context, asked, client_id: Some(&spoken.client.id) };
    let carried = presented::carried(&spoken.claims.scope);
    let carries = |asked: &Permission| carried.covers(asked);
    let token = Presented::from(&spoken);
    match (place, &spoken.member) {
        (Some(place), Some(member)) if member.organization.id == place => {
            let held = member.held().map_err(|_| access_token::invalid_token())?;
            let proved = spoken.proved(app.clock.now());
            let changes = parts.method != Method::GET;
            let alone = changes && is_vouched_for(app, &spoken).await?;
            let caller = of_member(member, held.clone(), spoken.claims.actor.clone(), proved, alone);
            spoken.admitted(app).map_err(OAuthError::from)?;
            let rule = match (carries(asked), held.covers(asked), &caller.actor.act) {
                (false, _, _) => Rule::CredentialLacksPermission,
                (true, false, _) => Rule::PermissionNotHeld,
                // An impersonation may not make changes that outlast it: keys, members, roles.
                (true, true, Some(_)) if changes => Rule::ReadOnlyForActing,
                (true, true, None) if alone && permissions::always_raises(asked) => Rule::DirectoryAlone,
                (true, true, Some(_) | None) => {
                    return Ok(Caller { held: token.narrows(held.clone()), token: Some(token), ..caller });
                }
            };
            Err(asking.member(rule, member, caller.actor).await)
        }
        (Some(_), Some(_)) => Err(ProblemCode::NotFound.into()),
        (None, Some(member)) => {
            let actor = of_member(member, Held::nothing(), spoken.claims.actor.clone(), None, false).actor;
            Err(asking.member(Rule::OtherPlace, member, actor).await)
        }
        (place, None) => {
            let Some(account) = spoken.account else {
                let actor = Actor { kind: ActorKind::Client, id: spoken.client.id.clone(), act: None };
                return Err(asking.forbidden(Rule::OtherPlace, None, actor, Holder::Nobody).await);
            };
            spoken.admitted(app).map_err(OAuthError::from)?;
            let act = spoken.claims.actor.clone();
            let acts = act.is_some();
            let actor = Actor { kind: ActorKind::Platform, id: account.to_string(), act };
            // The platform's authority is used by its administrators, never by an agent for them.
            if acts {
                return match place {
                    Some(_) => Err(ProblemCode::NotFound.into()),
                    None => Err(asking.forbidden(Rule::AgentOnPlatform, None, actor, Holder::Nobody).await),
                };
            }
            let needed = match place {
                Some(_) => administer(),
                None => asked.clone(),
            };
            let held = platform::held(&app.store, account).await?;
            if !carries(&needed) || !held.covers(&needed) {
                // A caller without access to an organization does not learn that it exists.
                if place.is_some() {
                    return Err(ProblemCode::NotFound.into());
                }
                let rule =
                    if carries(&needed) { Rule::PermissionNotHeld } else { Rule::CredentialLacksPermission };
                let said = Holder::named("platform", &held);
                return Err(asking.forbidden(rule, None, actor, said).await);
            }
            let recent = recently_proved(app, &spoken);
            // A reserved permission is held, and can be given, only with a token that carries it, after a recent proof.
            let held = token.narrows(held.without_reserved(|reserved| recent.is_ok() && carries(reserved)));
            if needed.is_reserved() {
                recent?;
            }
            let by = By::Operator(account);
            let caller = match place {
                Some(place) => administering(guard, context, parts, place, held, by, actor).await?,
                None => Caller {
                    by,
                    actor,
                    organization: None,
                    held,
                    reason: reason(parts),
                    token: None,
                    proved: None,
                },
            };
            Ok(Caller { token: Some(token), ..caller })
        }
    }
}

/// A session may only read, and only the person's own organization. Changes need a token for that organization.
async fn with_session(
    guard: &Guard,
    context: &RequestContext,
    parts: &Parts,
    place: Option<OrganizationId>,
    asked: &Permission,
) -> Result<Caller, Turned> {
    let app = &guard.app;
    let nobody = || {
        OAuthError::new(
            porteiro_protocol::error::ErrorCode::InvalidToken,
            "an access token or an API key is required",
        )
        .missing()
    };
    let Some(place) = place.filter(|_| parts.method == Method::GET) else { return Err(nobody().into()) };
    let signed_in = flow::current_session(app, context).await.map_err(Problem::from)?;
    let Some(signed_in) = signed_in else { return Err(nobody().into()) };
    let member = members::find(&app.store, place, Whom::Account(signed_in.account_id)).await?;
    let member = member.ok_or(ProblemCode::NotFound)?;
    // Members of a suspended organization hold no permissions there, but can still see it.
    let held = member.held_to_read().map_err(|unusable| match unusable {
        Unusable::Unclaimed | Unusable::Disabled | Unusable::Removed | Unusable::Suspended => {
            Problem::from(ProblemCode::NotFound)
        }
    })?;
    let proved = directories::proved(&app.store, &signed_in, &member.organization).await?;
    let caller = of_member(&member, held.clone(), None, Some(proved), false);
    member.admits(app.checked.settings.minimum_level, &proved).map_err(Problem::from)?;
    if !held.covers(asked) {
        let asking = Asking { app, context, asked, client_id: None };
        return Err(asking.member(Rule::PermissionNotHeld, &member, caller.actor).await);
    }
    Ok(caller)
}

fn of_member(
    member: &Member,
    held: Held,
    act: Option<ActorChain>,
    proved: Option<Proved>,
    directory_alone: bool,
) -> Caller {
    Caller {
        by: By::Member { membership: member.id, account: member.account, directory_alone },
        actor: Actor {
            kind: if member.client_id.is_some() { ActorKind::Client } else { ActorKind::Member },
            id: member.id.to_string(),
            act,
        },
        organization: Some(member.organization.clone()),
        held,
        reason: None,
        token: None,
        proved,
    }
}
