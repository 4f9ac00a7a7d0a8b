//! Grants that are derived from others end with them (docs/decisions/0088).

use std::sync::Arc;

use porteiro_protocol::{
    actor::{Actor, ActorChain, ActorKind, MAX_ACTORS},
    assurance::Level,
    authority::Authority,
    id::AccountId,
};
use porteiro_service::{
    oauth::{
        clients::{self, Client},
        grants::{self, GrantId, LogEntry, NewDerived, Place, Terms},
    },
    organizations::Entrance,
};
use porteiro_testkit::{Browser, TestApp};
use serde_json::json;

use super::{
    app,
    driver::{Relying, person},
};
use crate::organizations::driver::claims;

struct Scene {
    app: Arc<TestApp>,
    browser: Browser,
    /// What the person uses, and whose grants are derived from.
    client: Relying,
    agent: Client,
}

/// A grant of the person's own, with its refresh token.
struct Root {
    id: GrantId,
    account: AccountId,
    access: String,
    refresh: String,
}

impl Scene {
    async fn new() -> Self {
        let app = app().await;
        let browser = person(&app).await;
        let (client, agent) = (Relying::web(&app).await, Relying::web(&app).await);
        let agent = clients::find(&app.app.store, &agent.id).await.unwrap().unwrap();
        Self { app, browser, client, agent }
    }

    async fn root(&mut self) -> Root {
        let tokens = self.client.tokens(&mut self.browser, &self.app, &[]).await;
        let access = tokens["access_token"].as_str().unwrap().to_owned();
        let claims = claims(&access);
        let text = |name: &str| claims[name].as_str().unwrap().to_owned();
        Root {
            id: text("grant_id").parse().unwrap(),
            account: text("sub").parse().unwrap(),
            access,
            refresh: tokens["refresh_token"].as_str().unwrap().to_owned(),
        }
    }

    async fn derive(&self, account: AccountId, parent: GrantId) -> Option<GrantId> {
        let app = &self.app.app;
        let id = GrantId::ordered(app.clock.now(), &*app.entropy);
        let authority = Authority::granted("openid".parse().unwrap(), app.issuer().to_owned(), Vec::new());
        let terms = Terms {
            level: Level::None,
            auth_time: 0,
            amr: Vec::new(),
            nonce: None,
            credentials: Vec::new(),
            details: Vec::new(),
            actor: Some(ActorChain::of(Actor { kind: ActorKind::Agent, id: self.agent.id.clone() })),
            until: None,
            device: false,
            approval: None,
            confined: false,
            directory_epoch: None,
            entrance: Entrance::default(),
        };
        let new = &NewDerived {
            id,
            parent,
            account,
            client_id: &self.agent.id,
            unused_hash: app.entropy.bytes(),
            seconds: 300,
            authority: &authority,
            terms: &terms,
            delegation: None,
            log: LogEntry {
                id: GrantId::ordered(app.clock.now(), &*app.entropy).uuid(),
                request: GrantId::ordered(app.clock.now(), &*app.entropy).uuid(),
                personal: json!({}),
            },
            event: json!({}),
        };
        grants::insert_derived(Place::Alone(&app.store), new).await.unwrap().map(|_| id)
    }

    /// A child and a grandchild of it.
    async fn line(&self, root: &Root) -> [GrantId; 2] {
        let child = self.derive(root.account, root.id).await.unwrap();
        [child, self.derive(root.account, child).await.unwrap()]
    }

    async fn lives(&self, root: &Root, grant: GrantId) -> bool {
        grants::is_alive(&self.app.app.store, grant, root.account, &self.agent).await.unwrap()
    }

    async fn assert_all(&self, root: &Root, line: [GrantId; 2], live: bool, what: &str) {
        for grant in line {
            assert_eq!(self.lives(root, grant).await, live, "{what}");
        }
    }

    /// How many of the agent's grants the person sees.
    async fn listed(&self, root: &Root) -> usize {
        let listed = grants::list(&self.app.app.store, root.account).await.unwrap();
        listed.iter().filter(|held| held.client_id == self.agent.id).count()
    }
}

#[tokio::test]
async fn whatever_ends_a_grant_ends_everything_below_it_and_nothing_else() {
    let mut scene = Scene::new().await;
    let other = scene.root().await;
    let others = scene.line(&other).await;
    for what in ["revoked", "used twice", "expired", "gone"] {
        let root = scene.root().await;
        let line = scene.line(&root).await;
        scene.assert_all(&root, line, true, what).await;
        assert_eq!(scene.listed(&root).await, 4);
        let grant = root.id;
        match what {
            "revoked" => {
                let answer =
                    scene.client.call(&scene.app, "/connect/revoke", &[("token", &root.access)]).await;
                assert_eq!(answer.status, 200);
            }
            "used twice" => {
                assert_eq!(scene.client.refresh(&scene.app, &root.refresh, &[]).await.status, 200);
                scene.assert_all(&root, line, true, "a refresh changes nothing below").await;
                assert_eq!(scene.client.refresh(&scene.app, &root.refresh, &[]).await.status, 400);
            }
            "expired" => {
                let sql = format!("UPDATE oauth_grant SET expires_at = now() WHERE grant_id = '{grant}'");
                scene.app.sql(&sql).await;
            }
            _ => scene.app.sql(&format!("DELETE FROM oauth_grant WHERE grant_id = '{grant}'")).await,
        }
        scene.assert_all(&root, line, false, what).await;
        scene.assert_all(&other, others, true, "below another grant").await;
        assert_eq!(scene.listed(&root).await, 2, "{what}: what is dead is not listed");
        assert_eq!(scene.derive(root.account, root.id).await, None, "{what}: nothing is derived from it");
        assert_eq!(scene.derive(root.account, line[1]).await, None, "{what}: nor from what was below it");
    }
}

#[tokio::test]
async fn ending_a_link_leaves_what_is_above_it() {
    let mut scene = Scene::new().await;
    let root = scene.root().await;
    let [child, grandchild] = scene.line(&root).await;
    let sibling = scene.derive(root.account, root.id).await.unwrap();
    let (account, agent) = (root.account.uuid(), scene.agent.id.as_str());
    let work = |tx| async move {
        grants::revoke_one(&tx, child.uuid(), account, agent, grants::Why::Client)
            .await
            .map(|it| it.is_some())
    };
    assert!(scene.app.app.store.run_tx("test.revoke", work).await.unwrap());
    assert!(!scene.lives(&root, child).await && !scene.lives(&root, grandchild).await);
    assert!(scene.lives(&root, sibling).await);
    assert_eq!(scene.client.refresh(&scene.app, &root.refresh, &[]).await.status, 200);
}

#[tokio::test]
async fn what_is_derived_ends_with_the_client_and_the_account_of_its_root() {
    for sql in [
        "UPDATE client SET disabled_at = now(), grants_from = clock_timestamp() WHERE client_id = '{client}'",
        "UPDATE client SET grants_from = clock_timestamp() WHERE client_id = '{client}'",
        "UPDATE account SET state = 'disabled'",
    ] {
        let mut scene = Scene::new().await;
        let root = scene.root().await;
        let line = scene.line(&root).await;
        scene.assert_all(&root, line, true, sql).await;
        scene.app.sql(&sql.replace("{client}", &scene.client.id)).await;
        scene.assert_all(&root, line, false, sql).await;
    }
}

#[tokio::test]
async fn a_line_has_an_end_and_stays_with_one_person() {
    let mut scene = Scene::new().await;
    let root = scene.root().await;
    let mut last = root.id;
    for _ in 0..MAX_ACTORS {
        last = scene.derive(root.account, last).await.unwrap();
    }
    assert!(scene.lives(&root, last).await);
    assert_eq!(scene.derive(root.account, last).await, None, "longer than a chain may be");
    let stranger = AccountId::random(&*scene.app.app.entropy);
    assert_eq!(scene.derive(stranger, root.id).await, None, "another person's");
}
