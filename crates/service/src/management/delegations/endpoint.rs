use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use porteiro_protocol::id::{DelegationId, MembershipId, OrganizationId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::make::{self, Wanted};
use crate::{
    App,
    api::{Listing, Operation, Time, created, deleted},
    audit_trail::{Actor, ActorKind},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::{Caller, require_fresh},
    oauth::{
        apis::Apis,
        authorization::in_words,
        delegations::{self, Delegation, Delegator, Source, Whose},
    },
    sessions::SignedIn,
    store::StoreError,
};

pub(super) const WRITE_PERMISSION: &str = "delegations:write";
const READ: Access = Access::Organization("delegations:read");
const WRITE: Access = Access::Organization(WRITE_PERMISSION);
const MINE: &str = "/v1/account/delegations";
const ITS: &str = "/v1/organizations/{organization}/delegations";

pub fn routes() -> Vec<Route> {
    let makes = |id, summary| {
        let refuses = [ProblemCode::AuthorityExceeded, ProblemCode::Quota];
        Operation::new(id, summary).creates::<DelegationView>().refuses(&refuses)
    };
    vec![
        Route::get(MINE, Access::Session, list_mine).operation(
            Operation::new("account_delegations.list", "List what you let clients do in your name")
                .lists::<DelegationView>(),
        ),
        Route::post(MINE, Access::Session, make_mine).operation(
            makes("account_delegations.create", "Let a client act for you within these scopes")
                .takes::<NewOwnDelegation>()
                .refuses(&[ProblemCode::StepUpRequired, ProblemCode::Conflict])
                .example(json!({"client_id": "ledger-agent", "resource": "https://api.example.com/",
                    "scope": "invoices:read"})),
        ),
        Route::delete("/v1/account/delegations/{id}", Access::Session, revoke_mine).operation(
            Operation::new(
                "account_delegations.revoke",
                "Revoke a delegation; tokens that were issued by it end at once",
            ),
        ),
        Route::get(ITS, READ, list).operation(
            Operation::new("delegations.list", "List the delegations in an organization")
                .lists::<DelegationView>(),
        ),
        Route::post(ITS, WRITE, create).operation(
            makes(
                "delegations.create",
                "Let a client of the organization act for its members within these scopes",
            )
            .takes::<NewDelegation>()
            .refuses(&[ProblemCode::Forbidden])
            .example(json!({"client_id": "invoice-agent", "scope": "invoices:read"})),
        ),
        Route::delete("/v1/organizations/{organization}/delegations/{id}", WRITE, revoke).operation(
            Operation::new("delegations.revoke", "Revoke a delegation of the organization or of a member"),
        ),
    ]
}

/// Authority that a client may exercise for a person by token exchange (RFC 8693).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Delegation")]
struct DelegationView {
    id: DelegationId,
    client_id: String,
    /// As the client registered; null if it is disabled.
    client_name: Option<String>,
    /// The organization in which it counts; null: the person's own authority.
    organization: Option<OrganizationId>,
    /// The member who delegated; null: every member, or no organization.
    membership: Option<MembershipId>,
    /// The API for which tokens can be issued.
    audience: String,
    scope: String,
    authorization_details: Vec<Value>,
    /// What the client may do, described in each language.
    may: Vec<Value>,
    /// Whether the client may let another client act in its place.
    redelegable: bool,
    source: Source,
    created_at: Time,
    expires_at: Time,
    /// To ten minutes.
    last_used_at: Option<Time>,
}

impl DelegationView {
    /// Names and descriptions come from memory, which is as good as a second old.
    async fn new(app: &App, apis: &Apis, delegation: Delegation) -> Result<Self, StoreError> {
        let client = app.directory.client(&app.store, &delegation.client_id).await?;
        let authority = &delegation.authority;
        let scope = authority.scope().to_string();
        let api = apis.find(authority.audience());
        let membership = match delegation.delegator {
            Delegator::Person { membership, .. } => membership,
            Delegator::Organization(_) => None,
        };
        Ok(Self {
            id: delegation.id,
            client_name: client.and_then(|client| client.metadata.client_name.clone()),
            organization: authority.organization(),
            membership,
            audience: authority.audience().to_owned(),
            may: in_words(api, &scope, authority.details()),
            scope,
            authorization_details: authority.details().to_vec(),
            client_id: delegation.client_id,
            redelegable: delegation.redelegable,
            source: delegation.source,
            created_at: delegation.created_at.into(),
            expires_at: delegation.expires_at.into(),
            last_used_at: delegation.last_used_at.map(Into::into),
        })
    }
}

/// A delegation for all members of an organization.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewDelegation {
    client_id: String,
    /// The API (RFC 8707). It can be left out if the scopes belong to one API.
    #[serde(default)]
    resource: Option<String>,
    scope: String,
    #[serde(default)]
    authorization_details: Vec<Value>,
    /// Whether the client may let another client act in its place.
    #[serde(default)]
    redelegable: bool,
    /// How long it counts, in seconds: 30 days if left out, at most 90 days.
    #[serde(default)]
    expires_in: Option<i64>,
}

/// A delegation of the signed-in person.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewOwnDelegation {
    client_id: String,
    /// The API (RFC 8707). It can be left out if the scopes belong to one API.
    #[serde(default)]
    resource: Option<String>,
    scope: String,
    #[serde(default)]
    authorization_details: Vec<Value>,
    /// Whether the client may let another client act in its place.
    #[serde(default)]
    redelegable: bool,
    /// How long it counts, in seconds: 30 days if left out, at most 90 days.
    #[serde(default)]
    expires_in: Option<i64>,
    /// Id or slug of the organization in which the client acts; null: in none.
    #[serde(default)]
    organization: Option<String>,
}

impl From<NewDelegation> for Wanted {
    fn from(new: NewDelegation) -> Self {
        Self {
            client_id: new.client_id,
            resource: new.resource,
            scope: new.scope,
            details: new.authorization_details,
            redelegable: new.redelegable,
            seconds: new.expires_in,
        }
    }
}

impl NewOwnDelegation {
    fn split(self) -> (Option<String>, Wanted) {
        let wanted = NewDelegation {
            client_id: self.client_id,
            resource: self.resource,
            scope: self.scope,
            authorization_details: self.authorization_details,
            redelegable: self.redelegable,
            expires_in: self.expires_in,
        };
        (self.organization, wanted.into())
    }
}

async fn page(app: &App, listing: &Listing, whose: Whose) -> Result<Response, Problem> {
    let after = listing.position()?;
    let apis = app.directory.apis(&app.store).await?;
    let mut views = Vec::new();
    for one in delegations::list(&app.store, whose, after, listing.rows()).await? {
        views.push(DelegationView::new(app, &apis, one).await?);
    }
    Ok(listing.page(views, |one| (one.created_at.0, one.id.to_string()), |view| view))
}

async fn list_mine(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
    listing: Listing,
) -> Result<Response, Problem> {
    page(&app, &listing, Whose::Account(me.account_id)).await
}

async fn make_mine(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
    Json(request): Json<NewOwnDelegation>,
) -> Result<Response, Problem> {
    require_fresh(&app, &me).await?;
    let (organization, wanted) = request.split();
    let made = Box::pin(make::by_person(&app, &context, &me, organization.as_deref(), &wanted)).await?;
    answer(&app, MINE, made).await
}

async fn answer(app: &App, list: &str, made: Delegation) -> Result<Response, Problem> {
    let location = format!("{list}/{}", made.id);
    let apis = app.directory.apis(&app.store).await?;
    Ok(created(&location, None, &DelegationView::new(app, &apis, made).await?))
}

async fn revoke_mine(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let id = id.parse().map_err(|_| ProblemCode::NotFound)?;
    let actor = Actor { kind: ActorKind::Member, id: me.account_id.to_string(), act: None };
    deleted(make::revoke(&app, &context, &actor, Whose::Account(me.account_id), id).await?)
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    listing: Listing,
) -> Result<Response, Problem> {
    page(&app, &listing, Whose::Organization(caller.organization()?.id)).await
}

async fn create(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    Json(request): Json<NewDelegation>,
) -> Result<Response, Problem> {
    let place = caller.organization()?.id;
    let made = Box::pin(make::by_caller(&app, &context, &caller, &request.into())).await?;
    answer(&app, &format!("/v1/organizations/{place}/delegations"), made).await
}

async fn revoke(
    State(app): State<Arc<App>>,
    Path((_, id)): Path<(String, String)>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let id = id.parse().map_err(|_| ProblemCode::NotFound)?;
    let whose = Whose::Organization(caller.organization()?.id);
    deleted(make::revoke(&app, &context, &caller.actor, whose, id).await?)
}
