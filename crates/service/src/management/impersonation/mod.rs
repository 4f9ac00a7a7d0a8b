//! A platform administrator starts, continues and stops impersonating a member (`crate::impersonation`). The whole
//! decision is made again for every token.

mod decide;
mod endpoint;
mod token;

use porteiro_protocol::{
    actor::ActorChain,
    assurance::Level,
    authority::Authority,
    id::{AccountId, Id, MembershipId, OrganizationId},
    permission::{Held, Permission},
    time::numeric_date,
};
use serde_json::json;

pub use endpoint::routes;

use self::decide::{Impersonator, Refused, Target, may_act, may_carry};
use super::{
    caller::{By, Caller},
    presented::Presented,
    standing::held_now,
};
use crate::{
    App, accounts,
    accounts::Account,
    audit_trail::{self, TrailKind},
    flow,
    http::RequestContext,
    impersonation::{self, Impersonation, ImpersonationId, JOB, SECONDS, target},
    jobs,
    mail::templates,
    members::{self, Member, Whom},
    oauth::{
        acting::{self, Acting},
        authority::still_allowed,
        grants::{self, GrantId, Live, NewActing, Terms},
    },
    organizations::{self, Entrance},
    platform,
    refusals::Rule,
    security_log::{self, EventKind},
    store::{Reader, StoreError, Tx},
};

/// The facts about the member that a decision needs.
#[derive(Debug)]
struct Facts {
    member: Member,
    account: Option<Account>,
    platform: Held,
}

impl Facts {
    async fn load(
        reader: &impl Reader,
        organization: OrganizationId,
        membership: MembershipId,
    ) -> Result<Option<Self>, StoreError> {
        let member = members::find(reader, organization, Whom::Id(membership)).await?;
        let Some(member) = member else { return Ok(None) };
        let (account, platform) = match member.account {
            Some(id) => (accounts::find(reader, id).await?, platform::held(reader, id).await?),
            None => (None, Held::nothing()),
        };
        Ok(Some(Self { member, account, platform }))
    }

    fn check(&self, caller: &Caller, held: &Held) -> Result<&Account, Refused> {
        let is_person = matches!(caller.by, By::Operator(_));
        let who = Impersonator { is_person, held };
        let whom = Target {
            held: self.member.held(),
            roles: &self.member.roles,
            is_person: self.account.is_some(),
            platform: &self.platform,
            platform_administrator: self.account.as_ref().is_some_and(|it| it.platform_administrator),
        };
        may_act(&who, &whom)?;
        self.account.as_ref().ok_or(Refused::NotAPerson)
    }
}

/// The platform administrator and the token; only a person has both.
fn operator(caller: &Caller) -> Option<(AccountId, &Presented)> {
    match (&caller.by, &caller.token) {
        (By::Operator(account), Some(token)) => Some((*account, token)),
        (By::Operator(_) | By::Member { .. } | By::Key { .. }, _) => None,
    }
}

/// A request to start an impersonation.
#[derive(Debug)]
struct Beginning<'a> {
    organization: OrganizationId,
    membership: MembershipId,
    reason: &'a str,
    authority: &'a Authority,
    /// The scopes that are permissions.
    permissions: &'a [Permission],
}

/// A current impersonation, with what its tokens contain.
#[derive(Debug)]
struct Going {
    impersonation: Impersonation,
    live: Live,
    member: Member,
}

/// Starts an impersonation. The organization is locked, so the facts of the decision cannot change before it is
/// written.
async fn begin(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    asked: &Beginning<'_>,
) -> Result<Option<Result<Going, Refused>>, StoreError> {
    let Some((actor, token)) = operator(caller) else {
        return Ok(Some(Err(Refused::Rule(Rule::ImpersonationByKey))));
    };
    app.store
        .run_tx("impersonation.begin", |tx| async move {
            if organizations::lock(&tx, asked.organization).await?.is_none() {
                return Ok(None);
            }
            let Some(facts) = Facts::load(&tx, asked.organization, asked.membership).await? else {
                return Ok(None);
            };
            // The caller's own permissions may have changed since the guard read them.
            let held = held_now(&tx, caller).await?.unwrap_or_else(Held::nothing);
            let person = match facts.check(caller, &held) {
                Ok(account) => account.clone(),
                Err(refused) => return Ok(Some(Err(refused))),
            };
            if let Err(refused) = carries(&facts.member, asked.authority, asked.permissions) {
                return Ok(Some(Err(refused)));
            }
            let going = Box::pin(write(app, &tx, actor, token, asked, &person, facts.member)).await?;
            Box::pin(announce(app, &tx, context, caller, &going, &person)).await?;
            Ok(Some(Ok(going)))
        })
        .await
}

fn carries(member: &Member, authority: &Authority, permissions: &[Permission]) -> Result<(), Refused> {
    let held = member.held().map_err(Refused::Unusable)?;
    may_carry(authority.scope(), permissions, held).map_err(Refused::Rule)
}

async fn write(
    app: &App,
    tx: &Tx,
    actor: AccountId,
    token: &Presented,
    asked: &Beginning<'_>,
    person: &Account,
    member: Member,
) -> Result<Going, StoreError> {
    let now = app.clock.now();
    let id = ImpersonationId::random(&*app.entropy);
    let grant = GrantId::ordered(now, &*app.entropy);
    let new = impersonation::New {
        id,
        organization: asked.organization,
        membership: asked.membership,
        account: person.id,
        actor,
        grant,
        reason: asked.reason,
        seconds: SECONDS,
    };
    let impersonation = impersonation::insert(tx, &new).await?;
    let terms = Terms {
        // The person of the account has proved nothing.
        level: Level::None,
        auth_time: numeric_date(now),
        amr: Vec::new(),
        nonce: None,
        credentials: Vec::new(),
        details: Vec::new(),
        actor: Some(ActorChain::staff(actor.to_string())),
        until: Some(numeric_date(impersonation.ends_at)),
        device: false,
        approval: None,
        confined: false,
        directory_epoch: None,
        entrance: Entrance::default(),
    };
    let acting = Acting::from(&member);
    let new = NewActing {
        id: grant,
        account: person.id,
        acting: &acting,
        authority_version: member.organization.authority_version,
        client_id: &token.client.id,
        impersonation: id.uuid(),
        unused_hash: app.entropy.bytes(),
        seconds: SECONDS,
        authority: asked.authority,
        terms: &terms,
    };
    grants::insert_acting(tx, &new).await?;
    let live = Live {
        id: grant,
        account: person.id,
        session: id.uuid().into(),
        authority: asked.authority.clone(),
        acting: Some(acting),
        authority_version: Some(member.organization.authority_version),
        terms,
        created_at: impersonation.started_at,
    };
    let payload = json!({"organization": asked.organization, "impersonation": id});
    let job = Id::ordered(now, &*app.entropy);
    // One second later, so that it has expired by every clock.
    jobs::enqueue_later(tx, job, JOB, &payload, f64::from(SECONDS) + 1.0).await?;
    Ok(Going { impersonation, live, member })
}

/// Records the start for the organization and the platform, and notifies the person.
async fn announce(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    going: &Going,
    person: &Account,
) -> Result<(), StoreError> {
    let it = &going.impersonation;
    let event = audit_trail::Event::done(
        TrailKind::ImpersonationStarted,
        caller.actor.clone(),
        target(it.membership),
    )
    .because(Some(it.reason.clone()));
    audit_trail::record(app, tx, context, it.organization, &event).await?;
    let payload = json!({"impersonation_id": it.id, "organization_id": it.organization, "by": it.actor});
    let kind = EventKind::ImpersonationStarted;
    security_log::record(app, tx, context, security_log::Event { kind, subject: it.account.uuid(), payload })
        .await?;
    let who = accounts::find(tx, it.actor).await?.map(|account| account.display_name);
    let acting = templates::Acting {
        who: who.as_deref().unwrap_or_default(),
        organization: &going.member.organization.name,
        reason: &it.reason,
        until: it.ends_at,
    };
    let what = flow::happening(app, None);
    flow::tell(app, tx, person.id, &person.locale, |locale| {
        templates::impersonation_started(locale, &acting, &what)
    })
    .await
}

/// Returns a current impersonation of the same caller and client. Everything is checked again.
async fn go_on(
    app: &App,
    caller: &Caller,
    organization: OrganizationId,
    membership: MembershipId,
    id: ImpersonationId,
) -> Result<Option<Result<Going, Refused>>, StoreError> {
    let Some((actor, token)) = operator(caller) else {
        return Ok(Some(Err(Refused::Rule(Rule::ImpersonationByKey))));
    };
    let found = impersonation::find(&app.store, organization, membership, id).await?;
    let Some(impersonation) = found.filter(|it| it.actor == actor && it.ended_at.is_none()) else {
        return Ok(None);
    };
    let Some(facts) = Facts::load(&app.store, organization, membership).await? else { return Ok(None) };
    if let Err(refused) = facts.check(caller, &caller.held) {
        return Ok(Some(Err(refused)));
    }
    let acting = Acting::from(&facts.member);
    let (grant, account) = (impersonation.grant, impersonation.account);
    let live = grants::find_acting(&app.store, grant, account, &token.client, acting).await?;
    let Some(live) = live else { return Ok(None) };
    let apis = app.directory.apis(&app.store).await?;
    let api = apis.iter().find(|api| api.identifier == live.authority.audience());
    let permissions = acting::permissions(&live.authority, api);
    if let Err(refused) = carries(&facts.member, &live.authority, &permissions) {
        return Ok(Some(Err(refused)));
    }
    if still_allowed(&token.client, api, &live.authority).is_err() {
        return Ok(Some(Err(Refused::Rule(Rule::ScopeNotForClient))));
    }
    Ok(Some(Ok(Going { impersonation, live, member: facts.member })))
}

/// Ends an impersonation and its grant, so that introspection and our own APIs refuse its tokens. `false` if there is none.
async fn stop(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    organization: OrganizationId,
    membership: MembershipId,
    id: ImpersonationId,
) -> Result<bool, StoreError> {
    if impersonation::find(&app.store, organization, membership, id).await?.is_none() {
        return Ok(false);
    }
    app.store
        .run_tx("impersonation.stop", |tx| async move {
            let Some(ended) = impersonation::end(&tx, organization, id, false).await? else {
                return Ok(true);
            };
            grants::revoke_acting(&tx, ended.grant, ended.account).await?;
            let event = audit_trail::Event::done(
                TrailKind::ImpersonationEnded,
                caller.actor.clone(),
                target(membership),
            );
            audit_trail::record(app, &tx, context, organization, &event).await?;
            let payload =
                json!({"impersonation_id": id, "organization_id": organization, "by": caller.key()});
            let kind = EventKind::ImpersonationEnded;
            let event = security_log::Event { kind, subject: ended.account.uuid(), payload };
            security_log::record(app, &tx, context, event).await?;
            Ok(true)
        })
        .await
}
