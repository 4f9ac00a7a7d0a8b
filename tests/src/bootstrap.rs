//! The key of the first administrator: one at a time, spent once, never armed again.

use porteiro_protocol::secret::Plain;
use porteiro_service::bootstrap::{self, Armed, BootstrapKey};
use porteiro_testkit::TestApp;

async fn arm(app: &TestApp) -> Armed {
    bootstrap::arm(&app.app.store, &*app.app.entropy).await.unwrap()
}

async fn spend(app: &TestApp, shown: &str) -> bool {
    let key = Plain::<BootstrapKey>::parse(shown).unwrap();
    let hash = key.hash();
    let hash = hash.as_bytes().as_slice();
    app.app.store.run_tx("test.spend", |tx| async move { bootstrap::spend(&tx, hash).await }).await.unwrap()
}

async fn expire(app: &TestApp) {
    app.database.client().await.batch_execute("UPDATE bootstrap SET expires_at = now()").await.unwrap();
}

#[tokio::test]
async fn a_key_is_good_once_and_a_spent_one_is_the_end() {
    let app = TestApp::new().await;
    let Armed::Key { key, .. } = arm(&app).await else { panic!("no key") };
    assert!(matches!(arm(&app).await, Armed::StillGood { .. }));

    let shown = key.reveal();
    let stored: Vec<u8> =
        app.database.client().await.query_one("SELECT key_hash FROM bootstrap", &[]).await.unwrap().get(0);
    assert!(!stored.windows(8).any(|window| shown.as_bytes().windows(8).any(|part| part == window)));

    assert!(spend(&app, &shown).await);
    assert!(!spend(&app, &shown).await);
    expire(&app).await;
    assert!(matches!(arm(&app).await, Armed::Spent));
}

#[tokio::test]
async fn an_expired_key_is_worthless_and_may_be_replaced() {
    let app = TestApp::new().await;
    let Armed::Key { key: first, .. } = arm(&app).await else { panic!("no key") };
    expire(&app).await;
    assert!(!spend(&app, &first.reveal()).await);
    let Armed::Key { key: second, .. } = arm(&app).await else { panic!("no second key") };
    assert!(!spend(&app, &first.reveal()).await);
    assert!(spend(&app, &second.reveal()).await);
}

#[tokio::test]
async fn of_many_who_spend_at_once_one_succeeds() {
    let app = std::sync::Arc::new(TestApp::new().await);
    let Armed::Key { key, .. } = arm(&app).await else { panic!("no key") };
    let shown = key.reveal().to_string();
    let mut racing = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (app, shown) = (app.clone(), shown.clone());
        racing.spawn(async move { spend(&app, &shown).await });
    }
    let wins = racing.join_all().await.into_iter().filter(|won| *won).count();
    assert_eq!(wins, 1);
}
