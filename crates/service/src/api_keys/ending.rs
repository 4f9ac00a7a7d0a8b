//! Personal keys end with their membership.

use super::store;
use crate::{
    App,
    audit_trail::{self, Target, TrailKind},
    endings::{Cause, Dependent, Gone, Membership},
    http::RequestContext,
    store::{StoreError, Tx},
};

pub const DEPENDENT: Dependent = Dependent {
    name: "API keys",
    end: |app, tx, context, cause| {
        Box::pin(async move { end(app, tx, context, cause).await.map(|()| Gone::default()) })
    },
};

async fn end(app: &App, tx: &Tx, context: &RequestContext, cause: Cause<'_>) -> Result<(), StoreError> {
    match cause {
        Cause::Membership(member) => end_of_member(app, tx, context, member).await,
        // A key depends neither on a session nor on a grant: it is valid while the membership is, and is checked at
        // every use.
        Cause::Sessions { .. }
        | Cause::Account { .. }
        | Cause::Credential { .. }
        | Cause::Directory(_)
        | Cause::Consent { .. }
        | Cause::Grant { .. }
        | Cause::MemberGrants { .. }
        | Cause::Client { .. } => Ok(()),
    }
}

async fn end_of_member(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    member: Membership<'_>,
) -> Result<(), StoreError> {
    let Membership { organization, id, actor, why } = member;
    for key in store::revoke_of_membership(tx, organization, id, why.as_str()).await? {
        let kind = TrailKind::ApiKeyRevoked;
        let event = audit_trail::Event::done(kind, actor.clone(), Target::new("api_key", key))
            .because(Some(why.as_str().to_owned()));
        audit_trail::record(app, tx, context, organization, &event).await?;
    }
    Ok(())
}
