//! Random histories of delegations, exchanges and endings, and a model beside them. For every exchange the model says
//! whether it must succeed, and for every token whether it counts, on each of three nodes:
//!
//! - L1: what is issued is exactly what was asked, and within the subject token, one delegation, the agent's registered
//!   scope and the member's role at that moment.
//! - L2: it never lives longer than the subject token.
//! - L3: it speaks for the same member of the same organization.
//! - L4: its `act` is the subject token's with the agent in front, four links at most.
//! - L5: another client gets it only where the delegation may be passed on.
//! - L6: after whatever ended a link nothing below it counts, on any node.
//!
//! 10 histories of 1,000 steps, or 1,000 with `PORTEIRO_TEST_LONG=1`.

mod model;

use std::sync::Arc;

use http::Method;
use porteiro_testkit::{Browser, SeededEntropy, TestApp};
use serde_json::{Value, json};

use self::model::{AGENTS, Delegation, NAMES, PLACES, Place, Token, scope, within};
use super::driver::{agent, exchange, proved};
use crate::{
    oauth::driver::Relying,
    organizations::driver::{account_of, call, claims, join, organization, organization_key, payroll, role},
};

struct World {
    nodes: Vec<Arc<TestApp>>,
    browser: Browser,
    client: Relying,
    agents: Vec<Relying>,
    /// What each agent registered.
    ceilings: [u64; AGENTS],
    places: Vec<Place>,
    delegations: Vec<Delegation>,
    tokens: Vec<Token>,
    random: SeededEntropy,
    seen: (u64, u64),
}

impl World {
    async fn new(seed: u64) -> Self {
        let nodes = TestApp::builder().people().start_nodes(3).await;
        let app = &nodes[0];
        payroll(app).await;
        let mut browser = proved(app, "ana@example.test").await;
        let account = account_of(&mut browser).await;
        let mut places = Vec::new();
        for slug in ["here", "there"] {
            let id = organization(app, slug).await;
            role(app, id, "clerk", &NAMES).await;
            let member = join(app, id, account, "clerk").await;
            let key = organization_key(app, id, &["members:*", "salaries:*", "reports:read"]).await;
            places.push(Place { id, slug, member, key, held: 7, active: true });
        }
        let ceilings = [7, 7, 7, 3, 5];
        let mut agents = Vec::new();
        for ceiling in ceilings {
            agents.push(agent(app, json!({"scope": scope(ceiling)})).await);
        }
        let client = Relying::web(app).await;
        let random = SeededEntropy::new(seed);
        let (delegations, tokens, seen) = (Vec::new(), Vec::new(), (0, 0));
        Self { nodes, browser, client, agents, ceilings, places, delegations, tokens, random, seen }
    }

    fn below(&self, end: usize) -> usize {
        usize::try_from(self.random.next() % (end as u64)).unwrap()
    }

    fn node(&self) -> &TestApp {
        &self.nodes[self.below(3)]
    }

    /// Whether nothing ended the token or what it came from. What its member holds is another question.
    fn lives(&self, at: usize) -> bool {
        let token = &self.tokens[at];
        !token.revoked
            && token.delegation.is_none_or(|at| !self.delegations[at].revoked)
            && token.parent.is_none_or(|at| self.lives(at))
    }

    fn counts(&self, at: usize) -> bool {
        let (token, place) = (&self.tokens[at], &self.places[self.tokens[at].place]);
        let ceiling = token.holder.map_or(7, |agent| self.ceilings[agent]);
        self.lives(at) && place.active && within(token.bits, place.held & ceiling)
    }

    fn depth(&self, at: usize) -> usize {
        self.tokens[at].parent.map_or(0, |parent| 1 + self.depth(parent))
    }

    async fn step(&mut self) {
        match self.below(80) {
            0 => self.role().await,
            1 => self.switch().await,
            2 => self.register().await,
            3..=8 => self.delegate().await,
            9 => self.revoke_delegation().await,
            10..=15 => self.subject().await,
            16..=17 => self.revoke_token().await,
            18..=64 => self.exchange().await,
            _ => self.look().await,
        }
    }

    async fn role(&mut self) {
        let (at, bits) = (self.below(PLACES), 1 + self.below(7) as u64);
        let names = scope(if self.below(2) == 0 { 7 } else { bits });
        role(&self.nodes[0], self.places[at].id, "clerk", &names.split(' ').collect::<Vec<_>>()).await;
        self.places[at].held = if names.split(' ').count() == 3 { 7 } else { bits };
    }

    /// An agent registers another scope, which every node hears of.
    async fn register(&mut self) {
        let at = self.below(AGENTS);
        self.ceilings[at] = if self.below(2) == 0 { 7 } else { 1 + self.below(7) as u64 };
        let (id, scope) = (&self.agents[at].id, scope(self.ceilings[at]));
        let sql =
            "UPDATE client SET changed_at = clock_timestamp(), metadata = jsonb_set(metadata, '{scope}',";
        self.nodes[0].sql(&format!("{sql} '\"{scope}\"') WHERE client_id = '{id}'")).await;
        self.nodes.iter().for_each(|node| node.app.directory.forget(id));
    }

    async fn delegate(&mut self) {
        let (place, agent) = (self.below(PLACES), self.below(AGENTS));
        let (bits, redelegable) = (1 + self.below(7) as u64, self.below(3) > 0);
        let body = json!({"client_id": self.agents[agent].id, "scope": scope(bits), "redelegable": redelegable,
            "organization": self.places[place].slug});
        let answer = self.browser.post("/v1/account/delegations", &body).await;
        let possible = self.places[place].active
            && within(bits, self.places[place].held)
            && within(bits, self.ceilings[agent]);
        assert_eq!(answer.status == 201, possible, "{body} {}", answer.text());
        if possible {
            let id = answer.json()["id"].as_str().unwrap().to_owned();
            self.delegations.push(Delegation { id, place, agent, bits, redelegable, revoked: false });
        }
    }

    async fn revoke_delegation(&mut self) {
        let living: Vec<usize> =
            (0..self.delegations.len()).filter(|at| !self.delegations[*at].revoked).collect();
        if living.len() < 4 {
            return;
        }
        let at = living[self.below(living.len())];
        let path = format!("/v1/account/delegations/{}", self.delegations[at].id);
        assert_eq!(self.browser.delete(&path).await.status, 204);
        self.delegations[at].revoked = true;
        self.check_all().await;
    }

    async fn subject(&mut self) {
        let at = self.below(PLACES);
        let place = &self.places[at];
        let bits = place.held;
        if !place.active {
            return;
        }
        let asked = scope(bits);
        let more = [("scope", asked.as_str()), ("organization", place.slug)];
        let tokens = self.client.tokens(&mut self.browser, &self.nodes[0], &more).await;
        let text = tokens["access_token"].as_str().unwrap().to_owned();
        let expires = claims(&text)["exp"].as_i64().unwrap();
        self.tokens.push(Token {
            text,
            place: at,
            holder: None,
            bits,
            parent: None,
            delegation: None,
            actors: Vec::new(),
            expires,
            revoked: false,
        });
    }

    /// A client ends what it holds (RFC 7009).
    async fn revoke_token(&mut self) {
        if self.tokens.len() < 4 {
            return;
        }
        let at = self.below(self.tokens.len());
        let holder = self.tokens[at].holder.map_or(&self.client, |agent| &self.agents[agent]);
        let answer = holder.call(self.node(), "/connect/revoke", &[("token", &self.tokens[at].text)]).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        self.tokens[at].revoked = true;
        self.check_all().await;
    }

    /// A member is disabled, which ends what they allowed there, or enabled again.
    async fn switch(&mut self) {
        let at = self.below(PLACES);
        let place = &self.places[at];
        let verb = if place.active { "disable" } else { "enable" };
        let path = format!("/v1/organizations/{}/members/{}/{verb}", place.id, place.member);
        let body = json!({"reason": "a history"});
        let body = place.active.then_some(&body);
        let answer = call(&self.nodes[0], Method::POST, &path, &place.key, body, &[]).await;
        assert!(answer.status.is_success(), "{verb}: {}", answer.text());
        let disabled = place.active;
        self.places[at].active = !disabled;
        if disabled {
            self.tokens.iter_mut().filter(|token| token.place == at).for_each(|token| token.revoked = true);
            self.delegations.iter_mut().filter(|one| one.place == at).for_each(|one| one.revoked = true);
        }
        self.check_all().await;
    }

    /// The newest delegation to the agent that covers these scopes there.
    fn covering(&self, place: usize, agent: usize, bits: u64) -> Option<usize> {
        let covers = |one: &Delegation| {
            !one.revoked && one.place == place && one.agent == agent && within(bits, one.bits)
        };
        (0..self.delegations.len()).rev().find(|at| covers(&self.delegations[*at]))
    }

    async fn exchange(&mut self) {
        if self.tokens.is_empty() {
            return;
        }
        // Mostly the newest: they live, and chains grow.
        let newest = self.tokens.len().saturating_sub(6);
        let at = if self.below(3) == 0 {
            self.below(self.tokens.len())
        } else {
            newest + self.below(self.tokens.len() - newest)
        };
        let subject = &self.tokens[at];
        // Often one to whom something was delegated there, and often for what the token carries.
        let there = |one: &&Delegation| !one.revoked && one.place == subject.place;
        let delegated: Vec<usize> = self.delegations.iter().filter(there).map(|one| one.agent).collect();
        let by = match self.below(4) {
            0 => self.below(AGENTS),
            _ if delegated.is_empty() => self.below(AGENTS),
            _ => delegated[self.below(delegated.len())],
        };
        let drawn = 1 + self.below(7) as u64;
        let named = match self.below(4) {
            0 => None,
            1 => Some(drawn),
            _ if drawn & subject.bits == 0 => Some(subject.bits),
            _ => Some(drawn & subject.bits),
        };
        let (place, bits) = (subject.place, named.unwrap_or(subject.bits));
        let same = subject.actors.first() == Some(&by);
        let passes = subject.actors.is_empty()
            || same
            || subject.delegation.is_some_and(|at| self.delegations[at].redelegable);
        let links = subject.actors.len() + usize::from(!same);
        let delegation = self.covering(place, by, bits);
        let possible = self.counts(at)
            && within(bits, subject.bits)
            && within(bits, self.ceilings[by])
            && within(bits, self.places[place].held)
            && delegation.is_some()
            && passes
            && links <= 4
            && self.depth(at) < 4;
        let asked = named.map(scope);
        let more: Vec<(&str, &str)> = asked.as_deref().map(|asked| ("scope", asked)).into_iter().collect();
        let answer = exchange(self.node(), &self.agents[by], &subject.text, &more).await;
        let said = || format!("{by} for {at} with {bits:03b}: {}", answer.text());
        assert_eq!(answer.status == 200, possible, "{}", said());
        if !possible {
            assert_eq!(answer.status, 400, "{}", said());
            self.seen.1 += 1;
            return;
        }
        let text = answer.json()["access_token"].as_str().unwrap().to_owned();
        let (before, after) = (claims(&subject.text), claims(&text));
        assert_eq!(after["scope"], scope(bits), "L1");
        let expires = after["exp"].as_i64().unwrap();
        assert!(expires <= subject.expires, "L2");
        for name in ["sub", "org", "aud", "acr", "auth_time"] {
            assert_eq!(before[name], after[name], "L3: {name}");
        }
        let mut actors = subject.actors.clone();
        if !same {
            actors.insert(0, by);
        }
        assert_eq!(self.chain(&after["act"]), actors, "L4");
        self.seen.0 += 1;
        self.tokens.push(Token {
            text,
            place,
            holder: Some(by),
            bits,
            parent: Some(at),
            delegation,
            actors,
            expires,
            revoked: false,
        });
    }

    fn chain(&self, mut act: &Value) -> Vec<usize> {
        let mut actors = Vec::new();
        while let Some(id) = act["sub"].as_str() {
            actors.push(self.agents.iter().position(|agent| agent.id == id).unwrap());
            act = &act["act"];
        }
        actors
    }

    async fn is_active(&self, node: &TestApp, at: usize) -> bool {
        let token = &self.tokens[at];
        let holder = token.holder.map_or(&self.client, |agent| &self.agents[agent]);
        let answer = holder.call(node, "/connect/introspect", &[("token", &token.text)]).await;
        answer.json()["active"] == true
    }

    async fn look(&mut self) {
        if !self.tokens.is_empty() {
            let at = self.below(self.tokens.len());
            assert_eq!(self.is_active(self.node(), at).await, self.counts(at), "L6: {at}");
        }
    }

    /// L6, right after an ending: what was made last, each on another node.
    async fn check_all(&self) {
        let from = self.tokens.len().saturating_sub(6);
        for at in from..self.tokens.len() {
            let node = &self.nodes[at % self.nodes.len()];
            assert_eq!(self.is_active(node, at).await, self.counts(at), "L6: {at}");
        }
    }
}

async fn run(seeds: std::ops::Range<u64>, steps: u64) -> (u64, u64) {
    let mut seen = (0, 0);
    for seed in seeds {
        let mut world = World::new(seed).await;
        for step in 0..steps {
            if step % 20 == 0 {
                world.nodes[0].forget_limits().await;
            }
            world.step().await;
        }
        seen = (seen.0 + world.seen.0, seen.1 + world.seen.1);
    }
    seen
}

/// Enough exchanges succeeded and enough were refused.
fn assert_lively((done, refused): (u64, u64), steps: u64) {
    assert!(
        done * 20 > steps && refused * 20 > steps,
        "{done} exchanges, {refused} refused of {steps} steps"
    );
}

fn histories() -> u64 {
    if std::env::var_os("PORTEIRO_TEST_LONG").is_some() { 500 } else { 5 }
}

#[tokio::test]
async fn an_exchanged_token_is_within_everything_and_dies_with_any_link() {
    assert_lively(run(0..histories(), 1_000).await, histories() * 1_000);
}

#[tokio::test]
async fn an_exchanged_token_is_within_everything_and_dies_with_any_link_again() {
    assert_lively(run(1_000..1_000 + histories(), 1_000).await, histories() * 1_000);
}
