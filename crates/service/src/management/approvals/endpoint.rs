use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use serde_json::{Map, json};
use uuid::Uuid;

use super::view::{ApprovalView, Pick};
use crate::{
    App,
    api::{Listing, Operation, Parameter},
    approvals::{self, Approval, Arrival, Filter, State as Standing, Whose},
    directories,
    http::{Access, Json, Problem, ProblemCode, RequestContext, Route},
    management::{Caller, TokenClient},
    members::{self, Whom},
    sessions::SignedIn,
};

const STATES: &[&str] = &["pending", "approved", "denied", "expired", "consumed", "blocked"];

pub fn routes() -> Vec<Route> {
    let state = || [Parameter::choice("state", STATES, "Only approvals in this state.")];
    let decides =
        |id, summary| Operation::new(id, summary).gives::<ApprovalView>().refuses(&[ProblemCode::Conflict]);
    vec![
        Route::get("/v1/account/approvals", Access::Session, list_mine).operation(
            Operation::new("account_approvals.list", "List what clients asked you to approve, newest first")
                .query(&state())
                .lists::<ApprovalView>(),
        ),
        Route::get("/v1/account/approvals/{id}", Access::Session, show).operation(
            Operation::new("account_approvals.get", "Get one request for your approval")
                .gives::<ApprovalView>(),
        ),
        Route::post("/v1/account/approvals/{id}/approve", Access::Session, approve).operation(
            decides(
                "account_approvals.approve",
                "Approve, with the number that the client shows; a wrong number denies",
            )
            .takes::<Pick>()
            .refuses(&[ProblemCode::StepUpRequired]),
        ),
        Route::post("/v1/account/approvals/{id}/deny", Access::Session, deny)
            .operation(decides("account_approvals.deny", "Deny, or take back an approval that was not used")),
        Route::post("/v1/account/approvals/{id}/report", Access::Session, report).operation(decides(
            "account_approvals.report",
            "Say that you did not ask for this; the client may not ask you for a day",
        )),
        Route::get(
            "/v1/organizations/{organization}/approvals",
            Access::Organization("approvals:read"),
            list,
        )
        .operation(
            Operation::new("approvals.list", "List what clients asked members to approve, newest first")
                .query(&state())
                .lists::<ApprovalView>(),
        ),
    ]
}

async fn page(app: &Arc<App>, listing: &Listing, whose: Whose) -> Result<Response, Problem> {
    let state = listing.query.get("state").map(str::parse::<Standing>).transpose();
    let state = state.map_err(|_| ProblemCode::Malformed)?;
    let before = listing.after_time().zip(listing.after_id::<Uuid>()?);
    let found = approvals::list(&app.store, whose, Filter { state, before }, listing.rows()).await?;
    let apis = app.directory.apis(&app.store).await?;
    let mine = matches!(whose, Whose::Account(_));
    let place = |approval: &Approval| (approval.created_at, approval.id.to_string());
    Ok(listing.page(found, place, |approval| ApprovalView::new(approval, &apis, mine)))
}

async fn list_mine(
    State(app): State<Arc<App>>,
    Extension(me): Extension<SignedIn>,
    listing: Listing,
) -> Result<Response, Problem> {
    page(&app, &listing, Whose::Account(me.account_id)).await
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    listing: Listing,
) -> Result<Response, Problem> {
    page(&app, &listing, Whose::Organization(caller.organization()?.id)).await
}

async fn mine(app: &App, me: &SignedIn, id: &str) -> Result<Approval, Problem> {
    let id = id.parse().map_err(|_| ProblemCode::NotFound)?;
    Ok(approvals::find(&app.store, me.account_id, id).await?.ok_or(ProblemCode::NotFound)?)
}

async fn shown(app: &Arc<App>, approval: Approval) -> Result<Response, Problem> {
    let apis = app.directory.apis(&app.store).await?;
    Ok(axum::Json(ApprovalView::new(approval, &apis, true)).into_response())
}

async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let approval = mine(&app, &me, &id).await?;
    shown(&app, approval).await
}

fn over() -> Problem {
    Problem::new(ProblemCode::Conflict, "the request was decided, used or withdrawn, or it expired")
}

async fn approve(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
    by: Option<Extension<TokenClient>>,
    Json(pick): Json<Pick>,
) -> Result<Response, Problem> {
    let approval = mine(&app, &me, &id).await?;
    // It knows the number: this would be no decision of the person's.
    if by.is_some_and(|Extension(TokenClient(client))| client == approval.client_id) {
        let text = "a client cannot approve what it asked for";
        return Err(Problem::new(ProblemCode::Forbidden, text));
    }
    if approval.state != Standing::Pending {
        return Err(over());
    }
    let arrival = may_approve(&app, &me, &approval).await?;
    if !approvals::is_possible(&app, &approval).await.map_err(|_| ProblemCode::Unavailable)? {
        let text = "what was asked for is not allowed any more; it can be denied";
        return Err(Problem::new(ProblemCode::Conflict, text));
    }
    let decided = approvals::approve(&app, &context, &me, &approval, arrival, pick.number).await?;
    decided.ok_or_else(over)?;
    let approval = mine(&app, &me, &id).await?;
    shown(&app, approval).await
}

/// Whether the session suffices: for what is asked, and for the organization. How the person entered,
/// if it requires a way.
async fn may_approve(app: &App, me: &SignedIn, approval: &Approval) -> Result<Arrival, Problem> {
    let mut arrival = Arrival::default();
    if let Some(organization) = approval.organization {
        let member = members::find(&app.store, organization, Whom::Account(me.account_id)).await?;
        let member = member.filter(|member| member.held().is_ok()).ok_or_else(over)?;
        let (proved, vouched_by) = directories::proved_by(&app.store, me, &member.organization).await?;
        member.admits(app.checked.settings.minimum_level, &proved).map_err(Problem::from)?;
        arrival = Arrival { entrance: proved.entrance, vouched_by };
    }
    let apis = app.directory.apis(&app.store).await?;
    if approvals::may_approve(approval, &apis, me) {
        return Ok(arrival);
    }
    let (level, _) = approvals::required(approval, &apis);
    let body = json!({"kind": "reauthenticate", "level": level});
    let open = json!({"method": "POST", "path": "/v1/flows", "body": body});
    Err(Problem::new(
        ProblemCode::StepUpRequired,
        "approving this needs a higher level or a more recent proof",
    )
    .with(Map::from_iter([("flow".to_owned(), open)])))
}

/// Denying and reporting need no step-up: they can only make things safer.
async fn deny(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let approval = mine(&app, &me, &id).await?;
    approvals::deny(&app, &context, &me, &approval).await?.ok_or_else(over)?;
    let approval = mine(&app, &me, &id).await?;
    shown(&app, approval).await
}

async fn report(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    context: RequestContext,
    Extension(me): Extension<SignedIn>,
) -> Result<Response, Problem> {
    let approval = mine(&app, &me, &id).await?;
    if !approvals::report(&app, &context, &me, &approval).await? {
        return Err(over());
    }
    let approval = mine(&app, &me, &id).await?;
    shown(&app, approval).await
}
