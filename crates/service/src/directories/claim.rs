//! An identity that nobody has yet: who the person is, by their own proof.

use porteiro_protocol::{
    id::{AccountId, ConnectionId, Id, OrganizationId},
    time::OffsetDateTime,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Vouched, store};
use crate::{
    App,
    audit_trail::{self, Actor, ActorKind, Outcome, Target, TrailKind},
    connections::{self, Connection},
    credentials::Rejected,
    http::RequestContext,
    limits::{self, Bucket, SSO_REJECTED},
    members::{self, Member, State, Whom},
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
    /// The host of its issuer. Whoever configured the connection chose the name, but not this.
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
    /// The person said that they use this service already.
    pub has_account: bool,
}

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
            subject: self.subject.clone(),
        }
    }
}

/// What became of a claim.
#[derive(Debug)]
pub enum Attached {
    /// The identity is the member's from now on.
    Linked(Box<Vouched>),
    /// The account is no member, or may not become one.
    Rejected,
    /// The connection was disabled, or somebody else has the identity.
    Lost,
}

/// Links the identity to the membership of an account that its owner proved in the same flow.
pub async fn attach(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    claim: &Claim,
    account: AccountId,
) -> Result<Attached, StoreError> {
    let Some(place) = organizations::lock(tx, claim.organization).await? else { return Ok(Attached::Lost) };
    let connection = connections::organizations::find(tx, place.id, claim.connection).await?;
    let counts = |it: &Connection| it.enabled && it.epoch == claim.epoch && place.status == Status::Enabled;
    let Some(connection) = connection.filter(counts) else {
        return Ok(Attached::Lost);
    };
    let member = members::find(tx, place.id, Whom::Account(account)).await?;
    let Some(member) = member.filter(|member| member.state == State::Active) else {
        let reason = "the person signed in to an account that is not an active member";
        record_rejection(app, tx, context, &claim.rejected(), reason).await?;
        return Ok(Attached::Rejected);
    };
    link(app, tx, context, claim, &connection, &member, account).await
}

async fn link(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    claim: &Claim,
    connection: &Connection,
    member: &Member,
    account: AccountId,
) -> Result<Attached, StoreError> {
    let (place, id) = (claim.organization, Id::random(&*app.entropy));
    if !store::link(tx, place, id, claim.connection, &claim.subject, member.id).await? {
        return Ok(Attached::Lost);
    }
    let actor = Actor { kind: ActorKind::Member, id: member.id.to_string(), act: None };
    let after = json!({"connection_id": claim.connection, "subject": claim.subject});
    let event =
        audit_trail::Event::done(TrailKind::ExternalIdentityLinked, actor, Target::new("member", member.id))
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

/// Records in the organization's audit trail who was not admitted, and why. The number of entries is limited, because
/// everybody who can sign in to the directory can cause them.
pub async fn record_rejection(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    rejected: &Rejected,
    reason: &str,
) -> Result<(), StoreError> {
    let rule = SSO_REJECTED;
    let key = app.secrets.limit_key(rule.name, rejected.organization.uuid().as_bytes());
    if limits::take_in(tx, &[Bucket { rule, key }]).await?.is_some() {
        metrics::counter!("porteiro_limited_total", "rule" => rule.name).increment(1);
        return Ok(());
    }
    let actor = Actor { kind: ActorKind::System, id: rejected.connection.to_string(), act: None };
    let target = Target::new("directory_subject", &rejected.subject);
    let event = audit_trail::Event {
        outcome: Outcome::Refused,
        ..audit_trail::Event::done(TrailKind::SignInRejected, actor, target)
    };
    let event = event.because(Some(reason.to_owned()));
    audit_trail::record(app, tx, context, rejected.organization, &event).await
}
