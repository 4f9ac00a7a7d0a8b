//! The suspension matrix: what ends, times every way to use authority, on every node. Dead within the second, and after it
//! is lifted only what docs/decisions/0036 says comes back.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use http::Method;
use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};
use porteiro_service::{api_keys::KeyKind, oauth::clients::Trust};
use porteiro_testkit::{Browser, TestApp};
use serde_json::{Value, json};

use super::driver::{
    account_of, call, get, join, join_client, key, organization, organization_key, payroll, platform_key,
    role,
};
use crate::oauth::{
    device,
    driver::{Relying, parameter, person, userinfo, verifier},
    encode, service,
};

/// Ways to use what somebody was given.
const DOORS: [&str; 13] = [
    "redeem a code",
    "redeem a device code",
    "refresh",
    "introspect an access token",
    "introspect a refresh token",
    "userinfo",
    "authorize",
    "manage by token",
    "manage by personal key",
    "manage by organization key",
    "personal key as client",
    "organization key as client",
    "client credentials",
];

pub struct Stand {
    pub nodes: Vec<Arc<TestApp>>,
    pub here: OrganizationId,
    pub member: MembershipId,
    account: String,
    browser: Browser,
    client: Relying,
    robot: Value,
    codes: Vec<(String, String)>,
    devices: Vec<String>,
    tokens: Value,
    managing: String,
    personal: String,
    shared: String,
    operator: String,
}

impl Stand {
    async fn new() -> Self {
        Self::of(async |app, here, account| join(app, here, account, "clerk").await).await
    }

    /// With a member that came about in another way, and who is a clerk.
    pub async fn of(
        joined: impl AsyncFnOnce(&Arc<TestApp>, OrganizationId, AccountId) -> MembershipId,
    ) -> Self {
        let nodes = TestApp::builder().people().start_nodes(3).await;
        let app = &nodes[0];
        payroll(app).await;
        let mut browser = person(app).await;
        let here = organization(app, "here").await;
        role(app, here, "clerk", &["salaries:read", "members:read"]).await;
        let account = account_of(&mut browser).await;
        let member = joined(app, here, account).await;
        let grants = json!({"grant_types": ["authorization_code", "refresh_token", device::GRANT]});
        let client = Relying::with(app, Trust::Verified, grants).await;
        let robot = service(app, "client_secret_post", json!({})).await;
        join_client(app, here, robot["client_id"].as_str().unwrap(), "clerk").await;
        let asked = [("scope", "openid salaries:read"), ("organization", "here")];
        let mut codes = Vec::new();
        for _ in 0..3 {
            codes.push(client.code(&mut browser, &asked).await);
        }
        let tokens = client.tokens(&mut browser, app, &asked).await;
        let managing = [("scope", "members:read"), ("organization", "here")];
        let managing = client.tokens(&mut browser, app, &managing).await;
        let names = ["members:read", "salaries:read"];
        let operator = ["organizations:administer", "platform.accounts:write", "platform.clients:write"];
        Self {
            personal: key(app, KeyKind::Personal, Some(here), Some(member), &names).await,
            shared: organization_key(app, here, &names).await,
            operator: platform_key(app, &operator).await,
            managing: managing["access_token"].as_str().unwrap().to_owned(),
            account: account.to_string(),
            here,
            member,
            browser,
            client,
            robot,
            codes,
            devices: Vec::new(),
            tokens,
            nodes,
        }
    }

    /// Three codes and three devices that were let in and have not noticed yet.
    pub async fn more_codes(&mut self) {
        let asked = [("scope", "openid salaries:read"), ("organization", "here")];
        for _ in 0..3 {
            let code = self.client.code(&mut self.browser, &asked).await;
            self.codes.push(code);
        }
        self.more_devices().await;
    }

    /// Three devices that were let in and have not noticed yet.
    pub async fn more_devices(&mut self) {
        let asked = [("scope", "openid salaries:read"), ("organization", "here")];
        for _ in 0..3 {
            let asked = device::asks(&self.nodes[0], &self.client, &asked).await;
            device::allows(&mut self.browser, &asked.user_code).await;
            self.devices.push(asked.device_code);
        }
    }

    fn token(&self, name: &str) -> &str {
        self.tokens[name].as_str().unwrap()
    }

    async fn key_as_client(&self, node: &TestApp, key: &str) -> bool {
        let parts: Vec<&str> = key.strip_prefix("pt_key_").unwrap().splitn(2, '_').collect();
        let secret = parts[1].rsplit_once('_').unwrap().0;
        let basic = base64::Engine::encode(
            &base64::engine::general_purpose::STANDARD,
            format!("{}:{secret}", parts[0]),
        );
        let request = http::Request::post("/connect/token")
            .header("authorization", format!("Basic {basic}"))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(encode(&[("grant_type", "client_credentials"), ("scope", "salaries:read")]).into());
        node.send(request.unwrap()).await.status == 200
    }

    /// Whether a door opens, at one node. Using a code or a refresh token up is part of it.
    async fn opens(&mut self, door: &str, node: usize) -> bool {
        let app = Arc::clone(&self.nodes[node]);
        let members = format!("/v1/organizations/{}/members", self.here);
        let active = |answer: porteiro_testkit::Answer| answer.json()["active"] == true;
        match door {
            "redeem a code" => {
                let Some((code, verifier)) = self.codes.last().cloned() else { return false };
                let opened = self.client.redeem(&app, &code, &verifier).await.status == 200;
                if opened {
                    self.codes.pop();
                }
                opened
            }
            "redeem a device code" => {
                let Some(code) = self.devices.last() else { return false };
                let opened = device::polls_in_time(&app, &self.client, code).await.status == 200;
                if opened {
                    self.devices.pop();
                }
                opened
            }
            "refresh" => {
                let answer = self.client.refresh(&app, self.token("refresh_token"), &[]).await;
                let opened = answer.status == 200;
                if opened {
                    self.tokens = answer.json();
                }
                opened
            }
            "introspect an access token" => {
                let form = [("token", self.token("access_token"))];
                active(self.client.call(&app, "/connect/introspect", &form).await)
            }
            "introspect a refresh token" => {
                let form = [("token", self.token("refresh_token"))];
                active(self.client.call(&app, "/connect/introspect", &form).await)
            }
            "userinfo" => userinfo(&app, self.token("access_token")).await.status == 200,
            "authorize" => {
                // What was allowed before may have to be allowed anew.
                let asked = [("scope", "openid salaries:read"), ("organization", "here")];
                let answer = self.client.ask(&mut self.browser, &verifier(), &asked).await;
                let asks =
                    || answer.json()["stage"] == "consent" || parameter(&answer.json(), "code").is_some();
                answer.status == 200 && asks()
            }
            "manage by token" => get(&app, &members, &self.managing).await.status == 200,
            "manage by personal key" => get(&app, &members, &self.personal).await.status == 200,
            "manage by organization key" => get(&app, &members, &self.shared).await.status == 200,
            "personal key as client" => self.key_as_client(&app, &self.personal.clone()).await,
            "organization key as client" => self.key_as_client(&app, &self.shared.clone()).await,
            "client credentials" => {
                let text = |name: &str| self.robot[name].as_str().unwrap();
                let form = encode(&[
                    ("grant_type", "client_credentials"),
                    ("client_id", text("client_id")),
                    ("client_secret", text("client_secret")),
                    ("scope", "salaries:read"),
                    ("organization", "here"),
                ]);
                app.form("/connect/token", form).await.status == 200
            }
            other => panic!("no door {other}"),
        }
    }

    async fn order(&self, path: &str, body: Value) {
        let why = [("porteiro-reason", "the matrix")];
        let answer = call(&self.nodes[0], Method::POST, path, &self.operator, Some(&body), &why).await;
        assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
    }

    async fn end(&self, what: &str) {
        let (here, member, account) = (self.here, self.member, &self.account);
        match what {
            "account" => {
                self.order(&format!("/v1/platform/accounts/{account}/disable"), json!({"reason": "test"}))
                    .await;
            }
            "membership" => {
                let path = format!("/v1/organizations/{here}/members/{member}/disable");
                self.order(&path, json!({"reason": "test"})).await;
            }
            "organization" => {
                let body = json!({"reason_code": "abuse", "note": "test"});
                self.order(&format!("/v1/organizations/{here}/suspend"), body).await;
            }
            "client" => {
                self.order(&format!("/v1/platform/clients/{}/disable", self.client.id), json!({})).await;
            }
            other => panic!("nothing called {other}"),
        }
    }

    async fn lift(&self, what: &str) {
        let (here, member, account) = (self.here, self.member, &self.account);
        match what {
            "account" => self.order(&format!("/v1/platform/accounts/{account}/enable"), json!({})).await,
            "membership" => {
                self.order(&format!("/v1/organizations/{here}/members/{member}/enable"), json!({})).await;
            }
            "organization" => self.order(&format!("/v1/organizations/{here}/resume"), json!({})).await,
            "client" => {
                self.order(&format!("/v1/platform/clients/{}/enable", self.client.id), json!({})).await;
            }
            other => panic!("nothing called {other}"),
        }
    }
}

/// What must be dead, and what of it stays dead when it is lifted.
pub fn row(what: &str) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let of_the_grant = [
        "redeem a code",
        "redeem a device code",
        "refresh",
        "introspect an access token",
        "introspect a refresh token",
        "userinfo",
        "manage by token",
    ];
    let of_the_person = ["manage by personal key", "personal key as client"];
    let mut dead: BTreeSet<&str> = of_the_grant.into();
    dead.insert("authorize");
    let mut stays = BTreeSet::from(of_the_grant);
    match what {
        // The session is gone too: they sign in again.
        "account" => {
            dead.extend(of_the_person);
            stays.extend(of_the_person);
            stays.insert("authorize");
        }
        "membership" => {
            dead.extend(of_the_person);
            stays.extend(of_the_person);
        }
        "client" => {}
        // Nothing was ended: what waited goes on.
        "organization" => {
            dead = DOORS.into();
            stays.clear();
        }
        other => panic!("nothing called {other}"),
    }
    (dead, stays)
}

/// Looks until every door is as expected or the second is over.
pub async fn expect(stand: &mut Stand, what: &str, closed: &BTreeSet<&'static str>) {
    for node in 0..3 {
        for door in DOORS {
            let wanted = !closed.contains(door);
            let mut opened = stand.opens(door, node).await;
            for _ in 0..10 {
                if opened == wanted {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
                opened = stand.opens(door, node).await;
            }
            assert_eq!(opened, wanted, "{what}: {door} at node {node}");
        }
    }
}

async fn matrix(what: &str) {
    let mut stand = Stand::new().await;
    stand.more_devices().await;
    expect(&mut stand, "before", &BTreeSet::new()).await;
    stand.more_codes().await;
    let (dead, stays) = row(what);
    stand.end(what).await;
    expect(&mut stand, what, &dead).await;
    stand.lift(what).await;
    expect(&mut stand, &format!("{what}, lifted"), &stays).await;
}

#[tokio::test]
async fn t_suspend_a_disabled_account() {
    matrix("account").await;
}

#[tokio::test]
async fn t_suspend_a_disabled_membership() {
    matrix("membership").await;
}

#[tokio::test]
async fn t_suspend_a_suspended_organization() {
    matrix("organization").await;
}

#[tokio::test]
async fn t_suspend_a_disabled_client() {
    matrix("client").await;
}
