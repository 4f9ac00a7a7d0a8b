//! An error never uses up a code or refresh token: whatever can be refused is refused before the grant moves.

use std::sync::Arc;

use porteiro_service::oauth::{apis, clients::Trust};
use porteiro_testkit::{Browser, TestApp};
use serde_json::{Value, json};

use crate::oauth::{
    LEDGER, app,
    driver::{Relying, person},
    ledger,
};

const ASKED: [(&str, &str); 1] = [("scope", "openid invoices:read invoices:write")];

/// What changes between a token and its use, by the error it leads to.
#[derive(Debug, Clone, Copy)]
enum Change {
    ScopeOfTheApi,
    ApiRemoved,
    RegisteredScope,
    Keys,
}

const EVERY: [(Change, &str); 4] = [
    (Change::ScopeOfTheApi, "invalid_scope"),
    (Change::ApiRemoved, "invalid_target"),
    (Change::RegisteredScope, "invalid_scope"),
    (Change::Keys, "temporarily_unavailable"),
];

struct World {
    app: Arc<TestApp>,
    browser: Browser,
    client: Relying,
}

impl World {
    async fn new() -> Self {
        let app = app().await;
        let browser = person(&app).await;
        let scope = json!({"scope": "openid invoices:read invoices:write"});
        let client = Relying::with(&app, Trust::Verified, scope).await;
        Self { app, browser, client }
    }

    async fn change(&self, change: Change, undo: bool) {
        let store = &self.app.app.store;
        let now = "changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')";
        match (change, undo) {
            (Change::ScopeOfTheApi, false) => {
                let mut api = ledger();
                api.scopes.retain(|scope| scope.name != "invoices:write");
                apis::register(store, &api).await.unwrap();
            }
            (Change::ApiRemoved, false) => assert!(apis::remove(store, LEDGER).await.unwrap()),
            (Change::ScopeOfTheApi | Change::ApiRemoved, true) => {
                apis::register(store, &ledger()).await.unwrap();
            }
            (Change::RegisteredScope, _) => {
                let scope = if undo { "openid invoices:read invoices:write" } else { "openid invoices:read" };
                let metadata = format!("metadata = jsonb_set(metadata, '{{scope}}', '\"{scope}\"')");
                let client = &self.client.id;
                self.app
                    .sql(&format!("UPDATE client SET {metadata}, {now} WHERE client_id = '{client}'"))
                    .await;
                self.app.app.directory.forget(client);
            }
            (Change::Keys, _) => {
                let (from, to) = if undo { ("retiring", "active") } else { ("active", "retiring") };
                self.app.sql(&format!("UPDATE signing_key SET state = '{to}' WHERE state = '{from}'")).await;
                self.app.app.keys.reload(store).await.unwrap();
            }
        }
        // Another node would notice within a quarter of a second.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
}

fn text<'a>(tokens: &'a Value, name: &str) -> &'a str {
    tokens[name].as_str().unwrap_or_else(|| panic!("no {name} in {tokens}"))
}

#[tokio::test]
async fn a_refresh_that_is_refused_for_what_changed_leaves_the_token_as_it_was() {
    let mut world = World::new().await;
    let mut tokens = world.client.tokens(&mut world.browser, &world.app, &ASKED).await;
    for (change, error) in EVERY {
        world.change(change, false).await;
        for attempt in 0..2 {
            let refused = world.client.refresh(&world.app, text(&tokens, "refresh_token"), &[]).await;
            assert_eq!(refused.json()["error"], error, "{change:?}, {attempt}: {}", refused.text());
        }
        world.change(change, true).await;
        let again = world.client.refresh(&world.app, text(&tokens, "refresh_token"), &[]).await;
        assert_eq!(again.status, 200, "{change:?}: {}", again.text());
        tokens = again.json();
    }
    assert_eq!(world.app.count("SELECT count(*) FROM oauth_grant WHERE revoked_at IS NOT NULL").await, 0);
    assert_eq!(world.app.count("SELECT count(*) FROM security_log WHERE kind = 'grant.reused'").await, 0);
}

#[tokio::test]
async fn a_code_that_is_refused_for_what_changed_is_good_once_that_is_undone() {
    let mut world = World::new().await;
    for (change, error) in EVERY {
        let (code, verifier) = world.client.code(&mut world.browser, &ASKED).await;
        world.change(change, false).await;
        let refused = world.client.redeem(&world.app, &code, &verifier).await;
        assert_eq!(refused.json()["error"], error, "{change:?}: {}", refused.text());
        world.change(change, true).await;
        let again = world.client.redeem(&world.app, &code, &verifier).await;
        assert_eq!(again.status, 200, "{change:?}: {}", again.text());
    }
}

/// Less than what was lost is still given, every time; what comes back is all of it.
#[tokio::test]
async fn a_client_that_lost_a_scope_may_ask_for_the_rest() {
    let mut world = World::new().await;
    let mut tokens = world.client.tokens(&mut world.browser, &world.app, &ASKED).await;
    world.change(Change::ScopeOfTheApi, false).await;
    for _ in 0..2 {
        let less = [("scope", "invoices:read")];
        let answer = world.client.refresh(&world.app, text(&tokens, "refresh_token"), &less).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        tokens = answer.json();
        let all = world.client.refresh(&world.app, text(&tokens, "refresh_token"), &[]).await;
        assert_eq!(all.json()["error"], "invalid_scope");
    }
    world.change(Change::ScopeOfTheApi, true).await;
    let all = world.client.refresh(&world.app, text(&tokens, "refresh_token"), &[]).await;
    assert_eq!(all.json()["scope"], "openid invoices:read invoices:write");
}
