//! Somebody of the platform acts as a member: shortly, visibly, and never above themselves.

mod bounds;

use std::sync::Arc;

use axum::Extension;
use http::Method;
use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};
use porteiro_service::{
    api::Operation,
    http::{Access, Route},
    jobs,
    management::Caller,
    oauth::{apis, clients::Trust},
    platform,
};
use porteiro_testkit::{Answer, Browser, TestApp, nothing};
use serde_json::{Value, json};

use super::driver::{
    PAYROLL, account_of, call, claims, get, join, organization, organization_key, payroll, role,
};
use crate::{
    oauth::{
        driver::{Relying, userinfo},
        ledger,
    },
    people::{register_with_passkey, register_with_password},
};

async fn who(Extension(caller): Extension<Caller>) -> axum::Json<Value> {
    axum::Json(json!({"actor": caller.actor}))
}

/// An organization with Ana in it, and Olga of the platform with a fresh second factor.
pub struct Scene {
    pub app: Arc<TestApp>,
    pub client: Relying,
    pub here: OrganizationId,
    pub ana: Browser,
    pub member: MembershipId,
    pub olga: Browser,
    pub operator: AccountId,
    pub token: String,
}

/// Somebody who just signed in with a passkey.
async fn second_factor(app: &Arc<TestApp>, address: &str) -> Browser {
    let (_, mut authenticator) = register_with_passkey(app, address).await;
    let mut browser = Browser::new(app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "passkey/begin", nothing()).await;
    let response = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut browser, "passkey/finish", json!({"credential": response})).await;
    assert_eq!(flow.stage(), "complete");
    browser
}

pub async fn give(app: &TestApp, account: AccountId, names: &[&str]) {
    let names: Vec<_> = names.iter().map(|name| name.parse().unwrap()).collect();
    let names = &names;
    let given =
        app.app.store.run_tx("test.give", |tx| async move { platform::set(&tx, account, names).await });
    given.await.unwrap();
}

impl Scene {
    pub async fn new() -> Self {
        let path = "/v1/organizations/{organization}/test";
        let routes = vec![
            Route::get(path, Access::Organization("members:read"), who)
                .operation(Operation::new("test.show", "Who").gives::<Value>()),
            Route::post(path, Access::Organization("members:write"), who)
                .operation(Operation::new("test.change", "Who").gives::<Value>()),
        ];
        let app = Arc::new(TestApp::builder().people().routes(routes).start().await);
        apis::register(&app.app.store, &ledger()).await.unwrap();
        payroll(&app).await;
        let here = organization(&app, "here").await;
        role(&app, here, "accountant", &["salaries:*", "members:*"]).await;
        let mut ana = register_with_password(&app, "ana@example.test").await;
        let member = join(&app, here, account_of(&mut ana).await, "accountant").await;
        let mut olga = second_factor(&app, "olga@example.test").await;
        let operator = account_of(&mut olga).await;
        give(&app, operator, &["members:impersonate"]).await;
        let client = Relying::with(&app, Trust::FirstParty, json!({})).await;
        let tokens = client.tokens(&mut olga, &app, &[("scope", "members:impersonate offline_access")]).await;
        let token = tokens["access_token"].as_str().unwrap().to_owned();
        Self { app, client, here, ana, member, olga, operator, token }
    }

    fn path(&self) -> String {
        format!("/v1/organizations/{}/members/{}/impersonations", self.here, self.member)
    }

    pub async fn start(&self, body: &Value) -> Answer {
        call(&self.app, Method::POST, &self.path(), &self.token, Some(body), &[]).await
    }

    pub async fn started(&self, scope: &str, resource: Option<&str>) -> Value {
        let answer = self.start(&json!({"reason": "ticket 17", "scope": scope, "resource": resource})).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()
    }

    async fn next(&self, id: &str) -> Answer {
        call(&self.app, Method::POST, &format!("{}/{id}/tokens", self.path()), &self.token, None, &[]).await
    }

    pub async fn end(&self, id: &str) -> Answer {
        call(&self.app, Method::DELETE, &format!("{}/{id}", self.path()), &self.token, None, &[]).await
    }

    pub async fn is_active(&self, token: &str) -> bool {
        let told = self.client.call(&self.app, "/connect/introspect", &[("token", token)]).await.json();
        told["active"] == true
    }

    pub async fn trail(&self) -> Vec<Value> {
        let key = organization_key(&self.app, self.here, &["audit:read"]).await;
        let page =
            get(&self.app, &format!("/v1/organizations/{}/audit-events?limit=100", self.here), &key).await;
        let mut items = page.json()["items"].as_array().unwrap().clone();
        // What reading it leaves behind itself.
        items.retain(|entry| entry["type"] != "api_key.used_first");
        items.reverse();
        items
    }

    async fn kinds(&self) -> Vec<String> {
        self.trail().await.iter().map(|entry| entry["type"].as_str().unwrap().to_owned()).collect()
    }
}

pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

#[tokio::test]
async fn everybody_concerned_can_see_who_acts_as_whom() {
    let mut scene = Scene::new().await;
    let started = scene.started("openid salaries:read", Some(PAYROLL)).await;
    let token = text(&started, "access_token");
    let said = claims(token);
    assert_eq!((&said["sub"], &said["org"]), (&json!(scene.member), &json!(scene.here)));
    assert_eq!((&said["role"], &said["act"]), (&json!("accountant"), &json!({"sub": scene.operator})));
    assert_eq!((&said["aud"], &said["scope"]), (&json!(PAYROLL), &json!("openid salaries:read")));
    assert_eq!(said["acr"], "0", "nobody proved to be the member");
    assert!((1..=300).contains(&(said["exp"].as_i64().unwrap() - said["iat"].as_i64().unwrap())));
    assert!(started["refresh_token"].is_null());
    let banner = &started["banner"];
    assert_eq!((&banner["actor"], &banner["member"]), (&json!(scene.operator), &json!(scene.member)));
    assert_eq!((&banner["organization"], &banner["until"]), (&json!(scene.here), &started["ends_at"]));

    // Introspection and userinfo treat it as any token of the member.
    let told = scene.client.call(&scene.app, "/connect/introspect", &[("token", token)]).await.json();
    assert_eq!((&told["active"], &told["act"], &told["sub"]), (&json!(true), &said["act"], &said["sub"]));
    assert_eq!(userinfo(&scene.app, token).await.json()["sub"], said["sub"]);
    // The person hears of it, by mail and in what happened to their account.
    let mail = &scene.app.mails("ana@example.test").await[0];
    assert!(mail.subject.contains("acting as you"), "{}", mail.subject);
    assert!(mail.text.contains("ticket 17") && mail.text.contains("The here company"), "{}", mail.text);
    let activity = scene.ana.get("/v1/account/activity").await.json();
    let told = activity["items"].as_array().unwrap().iter().any(|one| one["kind"] == "impersonation.started");
    assert!(told, "{activity}");
    // So does the organization.
    let trail = scene.trail().await;
    let kinds: Vec<&str> = trail.iter().map(|entry| text(entry, "type")).collect();
    assert_eq!(kinds, ["impersonation.started", "impersonation.token"]);
    for entry in &trail {
        assert_eq!(entry["actor"], json!({"kind": "platform", "id": scene.operator}));
        assert_eq!(entry["target"], json!({"kind": "member", "id": scene.member}));
    }
    assert_eq!(trail[0]["reason"], "ticket 17");
    assert_eq!(trail[1]["changes"]["after"], json!({"scope": "openid salaries:read", "audience": PAYROLL}));

    let id = text(&started, "id");
    let next = scene.next(id).await;
    assert_eq!(next.status, 201, "{}", next.text());
    assert_ne!(next.json()["access_token"], started["access_token"]);
    assert_eq!(scene.end(id).await.status, 204);
    assert!(!scene.is_active(token).await && !scene.is_active(text(&next.json(), "access_token")).await);
    assert_eq!(scene.next(id).await.status, 404);
    assert_eq!(scene.end(id).await.status, 204, "said twice, done once");
    assert_eq!(
        scene.kinds().await[2..],
        ["impersonation.token".to_owned(), "impersonation.ended".to_owned()]
    );
    assert_eq!(scene.end("0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f").await.status, 404);
}

#[tokio::test]
async fn a_quarter_of_an_hour_and_the_trail_says_that_time_ended_it() {
    let scene = Scene::new().await;
    let started = scene.started("salaries:read", Some(PAYROLL)).await;
    let span = scene
        .app
        .count(
            "SELECT extract(epoch FROM i.ends_at - i.started_at)::bigint FROM impersonation i
             JOIN oauth_grant g ON g.session_id = i.impersonation_id AND g.ends_at = i.ends_at",
        )
        .await;
    assert_eq!(span, 900);
    jobs::run_due(&scene.app.app).await.unwrap();
    assert_eq!(scene.kinds().await.len(), 2, "not before its time");
    // No token outlives it.
    let soon = scene.app.app.clock.now().unix_timestamp() + 20;
    let until = format!(
        "UPDATE oauth_grant SET terms = jsonb_set(terms, '{{until}}', '{soon}') WHERE terms ? 'until'"
    );
    scene.app.sql(&until).await;
    let next = scene.next(text(&started, "id")).await.json();
    assert!((1..=20).contains(&next["expires_in"].as_i64().unwrap()), "{next}");

    scene
        .app
        .sql(
            "UPDATE impersonation SET ends_at = now(); 
             UPDATE oauth_grant SET expires_at = now(), ends_at = now() WHERE terms ? 'until';
             UPDATE job SET run_at = now() WHERE kind = 'impersonation.time_is_up'",
        )
        .await;
    assert!(!scene.is_active(text(&started, "access_token")).await);
    assert_eq!(scene.next(text(&started, "id")).await.status, 404);
    jobs::run_due(&scene.app.app).await.unwrap();
    let trail = scene.trail().await;
    let last = trail.last().unwrap();
    assert_eq!(
        (text(last, "type"), text(last, "reason")),
        ("impersonation.ended", "the impersonation expired")
    );
    assert_eq!((&last["actor"]["kind"], &last["address"]), (&json!("system"), &Value::Null));
    assert_eq!(scene.end(text(&started, "id")).await.status, 204);
    assert_eq!(scene.trail().await.len(), trail.len(), "it ended once");
}
