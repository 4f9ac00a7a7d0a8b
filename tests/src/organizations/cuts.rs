//! The cut: whatever ends, everything that hung on it ends at once, and undoing it revives nothing.

use std::sync::Arc;

use http::Method;
use porteiro_protocol::id::OrganizationId;
use porteiro_service::{api_keys::KeyKind, management::platform::accounts, oauth::clients};
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

use super::{
    driver::{call, get, house, key, organization, platform_key, role},
    staff::{Staff, account, context, members, post, refusal},
};
use crate::oauth::{
    driver::{Relying, userinfo},
    encode, service,
};

/// What ends, and is undone again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    MembershipDisabled,
    MembershipRemoved,
    AccountDisabled,
    ClientDisabled,
}

const WHY: (&str, &str) = ("porteiro-reason", "ticket 17");

struct House {
    app: Arc<TestApp>,
    here: OrganizationId,
    there: OrganizationId,
    ana: Staff,
    client: Relying,
    platform: String,
    /// A personal key of hers in the other organization.
    other: String,
}

/// Everything somebody can hold of an organization.
#[derive(Debug)]
struct Held {
    tokens: Value,
    code: (String, String),
    key: String,
}

impl House {
    async fn new() -> Self {
        let app = house().await;
        let (here, there) = (organization(&app, "here").await, organization(&app, "there").await);
        let ana = Staff::new(&app, "ana@example.test", here, "admin").await;
        let there_too = super::driver::join(&app, there, ana.account, "admin").await;
        let metadata = json!({"backchannel_logout_uri": "https://app.example.test/logout"});
        let client = Relying::with(&app, clients::Trust::Verified, metadata).await;
        let platform = platform_key(&app, &["organizations:administer"]).await;
        let other = key(&app, KeyKind::Personal, Some(there), Some(there_too), &["members:read"]).await;
        Self { app, here, there, ana, client, platform, other }
    }

    async fn hold(&mut self) -> Held {
        let asked = [("scope", "openid members:read"), ("organization", &*self.here.to_string())];
        let tokens = self.client.tokens(&mut self.ana.browser, &self.app, &asked).await;
        let code = self.client.code(&mut self.ana.browser, &asked).await;
        let member = Some(self.ana.member);
        let key = key(&self.app, KeyKind::Personal, Some(self.here), member, &["members:read"]).await;
        Held { tokens, code, key }
    }

    async fn platform(&self, method: Method, path: &str, body: Option<&Value>) {
        let seen = call(&self.app, Method::GET, path, &self.platform, None, &[WHY]).await;
        let headers = [WHY, ("if-match", seen.header("etag"))];
        let answer = call(&self.app, method, path, &self.platform, body, &headers).await;
        assert!(answer.status.is_success(), "{path}: {}", answer.text());
    }

    async fn cause(&self, cause: Cause, undo: bool) {
        let path = format!("{}/{}", members(self.here), self.ana.member);
        let (app, account) = (&self.app.app, self.ana.account);
        match (cause, undo) {
            (Cause::MembershipDisabled, false) => {
                self.platform(Method::POST, &format!("{path}/disable"), Some(&json!({}))).await;
            }
            (Cause::MembershipDisabled, true) => {
                self.platform(Method::POST, &format!("{path}/enable"), None).await;
            }
            (Cause::MembershipRemoved, false) => self.platform(Method::DELETE, &path, None).await,
            (Cause::MembershipRemoved, true) => {
                let body = json!({"account_id": account, "role": "admin"});
                self.platform(Method::POST, &members(self.here), Some(&body)).await;
            }
            (Cause::AccountDisabled, _) => {
                let context = &context();
                let work = |tx| async move {
                    if undo {
                        accounts::enable(app, &tx, context, account, "test").await
                    } else {
                        accounts::disable(app, &tx, context, account, "test").await
                    }
                };
                assert!(app.store.run_tx("test.account", work).await.unwrap());
            }
            (Cause::ClientDisabled, _) => {
                let id = &self.client.id;
                let done = if undo {
                    clients::enable(&app.store, id).await.unwrap()
                } else {
                    clients::disable(&app.store, id).await.unwrap()
                };
                assert!(done);
                app.directory.forget(id);
            }
        }
    }

    async fn is_dead(&self, held: &Held, cause: Cause, when: &str) {
        let (app, path) = (&self.app, members(self.here));
        let text = |name: &str| held.tokens[name].as_str().unwrap();
        let what = format!("{cause:?}, {when}");
        assert_eq!(get(app, &path, text("access_token")).await.status, 401, "management: {what}");
        assert_eq!(userinfo(app, text("access_token")).await.status, 401, "userinfo: {what}");
        let refresh = self.client.refresh(app, text("refresh_token"), &[]).await;
        assert!(refresh.status == 400 || refresh.status == 401, "refresh: {what}: {}", refresh.text());
        let redeem = self.client.redeem(app, &held.code.0, &held.code.1).await;
        assert!(redeem.status == 400 || redeem.status == 401, "code: {what}: {}", redeem.text());
        let by_key = get(app, &path, &held.key).await.status;
        match cause {
            // A key is no client's.
            Cause::ClientDisabled => assert_eq!(by_key, 200, "key: {what}"),
            Cause::MembershipDisabled | Cause::MembershipRemoved | Cause::AccountDisabled => {
                assert_eq!(by_key, 401, "key: {what}");
            }
        }
    }
}

/// Until the clock of the test, and the second a token is counted by, have passed what was cut.
async fn later(app: &TestApp) {
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    app.catch_up().await;
}

async fn matrix(cause: Cause) {
    let mut house = House::new().await;
    let held = house.hold().await;
    let path = members(house.here);
    assert_eq!(get(&house.app, &path, held.tokens["access_token"].as_str().unwrap()).await.status, 200);
    assert_eq!(get(&house.app, &path, &held.key).await.status, 200);
    house.cause(cause, false).await;
    house.is_dead(&held, cause, "at once").await;
    let elsewhere = get(&house.app, &members(house.there), &house.other).await.status;
    let everywhere = cause == Cause::AccountDisabled;
    assert_eq!(elsewhere, if everywhere { 401 } else { 200 }, "{cause:?}: in another organization");
    house.cause(cause, true).await;
    later(&house.app).await;
    house.is_dead(&held, cause, "undone").await;
    if cause == Cause::AccountDisabled {
        // The session is gone as well; whoever it belongs to signs in anew.
        house.app.forget_limits().await;
        let mut browser = porteiro_testkit::Browser::new(&house.app);
        let mut flow = browser.open(json!({"kind": "sign_in"})).await;
        let login = json!({"identifier": "ana@example.test", "password": crate::people::PASSWORD});
        flow.act(&mut browser, "password/check", login).await;
        flow.act(&mut browser, "enrol/skip", porteiro_testkit::nothing()).await;
        assert_eq!(house.ana.browser.get("/v1/account").await.status, 401, "the old session");
        house.ana.browser = browser;
    }
    let fresh = house.hold().await;
    let token = fresh.tokens["access_token"].as_str().unwrap();
    assert_eq!(get(&house.app, &path, token).await.status, 200, "{cause:?}: what is new works");
    assert_eq!(get(&house.app, &path, &fresh.key).await.status, 200, "{cause:?}: what is new works");
}

#[tokio::test]
async fn a_disabled_membership_is_dead_and_stays_so() {
    matrix(Cause::MembershipDisabled).await;
}

#[tokio::test]
async fn a_removed_membership_is_dead_and_stays_so() {
    matrix(Cause::MembershipRemoved).await;
}

#[tokio::test]
async fn a_disabled_account_is_dead_and_stays_so() {
    matrix(Cause::AccountDisabled).await;
}

#[tokio::test]
async fn a_disabled_client_is_dead_and_stays_so() {
    matrix(Cause::ClientDisabled).await;
}

/// Of the adversarial review (r16): the state of an account is not asked at refresh, so it is ended on write.
#[tokio::test]
async fn a_disabled_account_refreshes_nothing() {
    let mut house = House::new().await;
    let plain = house.client.tokens(&mut house.ana.browser, &house.app, &[]).await;
    let offline = [("scope", "openid offline_access")];
    let offline = house.client.tokens(&mut house.ana.browser, &house.app, &offline).await;
    house.cause(Cause::AccountDisabled, false).await;
    for undone in [false, true] {
        for tokens in [&plain, &offline] {
            let refresh =
                house.client.refresh(&house.app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
            assert_eq!(refresh.json()["error"], "invalid_grant", "undone: {undone}");
            assert_eq!(userinfo(&house.app, tokens["access_token"].as_str().unwrap()).await.status, 401);
        }
        assert_eq!(house.ana.browser.get("/v1/account").await.status, 401);
        if !undone {
            house.cause(Cause::AccountDisabled, true).await;
        }
    }
    let ended = "SELECT count(*) FROM session WHERE end_reason = 'account_disabled'";
    assert_eq!(house.app.count(ended).await, 1);
    for kind in ["account.disabled", "account.enabled"] {
        let logged = format!("SELECT count(*) FROM security_log WHERE kind = '{kind}'");
        assert_eq!(house.app.count(&logged).await, 1, "{kind}");
    }
    let told = "SELECT count(*) FROM trail WHERE kind = 'member.disabled' AND reason = 'account_disabled'";
    assert_eq!(house.app.count(told).await, 2, "each organization learns that, and not why");
    assert_eq!(house.app.count("SELECT count(*) FROM trail WHERE reason LIKE '%stolen%'").await, 0);
    let client_told = "SELECT count(*) FROM job WHERE kind = 'logout.tell'";
    assert_eq!(house.app.count(client_told).await, 1, "once for the session, however many grants");
}

#[tokio::test]
async fn a_cut_ends_one_organization_alone_and_says_so_everywhere() {
    let mut house = House::new().await;
    let held = house.hold().await;
    let plain = house.client.tokens(&mut house.ana.browser, &house.app, &[]).await;
    let there = [("scope", "openid members:read"), ("organization", "there")];
    let there = house.client.tokens(&mut house.ana.browser, &house.app, &there).await;
    house.app.sql("DELETE FROM job").await;
    let (here, member) = (house.here, house.ana.member);
    house
        .app
        .sql(&format!(
            "INSERT INTO impersonation (impersonation_id, organization_id, membership_id, account_id, actor_id, grant_id,
                 reason, ends_at)
             VALUES (gen_random_uuid(), '{here}', '{member}', '{}', gen_random_uuid(), gen_random_uuid(), 'ticket',
                 now() + interval '1 hour')",
            house.ana.account
        ))
        .await;
    house.cause(Cause::MembershipDisabled, false).await;
    house.is_dead(&held, Cause::MembershipDisabled, "at once").await;
    for tokens in [&plain, &there] {
        let refresh = house.client.refresh(&house.app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
        assert_eq!(refresh.status, 200, "not theirs to end: {}", refresh.text());
    }
    assert_eq!(house.ana.browser.get("/v1/account").await.status, 200, "nor the session");
    let database = house.app.database.client().await;
    let told = database.query("SELECT payload FROM job WHERE kind = 'logout.tell'", &[]).await.unwrap();
    let told: Vec<Value> = told.iter().map(|row| row.get(0)).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["subject"], member.to_string(), "by the name the client knows");
    let kinds = database
        .query("SELECT kind FROM trail WHERE organization_id = $1 ORDER BY sequence", &[&here.uuid()])
        .await
        .unwrap();
    let kinds: Vec<String> = kinds
        .iter()
        .map(|row| row.get(0))
        .filter(|kind| kind != "platform.administered" && kind != "grant.created")
        .collect();
    assert_eq!(kinds, ["member.disabled", "grant.revoked", "api_key.revoked", "impersonation.ended"]);
    assert_eq!(
        house.app.count("SELECT count(*) FROM security_log WHERE kind = 'membership.disabled'").await,
        1
    );
    assert_eq!(house.app.count("SELECT count(*) FROM impersonation WHERE ended_at IS NULL").await, 0);
    house.cause(Cause::MembershipDisabled, false).await;
    let again = "SELECT count(*) FROM trail WHERE kind = 'member.disabled'";
    assert_eq!(house.app.count(again).await, 1, "disabling twice is disabling once");
}

/// A token of a client that is a member for itself has no grant: it dies by the membership's row.
#[tokio::test]
async fn a_machine_client_is_cut_like_anybody() {
    let app = house().await;
    let here = organization(&app, "here").await;
    role(&app, here, "reader", &["salaries:read"]).await;
    let robot = service(&app, "client_secret_post", json!({})).await;
    let (id, secret) = (robot["client_id"].as_str().unwrap(), robot["client_secret"].as_str().unwrap());
    let owner =
        super::driver::organization_key(&app, here, &["members:*", "salaries:*", "client-policies:*"]).await;
    let made = post(&app, &members(here), &owner, &json!({"client_id": id, "role": "reader"})).await.json();
    let path = format!("{}/{}", members(here), made["id"].as_str().unwrap());
    let own = [("client_id", id), ("client_secret", secret)];
    let ask = async || {
        let form =
            [("grant_type", "client_credentials"), ("scope", "salaries:read"), ("organization", "here")];
        app.form("/connect/token", encode(&[own.as_slice(), &form].concat())).await.json()
    };
    let active = async |token: &Value| {
        let form = [own.as_slice(), &[("token", token["access_token"].as_str().unwrap())]].concat();
        app.form("/connect/introspect", encode(&form)).await.json()["active"] == true
    };
    let token = ask().await;
    assert!(active(&token).await);
    post(&app, &format!("{path}/disable"), &owner, &json!({})).await;
    assert!(!active(&token).await);
    assert_eq!(ask().await["error"], "invalid_target");
    post(&app, &format!("{path}/enable"), &owner, &json!({})).await;
    assert!(!active(&token).await, "enabled, and the old token stays dead");
    later(&app).await;
    let token = ask().await;
    assert!(active(&token).await);
    assert!(clients::disable(&app.app.store, id).await.unwrap());
    assert!(clients::enable(&app.app.store, id).await.unwrap());
    app.app.directory.forget(id);
    assert!(!active(&token).await, "the client was gone in between");
    later(&app).await;
    let token = ask().await;
    let policy = format!("/v1/organizations/{here}/client-policies/{id}");
    let block = call(&app, Method::PUT, &policy, &owner, Some(&json!({"decision": "block"})), &[]).await;
    assert_eq!(block.status, 200, "{}", block.text());
    assert!(!active(&token).await, "blocked");
    assert_eq!(ask().await["error"], "invalid_target");
}

#[tokio::test]
async fn an_administrator_sees_and_ends_what_a_member_allowed_here_and_nothing_else() {
    let mut house = House::new().await;
    let held = house.hold().await;
    let plain = house.client.tokens(&mut house.ana.browser, &house.app, &[]).await;
    let all = [
        "organization:*",
        "members:*",
        "roles:*",
        "invitations:*",
        "client-policies:*",
        "api-keys:*",
        "audit:*",
        "delegations:*",
        "approvals:*",
    ];
    let admin = super::driver::organization_key(&house.app, house.here, &all).await;
    let path = format!("{}/{}/grants", members(house.here), house.ana.member);
    let listed = get(&house.app, &path, &admin).await.json();
    let items = listed["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "neither the account's own nor a code: {listed}");
    assert_eq!(
        (&items[0]["client_id"], &items[0]["scope"]),
        (&json!(house.client.id), &json!("openid members:read"))
    );
    let none = call(&house.app, Method::DELETE, &format!("{path}/nobody"), &admin, None, &[]).await;
    assert_eq!(none.json(), json!({"revoked": 0}));
    let one =
        call(&house.app, Method::DELETE, &format!("{path}/{}", house.client.id), &admin, None, &[]).await;
    assert_eq!(one.json(), json!({"revoked": 2}), "the code too");
    let text = |name: &str| held.tokens[name].as_str().unwrap();
    assert_eq!(
        house.client.refresh(&house.app, text("refresh_token"), &[]).await.json()["error"],
        "invalid_grant"
    );
    assert_eq!(house.client.redeem(&house.app, &held.code.0, &held.code.1).await.status, 400);
    assert_eq!(get(&house.app, &members(house.here), &held.key).await.status, 200, "keys are another matter");
    let rest = house.client.refresh(&house.app, plain["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(rest.status, 200, "the account's own");
    let narrow = super::driver::organization_key(&house.app, house.here, &["members:*"]).await;
    let refused = call(&house.app, Method::DELETE, &path, &narrow, None, &[]).await;
    assert_eq!(refusal(&refused), (403, "authority_exceeded".into()));
    let stranger = account(&house.app, "Stranger").await;
    let unknown = format!("{}/{stranger}/grants", members(house.here));
    assert_eq!(get(&house.app, &unknown, &admin).await.status, 404);
}
