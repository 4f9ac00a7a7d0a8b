use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use porteiro_protocol::{
    id::{AccountId, Id, MembershipId, OrganizationId},
    plain_text,
    scope::Scope,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Beginning, Going, begin,
    decide::Refused,
    go_on, operator, stop,
    token::{authority, mint},
};
use crate::{
    App, accounts,
    api::{Operation, Time, created_with_secret},
    http::{Access, Json, OAuthError, Problem, ProblemCode, RequestContext, Route},
    impersonation::{ImpersonationId, PERMISSION},
    management::Caller,
    members::Unusable,
    refusals::{self, Holder, Refusal, Rule},
    store::StoreError,
};

const MAY: Access = Access::Platform(PERMISSION);
const REASON: usize = 500;

pub fn routes() -> Vec<Route> {
    let refusals = [
        ProblemCode::AuthorityExceeded,
        ProblemCode::OrganizationSuspended,
        ProblemCode::Conflict,
        ProblemCode::FieldInvalid,
    ];
    vec![
        Route::post("/v1/organizations/{organization}/members/{member}/impersonations", MAY, start)
            .operation(
                Operation::new("impersonations.create", "Impersonate a member for 15 minutes")
                    .takes::<Start>()
                    .creates::<Impersonation>()
                    .refuses(&refusals),
            ),
        Route::post(
            "/v1/organizations/{organization}/members/{member}/impersonations/{impersonation}/tokens",
            MAY,
            next,
        )
        .operation(
            Operation::new("impersonations.create_token", "Create the next access token of an impersonation")
                .creates::<Impersonation>()
                .refuses(&refusals),
        ),
        Route::delete(
            "/v1/organizations/{organization}/members/{member}/impersonations/{impersonation}",
            MAY,
            end,
        )
        .operation(Operation::new("impersonations.end", "End an impersonation")),
    ]
}

/// The reason and the authority of an impersonation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewImpersonation")]
struct Start {
    /// Visible to the organization in its audit trail and to the person in a mail.
    reason: String,
    /// Permissions that the member holds, and `openid`, `profile`, `email`, `phone`.
    scope: String,
    /// The API of the token; the management API by default.
    resource: Option<String>,
}

/// An impersonation, with its access token.
#[derive(Debug, Serialize, JsonSchema)]
struct Impersonation {
    id: ImpersonationId,
    started_at: Time,
    ends_at: Time,
    banner: Banner,
    access_token: String,
    token_type: &'static str,
    expires_in: i64,
    scope: String,
}

/// The notice that every page shows during an impersonation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImpersonationNotice")]
struct Banner {
    /// The platform administrator who acts.
    actor: AccountId,
    actor_name: String,
    /// The impersonated member.
    member: MembershipId,
    member_name: String,
    organization: OrganizationId,
    organization_name: String,
    reason: String,
    until: Time,
}

type Existing = Path<(String, String, String)>;

/// A malformed id is not found.
fn id<K>(text: &str) -> Result<Id<K>, Problem> {
    text.parse().map_err(|_| ProblemCode::NotFound.into())
}

fn existing(
    Path((organization, member, impersonation)): &Existing,
) -> Result<(OrganizationId, MembershipId, ImpersonationId), Problem> {
    Ok((id(organization)?, id(member)?, id(impersonation)?))
}

async fn start(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    context: RequestContext,
    Path((organization, member)): Path<(String, String)>,
    Json(asked): Json<Start>,
) -> Result<Response, Problem> {
    let (organization, membership) = (id(&organization)?, id(&member)?);
    let invalid = |text: &str| Problem::new(ProblemCode::FieldInvalid, text);
    let reason = asked.reason.trim();
    if !(1..=REASON).contains(&reason.chars().count()) || !plain_text::is_seen(reason) {
        return Err(invalid("reason must have 1 to 500 printable characters"));
    }
    let scope: Scope = asked.scope.parse().map_err(|_| invalid("scope is malformed"))?;
    let refusing = Refusing { app: &app, context: &context, caller: &caller, organization, scope: &scope };
    let Some((_, token)) = operator(&caller) else {
        return Err(refusing.problem(Refused::Rule(Rule::ImpersonationByKey)).await);
    };
    let apis = app.directory.apis(&app.store).await?;
    let resource = asked.resource.as_deref();
    let wanted = authority(&app, &apis, token, organization, &scope, resource);
    let (authority, permissions) = match wanted {
        Ok(wanted) => wanted,
        Err(rule) => return Err(refusing.problem(Refused::Rule(rule)).await),
    };
    let beginning =
        Beginning { organization, membership, reason, authority: &authority, permissions: &permissions };
    let begun = Box::pin(begin(&app, &context, &caller, &beginning)).await?;
    let going = refusing.settle(begun).await?;
    answer(&app, &context, &caller, &going).await
}

async fn next(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    context: RequestContext,
    place: Existing,
) -> Result<Response, Problem> {
    let (organization, membership, id) = existing(&place)?;
    let scope = Scope::default();
    let refusing = Refusing { app: &app, context: &context, caller: &caller, organization, scope: &scope };
    let going = refusing.settle(go_on(&app, &caller, organization, membership, id).await?).await?;
    answer(&app, &context, &caller, &going).await
}

async fn end(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    context: RequestContext,
    place: Existing,
) -> Result<Response, Problem> {
    let (organization, membership, id) = existing(&place)?;
    if stop(&app, &context, &caller, organization, membership, id).await? {
        Ok(StatusCode::NO_CONTENT.into_response())
    } else {
        Err(ProblemCode::NotFound.into())
    }
}

async fn answer(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    going: &Going,
) -> Result<Response, Problem> {
    let (_, token) = operator(caller).ok_or(ProblemCode::Forbidden)?;
    let minted = Box::pin(mint(app, context, caller, token, going)).await.map_err(unminted)?;
    let (it, member) = (&going.impersonation, &going.member);
    let actor = accounts::find(&app.store, it.actor).await?;
    let started = Impersonation {
        id: it.id,
        started_at: it.started_at.into(),
        ends_at: it.ends_at.into(),
        banner: Banner {
            actor: it.actor,
            actor_name: actor.map(|actor| actor.display_name).unwrap_or_default(),
            member: it.membership,
            member_name: member.display_name.clone(),
            organization: it.organization,
            organization_name: member.organization.name.clone(),
            reason: it.reason.clone(),
            until: it.ends_at.into(),
        },
        access_token: minted.access_token,
        token_type: minted.token_type,
        expires_in: minted.expires_in,
        scope: minted.scope,
    };
    let location =
        format!("/v1/organizations/{}/members/{}/impersonations/{}", it.organization, it.membership, it.id);
    Ok(created_with_secret(&location, &it.id.to_string(), &started))
}

fn unminted(error: OAuthError) -> Problem {
    Problem::new(ProblemCode::Unavailable, error.description)
}

/// The impersonation that is refused, for its record.
struct Refusing<'a> {
    app: &'a App,
    context: &'a RequestContext,
    caller: &'a Caller,
    organization: OrganizationId,
    scope: &'a Scope,
}

impl Refusing<'_> {
    async fn settle(&self, outcome: Option<Result<Going, Refused>>) -> Result<Going, Problem> {
        match outcome {
            None => Err(ProblemCode::NotFound.into()),
            Some(Ok(going)) => Ok(going),
            Some(Err(refused)) => Err(self.problem(refused).await),
        }
    }

    async fn problem(&self, refused: Refused) -> Problem {
        let conflict = |text: &str| Problem::new(ProblemCode::Conflict, text);
        match refused {
            Refused::Unusable(Unusable::Suspended) => ProblemCode::OrganizationSuspended.into(),
            Refused::Unusable(Unusable::Unclaimed | Unusable::Disabled | Unusable::Removed) => {
                conflict("the member is not active")
            }
            Refused::NotAPerson => conflict("the member is not a person"),
            Refused::Rule(rule) => match self.record(rule).await {
                Ok(problem) => problem,
                Err(error) => error.into(),
            },
        }
    }

    /// Records the attempt in the organization's audit trail.
    async fn record(&self, rule: Rule) -> Result<Problem, StoreError> {
        let exists = crate::organizations::find(&self.app.store, self.organization).await?.is_some();
        let refusal = Refusal {
            organization: exists.then_some(self.organization),
            client_id: self.caller.token.as_ref().map(|token| token.client.id.clone()),
            subject: Some(self.caller.actor.clone()),
            rule,
            asked: self.scope.iter().map(str::to_owned).collect(),
            holder: Holder::named("platform", &self.caller.held),
            would_pass: match rule {
                Rule::ImpersonationByKey => "a person with their own access token".into(),
                Rule::ImpersonationScope => {
                    "permissions the member holds, openid, profile, email and phone".into()
                }
                Rule::ScopeNotForClient => "scopes of one known API that the client may request".into(),
                _ => "another member, who holds no reserved, platform or owner permissions".into(),
            },
        };
        let reference = refusals::record(self.app, self.context, &refusal).await;
        Ok(Problem::new(
            ProblemCode::AuthorityExceeded,
            "impersonating this member, or with this scope, is not allowed",
        )
        .with_reference(reference))
    }
}
