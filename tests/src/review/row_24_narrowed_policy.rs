//! Narrowing what clients may do reaches what they hold at once, wherever we are asked, and ends it for good.

use std::sync::Arc;

use http::Method;
use porteiro_protocol::id::OrganizationId;
use porteiro_service::oauth::clients::{self, Trust};
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

use crate::{
    oauth::{
        driver::{Relying, userinfo},
        encode, service,
    },
    organizations::{
        driver::{call, get, house, join_client, organization, organization_key, platform_key, role},
        staff::Staff,
    },
};

struct World {
    app: Arc<TestApp>,
    here: OrganizationId,
    ana: Staff,
    client: Relying,
    robot: Value,
    owner: String,
    platform: String,
}

/// What a client holds: a person's tokens at our own API, a code, and a token of its own.
struct Held {
    tokens: Value,
    code: (String, String),
    own: String,
}

impl World {
    async fn new() -> Self {
        let app = house().await;
        let here = organization(&app, "here").await;
        let ana = Staff::new(&app, "ana@example.test", here, "admin").await;
        role(&app, here, "clerk", &["salaries:read"]).await;
        let robot = service(&app, "client_secret_post", json!({})).await;
        join_client(&app, here, robot["client_id"].as_str().unwrap(), "clerk").await;
        Self {
            client: Relying::web(&app).await,
            owner: organization_key(&app, here, &["organization:*", "client-policies:*"]).await,
            platform: platform_key(&app, &["platform.clients:*"]).await,
            app,
            here,
            ana,
            robot,
        }
    }

    fn robot(&self, name: &str) -> &str {
        self.robot[name].as_str().unwrap()
    }

    async fn as_robot(&self, path: &str, form: &[(&str, &str)]) -> Value {
        let own = [("client_id", self.robot("client_id")), ("client_secret", self.robot("client_secret"))];
        self.app.form(path, encode(&[&own, form].concat())).await.json()
    }

    async fn hold(&mut self) -> Held {
        // Tokens without a grant are told by the second in which they were made.
        tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
        self.app.catch_up().await;
        let asked = [("scope", "openid members:read"), ("organization", "here")];
        let tokens = self.client.tokens(&mut self.ana.browser, &self.app, &asked).await;
        let code = self.client.code(&mut self.ana.browser, &asked).await;
        let form =
            [("grant_type", "client_credentials"), ("scope", "salaries:read"), ("organization", "here")];
        let own = self.as_robot("/connect/token", &form).await;
        let own = own["access_token"].as_str().unwrap_or_else(|| panic!("{own}")).to_owned();
        Held { tokens, code, own }
    }

    /// Which of the doors open, and whether the client's own token counts.
    async fn doors(&self, held: &Held) -> (Vec<&'static str>, bool) {
        let token = |name: &str| held.tokens[name].as_str().unwrap();
        let active = async |token: &str| {
            let answer = self.client.call(&self.app, "/connect/introspect", &[("token", token)]).await;
            answer.json()["active"] == true
        };
        let members = format!("/v1/organizations/{}/members", self.here);
        let opened = [
            ("our own API", get(&self.app, &members, token("access_token")).await.status == 200),
            ("userinfo", userinfo(&self.app, token("access_token")).await.status == 200),
            ("introspection", active(token("access_token")).await),
            ("introspection of a refresh token", active(token("refresh_token")).await),
        ];
        let opened = opened.into_iter().filter(|(_, opened)| *opened).map(|(door, _)| door).collect();
        let own = self.as_robot("/connect/introspect", &[("token", &held.own)]).await["active"] == true;
        (opened, own)
    }

    async fn is_over(&self, held: &Held, own_too: bool, what: &str) {
        let (opened, own) = self.doors(held).await;
        assert!(opened.is_empty(), "{what}: {opened:?} open");
        assert_eq!(own, !own_too, "{what}: the client's own token");
        let refresh = held.tokens["refresh_token"].as_str().unwrap();
        let refresh = self.client.refresh(&self.app, refresh, &[]).await;
        assert_eq!(refresh.json()["error"], "invalid_grant", "{what}");
        let redeemed = self.client.redeem(&self.app, &held.code.0, &held.code.1).await;
        assert_eq!(redeemed.json()["error"], "invalid_grant", "{what}");
    }

    async fn policy(&self, third_party: &str) {
        let path = format!("/v1/organizations/{}/policy", self.here);
        let seen = get(&self.app, &path, &self.owner).await;
        let tag = [("if-match", seen.header("etag"))];
        let policy = json!({"third_party_clients": third_party});
        let put = call(&self.app, Method::PUT, &path, &self.owner, Some(&policy), &tag).await;
        assert_eq!(put.status, 200, "{}", put.text());
    }

    async fn change(&self, client_id: &str, change: &Value) {
        let path = format!("/v1/platform/clients/{client_id}");
        let seen = get(&self.app, &path, &self.platform).await;
        let tag = [("if-match", seen.header("etag"))];
        let put = call(&self.app, Method::PATCH, &path, &self.platform, Some(change), &tag).await;
        assert_eq!(put.status, 200, "{}", put.text());
    }
}

const ALL_OPEN: [&str; 4] = ["our own API", "userinfo", "introspection", "introspection of a refresh token"];

#[tokio::test]
async fn a_narrower_third_party_policy_ends_what_clients_hold_there() {
    let mut world = World::new().await;
    let held = world.hold().await;
    world.policy("verified").await;
    assert_eq!(world.doors(&held).await, (ALL_OPEN.to_vec(), true), "both are verified");
    world.policy("listed").await;
    world.is_over(&held, true, "narrowed").await;
    world.policy("all").await;
    world.is_over(&held, true, "widened again").await;
    let logged = "SELECT count(*) FROM security_log WHERE kind = 'grant.revoked' AND payload->>'reason' = 'client_blocked'";
    assert_eq!(world.app.count(logged).await, 2, "the grant and the code, in their person's own log");
}

#[tokio::test]
async fn a_client_that_is_listed_or_of_the_house_keeps_what_it_has() {
    let mut world = World::new().await;
    let held = world.hold().await;
    for id in [&world.client.id, world.robot("client_id")] {
        let path = format!("/v1/organizations/{}/client-policies/{id}", world.here);
        let allow = json!({"decision": "allow"});
        assert_eq!(call(&world.app, Method::PUT, &path, &world.owner, Some(&allow), &[]).await.status, 200);
    }
    world.policy("listed").await;
    assert_eq!(world.doors(&held).await, (ALL_OPEN.to_vec(), true));
    let refresh = held.tokens["refresh_token"].as_str().unwrap();
    assert_eq!(world.client.refresh(&world.app, refresh, &[]).await.status, 200);
}

#[tokio::test]
async fn lowered_trust_ends_what_a_client_holds_and_raising_it_revives_nothing() {
    let mut world = World::new().await;
    for change in [json!({"trust": "unverified"}), json!({"organization_mode": "none"})] {
        let held = world.hold().await;
        assert_eq!(world.doors(&held).await, (ALL_OPEN.to_vec(), true));
        let back = json!({"trust": "verified", "organization_mode": "optional"});
        for id in [world.client.id.clone(), world.robot("client_id").to_owned()] {
            world.change(&id, &change).await;
        }
        world.is_over(&held, true, &change.to_string()).await;
        for id in [world.client.id.clone(), world.robot("client_id").to_owned()] {
            world.change(&id, &back).await;
        }
        world.is_over(&held, true, "raised again").await;
    }
    let held = world.hold().await;
    assert_eq!(world.doors(&held).await, (ALL_OPEN.to_vec(), true), "what is given anew counts");
}

/// The command line lowers it as the platform does.
#[tokio::test]
async fn trust_that_is_lowered_at_the_console_ends_the_same() {
    let mut world = World::new().await;
    let held = world.hold().await;
    let set = async |trust| {
        assert!(clients::set_trust(&world.app.app.store, &world.client.id, trust).await.unwrap());
        world.app.app.directory.forget(&world.client.id);
    };
    set(Trust::FirstParty).await;
    assert_eq!(world.doors(&held).await, (ALL_OPEN.to_vec(), true), "raised");
    set(Trust::Verified).await;
    world.is_over(&held, false, "lowered").await;
    set(Trust::FirstParty).await;
    world.is_over(&held, false, "raised again").await;
}

/// A machine that was disabled in between is not alive again with what it had.
#[tokio::test]
async fn a_machine_that_was_disabled_by_the_platform_stays_without_its_token() {
    let mut world = World::new().await;
    let held = world.hold().await;
    for verb in ["disable", "enable"] {
        let path = format!("/v1/platform/clients/{}/{verb}", world.robot("client_id"));
        let done = call(&world.app, Method::POST, &path, &world.platform, Some(&json!({})), &[]).await;
        assert_eq!(done.status, 204, "{}", done.text());
    }
    let own = world.as_robot("/connect/introspect", &[("token", &held.own)]).await;
    assert_eq!(own, json!({"active": false}));
}
