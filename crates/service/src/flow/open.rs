//! Opens a flow: its kind, its caller and its binding.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{
    assurance::Level,
    id::{FlowId, Id},
    secret::Plain,
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    FlowError, facts, lifetime, phrase,
    purpose::{self, Ready, Source},
    representation,
    representation::Answer,
    state::{Kind, Need, State, Transport},
    step::Step,
    store,
};
use crate::{
    App,
    bootstrap::BootstrapKey,
    credentials::{self, CredentialKind, Effect, NewChallenge, hashing::Typed, passkey},
    http::{BIND_COOKIE, DIRECTORY_COOKIE, RequestContext, SESSION_COOKIE},
    invitations,
    limits::{self, Bucket, FLOW_ADDRESS, FLOW_KIB, Rule, network},
    mail::templates::Locale,
    secrets::sha256,
    sessions::{self, SignedIn},
    settings::Registration,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenRequest {
    pub kind: Kind,
    /// `browser` (the default) or `api`.
    #[serde(default)]
    pub transport: Option<Transport>,
    #[serde(default)]
    pub locale: Option<String>,
    /// The kind of credential that an enrolment flow binds.
    #[serde(default)]
    pub enrol: Option<CredentialKind>,
    /// The level that the flow must reach.
    #[serde(default)]
    pub level: Option<Level>,
    /// The bootstrap key of the first administrator, with `register`.
    #[serde(default)]
    pub bootstrap_key: Option<String>,
    /// The secret from the mail, with `register`, if registration requires an invitation.
    #[serde(default)]
    pub invitation: Option<String>,
    /// The code that a device shows, with `confirm_device`, if a link contained it: the person compares it; it is not
    /// looked up.
    #[serde(default)]
    pub user_code: Option<String>,
    /// The organization to sign in to, by id or slug, with `sign_in`.
    #[serde(default)]
    pub organization: Option<String>,
}

impl std::fmt::Debug for OpenRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<open {}>", self.kind.as_str())
    }
}

/// A sign-in that names an organization and serves no client.
#[derive(Debug, Clone, Copy)]
pub struct Entering<'a> {
    pub app: &'a Arc<App>,
    pub context: &'a RequestContext,
    pub organization: &'a str,
    pub transport: Transport,
    /// Empty: that of the browser.
    pub locale: &'a str,
    pub level: Level,
}

/// The longest name of an organization that is looked for and stored.
const LONGEST_NAME: usize = 100;

pub async fn open(
    app: &Arc<App>,
    context: &RequestContext,
    request: OpenRequest,
) -> Result<Answer, FlowError> {
    if let Kind::Purpose(_) = &request.kind
        && purpose::opening_of(app, &request.kind).is_none()
    {
        return Err(FlowError::UnknownKind);
    }
    let transport = request.transport.unwrap_or(Transport::Browser);
    super::endpoint::same_origin(app, context, transport)?;
    if transport == Transport::Api && !app.checked.settings.api_flows {
        return Err(FlowError::KindNotOpen("api"));
    }
    if request.organization.is_some() {
        return enter(app, context, &request, transport).await;
    }
    let locale = request.locale.as_deref().unwrap_or(&context.accept_language);
    let mut state = State::new(
        request.kind.clone(),
        transport,
        Locale::negotiate(locale).as_str(),
        phrase::draw(&*app.entropy),
    );
    state.need.level = request.level.unwrap_or(Level::None);
    admit(app, context, &request, &mut state).await?;

    insert(app, context, state, None).await
}

/// The purpose that signs people in to organizations starts the flow.
async fn enter(
    app: &Arc<App>,
    context: &RequestContext,
    request: &OpenRequest,
    transport: Transport,
) -> Result<Answer, FlowError> {
    let named = request.organization.as_deref().filter(|name| (1..=LONGEST_NAME).contains(&name.len()));
    let named = named.filter(|_| request.kind == Kind::SignIn).ok_or_else(|| FlowError::Invalid {
        field: "organization",
        detail: "must be the id or slug of an organization, with the kind sign_in".into(),
    })?;
    let entering = Entering {
        app,
        context,
        organization: named,
        transport,
        locale: request.locale.as_deref().unwrap_or_default(),
        level: request.level.unwrap_or(Level::None),
    };
    let entered = app.registers.purposes.iter().find_map(|purpose| purpose.enter(entering));
    entered.ok_or(FlowError::UnknownKind)?.await
}

/// Stores the flow and binds it to the browser or app that opened it.
pub(super) async fn insert(
    app: &Arc<App>,
    context: &RequestContext,
    state: State,
    kept: Option<Ready>,
) -> Result<Answer, FlowError> {
    let transport = state.transport;
    limit(app, context, kept.as_ref()).await?;
    let id: FlowId = Id::ordered(app.clock.now(), &*app.entropy);
    let (secret, fresh) = binding(app, context, transport);
    let hash = sha256(secret.as_bytes());
    let times = lifetime(&state.kind, transport);
    let (state_ref, hash_ref) = (&state, &hash);
    // A sign-in gets its passkey challenge with the first response, so that it needs only two calls.
    let signs_in = matches!(state.kind, Kind::SignIn | Kind::Purpose(_));
    let first = if signs_in && state.account().is_none() {
        Some(first_challenge(app, context, id, &state)?)
    } else {
        None
    };
    let (first_ref, kept_ref) = (&first, &kept);
    app.store
        .run_tx("flow.open", |tx| async move {
            store::insert(&tx, id, hash_ref, state_ref, times).await?;
            if let Some(kept) = kept_ref {
                kept.prepared.opened(&tx, times.total_seconds).await?;
            }
            if let Some((challenge, _)) = first_ref {
                credentials::replace_challenge(&tx, id, challenge).await?;
            }
            Ok(())
        })
        .await?;
    let mut loaded = store::load(&app.store, id).await?.ok_or(FlowError::Unavailable)?;
    let gathered = facts::gather(app, Source::Store(&app.store), &mut loaded, kept).await?;
    let show = first.map_or(Value::Null, |(_, show)| show);
    let mut answer = representation::dressed(app, &loaded, &gathered, &show).await?;
    answer.bind(transport, &secret, fresh);
    Ok(answer)
}

/// The size of an ordinary request; a larger one also takes from a bucket by its size.
const ORDINARY: usize = 4 * 1024;

/// Limits flows by network: each is a row that contains its request.
async fn limit(app: &App, context: &RequestContext, ready: Option<&Ready>) -> Result<(), FlowError> {
    let whom = network(context.address);
    let bucket = |rule: Rule| Bucket { rule, key: app.secrets.limit_key(rule.name, &whom) };
    if let Some(limited) = limits::take(&app.store, &[bucket(FLOW_ADDRESS)]).await? {
        return Err(limited.into());
    }
    let size = ready.map_or(0, |ready| ready.prepared.size());
    if size <= ORDINARY {
        return Ok(());
    }
    let asked = [(bucket(FLOW_KIB), limits::kib(size))];
    let left = limits::take_weighed(&app.store, &asked).await?;
    limits::first_empty(&asked, &left).map_or(Ok(()), |limited| Err(limited.into()))
}

/// Checks who may open this kind, and sets its initial state.
async fn admit(
    app: &Arc<App>,
    context: &RequestContext,
    request: &OpenRequest,
    state: &mut State,
) -> Result<(), FlowError> {
    match &request.kind {
        Kind::SignIn | Kind::Recover => Ok(()),
        Kind::Purpose(_) => {
            let opening = purpose::opening_of(app, &request.kind).ok_or(FlowError::UnknownKind)?;
            state.brought = (opening.brought)(request);
            if let Some(signed_in) = current_session(app, context).await? {
                state.inherit(signed_in);
                // A passkey is offered at sign-in, not to a person who is already signed in.
                state.offer_dismissed = true;
            }
            Ok(())
        }
        Kind::Register => {
            if let Some(text) = &request.bootstrap_key {
                let key = Plain::<BootstrapKey>::parse(text).map_err(|_| FlowError::Invalid {
                    field: "bootstrap_key",
                    detail: "is not a bootstrap key".into(),
                })?;
                if !crate::bootstrap::is_good(&app.store, key.hash().as_bytes()).await? {
                    let detail = "is not the current key, was used, or has expired".into();
                    return Err(FlowError::Invalid { field: "bootstrap_key", detail });
                }
                // Spent at completion; until then only its hash is stored.
                state.bootstrap = Some(URL_SAFE_NO_PAD.encode(key.hash().as_bytes()));
                return Ok(());
            }
            match (app.checked.settings.registration, &request.invitation) {
                (Registration::Open, _) => Ok(()),
                (Registration::Invited, Some(token)) => {
                    let mailbox = invitations::mailbox(app, token).await?;
                    state.invited = Some(mailbox.ok_or_else(|| FlowError::Invalid {
                        field: "invitation",
                        detail: "is unknown, used, revoked or expired".into(),
                    })?);
                    Ok(())
                }
                (Registration::Invited, None) | (Registration::Closed, _) => {
                    Err(FlowError::KindNotOpen("registration"))
                }
            }
        }
        Kind::Reauthenticate | Kind::Enrol => {
            let signed_in = current_session(app, context).await?.ok_or(FlowError::NotSignedIn)?;
            state.inherit(signed_in);
            state.need = Need { level: state.need.level, fresh: true };
            if request.kind == Kind::Enrol {
                state.wants = Some(request.enrol.ok_or_else(|| FlowError::Invalid {
                    field: "enrol",
                    detail:
                        "must be the kind of credential to enrol: passkey, password, totp, recovery_codes, email, phone or federated".into(),
                })?);
            }
            Ok(())
        }
    }
}

/// The person of the request's session.
pub async fn current_session(
    app: &Arc<App>,
    context: &RequestContext,
) -> Result<Option<SignedIn>, FlowError> {
    match session_token(context)? {
        Some(token) => Ok(sessions::check(app, token).await?),
        None => Ok(None),
    }
}

/// The sessions of the request, each with the cookies to remove when it ends: that of an account, and one that only a
/// directory vouches for.
pub async fn present_sessions(
    app: &Arc<App>,
    context: &RequestContext,
) -> Result<Vec<(&'static [&'static str], sessions::Present)>, FlowError> {
    let of_account: &[&str] = &[SESSION_COOKIE, BIND_COOKIE];
    let of_directory: &[&str] = &[DIRECTORY_COOKIE, BIND_COOKIE];
    let mut present = Vec::new();
    for (cookies, token) in
        [(of_account, session_token(context)?), (of_directory, context.directory.as_deref())]
    {
        let Some(token) = token else { continue };
        present.extend(sessions::present(app, token).await?.map(|session| (cookies, session)));
    }
    Ok(present)
}

fn session_token(context: &RequestContext) -> Result<Option<&str>, FlowError> {
    let bearer =
        context.authorization.as_ref().filter(|(scheme, _)| scheme == "session").map(|(_, token)| token);
    match (&context.session, bearer) {
        (Some(_), Some(_)) => {
            Err(FlowError::Invalid { field: "authorization", detail: "must not be repeated".into() })
        }
        (Some(token), None) | (None, Some(token)) => Ok(Some(token)),
        (None, None) => Ok(None),
    }
}

/// One secret per browser, shared by its tabs; for an app, one per flow.
fn binding(app: &App, context: &RequestContext, transport: Transport) -> (String, bool) {
    let usable = |secret: &&String| {
        secret.len() == 43 && URL_SAFE_NO_PAD.decode(secret).is_ok_and(|it| it.len() == 32)
    };
    match (transport, context.bind.as_ref().filter(usable)) {
        (Transport::Browser, Some(existing)) => (existing.clone(), false),
        (Transport::Browser, None) | (Transport::Api, _) => (new_secret(app), true),
    }
}

pub(super) fn new_secret(app: &App) -> String {
    URL_SAFE_NO_PAD.encode(app.entropy.bytes::<32>())
}

fn first_challenge(
    app: &Arc<App>,
    context: &RequestContext,
    id: FlowId,
    state: &State,
) -> Result<(NewChallenge, Value), FlowError> {
    let facts = super::decide::Facts {
        policy: facts::policy(app),
        account: None,
        session_alive: true,
        challenges: Vec::new(),
        standing: None,
        opening: None,
        connections: Vec::new(),
        directory: None,
        ways: crate::connections::organizations::Ways::Any,
        remembered: None,
        vouched: None,
        now: app.clock.now(),
    };
    let step = Step {
        app,
        context,
        flow_id: id,
        state,
        facts: &facts,
        account: None,
        credentials: &[],
        challenges: &[],
        typed: Typed::Anywhere,
        now: facts.now,
    };
    match passkey::begin(&step.of_credential()) {
        Ok(Effect::Challenge { new, show, .. }) => Ok((new, show)),
        Ok(_) | Err(_) => Err(FlowError::Internal("no passkey challenge could be created".into())),
    }
}
