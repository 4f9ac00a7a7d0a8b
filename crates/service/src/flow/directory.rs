//! Sign-in by a directory of the organization that the request is for. The actions are those of other providers
//! (`credentials/federated`); what an identity leads to is another thing: a member, never an account.

use porteiro_protocol::{
    assurance::Level,
    id::{AccountId, ChallengeId, OrganizationId},
    plain_text,
    time::OffsetDateTime,
};
use serde_json::Value;

use super::{
    actions::Action,
    purpose::Looking,
    state::State,
    step::{self, Step, Stopped},
    store::Loaded,
};
use crate::{
    App,
    connections::{self, Connection, Owner, UserinfoError, Verified},
    credentials::{
        self, Rejected,
        federated::{self, Unverified},
    },
    directories::{self, Admission, Attached, Claim, Claimant, Described, Vouched},
    http::RequestContext,
    members, organizations,
    store::{StoreError, Tx},
};

/// What a directory's answer, or the person's, changes in the flow.
#[derive(Debug)]
pub enum Effect {
    /// A directory of the organization vouches for a member.
    Vouch { vouched: Vouched, challenge: ChallengeId },
    /// A directory vouches for somebody whom the organization does not know. `rejected`: why nobody joins that way.
    Claim { claim: Claim, challenge: ChallengeId, rejected: Option<String> },
    /// The person continues with a new account.
    NewAccount,
    /// The person already uses this service.
    HasAccount,
    /// The person links the identity to the account that they proved.
    Attach,
}

impl From<Effect> for step::Effect {
    fn from(effect: Effect) -> Self {
        Self::Directory(Box::new(effect))
    }
}

type Run = for<'a> fn(&'a Step<'a>, &'a Value, OrganizationId) -> Looking<'a>;

/// The handler of an action, where connections of an organization are offered.
pub(super) fn handler(action: Action) -> Option<Run> {
    if action == federated::BEGIN {
        return Some(|step, input, place| Box::pin(begin(step, input, place)));
    }
    if action == federated::FINISH {
        return Some(|step, input, place| Box::pin(finish(step, input, place)));
    }
    None
}

async fn begin(step: &Step<'_>, input: &Value, place: OrganizationId) -> Result<step::Effect, Stopped> {
    let connection = connection(step, place, federated::chosen(input)?).await?;
    let mut credential = step.of_credential();
    // Whose policy applies is known before the member is.
    let policy = organizations::find(&step.app.store, place).await?.map(|place| place.policy);
    let required = policy.and_then(|policy| policy.max_age);
    credential.recency.max_age = credential.recency.max_age.into_iter().chain(required).min();
    let effect = federated::begin(&credential, &connection, federated::PROVE).await?;
    Ok(step::Effect::Credential(Box::new(effect)))
}

async fn connection(
    step: &Step<'_>,
    place: OrganizationId,
    id: porteiro_protocol::id::ConnectionId,
) -> Result<Connection, Stopped> {
    let found = connections::organizations::find(&step.app.store, place, id).await?;
    found.filter(|connection| connection.enabled).ok_or_else(federated::unknown)
}

async fn finish(step: &Step<'_>, input: &Value, place: OrganizationId) -> Result<step::Effect, Stopped> {
    let credential = step.of_credential();
    let (challenge, id) = federated::awaited(&credential, federated::PROVE)?;
    let connection = connection(step, place, id).await?;
    let verified = federated::verified(&credential, input, challenge, &connection).await;
    let by = |subject| Box::new(Rejected { organization: place, connection: connection.id, subject });
    let mut verified = verified.map_err(|unverified| match unverified {
        Unverified::Stopped(stopped) => stopped,
        Unverified::IdToken(rule) => {
            Stopped::Rejected { by: by(None), reason: connections::explain(rule, &connection), logged: rule }
        }
    })?;
    let subject = &verified.asserted.subject.clone();
    let rejected = |reason: &str| Stopped::Rejected {
        by: by(Some(subject.clone())),
        reason: reason.to_owned(),
        logged: "the organization does not admit the identity",
    };
    federated::is_recent(challenge, &verified).map_err(rejected)?;
    // A directory that does not say when it authenticated the person may have done so long ago.
    let at = verified.asserted.auth_time.map_or(OffsetDateTime::UNIX_EPOCH, |at| at.min(step.now));
    let sid = verified.asserted.sid.clone();
    let challenge = challenge.id;
    let found = directories::find(&step.app.store, place, connection.id, subject).await?;
    match found.as_ref().map(|identity| (identity.state, identity)) {
        // A disabled member is refused as everywhere else, and the refusal is recorded.
        Some((members::State::Active | members::State::Disabled, identity)) => {
            Ok(Effect::Vouch { vouched: Vouched::now(identity, at, sid), challenge }.into())
        }
        // An unclaimed membership has no linked identity; one that has is not trusted.
        Some((members::State::Provisioned | members::State::Removed, _)) => {
            Err(rejected("the identity is that of a former member; add the person again"))
        }
        None => {
            let Owner::Organization(_, entry) = &connection.owner else { return Err(federated::unknown()) };
            let unread = match connections::complete(step.app, &connection, entry, &mut verified).await {
                Ok(()) => None,
                Err(why @ UserinfoError::OtherSubject) => return Err(rejected(why.as_str())),
                // Who is a member already needs nothing that it says.
                Err(why @ UserinfoError::Unreadable) => Some(why.as_str()),
            };
            let described = Described::read(&verified.claims, entry);
            let admission = directories::admission(&step.app.store, place, entry, &described).await?;
            let (admission, rejected) = match admission {
                Ok(admission) => (admission, None),
                Err(reason) => (Admission::Member, Some(because(reason, unread))),
            };
            let claim = Claim {
                organization: place,
                connection: connection.id,
                connection_name: connection.name.clone(),
                issuer_host: connection.issuer_host(),
                subject: subject.clone(),
                label: label(&verified),
                at,
                sid,
                epoch: connection.epoch,
                described,
                admission,
                needs_credentials: requires_more(step, place).await?,
                has_account: false,
            };
            Ok(Effect::Claim { claim, challenge, rejected }.into())
        }
    }
}

/// Whether the organization requires more than a directory's word is worth: AAL1.
async fn requires_more(step: &Step<'_>, place: OrganizationId) -> Result<bool, Stopped> {
    let found = organizations::find(&step.app.store, place).await?;
    Ok(found.is_some_and(|place| place.policy.min_level > Level::Aal1))
}

/// The reason why somebody does not enter, and why the directory said too little.
fn because(reason: String, unread: Option<&str>) -> String {
    match unread {
        Some(why) => format!("{reason}; {why}"),
        None => reason,
    }
}

/// How the directory calls the person: only shown to them, to be compared.
fn label(verified: &Verified) -> String {
    let said = ["preferred_username", "email", "name"].into_iter();
    let mut said = said.filter_map(|claim| plain_text::name(verified.claims[claim].as_str()?, 100));
    said.next().unwrap_or(&verified.asserted.subject).to_owned()
}

/// Makes the change. `false` if the answer was used before, or somebody else has the identity.
pub(super) async fn change(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    loaded: &Loaded,
    state: &mut State,
    effect: &Effect,
) -> Result<bool, StoreError> {
    match effect {
        Effect::Vouch { vouched, challenge } => {
            state.claim = None;
            state.vouched = Some(vouched.clone());
            credentials::consume_challenge(tx, loaded.id, *challenge).await
        }
        Effect::Claim { claim, challenge, rejected } => {
            if let Some(reason) = rejected {
                directories::record_rejection(app, tx, context, &claim.rejected(), reason).await?;
            }
            state.vouched = None;
            state.claim = Some(claim.clone());
            credentials::consume_challenge(tx, loaded.id, *challenge).await
        }
        Effect::NewAccount => attach(app, tx, context, state, None).await,
        Effect::HasAccount => {
            if let Some(claim) = &mut state.claim {
                claim.has_account = true;
            }
            Ok(true)
        }
        Effect::Attach => match state.account() {
            Some(account) => attach(app, tx, context, state, Some(account)).await,
            None => Ok(false),
        },
    }
}

/// Records a sign-in that the organization does not admit.
pub(super) async fn reject(
    app: &App,
    context: &RequestContext,
    by: &Rejected,
    reason: &str,
) -> Result<(), StoreError> {
    app.store
        .run_tx("flow.reject", |tx| async move {
            directories::record_rejection(app, &tx, context, by, reason).await
        })
        .await
}

/// Links the claimed identity to an account; without one, to a new account.
async fn attach(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    state: &mut State,
    account: Option<AccountId>,
) -> Result<bool, StoreError> {
    let Some(claim) = state.claim.take() else { return Ok(false) };
    let claimant = account.map_or(Claimant::New { locale: &state.locale }, Claimant::Account);
    match directories::attach(app, tx, context, &claim, claimant).await? {
        Attached::Linked(vouched) => state.vouched = Some(*vouched),
        // The flow goes on with the account, if there is one, which is not a member.
        Attached::Rejected => {}
        Attached::Lost => return Ok(false),
    }
    Ok(true)
}
