//! Invitations (`flows.md` 2.11): an organization asks somebody to join, by mail.
//!
//! 1. Somebody who may invite names an address and a role within what they hold. Whether anybody has that address is
//!    not looked at, so nobody learns it. One invitation waits per address and organization; asking again replaces the
//!    secret and the time.
//! 2. The secret is in the mail and nowhere else: who invites cannot accept for somebody.
//! 3. Whoever is signed in accepts it with the secret, which proves the mailbox, or because the invited address is
//!    theirs already. The address is not added to their account. Who was a member before is the same member again.

mod accept;
mod endpoint;
mod store;

use porteiro_protocol::{
    address::EmailAddress,
    id::{Id, InvitationId, OrganizationId},
    permission::Held,
};
use serde_json::{Value, json};

pub use accept::{Accepted, accept, mailbox, mine};
pub use store::{Invitation, Proof, State};

use crate::{
    App,
    http::{Problem, ProblemCode, RequestContext, Route},
    limits::{self, Bucket, INVITATION_ORGANIZATION, INVITATION_RECIPIENT, Rule},
    mail::{
        self,
        templates::{self, InvitationMail, Link, Locale},
    },
    management::{self, Caller},
    organizations::{self, Organization, Status},
    roles,
    secrets::{HandleKind, Issued, Route as HandleRoute},
    store::{Reader, StoreError, Tx},
    trail::{self, Target, TrailKind},
};

pub const LIFETIME_SECONDS: u32 = 7 * 86_400;

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// What a role permits in an organization; `None` if it has none of that name.
async fn role_holds(
    reader: &impl Reader,
    organization: OrganizationId,
    key: &str,
) -> Result<Option<Held>, StoreError> {
    match roles::built_in(key) {
        Some(held) => Ok(Some(held)),
        None => Ok(store::own_role(reader, organization, key).await?.map(Held::of)),
    }
}

/// Asks somebody to join. Whoever was asked before is asked again, by the same invitation.
async fn invite(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    organization: OrganizationId,
    email: &EmailAddress,
    role: &str,
) -> Result<Invitation, Problem> {
    let mailbox = app.secrets.identifier_key("email", email.canonical().as_bytes());
    let bucket = |rule: Rule, whom: &[u8]| Bucket { rule, key: app.secrets.limit_key(rule.name, whom) };
    let buckets = [
        bucket(INVITATION_ORGANIZATION, organization.uuid().as_bytes()),
        bucket(INVITATION_RECIPIENT, &mailbox),
    ];
    if limits::take(&app.store, &buckets).await?.is_some() {
        return Err(ProblemCode::SlowDown.into());
    }
    let (new_id, mailbox) = (Id::random(&*app.entropy), &mailbox);
    let outcome = app.store.run_tx("invitations.invite", |tx| async move {
        let organization = match enabled(organizations::lock(&tx, organization).await?) {
            Ok(organization) => organization,
            Err(problem) => return Ok(Err(problem)),
        };
        if let Err(problem) = may_give(&tx, caller, organization.id, role).await? {
            return Ok(Err(problem));
        }
        let id = store::waiting_in(&tx, organization.id, mailbox).await?.unwrap_or(new_id);
        let invitation =
            Box::pin(write(app, &tx, context, caller, &organization, id, email, mailbox, role)).await?;
        Ok(Ok(invitation))
    });
    outcome.await?
}

fn enabled(organization: Option<Organization>) -> Result<Organization, Problem> {
    let organization = organization.ok_or(ProblemCode::NotFound)?;
    match organization.status {
        Status::Enabled => Ok(organization),
        Status::Suspended => Err(ProblemCode::OrganizationSuspended.into()),
    }
}

/// Nobody gives what they do not hold.
async fn may_give(
    tx: &Tx,
    caller: &Caller,
    organization: OrganizationId,
    role: &str,
) -> Result<Result<(), Problem>, StoreError> {
    let Some(given) = role_holds(tx, organization, role).await? else {
        return Ok(Err(Problem::new(ProblemCode::FieldInvalid, "role: there is no such role here")));
    };
    let Some(held) = management::held_now(tx, caller).await? else {
        return Ok(Err(ProblemCode::Forbidden.into()));
    };
    if held.covers_all(&given) {
        return Ok(Ok(()));
    }
    let text = format!("the role {role} permits more than you hold");
    Ok(Err(Problem::new(ProblemCode::AuthorityExceeded, text)))
}

#[expect(clippy::too_many_arguments, reason = "everything that an invitation says")]
async fn write(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    organization: &Organization,
    id: InvitationId,
    email: &EmailAddress,
    mailbox: &[u8; 32],
    role: &str,
) -> Result<Invitation, StoreError> {
    let route = HandleRoute { owner: organization.id.uuid(), row: id.uuid(), generation: 0 };
    let secret = app
        .secrets
        .handles
        .issue(HandleKind::Invitation, route, &*app.entropy)
        .map_err(|error| StoreError::Inconsistent(error.to_string()))?;
    let new = store::NewInvitation {
        organization: organization.id,
        id,
        email: email.as_str(),
        mailbox,
        role,
        hash: &secret.hash,
        invited_by: &caller.key(),
        seconds: f64::from(LIFETIME_SECONDS),
    };
    store::put(tx, &new).await?;
    let written = store::show(tx, organization.id, id).await?;
    let invitation = written.ok_or_else(|| StoreError::Inconsistent("an invitation is not there".into()))?;
    let target = Target::new("invitation", id);
    let event = trail::Event::done(TrailKind::MemberInvited, caller.actor.clone(), target)
        .because(caller.reason.clone())
        .changing(Value::Null, json!({"role": role}));
    trail::record(app, tx, context, organization.id, &event).await?;
    send(app, tx, organization, &invitation, &secret).await?;
    Ok(invitation)
}

async fn send(
    app: &App,
    tx: &Tx,
    organization: &Organization,
    invitation: &Invitation,
    secret: &Issued,
) -> Result<(), StoreError> {
    let page = app.checked.settings.invitation_link_path.as_deref();
    let link = page.and_then(|page| Link::under(app.issuer(), &format!("{page}#{}", *secret.text)));
    let letter = InvitationMail {
        service: &app.checked.settings.service_name,
        organization: &organization.name,
        link,
        token: &secret.text,
        until: invitation.expires_at,
    };
    let rendered = templates::invitation(Locale::negotiate(&organization.locale), &letter);
    let mail = rendered.to(&invitation.email).until(invitation.expires_at.unix_timestamp());
    mail::enqueue(app, tx, &mail).await
}

/// `false` when there is none that waits.
async fn take_back(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    organization: OrganizationId,
    id: InvitationId,
) -> Result<bool, StoreError> {
    app.store
        .run_tx("invitations.take_back", |tx| async move {
            if !store::revoke(&tx, organization, id).await? {
                return Ok(false);
            }
            let target = Target::new("invitation", id);
            let event = trail::Event::done(TrailKind::InvitationRevoked, caller.actor.clone(), target)
                .because(caller.reason.clone());
            trail::record(app, &tx, context, organization, &event).await?;
            Ok(true)
        })
        .await
}
