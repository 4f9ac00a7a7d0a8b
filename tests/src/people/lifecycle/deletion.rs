//! A person asks for the account to be deleted: everything ends at once, and for two weeks it can be kept.

use std::sync::Arc;

use porteiro_service::{api_keys::KeyKind, personal_data};
use porteiro_testkit::{Browser, TestApp};
use serde_json::json;

use super::{
    super::{PASSWORD, app, register_with_password},
    delete, prove, sign_in,
};
use crate::{
    agents::driver::{Scene, exchanged},
    organizations::driver::{get, key},
};

#[tokio::test]
async fn a_deletion_ends_everything_at_once() {
    let mut scene = Scene::new().await;
    let app = Arc::clone(&scene.app);
    let asked = [("scope", "openid offline_access")];
    let tokens = scene.client.tokens(&mut scene.browser, &app, &asked).await;
    let own = scene.token("salaries:read", Some("here")).await;
    scene.delegated("salaries:read", Some("here")).await;
    let agents = exchanged(&app, &scene.agent, &own, &[("scope", "salaries:read")]).await;
    let personal =
        key(&app, KeyKind::Personal, Some(scene.here), Some(scene.membership), &["reports:read"]).await;
    let mut elsewhere = sign_in(&app, "ana@example.test").await;
    assert!(scene.counts(&scene.agent, &agents).await);
    prove(&app, &mut scene.browser).await;

    let told = delete(&mut scene.browser).await;
    let days = app
        .count("SELECT round(extract(epoch FROM deletion_at - now()) / 86400)::bigint FROM account WHERE deletion_at IS NOT NULL")
        .await;
    assert_eq!(days, 14, "{told}");
    assert!(scene.browser.session().is_none(), "the cookie is taken back");
    assert_eq!(elsewhere.get("/v1/account").await.status, 401);
    let refreshed = scene.client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(refreshed.json()["error"], "invalid_grant");
    for (client, token) in [
        (&scene.client, tokens["access_token"].as_str().unwrap()),
        (&scene.client, &own),
        (&scene.agent, &agents),
    ] {
        assert!(!scene.counts(client, token).await);
    }
    assert_eq!(get(&app, &format!("/v1/organizations/{}", scene.here), &personal).await.status, 401);
    assert_eq!(app.count("SELECT count(*) FROM session WHERE ended_at IS NULL").await, 0);
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant WHERE revoked_at IS NULL").await, 0);
    assert_eq!(app.count("SELECT count(*) FROM delegation WHERE revoked_at IS NULL").await, 0);
    assert_eq!(app.mail("ana@example.test").await.0, "Your account will be deleted");
    assert_eq!(
        app.count("SELECT count(*) FROM security_log WHERE kind = 'account.deletion_requested'").await,
        1
    );
    // Not yet.
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 0);
}

#[tokio::test]
async fn who_signs_in_again_in_time_can_keep_the_account() {
    let app = app().await;
    let mut ana = register_with_password(&app, "ana@example.test").await;
    assert_eq!(ana.delete("/v1/account").await.json()["code"], "step_up_required");
    assert_eq!(ana.delete("/v1/account/deletion").await.status, 404, "nothing is pending");
    prove(&app, &mut ana).await;
    let told = delete(&mut ana).await;
    assert_eq!(ana.delete("/v1/account/deletion").await.status, 401, "signed out");

    let mut again = sign_in(&app, "ana@example.test").await;
    assert_eq!(again.get("/v1/account").await.json()["deletion_at"], told["deletion_at"]);
    // Asking twice does not move the day.
    let twice = again.delete("/v1/account").await;
    assert_eq!((twice.status.as_u16(), twice.json()["code"].as_str()), (409, Some("conflict")));
    assert_eq!(again.delete("/v1/account/deletion").await.status, 204);
    assert_eq!(again.get("/v1/account").await.json()["deletion_at"], json!(null));
    assert_eq!(app.mail("ana@example.test").await.0, "Your account will not be deleted");
    app.sql("UPDATE account SET created_at = now() - interval '1 year'").await;
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 0);
}

#[tokio::test]
async fn signing_in_does_not_keep_the_account_by_itself() {
    let app = app().await;
    let mut ana = register_with_password(&app, "ana@example.test").await;
    prove(&app, &mut ana).await;
    delete(&mut ana).await;
    let mut again = sign_in(&app, "ana@example.test").await;
    app.sql("UPDATE account SET deletion_at = now()").await;
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 1);
    assert_eq!(again.get("/v1/account").await.status, 401);
    let mut stranger = Browser::new(&app);
    let mut flow = stranger.open(json!({"kind": "sign_in"})).await;
    let asked = json!({"identifier": "ana@example.test", "password": PASSWORD});
    assert_eq!(flow.attempt(&mut stranger, "password/check", asked).await.status, 422);
}

#[tokio::test]
async fn a_disabled_account_waits_until_the_platform_has_decided() {
    let app = app().await;
    let mut ana = register_with_password(&app, "ana@example.test").await;
    prove(&app, &mut ana).await;
    delete(&mut ana).await;
    app.sql("UPDATE account SET deletion_at = now(), state = 'disabled'").await;
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 0);
    app.sql("UPDATE account SET state = 'active'").await;
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 1);
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 0);
}

/// Nobody would own it afterwards.
#[tokio::test]
async fn whoever_is_leaving_founds_no_organization() {
    let builder = TestApp::builder().people().settings(|settings| settings.organizations_by_people = true);
    let app = Arc::new(builder.start().await);
    let mut browser = register_with_password(&app, "ana@example.test").await;
    prove(&app, &mut browser).await;
    delete(&mut browser).await;
    let mut back = sign_in(&app, "ana@example.test").await;
    let founded = back.post("/v1/organizations", &json!({"slug": "orphan", "name": "Orphan"})).await;
    assert_eq!(founded.status, 409, "{}", founded.text());
    assert_eq!(back.delete("/v1/account/deletion").await.status, 204);
    let founded = back.post("/v1/organizations", &json!({"slug": "orphan", "name": "Orphan"})).await;
    assert_eq!(founded.status, 201, "{}", founded.text());
}
