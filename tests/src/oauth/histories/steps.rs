//! What can happen, and what is looked at after it.

use std::sync::Arc;

use porteiro_service::oauth::{apis, clients::Trust};
use porteiro_testkit::{Answer, Browser, Flow, TestApp, nothing, verify};
use serde_json::{Value, json};

use super::{
    super::{
        app,
        driver::{Relying, agree, get_json, parameter, person, verifier},
        ledger,
    },
    Random,
    model::{ARCHIVE, Asked, Ceiling, Lineage, Scopes, read, subset, words},
};
use crate::people::PASSWORD;

pub struct World {
    pub app: Arc<TestApp>,
    browser: Browser,
    jwks: Value,
    pub seed: u64,
    pub clients: Vec<(Relying, Ceiling)>,
    pub lineages: Vec<Lineage>,
}

impl World {
    pub async fn new() -> Self {
        let app = app().await;
        let mut archive = ledger();
        archive.identifier = ARCHIVE.into();
        for scope in &mut archive.scopes {
            scope.name = scope.name.replace("invoices", "papers");
        }
        apis::register(&app.app.store, &archive).await.unwrap();
        let browser = person(&app).await;
        let jwks = app.get("/.well-known/jwks.json").await.json();
        Self { app, browser, jwks, seed: 0, clients: Vec::new(), lineages: Vec::new() }
    }

    /// New clients; the person stays.
    pub async fn begin(&mut self, seed: u64) {
        self.seed = seed;
        self.lineages.clear();
        self.clients.clear();
        let all: Scopes =
            ["openid", "email", "offline_access", "invoices:read", "invoices:write", "papers:read"].into();
        let some: Scopes = ["openid", "offline_access", "papers:read", "papers:write"].into();
        for (trust, registered) in [(Trust::Verified, all), (Trust::Unverified, some)] {
            let client = Relying::with(&self.app, trust, json!({"scope": words(&registered)})).await;
            self.clients.push((client, Ceiling { registered, is_stranger: trust == Trust::Unverified }));
        }
    }

    pub async fn step(&mut self, random: &Random) -> &'static str {
        match random.below(100) {
            0..30 => self.authorize(random).await,
            30..55 => self.redeem(random).await,
            55..80 => self.refresh(random).await,
            80..86 => self.replay(random).await,
            86..92 => self.revoke(random).await,
            92..95 => self.withdraw(random).await,
            95..97 => self.sign_out().await,
            _ => self.ask_for_less(random).await,
        }
    }

    pub fn any(&self, random: &Random, fits: impl Fn(&Lineage) -> bool) -> Option<usize> {
        let fitting: Vec<usize> =
            (0..self.lineages.len()).filter(|index| fits(&self.lineages[*index])).collect();
        random.of(&fitting).copied()
    }

    async fn authorize(&mut self, random: &Random) -> &'static str {
        let index = random.below(2);
        let (client, ceiling) = self.clients[index].clone();
        let asked = Asked::any(random, &ceiling);
        let secret = verifier();
        let scope = words(&asked.scopes);
        let more = [("scope", scope.as_str()), ("resource", asked.resource.unwrap_or_default())];
        let body = get_json(&mut self.browser, &client.path(&secret, &more)).await.json();
        let denies = body["stage"] == "consent" && random.percent(15);
        let body = if body["stage"] == "consent" {
            let shown: Vec<&str> = body["request"]["scopes"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|it| it["name"].as_str())
                .collect();
            assert_eq!(
                shown.into_iter().collect::<std::collections::BTreeSet<_>>(),
                asked.scopes,
                "what is shown is what is asked"
            );
            let mut flow = Flow::new(body);
            let action = if denies { "consent/deny" } else { "consent/allow" };
            flow.attempt(&mut self.browser, action, nothing()).await;
            flow.now
        } else {
            body
        };
        let code = parameter(&body, "code");
        let expected = asked.granted(&ceiling).filter(|_| !denies);
        assert_eq!(code.is_some(), expected.is_some(), "seed {}: {asked:?} {ceiling:?}: {body}", self.seed);
        let (Some(code), Some(audience)) = (code, expected) else {
            return if denies { "denied" } else { "refused" };
        };
        self.lineages.push(Lineage {
            client: index,
            scopes: asked.scopes,
            audience,
            code,
            verifier: secret,
            redeemed: false,
            dead: false,
            refresh: Vec::new(),
            access: Vec::new(),
        });
        "granted"
    }

    /// P3: less of what a client was granted is granted too; without asking anybody, where the client is known.
    async fn ask_for_less(&mut self, random: &Random) -> &'static str {
        let withdrawn = |it: &Lineage| it.dead;
        let Some(index) = self.any(random, |it| !withdrawn(it)) else { return "nothing" };
        let (client, audience) = (self.lineages[index].client, self.lineages[index].audience);
        let scopes = subset(random, &self.lineages[index].scopes);
        let (secret, scope) = (verifier(), words(&scopes));
        let silent = if self.clients[client].1.is_stranger { "" } else { "none" };
        let more = [("scope", scope.as_str()), ("resource", audience), ("prompt", silent)];
        let path = self.clients[client].0.path(&secret, &more);
        let body = get_json(&mut self.browser, &path).await.json();
        let body = if silent.is_empty() { agree(&mut self.browser, body).await } else { body };
        let code = parameter(&body, "code")
            .unwrap_or_else(|| panic!("seed {}: less than {:?}: {body}", self.seed, self.lineages[index]));
        self.lineages.push(Lineage {
            client,
            scopes,
            audience,
            code,
            verifier: secret,
            redeemed: false,
            dead: false,
            refresh: Vec::new(),
            access: Vec::new(),
        });
        "less was granted too"
    }

    /// P1 and P2: exactly what was asked, for exactly that API.
    fn check(&self, index: usize, tokens: &Value, scopes: &Scopes) {
        let lineage = &self.lineages[index];
        let claims = verify(tokens["access_token"].as_str().unwrap(), &self.jwks).unwrap();
        let told = read(tokens["scope"].as_str().unwrap());
        assert_eq!(&told, scopes, "seed {}", self.seed);
        assert_eq!(&read(claims["scope"].as_str().unwrap()), scopes);
        assert_eq!(claims["aud"], lineage.audience);
        assert_eq!(claims["client_id"], self.clients[lineage.client].0.id.as_str());
        assert!(scopes.is_subset(&lineage.scopes) && self.clients[lineage.client].1.allows(scopes));
    }

    async fn redeem(&mut self, random: &Random) -> &'static str {
        let Some(index) = self.any(random, |it| !it.redeemed) else { return "nothing" };
        let lineage = &self.lineages[index];
        let own = &self.clients[lineage.client].0;
        if random.percent(25) {
            let other = &self.clients[1 - lineage.client].0;
            let answer = match random.below(3) {
                0 => other.redeem(&self.app, &lineage.code, &lineage.verifier).await,
                1 => own.redeem(&self.app, &lineage.code, &verifier()).await,
                _ => {
                    let form = [
                        ("code", lineage.code.as_str()),
                        ("code_verifier", &lineage.verifier),
                        ("redirect_uri", "https://evil.example/"),
                    ];
                    own.token(&self.app, "authorization_code", &form).await
                }
            };
            refused(&answer, "invalid_grant");
            return "wrong redemption";
        }
        let answer = own.redeem(&self.app, &lineage.code, &lineage.verifier).await;
        if lineage.dead {
            refused(&answer, "invalid_grant");
            return "redeemed too late";
        }
        assert_eq!(answer.status, 200, "seed {}: {}", self.seed, answer.text());
        let (tokens, scopes) = (answer.json(), lineage.scopes.clone());
        self.check(index, &tokens, &scopes);
        self.keep(index, &tokens, scopes);
        "redeemed"
    }

    fn keep(&mut self, index: usize, tokens: &Value, scopes: Scopes) {
        let lineage = &mut self.lineages[index];
        lineage.redeemed = true;
        lineage.refresh.push(tokens["refresh_token"].as_str().unwrap().to_owned());
        lineage.access.push((tokens["access_token"].as_str().unwrap().to_owned(), scopes));
    }

    async fn refresh(&mut self, random: &Random) -> &'static str {
        let Some(index) = self.any(random, |it| it.redeemed) else { return "nothing" };
        let lineage = &self.lineages[index];
        let (own, token) = (&self.clients[lineage.client].0, lineage.refresh.last().unwrap());
        let mut scopes = subset(random, &lineage.scopes);
        let mut more = Vec::new();
        let widens = random.percent(30);
        if widens {
            scopes.insert(if lineage.scopes.contains("email") { "phone" } else { "email" });
        }
        let text = words(&scopes);
        if widens || random.percent(60) {
            more.push(("scope", text.as_str()));
        } else {
            scopes.clone_from(&lineage.scopes);
        }
        if random.percent(30) {
            more.push(("resource", lineage.audience));
        }
        let answer = own.refresh(&self.app, token, &more).await;
        if lineage.dead {
            assert_eq!(answer.status, 400, "seed {}: {}", self.seed, answer.text());
            return "refreshed too late";
        }
        if widens {
            refused(&answer, "invalid_scope");
            return "widening refused";
        }
        assert_eq!(answer.status, 200, "seed {}: {}", self.seed, answer.text());
        let tokens = answer.json();
        self.check(index, &tokens, &scopes);
        self.keep(index, &tokens, scopes);
        "refreshed"
    }

    async fn replay(&mut self, random: &Random) -> &'static str {
        let Some(index) = self.any(random, |it| it.redeemed && !it.dead) else { return "nothing" };
        let lineage = &mut self.lineages[index];
        let own = &self.clients[lineage.client].0;
        let old = &lineage.refresh[..lineage.refresh.len() - 1];
        // Whatever else is wrong with the request, it is a replay.
        let beside = [
            None,
            Some(("scope", "openid email phone invoices:write")),
            Some(("scope", "\"unreadable\"")),
            Some(("resource", "https://elsewhere.example.test")),
            Some(("authorization_details", "no JSON")),
            Some(("organization", "nowhere")),
        ];
        let more: Vec<_> = random.of(&beside).copied().flatten().into_iter().collect();
        let answer = if let Some(old) = random.of(old).filter(|_| random.percent(50)) {
            own.refresh(&self.app, old, &more).await
        } else {
            let form = [("code", lineage.code.as_str()), ("code_verifier", &lineage.verifier)];
            own.token(&self.app, "authorization_code", &[&form, more.as_slice()].concat()).await
        };
        assert_eq!(answer.status, 400, "seed {}: {}", self.seed, answer.text());
        lineage.dead = true;
        "replayed"
    }

    async fn revoke(&mut self, random: &Random) -> &'static str {
        let Some(index) = self.any(random, |it| it.redeemed && !it.dead) else { return "nothing" };
        let lineage = &mut self.lineages[index];
        // By any token there ever was of it, however old.
        let tokens: Vec<&String> =
            lineage.refresh.iter().chain(lineage.access.iter().map(|(token, _)| token)).collect();
        let form = [("token", random.of(&tokens).unwrap().as_str())];
        let other = &self.clients[1 - lineage.client].0;
        assert_eq!(other.call(&self.app, "/connect/revoke", &form).await.status, 200);
        let alive = self.clients[lineage.client]
            .0
            .call(&self.app, "/connect/introspect", &[("token", lineage.refresh.last().unwrap())])
            .await;
        assert_eq!(alive.json()["active"], true, "another client ended it");
        assert_eq!(
            self.clients[lineage.client].0.call(&self.app, "/connect/revoke", &form).await.status,
            200
        );
        lineage.dead = true;
        "revoked by the client"
    }

    async fn withdraw(&mut self, random: &Random) -> &'static str {
        let client = random.below(2);
        let path = format!("/v1/account/grants/{}", self.clients[client].0.id);
        let answer = self.browser.delete(&path).await;
        assert!(matches!(answer.status.as_u16(), 204 | 404), "{}", answer.text());
        self.lineages.iter_mut().filter(|it| it.client == client).for_each(|it| it.dead = true);
        "withdrawn by the person"
    }

    async fn sign_out(&mut self) -> &'static str {
        let sessions = self.browser.get("/v1/account/sessions").await.json();
        let current = sessions["items"].as_array().unwrap().iter().find(|it| it["current"] == true).unwrap();
        let id = current["id"].as_str().unwrap().to_owned();
        assert_eq!(self.browser.delete(&format!("/v1/account/sessions/{id}")).await.status, 204);
        self.lineages
            .iter_mut()
            .filter(|it| !it.scopes.contains("offline_access"))
            .for_each(|it| it.dead = true);
        self.app.forget_limits().await;
        let mut flow = self.browser.open(json!({"kind": "sign_in"})).await;
        let login = json!({"identifier": "ana@example.test", "password": PASSWORD});
        flow.act(&mut self.browser, "password/check", login).await;
        if flow.stage() == "enrol" {
            flow.act(&mut self.browser, "enrol/skip", nothing()).await;
        }
        assert_eq!(flow.stage(), "complete");
        "signed out"
    }
}

pub fn refused(answer: &Answer, error: &str) {
    assert_eq!(
        (answer.status.as_u16(), answer.json()["error"].as_str()),
        (400, Some(error)),
        "{}",
        answer.text()
    );
}
