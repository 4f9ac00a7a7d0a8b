//! A person accepts an invitation.

use porteiro_protocol::id::{AccountId, Id, InvitationId, MembershipId, OrganizationId};

use super::store::{self, Invitation, Proof};
use crate::{
    App, accounts,
    audit_trail::{Actor, ActorKind},
    credentials::{self, CredentialKind},
    http::RequestContext,
    members::{self, NewMember, Source, State as MemberState, Whom},
    organizations::{self, Organization, Status},
    roles,
    secrets::HandleKind,
    store::{Reader, StoreError, Turn, Tx},
};

/// The result of accepting.
#[derive(Debug)]
pub enum Accepted {
    Joined {
        organization: Box<Organization>,
        membership: MembershipId,
        role: String,
    },
    /// Unknown, used, revoked, expired, or for another person: one answer.
    NotTheirs,
    Suspended,
    /// The person's account is being deleted.
    Leaving,
    /// The person is a member, or a disabled one: an invitation does not change that.
    Member,
}

/// The identifier keys of a person's mailboxes.
async fn mailboxes(app: &App, reader: &impl Reader, account: AccountId) -> Result<Vec<Vec<u8>>, StoreError> {
    let all = credentials::find_all(reader, account).await?;
    let addresses = all.iter().filter(|credential| credential.kind == CredentialKind::Email);
    let canonical = addresses.filter_map(|credential| credential.body["canonical"].as_str());
    Ok(canonical.map(|text| app.secrets.identifier_key("email", text.as_bytes()).to_vec()).collect())
}

/// The identifier key of the mailbox that a valid invitation was sent to, for a person without an account.
pub async fn mailbox(app: &App, token: &str) -> Result<Option<Vec<u8>>, StoreError> {
    match app.secrets.handles.open(HandleKind::Invitation, token) {
        Some(presented) => store::mailbox(&app.store, &presented).await,
        None => Ok(None),
    }
}

/// Pending invitations to the person's addresses, each with its organization.
pub async fn mine(app: &App, account: AccountId) -> Result<Vec<(Invitation, Organization)>, StoreError> {
    let mailboxes = mailboxes(app, &app.store, account).await?;
    let mut found = Vec::new();
    for invitation in store::waiting_for(&app.store, &mailboxes).await? {
        if let Some(organization) = organizations::find(&app.store, invitation.organization).await? {
            found.push((invitation, organization));
        }
    }
    Ok(found)
}

/// Revokes the organization's pending invitations to the person's addresses. The caller holds the organization's lock.
pub async fn withdraw(
    app: &App,
    tx: &Tx,
    organization: OrganizationId,
    account: AccountId,
) -> Result<Vec<InvitationId>, StoreError> {
    let mailboxes = mailboxes(app, tx, account).await?;
    store::revoke_waiting(tx, organization, &mailboxes).await
}

/// With the hash of the secret from the mail, or by one of the person's addresses.
pub async fn accept(
    app: &App,
    context: &RequestContext,
    account: AccountId,
    organization: OrganizationId,
    id: InvitationId,
    secret: Option<&[u8; 32]>,
) -> Result<Accepted, StoreError> {
    let membership = Id::random(&*app.entropy);
    app.store
        .run_tx_in_turn(Turn::new(organization.uuid(), account), "invitations.accept", |tx| async move {
            let Some(place) = organizations::lock(&tx, organization).await? else {
                return Ok(Accepted::NotTheirs);
            };
            match place.status {
                Status::Suspended => return Ok(Accepted::Suspended),
                Status::Enabled => {}
            }
            let already = members::find(&tx, organization, Whom::Account(account)).await?;
            match already.map(|member| member.state) {
                Some(MemberState::Provisioned | MemberState::Active | MemberState::Disabled) => {
                    return Ok(Accepted::Member);
                }
                Some(MemberState::Removed) | None => {}
            }
            if accounts::is_leaving(&tx, account).await? {
                return Ok(Accepted::Leaving);
            }
            let Some(role) = offered(app, &tx, account, organization, id, secret).await? else {
                return Ok(Accepted::NotTheirs);
            };
            let membership = join(app, &tx, context, account, organization, id, membership, &role).await?;
            Ok(Accepted::Joined { organization: Box::new(place), membership, role })
        })
        .await
}

/// Uses the invitation, if it is the person's and its role still exists.
async fn offered(
    app: &App,
    tx: &Tx,
    account: AccountId,
    organization: OrganizationId,
    id: InvitationId,
    secret: Option<&[u8; 32]>,
) -> Result<Option<String>, StoreError> {
    let Some(invitation) = store::show(tx, organization, id).await? else { return Ok(None) };
    if roles::definitions(tx, organization).await?.get(&invitation.role).is_none() {
        return Ok(None);
    }
    let own = mailboxes(app, tx, account).await?;
    let proof = secret.map_or(Proof::Mailbox(&own), Proof::Secret);
    store::spend(tx, organization, id, &proof).await
}

#[expect(clippy::too_many_arguments, reason = "who joins what, as what, and by which invitation")]
async fn join(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    organization: OrganizationId,
    id: InvitationId,
    membership: MembershipId,
    role: &str,
) -> Result<MembershipId, StoreError> {
    let person = accounts::find(tx, account).await?;
    let person = person.ok_or_else(|| StoreError::Inconsistent("an account is gone".into()))?;
    let new = NewMember {
        organization,
        id: membership,
        account: Some(account),
        client_id: None,
        display_name: &person.display_name,
        role,
        source: Source::Invitation,
    };
    let actor = Actor { kind: ActorKind::Member, id: new.id.to_string(), act: None };
    let joined = members::join(app, tx, context, &new, &actor).await?;
    let membership = joined.ok_or_else(|| StoreError::Inconsistent("a member joined twice".into()))?;
    store::led_to(tx, organization, id, membership).await?;
    Ok(membership)
}
