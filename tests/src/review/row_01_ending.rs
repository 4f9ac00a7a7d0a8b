//! Ending a session or account is constant work up front, whatever number of grants hangs on it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http::Method;
use porteiro_protocol::id::{MembershipId, OrganizationId};
use porteiro_service::{jobs, management::platform::accounts, oauth::clients::Trust};
use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::{Value, json};

use crate::{
    oauth::driver::{Relying, parameter, userinfo, verifier},
    organizations::{
        driver::{call, house, organization, platform_key},
        staff::{Staff, context, members},
    },
    people::{PASSWORD, enrol, long},
};

/// The review saw every way of ending a session fail from about 75,000 grants on.
fn number() -> u32 {
    if long() { 1_000_000 } else { 120_000 }
}

/// However many grants there are, and on a busy machine.
const PROMPT: Duration = Duration::from_secs(5);

struct Heap {
    app: Arc<TestApp>,
    here: OrganizationId,
    ana: Staff,
    /// Another browser of hers, signed in by password.
    thief: Browser,
    client: Relying,
    other: Relying,
}

async fn sign_in(app: &Arc<TestApp>) -> Browser {
    app.forget_limits().await;
    let mut browser = Browser::new(app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let login = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(&mut browser, "password/check", login).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
    browser
}

impl Heap {
    async fn new() -> Self {
        let app = house().await;
        let here = organization(&app, "here").await;
        let ana = Staff::new(&app, "ana@example.test", here, "admin").await;
        let thief = sign_in(&app).await;
        let metadata = json!({"backchannel_logout_uri": "https://app.example.test/logout"});
        let client = Relying::with(&app, Trust::Verified, metadata).await;
        let other = Relying::web(&app).await;
        Self { app, here, ana, thief, client, other }
    }

    /// Copies of every grant there is, newer than all of them, until there are very many.
    async fn grow(&self) {
        let app = &self.app;
        let there =
            app.count("SELECT count(*) FROM oauth_grant WHERE revoked_at IS NULL AND generation > 0").await;
        let copies = i64::from(number()) / there;
        app.sql(&format!(
            "INSERT INTO oauth_grant (grant_id, account_id, client_id, generation, current_hash, expires_at, ends_at,
                 idle_seconds, session_id, offline, code_challenge, scope, audience, terms, organization_id,
                 membership_id, authority_version, created_at)
             SELECT overlay(gen_random_uuid()::text placing
                        substr(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint + 60000), 12, '0'), 1, 8)
                        || '-' ||
                        substr(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint + 60000), 12, '0'), 9, 4)
                        || '-7' from 1 for 15)::uuid,
                    account_id, client_id, 1, sha256(int8send(i)), expires_at, ends_at, idle_seconds, session_id, offline,
                    code_challenge, scope, audience, terms, organization_id, membership_id, authority_version, created_at
             FROM oauth_grant g CROSS JOIN generate_series(1, {copies}) i
             WHERE g.revoked_at IS NULL AND g.generation > 0"
        ))
        .await;
    }

    fn asked(&self) -> [(&'static str, String); 2] {
        [("scope", "openid members:read offline_access".to_owned()), ("organization", self.here.to_string())]
    }

    /// A grant in a session, with its tokens.
    async fn hold(&mut self, by_thief: bool, of_other: bool, in_organization: bool) -> Value {
        let asked = self.asked();
        let asked: Vec<(&str, &str)> = asked.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let asked: &[(&str, &str)] =
            if in_organization { &asked } else { &[("scope", "openid offline_access")] };
        let client = if of_other { &self.other } else { &self.client };
        let browser = if by_thief { &mut self.thief } else { &mut self.ana.browser };
        client.tokens(browser, &self.app, asked).await
    }

    async fn is_dead(&self, client: &Relying, tokens: &Value, what: &str) {
        let text = |name: &str| tokens[name].as_str().unwrap();
        assert_eq!(userinfo(&self.app, text("access_token")).await.status, 401, "userinfo: {what}");
        for name in ["access_token", "refresh_token"] {
            let told = client.call(&self.app, "/connect/introspect", &[("token", text(name))]).await;
            assert_eq!(told.json(), json!({"active": false}), "introspection of the {name}: {what}");
        }
        let refresh = client.refresh(&self.app, text("refresh_token"), &[]).await;
        assert_eq!(refresh.json()["error"], "invalid_grant", "refresh: {what}");
    }

    async fn is_alive(&self, client: &Relying, tokens: &Value, what: &str) {
        let told = [("token", tokens["refresh_token"].as_str().unwrap())];
        let told = client.call(&self.app, "/connect/introspect", &told).await.json();
        assert_eq!(told["active"], true, "{what}");
    }

    /// Until nothing is left to do, but for what is sent to other servers.
    async fn work_off(&self) {
        let rest = "SELECT count(*) FROM job WHERE kind = 'grants.end'";
        self.app.sql("DELETE FROM job WHERE kind <> 'grants.end'").await;
        while self.app.count(rest).await > 0 {
            jobs::run_due(&self.app.app).await.unwrap();
        }
    }
}

async fn reauthenticate(app: &TestApp, browser: &mut Browser) {
    app.forget_limits().await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(flow.stage(), "complete", "{}", flow.now);
}

/// The platform looks, and changes what it saw.
async fn administer(app: &TestApp, method: Method, path: &str, action: &str, body: Option<Value>) {
    let key = platform_key(app, &["organizations:administer"]).await;
    let why = ("porteiro-reason", "ticket 17");
    let seen = call(app, Method::GET, path, &key, None, &[why]).await;
    let mut headers = vec![why];
    if !seen.header("etag").is_empty() {
        headers.push(("if-match", seen.header("etag")));
    }
    let path = format!("{path}{action}");
    let answer = promptly(&path, call(app, method, &path, &key, body.as_ref(), &headers)).await;
    assert!(answer.status.is_success(), "{path}: {}", answer.text());
}

#[expect(clippy::print_stdout, reason = "figures for whoever runs the long form")]
fn say(line: &str) {
    println!("{line}");
}

/// Measures what is prompt.
async fn promptly<T>(what: &str, work: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let outcome = work.await;
    let took = started.elapsed();
    say(&format!("{what}: {} ms with {} grants", took.as_millis(), number()));
    assert!(took < PROMPT, "{what} took {took:?}");
    outcome
}

async fn new_password(browser: &mut Browser) {
    let mut flow = enrol(browser, "password").await;
    if flow.stage() != "enrol" {
        flow.act(browser, "password/check", json!({"password": PASSWORD})).await;
    }
    let change = json!({"new_password": "another long password", "current_password": PASSWORD});
    let answer = flow.attempt(browser, "password/set", change).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// The sessions and what hangs on them: each way of ending them takes effect at every door, before any job has run.
#[tokio::test]
async fn however_many_grants_there_are_sessions_passwords_and_consents_end_at_once() {
    let mut heap = Heap::new().await;
    let withdrawn = heap.hold(false, true, false).await;
    let (mine, thiefs) = (heap.hold(false, false, false).await, heap.hold(true, false, false).await);
    heap.app.sql("UPDATE oauth_grant SET offline = (scope <> 'openid offline_access')").await;
    heap.grow().await;
    reauthenticate(&heap.app, &mut heap.ana.browser).await;

    let path = format!("/v1/account/grants/{}", heap.other.id);
    let answer = promptly("withdrawing a consent", heap.ana.browser.delete(&path)).await;
    assert_eq!(answer.status, 204, "{}", answer.text());
    heap.is_dead(&heap.other, &withdrawn, "the consent was withdrawn").await;
    heap.is_alive(&heap.client, &mine, "another client").await;

    let answer = promptly("ending the other sessions", heap.ana.browser.delete("/v1/account/sessions")).await;
    assert!(answer.status.is_success(), "{}", answer.text());
    assert_eq!(heap.thief.get("/v1/account").await.status, 401);
    heap.is_dead(&heap.client, &thiefs, "its session ended").await;
    heap.is_alive(&heap.client, &mine, "another session").await;

    heap.thief = sign_in(&heap.app).await;
    let again = heap.hold(true, false, false).await;
    promptly("changing the password", new_password(&mut heap.ana.browser)).await;
    assert_eq!(heap.thief.get("/v1/account").await.status, 401, "it rested on the old password");
    heap.is_dead(&heap.client, &again, "the password was changed").await;
    heap.is_alive(&heap.client, &mine, "the session in which it was changed").await;

    let sessions = heap.ana.browser.get("/v1/account/sessions").await.json();
    let path = format!("/v1/account/sessions/{}", sessions["items"][0]["id"].as_str().unwrap());
    let answer = promptly("ending a session", heap.ana.browser.delete(&path)).await;
    assert!(answer.status.is_success(), "{}", answer.text());
    heap.is_dead(&heap.client, &mine, "its session ended").await;

    let tell = "SELECT count(*) FROM job WHERE kind = 'logout.tell'";
    let told = heap.app.count(tell).await;
    assert!(told <= 4, "{told}: a client hears once of each session");
    let logged = heap.app.count("SELECT count(*) FROM security_log").await;
    promptly_worked_off(&heap).await;
    let lines = heap.app.count("SELECT count(*) FROM security_log").await - logged;
    assert!(lines < i64::from(number()) / 100, "{lines} lines of the log for {} grants", number());
    let living = "SELECT count(*) FROM oauth_grant WHERE revoked_at IS NULL AND expires_at > now()";
    assert_eq!(heap.app.count(living).await, 0);
    assert_eq!(heap.app.count("SELECT count(*) FROM grant_ending").await, 0);
    assert_eq!(heap.app.count("SELECT count(*) FROM grant_ending_told").await, 0);
}

async fn promptly_worked_off(heap: &Heap) {
    let started = Instant::now();
    heap.work_off().await;
    say(&format!("the jobs: {} ms for {} grants", started.elapsed().as_millis(), number()));
}

/// What organizations and the platform end.
#[tokio::test]
async fn however_many_grants_there_are_members_clients_and_accounts_end_at_once() {
    let mut heap = Heap::new().await;
    let (here, member): (OrganizationId, MembershipId) = (heap.here, heap.ana.member);
    let blocked = heap.hold(false, true, true).await;
    let inside = heap.hold(false, false, true).await;
    let outside = heap.hold(false, false, false).await;
    heap.grow().await;
    let app = Arc::clone(&heap.app);
    let path = format!("{}/{member}", members(here));

    let policy = format!("/v1/organizations/{here}/client-policies/{}", heap.other.id);
    administer(&app, Method::PUT, &policy, "", Some(json!({"decision": "block"}))).await;
    heap.is_dead(&heap.other, &blocked, "blocked").await;
    heap.is_alive(&heap.client, &inside, "another client").await;

    let roles = json!({"roles": ["member"], "primary_role": "member"});
    administer(&app, Method::PATCH, &path, "", Some(roles)).await;
    let refresh = heap.client.refresh(&app, inside["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(refresh.json()["error"], "invalid_scope", "the role does not permit it any more");

    administer(&app, Method::POST, &path, "/disable", Some(json!({}))).await;
    heap.is_dead(&heap.client, &inside, "the member was disabled").await;
    administer(&app, Method::POST, &path, "/enable", None).await;
    heap.is_dead(&heap.client, &inside, "disabled and enabled again").await;
    heap.is_alive(&heap.client, &outside, "not the organization's").await;

    let account = heap.ana.account;
    let disable = async {
        let (app, context) = (&app.app, &context());
        let work = |tx| async move { accounts::disable(app, &tx, context, account, "test").await };
        app.store.run_tx("test.disable", work).await.unwrap()
    };
    assert!(Box::pin(promptly("disabling an account", disable)).await);
    heap.is_dead(&heap.client, &outside, "the account was disabled").await;
    assert_eq!(heap.ana.browser.get("/v1/account").await.status, 401);
    let enable = async {
        let (app, context) = (&app.app, &context());
        let work = |tx| async move { accounts::enable(app, &tx, context, account, "test").await };
        app.store.run_tx("test.enable", work).await.unwrap()
    };
    assert!(enable.await);
    heap.is_dead(&heap.client, &outside, "disabled and enabled again").await;

    // Whoever signs in anew begins anew, while the old grants are still being revoked.
    heap.thief = sign_in(&heap.app).await;
    let fresh = heap.hold(true, false, false).await;
    heap.is_alive(&heap.client, &fresh, "made afterwards").await;
    promptly_worked_off(&heap).await;
    heap.is_alive(&heap.client, &fresh, "made afterwards, and the work is done").await;
    let living = "SELECT count(*) FROM oauth_grant WHERE revoked_at IS NULL AND expires_at > now()";
    assert_eq!(heap.app.count(living).await, 1);
}

/// Whoever holds a session cannot have grants made without end.
#[tokio::test]
async fn silent_authorization_has_a_limit() {
    let app = crate::oauth::app().await;
    let mut browser = crate::oauth::driver::person(&app).await;
    let client = Relying::web(&app).await;
    client.code(&mut browser, &[]).await;
    let mut codes = 0;
    let limited = loop {
        let answer = client.ask(&mut browser, &verifier(), &[("prompt", "none")]).await;
        if answer.status != 200 {
            break answer;
        }
        assert!(parameter(&answer.json(), "code").is_some(), "{}", answer.text());
        codes += 1;
        assert!(codes < 1_000, "no limit");
    };
    assert_eq!(limited.status, 429, "{}", limited.text());
    assert!(!limited.header("retry-after").is_empty());
    assert!(codes >= 100, "{codes}: a person with many applications does not notice it");
    // Another client has a bucket of its own.
    let other = Relying::web(&app).await;
    other.code(&mut browser, &[]).await;
    assert_eq!(other.ask(&mut browser, &verifier(), &[("prompt", "none")]).await.status, 200);
    // It does not keep its owner from ending sessions.
    reauthenticate(&app, &mut browser).await;
    assert!(browser.delete("/v1/account/sessions").await.status.is_success());
}
