//! The life of a signing key, by the database's clock.

use porteiro_protocol::jose::Algorithm;
use porteiro_service::oauth::keys::{self, KeyState, KeysError, Rotation, RotationRefused};
use porteiro_testkit::{TestApp, verify};
use serde_json::json;

async fn age(app: &TestApp, seconds: i64) {
    app.database
        .client()
        .await
        .execute(
            "UPDATE signing_key SET created_at = created_at - make_interval(secs => $1),
                    activated_at = activated_at - make_interval(secs => $1),
                    replaced_at = replaced_at - make_interval(secs => $1)",
            &[&f64::from(i32::try_from(seconds).unwrap())],
        )
        .await
        .unwrap();
}

async fn rotate(app: &TestApp, how: Rotation) -> Result<(), KeysError> {
    let settings = &app.app.checked.settings;
    keys::rotate(&app.app.store, app.app.keys.master(), settings, Algorithm::EdDsa, how).await
}

async fn states(app: &TestApp) -> Vec<(String, KeyState)> {
    keys::list(&app.app.store)
        .await
        .unwrap()
        .into_iter()
        .filter(|key| key.algorithm == Algorithm::EdDsa)
        .map(|key| (key.public.kid, key.state))
        .collect()
}

async fn token(app: &TestApp, algorithm: Algorithm) -> String {
    app.app.keys.current().signer(algorithm).unwrap().jwt("test+jwt", &json!({"a": 1})).await.unwrap()
}

#[tokio::test]
async fn every_algorithm_signs_what_a_strangers_library_verifies() {
    let app = TestApp::new().await;
    let jwks = app.get("/.well-known/jwks.json").await.json();
    for algorithm in Algorithm::ALL {
        let claims = verify(&token(&app, *algorithm).await, &jwks).unwrap();
        assert_eq!(claims["a"], 1, "{algorithm}");
    }
}

#[tokio::test]
async fn a_key_is_next_then_active_then_retiring_then_retired() {
    let app = TestApp::new().await;
    let settings = &app.app.checked.settings;
    let before = token(&app, Algorithm::EdDsa).await;
    let early = rotate(&app, Rotation::WhenDue).await;
    assert!(matches!(early, Err(KeysError::Refused(RotationRefused::TooEarly { .. }))));

    age(&app, settings.key_publish_lead_seconds.into()).await;
    let next = states(&app).await.into_iter().find(|(_, state)| *state == KeyState::Next).unwrap().0;
    let published = app.get("/.well-known/jwks.json").await.text();
    assert!(published.contains(&next), "the next key is published before it signs");

    rotate(&app, Rotation::WhenDue).await.unwrap();
    app.app.keys.reload(&app.app.store).await.unwrap();
    let after = token(&app, Algorithm::EdDsa).await;
    let jwks = app.get("/.well-known/jwks.json").await.json();
    assert!(verify(&before, &jwks).is_ok() && verify(&after, &jwks).is_ok());
    let retiring = states(&app).await.into_iter().find(|(_, state)| *state == KeyState::Retiring).unwrap().0;

    let soon = keys::retire(&app.app.store, settings, &retiring, Rotation::WhenDue).await;
    assert!(matches!(soon, Err(KeysError::Refused(RotationRefused::NotRetirable))));
    age(&app, settings.key_verify_seconds.into()).await;
    keys::retire(&app.app.store, settings, &retiring, Rotation::WhenDue).await.unwrap();
    app.app.keys.reload(&app.app.store).await.unwrap();
    let jwks = app.get("/.well-known/jwks.json").await.json();
    assert!(verify(&before, &jwks).unwrap_err().contains("not published"));
    assert!(verify(&after, &jwks).is_ok());
    let erased: i64 = app
        .database
        .client()
        .await
        .query_one("SELECT count(*) FROM signing_key WHERE kid = $1 AND sealed IS NULL", &[&retiring])
        .await
        .unwrap()
        .get(0);
    assert_eq!(erased, 1);
}

#[tokio::test]
async fn an_active_key_cannot_be_retired() {
    let app = TestApp::new().await;
    for (kid, _) in states(&app).await {
        let refused = keys::retire(&app.app.store, &app.app.checked.settings, &kid, Rotation::Now).await;
        assert!(refused.is_err());
    }
}

#[tokio::test]
async fn two_nodes_that_rotate_at_once_make_one_rotation() {
    let app = std::sync::Arc::new(TestApp::new().await);
    age(&app, i64::from(app.app.checked.settings.key_publish_lead_seconds)).await;
    let mut nodes = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let app = app.clone();
        nodes.spawn(async move { rotate(&app, Rotation::WhenDue).await.is_ok() });
    }
    let wins = nodes.join_all().await.into_iter().filter(|won| *won).count();
    assert_eq!(wins, 1);
    let states = states(&app).await;
    for (state, expected) in [(KeyState::Next, 1), (KeyState::Active, 1), (KeyState::Retiring, 1)] {
        assert_eq!(states.iter().filter(|(_, one)| *one == state).count(), expected, "{state:?}");
    }
}

#[tokio::test]
async fn private_keys_are_unreadable_in_the_database() {
    let app = TestApp::new().await;
    let rows = app.database.client().await.query("SELECT sealed FROM signing_key", &[]).await.unwrap();
    for row in rows {
        let sealed: Vec<u8> = row.get(0);
        // Every PKCS#8 key begins with this version and holds one of these object identifiers.
        for marker in [[0x02, 0x01, 0x00, 0x30].as_slice(), &[0x2a, 0x86, 0x48], &[0x2b, 0x65, 0x70]] {
            assert!(!sealed.windows(marker.len()).take(40).any(|window| window == marker));
        }
    }
}

#[tokio::test]
async fn a_row_that_contradicts_itself_is_named() {
    let app = TestApp::new().await;
    app.database
        .client()
        .await
        .batch_execute(
            "UPDATE signing_key SET algorithm = 'ES384' WHERE algorithm = 'ES256' AND state = 'next'",
        )
        .await
        .unwrap();
    let error = keys::list(&app.app.store).await.unwrap_err().to_string();
    assert!(error.starts_with("table signing_key, column algorithm, row "), "{error}");
}

#[tokio::test]
async fn the_recurring_job_rotates_and_retires_what_is_due() {
    let app = TestApp::new().await;
    let settings = &app.app.checked.settings;
    age(&app, settings.key_rotation_seconds.into()).await;
    porteiro_service::jobs::run_due(&app.app).await.unwrap();
    let rotated = keys::list(&app.app.store).await.unwrap();
    assert_eq!(rotated.iter().filter(|key| key.state == KeyState::Retiring).count(), 4);
    assert_eq!(
        rotated.iter().filter(|key| key.state == KeyState::Active && key.in_state_seconds < 60).count(),
        4
    );
}
