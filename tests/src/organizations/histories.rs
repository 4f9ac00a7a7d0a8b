//! Random histories with role changes, suspensions and disabled members in them, and a model beside them.
//!
//! - P1, P2: a token carries exactly what was asked, and that is within what the role holds at that moment; else an error.
//! - P5: what a replay ended stays dead; what ended with its member stays dead when the member is enabled again; what waited for its organization goes on.
//! - P8: what happens in one organization is the same whether or not anything happens in another.
//!
//! 30 histories of 30 steps; 1,000 of 60 with `PORTEIRO_TEST_LONG=1`.

use std::{collections::BTreeMap, sync::Arc};

use http::Method;
use porteiro_protocol::id::{MembershipId, OrganizationId};
use porteiro_testkit::{Browser, SeededEntropy, TestApp};

use super::driver::{account_of, call, house, join, organization, platform_key, role, set_status};
use crate::oauth::driver::{Relying, agree, parameter, verifier};

const NAMES: [&str; 3] = ["salaries:read", "salaries:write", "reports:read"];

fn scope(bits: u64) -> String {
    let held = NAMES.iter().enumerate().filter(|(at, _)| bits & (1 << at) != 0);
    held.map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
}

const fn within(asked: u64, held: u64) -> bool {
    asked & !held == 0
}

/// One thing that happens in one organization.
#[derive(Debug, Clone, Copy)]
enum Step {
    Role(u64),
    Suspend,
    Resume,
    Disable(usize),
    Enable(usize),
    Authorize { who: usize, bits: u64 },
    Refresh { which: u64, bits: Option<u64> },
    Replay { which: u64, bits: Option<u64> },
    Look(u64),
}

fn draw(random: &SeededEntropy) -> Step {
    let below = |end: u64| random.next() % end;
    let who = usize::try_from(below(2)).unwrap();
    match below(22) {
        0..=2 => Step::Role(1 + below(7)),
        3 => Step::Suspend,
        4..=5 => Step::Resume,
        6 => Step::Disable(who),
        7..=8 => Step::Enable(who),
        9..=12 => Step::Authorize { who, bits: 1 + below(7) },
        13..=17 => Step::Refresh { which: below(64), bits: (below(2) == 0).then(|| 1 + below(7)) },
        18 => Step::Replay { which: below(64), bits: (below(2) == 0).then(|| 1 + below(7)) },
        _ => Step::Look(below(64)),
    }
}

#[derive(Debug)]
struct Grant {
    who: usize,
    bits: u64,
    dead: bool,
    refresh: String,
    /// The refresh token before this one.
    used: Option<String>,
    access: String,
    carried: u64,
}

/// One organization, as it should be.
struct Place {
    id: OrganizationId,
    slug: String,
    members: [MembershipId; 2],
    active: [bool; 2],
    suspended: bool,
    held: u64,
    grants: Vec<Grant>,
}

struct World {
    app: Arc<TestApp>,
    client: Relying,
    people: [Browser; 2],
    key: String,
    places: usize,
}

impl World {
    async fn new() -> Self {
        let app = house().await;
        let mut people = Vec::new();
        for address in ["ana@example.test", "bo@example.test"] {
            people.push(crate::people::register_with_password(&app, address).await);
        }
        let client = Relying::web(&app).await;
        let key = platform_key(&app, &["organizations:administer"]).await;
        Self { client, people: people.try_into().unwrap(), key, places: 0, app }
    }

    async fn place(&mut self) -> Place {
        self.places += 1;
        let slug = format!("place-{}", self.places);
        let id = organization(&self.app, &slug).await;
        role(&self.app, id, "clerk", &NAMES).await;
        let mut members = Vec::new();
        for browser in &mut self.people {
            members.push(join(&self.app, id, account_of(browser).await, "clerk").await);
        }
        Place {
            id,
            slug,
            members: members.try_into().unwrap(),
            active: [true; 2],
            suspended: false,
            held: 7,
            grants: Vec::new(),
        }
    }

    /// Does it, compares with the model, and says what was seen.
    async fn step(&mut self, place: &mut Place, step: Step) -> String {
        // Nobody's limits are the subject here.
        self.app.forget_limits().await;
        match step {
            Step::Role(bits) => {
                let names = scope(bits);
                role(&self.app, place.id, "clerk", &names.split(' ').collect::<Vec<_>>()).await;
                place.held = bits;
                "role".into()
            }
            Step::Suspend | Step::Resume => {
                place.suspended = matches!(step, Step::Suspend);
                set_status(&self.app, place.id, if place.suspended { "suspended" } else { "enabled" }).await;
                "status".into()
            }
            Step::Disable(who) => self.switch(place, who, false).await,
            Step::Enable(who) => self.switch(place, who, true).await,
            Step::Authorize { who, bits } => self.authorize(place, who, bits).await,
            Step::Refresh { which, bits } => self.refresh(place, which, bits).await,
            Step::Replay { which, bits } => self.replay(place, which, bits).await,
            Step::Look(which) => self.look(place, which).await,
        }
    }

    async fn switch(&mut self, place: &mut Place, who: usize, active: bool) -> String {
        let verb = if active { "enable" } else { "disable" };
        let path = format!("/v1/organizations/{}/members/{}/{verb}", place.id, place.members[who]);
        let body = serde_json::json!({"reason": "a history"});
        let body = (!active).then_some(&body);
        let why = [("porteiro-reason", "a history")];
        let answer = call(&self.app, Method::POST, &path, &self.key, body, &why).await;
        if place.suspended {
            assert_eq!(answer.status, 409, "nothing changes while suspended: {}", answer.text());
            return format!("{verb} refused");
        }
        assert!(answer.status.is_success(), "{verb}: {}", answer.text());
        place.active[who] = active;
        if !active {
            place.grants.iter_mut().filter(|grant| grant.who == who).for_each(|grant| grant.dead = true);
        }
        verb.into()
    }

    async fn authorize(&mut self, place: &mut Place, who: usize, bits: u64) -> String {
        let (asked, verifier) = (scope(bits), verifier());
        let more = [("scope", asked.as_str()), ("organization", place.slug.as_str())];
        let answer = self.client.ask(&mut self.people[who], &verifier, &more).await;
        let body = agree(&mut self.people[who], answer.json()).await;
        let expected = if place.suspended || !place.active[who] {
            Some("access_denied")
        } else if !within(bits, place.held) {
            Some("invalid_scope")
        } else {
            None
        };
        assert_eq!(parameter(&body, "error").as_deref(), expected, "{asked} of {:03b}: {body}", place.held);
        if let Some(error) = expected {
            return format!("authorize {error}");
        }
        let code = parameter(&body, "code").unwrap();
        let tokens = self.client.redeem(&self.app, &code, &verifier).await.json();
        assert_eq!(tokens["scope"], asked, "exactly what was asked");
        let text = |name: &str| tokens[name].as_str().unwrap().to_owned();
        let (refresh, access) = (text("refresh_token"), text("access_token"));
        place.grants.push(Grant { who, bits, dead: false, refresh, used: None, access, carried: bits });
        "granted".into()
    }

    async fn refresh(&mut self, place: &mut Place, which: u64, bits: Option<u64>) -> String {
        let count = place.grants.len() as u64;
        let Some(which) = which.checked_rem(count).and_then(|at| usize::try_from(at).ok()) else {
            return "nothing to refresh".into();
        };
        let grant = &mut place.grants[which];
        let asked = bits.map(scope);
        let more: Vec<(&str, &str)> = asked.as_deref().map(|asked| ("scope", asked)).into_iter().collect();
        let answer = self.client.refresh(&self.app, &grant.refresh, &more).await;
        let wanted = bits.unwrap_or(grant.bits);
        // Dead comes before asking too much, and asking beyond the grant before what is held now.
        let expected = if grant.dead {
            Some("invalid_grant")
        } else if !within(wanted, grant.bits) {
            Some("invalid_scope")
        } else if place.suspended {
            Some("invalid_grant")
        } else if !within(wanted, place.held) {
            Some("invalid_scope")
        } else {
            None
        };
        let body = answer.json();
        assert_eq!(body["error"].as_str(), expected, "{grant:?} {wanted:03b} of {:03b}: {body}", place.held);
        if let Some(error) = expected {
            return format!("refresh {error}");
        }
        assert_eq!(body["scope"], scope(wanted), "exactly what was asked");
        let next = body["refresh_token"].as_str().unwrap().to_owned();
        grant.used = Some(std::mem::replace(&mut grant.refresh, next));
        body["access_token"].as_str().unwrap().clone_into(&mut grant.access);
        grant.carried = wanted;
        "refreshed".into()
    }

    /// Whatever the organization is at that moment and whatever is asked for, the grant is over.
    async fn replay(&mut self, place: &mut Place, which: u64, bits: Option<u64>) -> String {
        let count = place.grants.len() as u64;
        let Some(which) = which.checked_rem(count).and_then(|at| usize::try_from(at).ok()) else {
            return "nothing to replay".into();
        };
        let grant = &mut place.grants[which];
        let Some(used) = grant.used.clone() else { return "nothing to replay".into() };
        let asked = bits.map(scope);
        let more: Vec<(&str, &str)> = asked.as_deref().map(|asked| ("scope", asked)).into_iter().collect();
        let answer = self.client.refresh(&self.app, &used, &more).await;
        assert_eq!(answer.json()["error"], "invalid_grant", "{}", answer.text());
        grant.dead = true;
        if place.suspended { "replayed while suspended".into() } else { "replayed".into() }
    }

    async fn look(&mut self, place: &Place, which: u64) -> String {
        let count = place.grants.len() as u64;
        let Some(which) = which.checked_rem(count).and_then(|at| usize::try_from(at).ok()) else {
            return "nothing to see".into();
        };
        let grant = &place.grants[which];
        let told =
            self.client.call(&self.app, "/connect/introspect", &[("token", &grant.access)]).await.json();
        let alive = !grant.dead && !place.suspended && within(grant.carried, place.held);
        assert_eq!(told["active"], alive, "{grant:?} of {:03b}", place.held);
        format!("looked {alive}")
    }
}

fn size() -> (u64, usize) {
    if crate::people::long() { (1_000, 60) } else { (30, 30) }
}

#[tokio::test]
async fn p1_p2_p5_authority_follows_roles_and_suspensions_and_never_comes_back() {
    let (histories, length) = size();
    let mut world = World::new().await;
    let mut happened = BTreeMap::<String, u32>::new();
    for seed in 0..histories {
        let random = SeededEntropy::new(seed);
        let mut place = world.place().await;
        for _ in 0..length {
            *happened.entry(world.step(&mut place, draw(&random)).await).or_default() += 1;
        }
        for which in 0..place.grants.len() as u64 {
            world.look(&place, which).await;
        }
    }
    for what in [
        "granted",
        "authorize access_denied",
        "authorize invalid_scope",
        "refreshed",
        "refresh invalid_grant",
        "refresh invalid_scope",
        "replayed",
        "disable",
        "enable",
        "looked true",
        "looked false",
    ] {
        assert!(happened.get(what).is_some_and(|count| *count >= 5), "{what}: {happened:?}");
    }
}

#[tokio::test]
async fn p8_what_happens_in_one_organization_does_not_depend_on_another() {
    let (histories, length) = size();
    let mut world = World::new().await;
    for seed in 0..histories / 3 {
        let steps: Vec<Step> = {
            let random = SeededEntropy::new(7_000 + seed);
            (0..length).map(|_| draw(&random)).collect()
        };
        let mut alone = world.place().await;
        let mut seen = Vec::new();
        for step in &steps {
            seen.push(world.step(&mut alone, *step).await);
        }
        let (mut here, mut there) = (world.place().await, world.place().await);
        let random = SeededEntropy::new(9_000 + seed);
        for (step, expected) in steps.iter().zip(&seen) {
            for _ in 0..random.next() % 3 {
                world.step(&mut there, draw(&random)).await;
            }
            assert_eq!(world.step(&mut here, *step).await, *expected, "seed {seed}, {step:?}");
        }
    }
}
