//! Reads everything the decision needs from the database.

use serde_json::Value;

use super::{
    decide::{AccountFacts, Facts, Policy},
    discovery, door,
    purpose::{self, Person, Ready, Source, Standing},
    state::{State, Transport},
    store::Loaded,
    vouched,
};
use crate::{
    App,
    accounts::{self, Account, AccountState},
    branding,
    connections::{self, organizations::Ways},
    credentials::{self, Challenge, Credential, CredentialState, sms},
    mail::Mailer,
    sessions,
    store::StoreError,
};

#[derive(Debug)]
pub struct Gathered {
    pub facts: Facts,
    pub account: Option<Account>,
    pub credentials: Vec<Credential>,
    pub challenges: Vec<Challenge>,
    /// The flow's request, prepared from the database.
    pub ready: Option<Ready>,
}

/// The branding of the flow. Read only for a response, never for a decision.
pub async fn look(app: &App, gathered: &Gathered) -> Result<Option<Value>, StoreError> {
    match gathered.ready.as_ref().and_then(|ready| ready.prepared.audience()) {
        Some(audience) => branding::shown(app, &app.store, audience).await,
        None => Ok(None),
    }
}

pub fn policy(app: &App) -> Policy {
    Policy {
        registration: app.checked.settings.registration,
        minimum_level: app.checked.settings.minimum_level,
        sms: app.sms.is_available(),
        sms_sign_in: app.sms.is_available() && app.checked.settings.sms_sign_in,
        mail: !matches!(app.mailer, Mailer::Nowhere),
    }
}

/// Connections need a browser, and a page for the provider's answer.
fn has_page(app: &App, loaded: &Loaded) -> bool {
    match loaded.state.transport {
        Transport::Browser => app.checked.settings.federation_page_path.is_some(),
        Transport::Api => false,
    }
}

/// What the flow's request requires of this account.
async fn stand(
    source: Source<'_>,
    state: &State,
    ready: &mut Option<Ready>,
    person: Option<Person>,
) -> Result<Option<Standing>, StoreError> {
    match (&state.continuation, ready) {
        (Some(continuation), Some(ready)) => {
            ready.prepared.stand(source, continuation, person).await.map(Some)
        }
        (_, _) => Ok(None),
    }
}

/// Also removes proofs by credentials that the account no longer has. `kept`: a request that was just prepared and is
/// not prepared again.
pub async fn gather(
    app: &App,
    source: Source<'_>,
    loaded: &mut Loaded,
    kept: Option<Ready>,
) -> Result<Gathered, StoreError> {
    let reader = &source;
    let (account, credentials) = match loaded.state.account() {
        Some(id) => (accounts::find(reader, id).await?, credentials::find_all(reader, id).await?),
        None => (None, Vec::new()),
    };
    if loaded.state.account().is_some() {
        loaded.state.proofs.retain(|proof| {
            credentials.iter().any(|credential| proof.credential == Some(credential.id.uuid()))
        });
    }
    let session_alive = match (loaded.state.session, loaded.state.account()) {
        (Some(session), Some(account)) => {
            let token = loaded.state.session_token.as_deref().unwrap_or_default();
            sessions::is_alive(reader, session, account, token).await?
        }
        (Some(_), None) => false,
        (None, _) => true,
    };
    let challenges = credentials::find_challenges(reader, loaded.id).await?;
    let mut ready = purpose::prepare(app, source, &loaded.state, kept).await?;
    // A person who claims an identity may not be a member yet.
    let member = loaded.state.account().filter(|_| loaded.state.claim.is_none());
    let member = member.map(|account| Person { account, confined: false });
    let mut standing = stand(source, &loaded.state, &mut ready, member).await?;
    let place = standing.as_ref().and_then(|standing| standing.organization);
    if loaded.state.vouched.is_none() {
        loaded.state.vouched = door::held(source, &loaded.state, standing.as_ref()).await?;
    }
    let vouched = vouched::facts(source, &mut loaded.state, place).await?;
    if let Some(vouched) = vouched.as_ref().filter(|_| loaded.state.account().is_none()) {
        let member = Person { account: vouched.account, confined: true };
        standing = stand(source, &loaded.state, &mut ready, Some(member)).await?;
    }
    let requires = loaded.state.claim.is_none() && door::required_by(standing.as_ref()).is_some();
    let (ways, mut theirs) = match place.filter(|_| requires || loaded.state.account().is_none()) {
        Some(place) => connections::organizations::offered(reader, place).await?,
        None => (Ways::Any, Vec::new()),
    };
    let directory = place.filter(|_| !theirs.is_empty());
    discovery::first(&loaded.state, &mut theirs);
    let theirs = directory.map(|_| theirs);
    let remembered = if has_page(app, loaded) && loaded.state.account().is_none() {
        discovery::offered(source, &loaded.state, standing.as_ref()).await?
    } else {
        None
    };
    let offered =
        if has_page(app, loaded) { theirs.unwrap_or_else(|| loaded.connections.clone()) } else { Vec::new() };
    let facts = Facts {
        standing,
        opening: purpose::opening_of(app, &loaded.state.kind),
        policy: policy(app),
        account: account.as_ref().map(|account| AccountFacts {
            active: account.state == AccountState::Active,
            usable: credentials
                .iter()
                .filter(|credential| credential.state == CredentialState::Active)
                .map(|credential| credential.kind)
                .collect(),
            bound: credentials.iter().map(|credential| credential.kind).collect(),
            sign_in_numbers: credentials
                .iter()
                .filter(|credential| sms::is_sign_in_number(credential))
                .map(|credential| credential.id.uuid())
                .collect(),
            hold_until: account.recovery_hold_until,
        }),
        session_alive,
        connections: offered,
        directory,
        ways,
        remembered,
        vouched,
        challenges: challenges.iter().map(|challenge| challenge.module).collect(),
        now: loaded.now,
    };
    Ok(Gathered { facts, account, credentials, challenges, ready })
}
