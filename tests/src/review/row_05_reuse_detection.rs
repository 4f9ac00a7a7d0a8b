//! A superseded code or refresh token ends its family, whatever else is wrong with the request.

use std::sync::Arc;

use porteiro_protocol::id::OrganizationId;
use porteiro_testkit::{Browser, TestApp};
use serde_json::Value;

use crate::{
    oauth::driver::{Relying, person, userinfo, verifier},
    organizations::driver::{account_of, house, join, organization, role, set_status},
};

const ASKED: [(&str, &str); 2] = [("scope", "openid salaries:read"), ("organization", "here")];

struct World {
    app: Arc<TestApp>,
    browser: Browser,
    client: Relying,
    here: OrganizationId,
}

/// What changed meanwhile.
#[derive(Debug, Clone, Copy)]
enum Meanwhile {
    Nothing,
    RoleEdited,
    ScopeLost,
    RolesOfTheMember,
    Suspended,
    ClientsNarrowed,
}

impl World {
    async fn new() -> Self {
        let app = house().await;
        let mut browser = person(&app).await;
        let here = organization(&app, "here").await;
        role(&app, here, "accountant", &["salaries:*"]).await;
        join(&app, here, account_of(&mut browser).await, "accountant").await;
        let client = Relying::web(&app).await;
        Self { app, browser, client, here }
    }

    async fn change(&self, meanwhile: Meanwhile, undo: bool) {
        let again = "authority_version = authority_version + 1";
        match (meanwhile, undo) {
            (Meanwhile::Nothing, _) | (Meanwhile::RolesOfTheMember, true) => {}
            (Meanwhile::RoleEdited, false) => {
                role(&self.app, self.here, "accountant", &["salaries:*", "reports:read"]).await;
            }
            (Meanwhile::ScopeLost, false) => {
                role(&self.app, self.here, "accountant", &["reports:read"]).await;
            }
            (Meanwhile::RoleEdited | Meanwhile::ScopeLost, true) => {
                role(&self.app, self.here, "accountant", &["salaries:*"]).await;
            }
            (Meanwhile::RolesOfTheMember, false) => {
                self.app.sql("UPDATE oauth_grant SET authority_version = -1 WHERE revoked_at IS NULL").await;
            }
            (Meanwhile::Suspended, _) => {
                set_status(&self.app, self.here, if undo { "enabled" } else { "suspended" }).await;
            }
            (Meanwhile::ClientsNarrowed, _) => {
                let word = if undo { "all" } else { "listed" };
                let policy = format!("{{\"third_party_clients\": \"{word}\"}}");
                self.app.sql(&format!("UPDATE organization SET policy = '{policy}', {again}")).await;
            }
        }
    }

    async fn reused(&self, token: &str) -> bool {
        let grant = crate::organizations::driver::claims(token)["grant_id"].as_str().unwrap().to_owned();
        let sql = format!(
            "SELECT count(*) FROM oauth_grant WHERE grant_id = '{grant}' AND revoke_reason = 'reuse'
               AND EXISTS (SELECT 1 FROM security_log WHERE kind = 'grant.reused' AND payload->>'grant_id' = '{grant}')"
        );
        self.app.count(&sql).await == 1
    }

    /// After a replay: the family is over, and stays over when everything is as it was.
    async fn is_over(&self, current: &Value, what: &str) {
        let text = |name: &str| current[name].as_str().unwrap();
        assert!(self.reused(text("access_token")).await, "{what}: the reuse was not noticed");
        let refresh = self.client.refresh(&self.app, text("refresh_token"), &[]).await;
        assert_eq!(refresh.json()["error"], "invalid_grant", "{what}");
        assert_eq!(userinfo(&self.app, text("access_token")).await.status, 401, "{what}");
    }
}

const EVERY: [Meanwhile; 6] = [
    Meanwhile::Nothing,
    Meanwhile::RoleEdited,
    Meanwhile::ScopeLost,
    Meanwhile::RolesOfTheMember,
    Meanwhile::Suspended,
    Meanwhile::ClientsNarrowed,
];

/// What a thief might send besides the token.
const BESIDES: [(&str, &str); 7] = [
    ("", ""),
    ("scope", "openid salaries:read salaries:write"),
    ("scope", "\"unreadable\""),
    ("resource", "https://elsewhere.example.test"),
    ("organization", "nowhere"),
    ("authorization_details", "[{\"type\": \"unknown\"}]"),
    ("authorization_details", "no JSON"),
];

#[tokio::test]
async fn a_replayed_refresh_token_ends_its_family_whatever_changed_and_whatever_is_asked() {
    let mut world = World::new().await;
    for meanwhile in EVERY {
        for beside in BESIDES {
            let what = format!("{meanwhile:?}, {beside:?}");
            world.app.forget_limits().await;
            let first = world.client.tokens(&mut world.browser, &world.app, &ASKED).await;
            let first = first["refresh_token"].as_str().unwrap();
            let current = world.client.refresh(&world.app, first, &[]).await.json();
            world.change(meanwhile, false).await;
            let more: Vec<_> = Some(beside).filter(|(name, _)| !name.is_empty()).into_iter().collect();
            let replay = world.client.refresh(&world.app, first, &more).await;
            assert_eq!(replay.status, 400, "{what}: {}", replay.text());
            world.change(meanwhile, true).await;
            world.is_over(&current, &what).await;
        }
    }
}

#[tokio::test]
async fn a_replayed_code_ends_what_it_led_to_whatever_changed() {
    let mut world = World::new().await;
    for meanwhile in EVERY {
        for redirect_uri in [world.client.redirect_uri.clone(), "https://x.example.test/".to_owned()] {
            world.app.forget_limits().await;
            let (code, secret) = world.client.code(&mut world.browser, &ASKED).await;
            let current = world.client.redeem(&world.app, &code, &secret).await.json();
            world.change(meanwhile, false).await;
            let form = [("code", code.as_str()), ("code_verifier", &secret), ("redirect_uri", &redirect_uri)];
            let replay = world.client.token(&world.app, "authorization_code", &form).await;
            assert_eq!(replay.json()["error"], "invalid_grant", "{meanwhile:?}");
            world.change(meanwhile, true).await;
            world.is_over(&current, &format!("{meanwhile:?} {redirect_uri}")).await;
        }
    }
}

/// A thief of the code alone must not end the grant (RFC 9700 §4.2.4), nor one of another client.
#[tokio::test]
async fn a_replay_without_the_verifier_or_by_another_client_ends_nothing() {
    let mut world = World::new().await;
    let other = Relying::web(&world.app).await;
    let (code, secret) = world.client.code(&mut world.browser, &ASKED).await;
    let first = world.client.redeem(&world.app, &code, &secret).await.json();
    let first = first["refresh_token"].as_str().unwrap();
    let current = world.client.refresh(&world.app, first, &[]).await.json();
    world.client.redeem(&world.app, &code, &verifier()).await;
    world.client.token(&world.app, "authorization_code", &[("code", &code)]).await;
    other.redeem(&world.app, &code, &secret).await;
    other.refresh(&world.app, first, &[("scope", "\"unreadable\"")]).await;
    let refresh = world.client.refresh(&world.app, current["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(refresh.status, 200, "{}", refresh.text());
}

/// What was only asked wrongly is not used up.
#[tokio::test]
async fn a_current_token_survives_whatever_is_wrong_with_the_request() {
    let mut world = World::new().await;
    let tokens = world.client.tokens(&mut world.browser, &world.app, &ASKED).await;
    let current = tokens["refresh_token"].as_str().unwrap();
    for beside in BESIDES.iter().skip(1) {
        let refused = world.client.refresh(&world.app, current, &[*beside]).await;
        assert_eq!(refused.status, 400, "{beside:?}: {}", refused.text());
    }
    assert_eq!(world.client.refresh(&world.app, current, &[]).await.status, 200);
}
