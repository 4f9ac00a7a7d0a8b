//! Invites people to an organization.

mod endpoint;

use porteiro_protocol::{
    address::EmailAddress,
    id::{Id, InvitationId, OrganizationId},
};
use serde_json::{Value, json};

pub use endpoint::routes;

use super::{
    caller::Caller,
    members,
    standing::{self, Standing},
};
use crate::{
    App,
    audit_trail::{self, Target, TrailKind},
    http::{Problem, RequestContext},
    invitations::{self, Invitation, LIFETIME_SECONDS},
    limits::{self, Bucket, INVITATION_ORGANIZATION, INVITATION_RECIPIENT, INVITATION_SHARE, Rule},
    mail::{
        self,
        templates::{self, InvitationMail, Link, Locale},
    },
    management,
    organizations::Organization,
    roles,
    secrets::{HandleKind, Issued, Route as HandleRoute},
    store::{StoreError, Tx},
};

const WRITE: &str = "invitations:write";

/// Invites a person to join. A pending invitation to the same address is sent again.
async fn invite(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    organization: OrganizationId,
    email: &EmailAddress,
    role: &str,
) -> Result<Invitation, Problem> {
    let mailbox = &app.secrets.identifier_key("email", email.canonical().as_bytes());
    let new_id = Id::random(&*app.entropy);
    let buckets = &buckets(app, organization, email);
    let invited = management::change(app, context, caller, "invitations.invite", |tx| async move {
        let Standing { organization, held, .. } = standing::enter(&tx, caller, WRITE).await?;
        let definitions = roles::definitions(&tx, organization.id).await?;
        // A caller gives only what it holds.
        members::decide::may_give(&held, &definitions, role)?;
        // Last, and in this transaction: an invitation that is refused or rolled back sends no mail and takes nothing
        // from a bucket.
        if let Some(limited) = limits::take_in(&tx, buckets).await? {
            return Err(Problem::from(limited).into());
        }
        let id = invitations::waiting_in(&tx, organization.id, mailbox).await?.unwrap_or(new_id);
        let invitation =
            Box::pin(write(app, &tx, context, caller, &organization, id, email, mailbox, role)).await?;
        Ok(invitation)
    });
    invited.await
}

/// The buckets of an invitation: the organization's, the organization's for this mailbox, and last the mailbox's, which
/// all organizations share.
fn buckets(app: &App, organization: OrganizationId, email: &EmailAddress) -> [Bucket; 3] {
    let mailbox = app.secrets.identifier_key("email", email.without_detail().as_bytes());
    let place = organization.uuid();
    let share = [place.as_bytes().as_slice(), &mailbox].concat();
    let bucket = |rule: Rule, whom: &[u8]| Bucket { rule, key: app.secrets.limit_key(rule.name, whom) };
    [
        bucket(INVITATION_SHARE, &share),
        bucket(INVITATION_ORGANIZATION, place.as_bytes()),
        bucket(INVITATION_RECIPIENT, &mailbox),
    ]
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
    let new = invitations::NewInvitation {
        organization: organization.id,
        id,
        email: email.as_str(),
        mailbox,
        role,
        hash: &secret.hash,
        invited_by: &caller.key(),
        seconds: f64::from(LIFETIME_SECONDS),
    };
    invitations::put(tx, &new).await?;
    let written = invitations::show(tx, organization.id, id).await?;
    let invitation = written.ok_or_else(|| StoreError::Inconsistent("an invitation is not there".into()))?;
    let target = Target::new("invitation", id);
    let event = audit_trail::Event::done(TrailKind::MemberInvited, caller.actor.clone(), target)
        .because(caller.reason.clone())
        .changing(Value::Null, json!({"role": role}));
    audit_trail::record(app, tx, context, organization.id, &event).await?;
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

/// `false` if there is no pending invitation.
async fn take_back(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    organization: OrganizationId,
    id: InvitationId,
) -> Result<bool, StoreError> {
    app.store
        .run_tx("invitations.take_back", |tx| async move {
            if !invitations::revoke(&tx, organization, id).await? {
                return Ok(false);
            }
            let target = Target::new("invitation", id);
            let event = audit_trail::Event::done(TrailKind::InvitationRevoked, caller.actor.clone(), target)
                .because(caller.reason.clone());
            audit_trail::record(app, &tx, context, organization, &event).await?;
            Ok(true)
        })
        .await
}
