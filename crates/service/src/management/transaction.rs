//! Changes by callers of the management API, each in one transaction. A change that exceeds its caller's permissions is
//! refused by the decision; here the refusal gets a reference, under which readers of the audit trail find the reason.

use porteiro_protocol::permission::{Held, Permission};
use serde_json::Value;

use super::{
    caller::{By, Caller},
    standing::OF_OWN_ACCOUNT,
};
use crate::{
    App,
    http::{Problem, ProblemCode, RequestContext, TxProblem},
    refusals::{self, Holder, Refusal, Rule},
    store::Tx,
};

const WITH_THESE: &str =
    "the same request by a caller who holds all of these permissions, or a change without them";

/// Runs a change of the caller's organization when its turn comes.
///
/// # Errors
/// The refusal; nothing was changed.
pub async fn change<T, W, F>(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    name: &'static str,
    work: W,
) -> Result<T, Problem>
where
    W: Fn(Tx) -> F,
    F: Future<Output = Result<T, TxProblem>>,
{
    let outcome = app.store.try_tx_in_turn(caller.turn(), name, work).await;
    match outcome.map_err(Problem::from) {
        Err(problem) => Err(explained(app, context, caller, problem).await),
        done => done,
    }
}

/// Adds a reference if the caller does not hold enough.
pub async fn explained(app: &App, context: &RequestContext, caller: &Caller, problem: Problem) -> Problem {
    if problem.code != ProblemCode::AuthorityExceeded {
        return problem;
    }
    let reference = refusals::record(app, context, &refusal(caller, &problem)).await;
    problem.with_reference(reference)
}

fn refusal(caller: &Caller, problem: &Problem) -> Refusal {
    let organization = caller.organization.as_ref().map(|organization| organization.id);
    let missing = problem.members.get("missing").and_then(Value::as_array).into_iter().flatten();
    let asked: Vec<String> = missing.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    // A permission that the client's token lacks may still be held by the person.
    let named = Held::of(asked.iter().filter_map(|name| Permission::parse(name).ok()));
    let carried = caller.narrows(named.clone());
    let alone = problem.members.get("rule").is_some_and(|rule| rule == Rule::DirectoryAlone.as_str());
    let rule = match (alone, carried.covers_all(&named)) {
        (true, _) => Rule::DirectoryAlone,
        (false, true) => Rule::PermissionNotHeld,
        (false, false) => Rule::CredentialLacksPermission,
    };
    let holder = match (&caller.by, organization) {
        (By::Member { membership, .. }, Some(organization)) => Holder::Member(organization, *membership),
        (By::Member { .. } | By::Operator(_) | By::Key { .. }, _) => {
            Holder::named(caller.actor.kind.as_str(), &caller.held)
        }
    };
    Refusal {
        organization,
        client_id: caller.token.as_ref().map(|token| token.client.id.clone()),
        subject: Some(caller.actor.clone()),
        rule,
        asked,
        holder,
        would_pass: if alone { OF_OWN_ACCOUNT } else { WITH_THESE }.into(),
    }
}
