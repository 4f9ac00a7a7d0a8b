use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use porteiro_protocol::id::OrganizationId;
use serde_json::json;

use super::{
    Maker, Standing, change, create, decide,
    decide::Said,
    decide_standing, dry_run_policy, field_invalid, set_policy, store,
    view::{MyOrganization, NewOrganization, NewOrganizationFor, OrganizationView, PolicyChange, Suspend},
};
use crate::{
    App,
    api::{self, Listing, Operation, Parameter, Patch, Query, Seen},
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::Caller,
    members,
    organizations::{Organization, Policy, Status},
    sessions::SignedIn,
};

const ONE: &str = "/v1/organizations/{organization}";
const READ: Access = Access::Organization("organization:read");
const WRITE: Access = Access::Organization(super::WRITE);
const MAKE: Access = Access::Platform(super::MAKE);
const ADMINISTER: Access = Access::Platform(super::ADMINISTER);

const FILTERS: &[Parameter] = &[
    Parameter::choice("status", &["enabled", "suspended"], "Only organizations in this state."),
    Parameter::text("q", "Only organizations whose current or recent slug begins with this text."),
    Parameter::time("created_after", "Only organizations created after this time."),
];

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/organizations", Access::Session, mine).operation(
            Operation::new("organizations.list", "List your organizations and your roles in them")
                .lists::<MyOrganization>(),
        ),
        Route::post("/v1/organizations", Access::Session, make).operation(
            Operation::new("organizations.create", "Create an organization that you own")
                .takes::<NewOrganization>()
                .example(json!({"name": "Acme", "slug": "acme"}))
                .creates::<OrganizationView>()
                .refuses(&[ProblemCode::Conflict, ProblemCode::Quota]),
        ),
        Route::get(ONE, READ, show).operation(
            Operation::new("organizations.get", "Get an organization")
                .gives::<OrganizationView>()
                .versioned(),
        ),
        Route::patch(ONE, WRITE, rename).operation(
            Operation::new("organizations.update", "Update the name, slug or language of an organization")
                .patches::<Said>()
                .gives::<OrganizationView>()
                .versioned()
                .refuses(&[ProblemCode::Conflict]),
        ),
        Route::get("/v1/organizations/{organization}/policy", READ, show_policy).operation(
            Operation::new("policy.get", "Get the policy of an organization").gives::<Policy>().versioned(),
        ),
        Route::put("/v1/organizations/{organization}/policy", WRITE, put_policy).operation(
            Operation::new(
                "policy.update",
                "Replace the policy of an organization, or preview who would lose access",
            )
            .query(&[Parameter::flag("dry_run", "Change nothing; return who would lose access.")])
            .takes::<Policy>()
            .gives::<PolicyChange>()
            .versioned(),
        ),
        Route::post("/v1/organizations/{organization}/suspend", ADMINISTER, suspend).operation(
            Operation::new("organizations.suspend", "Suspend an organization")
                .takes::<Suspend>()
                .gives::<OrganizationView>(),
        ),
        Route::post("/v1/organizations/{organization}/resume", ADMINISTER, resume).operation(
            Operation::new("organizations.resume", "Resume a suspended organization")
                .gives::<OrganizationView>(),
        ),
        Route::get("/v1/platform/organizations", Access::Platform("platform.organizations:read"), list)
            .operation(
                Operation::new("platform_organizations.list", "List all organizations")
                    .query(FILTERS)
                    .lists::<OrganizationView>(),
            ),
        Route::post("/v1/platform/organizations", MAKE, make_for).operation(
            Operation::new("platform_organizations.create", "Create an organization for an account")
                .takes::<NewOrganizationFor>()
                .example(json!({"name": "Acme", "slug": "acme", "locale": "pt-BR"}))
                .creates::<OrganizationView>()
                .refuses(&[ProblemCode::Conflict]),
        ),
    ]
}

async fn view(app: &App, organization: Organization, to_platform: bool) -> Result<OrganizationView, Problem> {
    let suspension = match organization.status {
        Status::Enabled => None,
        Status::Suspended => store::suspension(&app.store, organization.id).await?,
    };
    Ok(OrganizationView::new(organization, suspension, to_platform))
}

async fn mine(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
    listing: Listing,
) -> Result<Response, Problem> {
    let after = listing.after_time().zip(listing.after_id::<OrganizationId>()?);
    let mut all = members::of_account(&app.store, me.account_id).await?;
    all.retain(|member| {
        let organization = &member.organization;
        after.is_none_or(|after| (organization.created_at, organization.id) > after)
    });
    let key = |member: &members::Member| (member.organization.created_at, member.organization.id.to_string());
    Ok(listing.page(all, key, MyOrganization::from))
}

async fn make(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
    Json(new): Json<NewOrganization>,
) -> Result<Response, Problem> {
    if !app.checked.settings.organizations_by_people {
        return Err(Problem::new(ProblemCode::Forbidden, "only the platform creates organizations"));
    }
    let said =
        Said { name: new.name, slug: new.slug, locale: new.locale }.checked().map_err(field_invalid)?;
    made(&app, &context, &Maker::Person(me.account_id), &said).await
}

async fn make_for(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    Json(new): Json<NewOrganizationFor>,
) -> Result<Response, Problem> {
    let said =
        Said { name: new.name, slug: new.slug, locale: new.locale }.checked().map_err(field_invalid)?;
    made(&app, &context, &Maker::Platform(&caller, new.owner), &said).await
}

async fn made(
    app: &Arc<App>,
    context: &RequestContext,
    maker: &Maker<'_>,
    said: &Said,
) -> Result<Response, Problem> {
    let organization = create(app, context, maker, said).await?;
    let (location, version) = (format!("/v1/organizations/{}", organization.id), organization.version);
    let body = view(app, organization, false).await?;
    Ok(api::created(&location, Some(version), &body))
}

async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let organization = caller.organization()?.clone();
    let version = organization.version;
    Ok(api::one(version, &view(&app, organization, caller.reason.is_some()).await?))
}

async fn rename(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    seen: Seen,
    patch: Patch<Said>,
) -> Result<Response, Problem> {
    let organization = caller.organization()?;
    // The patch applies to the organization as read before the lock; if it has changed since, the version does not
    // match.
    let said = patch.apply(&Said::from(organization))?.checked().map_err(field_invalid)?;
    let organization = change(&app, &context, &caller, organization.id, seen, &said).await?;
    let version = organization.version;
    Ok(api::one(version, &view(&app, organization, caller.reason.is_some()).await?))
}

async fn show_policy(Extension(caller): Extension<Caller>) -> Result<Response, Problem> {
    let organization = caller.organization()?;
    Ok(api::one(organization.version, &organization.policy))
}

async fn put_policy(
    State(app): State<Arc<App>>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    seen: Seen,
    query: Query,
    Json(policy): Json<Policy>,
) -> Result<Response, Problem> {
    let organization = caller.organization()?;
    if query.flag("dry_run") {
        let affected = dry_run_policy(&app, &caller, seen, &policy).await?;
        return Ok(api::one(organization.version, &PolicyChange::new(&policy, Some(affected))));
    }
    let organization = set_policy(&app, &context, &caller, organization.id, seen, &policy).await?;
    Ok(api::one(organization.version, &PolicyChange::new(&organization.policy, None)))
}

async fn suspend(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
    Json(said): Json<Suspend>,
) -> Result<Response, Problem> {
    if !decide::is_reason_code(&said.reason_code) {
        return Err(field_invalid(("reason_code", "must have 1 to 40 characters of a-z and '_'")));
    }
    if said.note.as_deref().is_some_and(|note| note.chars().count() > 500) {
        return Err(field_invalid(("note", "must have at most 500 characters")));
    }
    let standing = Standing::Suspended { reason_code: &said.reason_code, note: said.note.as_deref() };
    decided(&app, &context, &caller, &id, standing).await
}

async fn resume(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    decided(&app, &context, &caller, &id, Standing::Resumed).await
}

async fn decided(
    app: &Arc<App>,
    context: &RequestContext,
    caller: &Caller,
    id: &str,
    standing: Standing<'_>,
) -> Result<Response, Problem> {
    let id: OrganizationId = id.parse().map_err(|_| ProblemCode::NotFound)?;
    if caller.reason.is_none() {
        let text = format!("give a reason in the header {}; the organization can read it", api::REASON);
        return Err(Problem::new(ProblemCode::ReasonRequired, text));
    }
    let organization = decide_standing(app, context, caller, id, standing).await?;
    let version = organization.version;
    Ok(api::one(version, &view(app, organization, true).await?))
}

async fn list(State(app): State<Arc<App>>, listing: Listing) -> Result<Response, Problem> {
    let wanted = store::Wanted {
        status: listing.query.parsed("status")?,
        slug_prefix: listing.query.get("q"),
        created_after: listing.query.time("created_after"),
        after: listing.after_time().zip(listing.after_id()?),
        rows: listing.rows(),
    };
    let mut views = Vec::new();
    for organization in store::list(&app.store, &wanted).await? {
        let at = organization.created_at;
        views.push((at, view(&app, organization, true).await?));
    }
    Ok(listing.page(views, |(at, view)| (*at, view.id.to_string()), |(_, view)| view))
}
