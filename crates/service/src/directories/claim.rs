//! An identity that nobody has yet: who the person is, by their own word and proof.

use porteiro_protocol::{
    id::{AccountId, ConnectionId, Id, MembershipId, OrganizationId},
    time::OffsetDateTime,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Admission, Described, Vouched, admission, record_rejection, store};
use crate::{
    App,
    accounts::{self, IdentifierKind, NewAccount},
    audit_trail::{self, Actor, ActorKind, Target, TrailKind},
    connections::{self, Connection, Entry, Owner},
    credentials::Rejected,
    http::RequestContext,
    members::{self, NewMember, Source, State, Whom},
    organizations::{self, Status},
    security_log::{self, EventKind},
    store::{StoreError, Tx},
};

/// An identity that the directory vouched for in a flow, and that nobody has.
#[derive(Clone, Serialize, Deserialize)]
pub struct Claim {
    pub organization: OrganizationId,
    pub connection: ConnectionId,
    pub connection_name: String,
    /// The host of its issuer. The administrator who configured the connection chose its name, but not this.
    #[serde(default)]
    pub issuer_host: String,
    pub subject: String,
    /// How the directory calls the person, for them to compare.
    pub label: String,
    #[serde(with = "time::serde::timestamp")]
    pub at: OffsetDateTime,
    /// The session there.
    #[serde(default)]
    pub sid: Option<String>,
    /// The epoch of the connection.
    #[serde(default)]
    pub epoch: i64,
    /// What else the directory says: decided about again when the person enters.
    #[serde(default)]
    pub described: Described,
    #[serde(default = "only_members")]
    pub admission: Admission,
    /// The organization requires more of its members than a new account could ever prove.
    #[serde(default)]
    pub needs_credentials: bool,
    /// The person said that they use this service already.
    pub has_account: bool,
}

const fn only_members() -> Admission {
    Admission::Member
}

/// A member whom the directory calls nothing but an address.
const NAMELESS: &str = "Member";

impl std::fmt::Debug for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<claim by {}>", self.connection)
    }
}

impl Claim {
    /// Whom the directory vouched for, should they be turned away.
    pub fn rejected(&self) -> Rejected {
        Rejected {
            organization: self.organization,
            connection: self.connection,
            subject: Some(self.subject.clone()),
        }
    }

    /// How a new member is called. An address is not stored (docs/decisions/0131).
    fn name(&self) -> &str {
        let label = Some(self.label.as_str()).filter(|label| !label.contains('@'));
        self.described.name.as_deref().or(label).unwrap_or(NAMELESS)
    }
}

/// Who claims an identity.
#[derive(Debug, Clone, Copy)]
pub enum Claimant<'a> {
    /// The account that its owner proved in the same flow.
    Account(AccountId),
    /// Somebody for whom an account is made, in this language. It has this identity and nothing else.
    New { locale: &'a str },
}

/// What became of a claim.
#[derive(Debug)]
pub enum Attached {
    /// The identity is the member's from now on.
    Linked(Box<Vouched>),
    /// The organization does not admit the person; its audit trail says why.
    Rejected,
    /// The connection was disabled, or somebody else has the identity: nothing was changed.
    Lost,
}

/// Links the identity to the claimant's membership, and makes them a member where the organization admits them.
pub async fn attach(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    claim: &Claim,
    claimant: Claimant<'_>,
) -> Result<Attached, StoreError> {
    let Some(place) = organizations::lock(tx, claim.organization).await? else { return Ok(Attached::Lost) };
    let connection = connections::organizations::find(tx, place.id, claim.connection).await?;
    let counts = |it: &Connection| it.enabled && it.epoch == claim.epoch && place.status == Status::Enabled;
    let connection = connection.filter(counts);
    let Some((connection, entry)) = connection.and_then(of_organization) else { return Ok(Attached::Lost) };
    // Under the organization's lock nobody else links it meanwhile.
    if store::find(tx, place.id, claim.connection, &claim.subject).await?.is_some() {
        return Ok(Attached::Lost);
    }
    let admission = admission(tx, place.id, &entry, &claim.described).await?;
    let (account, membership) = match enter(app, tx, context, claim, &entry, claimant, &admission).await? {
        Ok(entered) => entered,
        Err(reason) => {
            record_rejection(app, tx, context, &claim.rejected(), &reason).await?;
            return Ok(Attached::Rejected);
        }
    };
    link(app, tx, context, claim, &connection, membership, account).await
}

fn of_organization(connection: Connection) -> Option<(Connection, Entry)> {
    match connection.owner.clone() {
        Owner::Organization(_, entry) => Some((connection, entry)),
        Owner::Deployment => None,
    }
}

/// The membership of the claimant: the one they have, or a new one. The reason why they get none.
async fn enter(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    claim: &Claim,
    entry: &Entry,
    claimant: Claimant<'_>,
    admission: &Result<Admission, String>,
) -> Result<Result<(AccountId, MembershipId), String>, StoreError> {
    if let Claimant::Account(account) = claimant {
        // Why is the person's to tell.
        if accounts::is_leaving(tx, account).await? {
            return Ok(Err(
                "the person's account cannot be linked now; they see why when they sign in to it".into(),
            ));
        }
        let member = members::find(tx, claim.organization, Whom::Account(account)).await?;
        match member.map(|member| (member.state, member.id)) {
            Some((State::Active, id)) => match admission {
                Ok(Admission::Claims(other)) => {
                    return Ok(Err(format!(
                        "the person signed in to an account that is the member {id}, and SCIM provisioned the member \
                         {other} for them: remove one of the two"
                    )));
                }
                Ok(Admission::Member | Admission::Joins) | Err(_) => return Ok(Ok((account, id))),
            },
            // An account's own membership is never unclaimed.
            Some((State::Provisioned, _)) => {
                return Err(StoreError::Inconsistent("an account has an unclaimed membership".into()));
            }
            Some((State::Disabled, _)) => {
                return Ok(Err("the person signed in to an account whose membership is disabled".into()));
            }
            Some((State::Removed, _)) | None => {}
        }
    }
    match (admission, &entry.jit_role) {
        (Ok(Admission::Claims(id)), _) => {
            let account = account_of(app, tx, context, claim, claimant).await?;
            if members::claim(app, tx, context, claim.organization, *id, account).await? {
                return Ok(Ok((account, *id)));
            }
            Err(StoreError::Inconsistent("a membership was claimed under the organization's lock".into()))
        }
        (Ok(Admission::Joins), Some(role)) => {
            let account = account_of(app, tx, context, claim, claimant).await?;
            join(app, tx, context, claim, account, role).await.map(|id| Ok((account, id)))
        }
        (Ok(Admission::Member | Admission::Joins), _) => Ok(Err("the person is not a member".into())),
        (Err(reason), _) => {
            Ok(Err(format!("the person signed in to an account that is not a member; {reason}")))
        }
    }
}

/// The claimant's account; a new one has no credential.
async fn account_of(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    claim: &Claim,
    claimant: Claimant<'_>,
) -> Result<AccountId, StoreError> {
    let locale = match claimant {
        Claimant::Account(account) => return Ok(account),
        Claimant::New { locale } => locale,
    };
    let (id, user_handle) = (Id::random(&*app.entropy), app.entropy.bytes::<32>());
    let handle = app.secrets.identifier_key("user_handle", &user_handle);
    if !accounts::insert_identifier(tx, &handle, IdentifierKind::UserHandle, id).await? {
        return Err(StoreError::Inconsistent("a user handle was drawn twice".into()));
    }
    let new = NewAccount {
        id,
        display_name: claim.name(),
        locale,
        user_handle: &user_handle,
        platform_administrator: false,
    };
    accounts::insert(tx, &new).await?;
    let payload = json!({"platform_administrator": false});
    let event = security_log::Event { kind: EventKind::AccountCreated, subject: id.uuid(), payload };
    security_log::record(app, tx, context, event).await?;
    Ok(id)
}

/// Makes the account a member. A former member gets the old membership back.
async fn join(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    claim: &Claim,
    account: AccountId,
    role: &str,
) -> Result<MembershipId, StoreError> {
    let new = NewMember {
        organization: claim.organization,
        id: Id::random(&*app.entropy),
        account: Some(account),
        client_id: None,
        display_name: claim.name(),
        role,
        source: Source::Jit,
    };
    let actor = Actor { kind: ActorKind::Member, id: new.id.to_string(), act: None };
    let joined = members::join(app, tx, context, &new, &actor).await?;
    joined.ok_or_else(|| StoreError::Inconsistent("a member joined twice".into()))
}

async fn link(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    claim: &Claim,
    connection: &Connection,
    membership: MembershipId,
    account: AccountId,
) -> Result<Attached, StoreError> {
    let (place, id) = (claim.organization, Id::random(&*app.entropy));
    if !store::link(tx, place, id, claim.connection, &claim.subject, membership).await? {
        return Ok(Attached::Lost);
    }
    let actor = Actor { kind: ActorKind::Member, id: membership.to_string(), act: None };
    let after = json!({"connection_id": claim.connection, "identity_id": id});
    let target = Target::new("member", membership);
    let event = audit_trail::Event::done(TrailKind::ExternalIdentityLinked, actor, target)
        .changing(Value::Null, after);
    audit_trail::record(app, tx, context, place, &event).await?;
    let payload = json!({"identity_id": id, "issuer": connection.issuer, "organization": place});
    let kind = EventKind::ExternalIdentityLinked;
    let event = security_log::Event { kind, subject: account.uuid(), payload };
    security_log::record(app, tx, context, event).await?;
    let identity = store::standing(tx, place, id, claim.epoch).await?;
    let identity = identity.ok_or_else(|| StoreError::Inconsistent("an identity is gone".into()))?;
    Ok(Attached::Linked(Box::new(Vouched::now(&identity, claim.at, claim.sid.clone()))))
}
