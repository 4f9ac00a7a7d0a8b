//! The requirements once more, in the test's own words: nothing here calls what decides them in the service.

use porteiro_protocol::{
    assurance::{Level, Method, Proof},
    time::{Duration, OffsetDateTime},
};
use porteiro_service::{
    credentials::CredentialKind,
    flow::{Kind, State},
    settings::Registration,
};

use super::{
    person::{Held, Person},
    world::World,
};

const TEN_MINUTES: Duration = Duration::minutes(10);
const A_DAY: Duration = Duration::hours(24);
const A_WEEK: Duration = Duration::days(7);

/// 0, 1 or 2: a passkey, or a password next to something one has, is 2; anything but a mailbox is 1.
fn worth(methods: &[Method]) -> u8 {
    let has = |wanted: &[Method]| methods.iter().any(|method| wanted.contains(method));
    let password = has(&[Method::Password]);
    let possession = has(&[Method::Totp, Method::RecoveryCode, Method::SmsCode]);
    if has(&[Method::Passkey]) || (password && possession) { 2 } else { u8::from(password || possession) }
}

fn recent(proofs: &[Proof], within: Duration, now: OffsetDateTime) -> Vec<Method> {
    proofs.iter().filter(|proof| now - proof.at <= within).map(|proof| proof.method).collect()
}

fn method(kind: CredentialKind) -> Method {
    match kind {
        CredentialKind::Passkey => Method::Passkey,
        CredentialKind::Password => Method::Password,
        CredentialKind::Totp => Method::Totp,
        CredentialKind::RecoveryCodes => Method::RecoveryCode,
        CredentialKind::Email => Method::Email,
        CredentialKind::Phone => Method::SmsCode,
        CredentialKind::Federated => Method::Federated,
    }
}

/// What the account has, exhausted or not: wearing a factor out does not make the account weaker.
fn best(person: &Person) -> u8 {
    let methods: Vec<Method> = person.credentials.iter().map(|held| method(held.kind)).collect();
    worth(&methods)
}

fn level_now(proofs: &[Proof], now: OffsetDateTime) -> Level {
    let young = recent(proofs, A_DAY, now);
    let any: Vec<Method> = proofs.iter().map(|proof| proof.method).collect();
    match (worth(&young), worth(&any)) {
        (2, _) => Level::Aal2,
        (_, 0) => Level::None,
        (_, _) => Level::Aal1,
    }
}

/// A proof of the last ten minutes, as strong as anything the account has.
fn at_its_best(state: &State, person: &Person, now: OffsetDateTime) -> bool {
    let young = recent(&state.proofs, TEN_MINUTES, now);
    !young.is_empty() && worth(&young) >= best(person)
}

/// ASVS 6.4.3: a mailbox alone recovers nothing that a stronger factor protects, unless three days went by; after
/// another week that is stale, too.
fn recovery_is_backed(state: &State, person: &Person, now: OffsetDateTime) -> bool {
    let strong = |method: Method| !matches!(method, Method::Password | Method::Email);
    let protected = person.credentials.iter().any(|held| strong(method(held.kind)));
    let shown = state.proofs.iter().any(|proof| strong(proof.method));
    let waited = person.hold_until.is_some_and(|until| until <= now && now - until < A_WEEK);
    !protected || shown || waited
}

/// A second factor that somebody bound is shown at every sign-in; neither a mailbox nor a password stands in for it, nor a
/// phone that is a way in.
fn second_factor_is_shown(world: &World, state: &State, person: &Person) -> bool {
    let asks = |held: &Held| match held.kind {
        CredentialKind::Totp => true,
        CredentialKind::Phone => world.policy.sms && !held.signs_in,
        CredentialKind::Passkey
        | CredentialKind::Password
        | CredentialKind::RecoveryCodes
        | CredentialKind::Email
        | CredentialKind::Federated => false,
    };
    let way_in = |proof: &Proof| person.credentials.iter().any(|held| held.signs_in && held.proved(proof));
    let weak = |proof: &Proof| matches!(proof.method, Method::Email | Method::Password) || way_in(proof);
    !person.credentials.iter().any(asks) || !state.proofs.iter().all(weak)
}

/// A phone that is a second factor identifies nobody.
pub fn is_a_way_in(world: &World, before: &State, after: &State) -> bool {
    let (None, Some(account)) = (before.account(), after.account()) else { return true };
    let second = |held: &&Held| held.kind == CredentialKind::Phone && !held.signs_in;
    let mut second = world.person(account).credentials.iter().filter(second);
    !second.any(|held| after.proofs.iter().any(|proof| held.proved(proof)))
}

fn may_register(world: &World, state: &State) -> bool {
    (world.policy.registration == Registration::Open || state.bootstrap.is_some())
        && state.proved_address.is_some()
        && state.pending.is_some()
}

/// What keeps this flow from completing; empty when nothing does.
pub fn unmet(world: &World, state: &State) -> Vec<&'static str> {
    let mut unmet = Vec::new();
    let mut require = |holds: bool, what: &'static str| {
        if !holds {
            unmet.push(what);
        }
    };
    require(!state.cancelled, "it was cancelled");
    require(state.refusal.is_none(), "it was refused");
    let needed = state.need.level.max(world.policy.minimum_level);
    require(level_now(&state.proofs, world.now) >= needed, "the level");
    let Some(account) = state.account() else {
        require(may_register(world, state), "nobody may register here");
        let pending = state.pending.as_ref();
        require(pending.is_some_and(|pending| pending.display_name.is_some()), "a name");
        require(
            state.offer_dismissed || pending.is_some_and(|pending| !pending.credentials.is_empty()),
            "the offer",
        );
        return unmet;
    };
    let person = world.person(account);
    // What proved it may be the very thing that was replaced.
    let bound = state.wants.is_some_and(|kind| state.enrolled.contains(&kind));
    require(!state.proofs.is_empty() || bound, "somebody is proved");
    require(person.active, "the account is active");
    require(state.session.is_none() || world.session_is_alive, "the session it was opened in");
    if state.kind == Kind::Recover {
        require(recovery_is_backed(state, person, world.now), "a second factor, or the wait");
        require(!state.enrolled.is_empty(), "a new way in");
    }
    if matches!(state.kind, Kind::SignIn | Kind::Register | Kind::Purpose(_)) {
        require(second_factor_is_shown(world, state, person), "the second factor");
    }
    if state.kind == Kind::Reauthenticate {
        require(world.proved_here > 0, "a proof of its own");
    }
    require(!matches!(state.kind, Kind::Purpose(_)) || state.continuation.is_some(), "a device to confirm");
    require(state.wants.is_none() || bound, "what was to be bound");
    require(!state.need.fresh || bound || at_its_best(state, person, world.now), "freshness");
    unmet
}

/// Whether whoever holds this flow may bind something now.
pub fn may_bind(world: &World, state: &State) -> bool {
    let Some(account) = state.account() else { return may_register(world, state) };
    let person = world.person(account);
    let session = state.session.is_none() || world.session_is_alive;
    let allowed = match state.kind {
        Kind::Recover => recovery_is_backed(state, person, world.now),
        Kind::SignIn | Kind::Register | Kind::Reauthenticate | Kind::Enrol | Kind::Purpose(_) => {
            at_its_best(state, person, world.now)
        }
    };
    person.active && session && !state.proofs.is_empty() && allowed
}
