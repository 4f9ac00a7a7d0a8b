//! An account whose deletion was requested gains nothing, and a deleted one is not changed.

use std::{sync::Arc, time::Duration};

use http::Method;
use porteiro_service::personal_data;
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};

use super::{
    super::{app, register_with_password},
    delete, prove, sign_in,
};
use crate::{
    agents::driver::Scene,
    organizations::{
        driver::{account_of, call, get, join, organization, organization_key, platform_key, role},
        invitations::invite,
    },
};

const WHY: [(&str, &str); 1] = [("porteiro-reason", "ticket 17")];

/// What an account can be given, one after the other.
async fn gains(scene: &Scene, browser: &mut Browser, invitation: &Value) -> Vec<(u16, String)> {
    let app = &scene.app;
    let platform = platform_key(app, &["organizations:administer", "platform.organizations:write"]).await;
    let third = app.count("SELECT count(*) FROM organization").await;
    let third = organization(app, &format!("third-{third}")).await;
    let key = json!({"name": "Laptop", "organization": "here", "permissions": ["salaries:read"]});
    let delegation = json!({"client_id": scene.agent.id, "scope": "salaries:read", "organization": "here"});
    let member = json!({"account_id": scene.account, "role": "member"});
    let founded = json!({"name": "Fourth", "slug": "fourth", "owner": scene.account});
    let members = format!("/v1/organizations/{third}/members");
    let told = |answer: Answer| (answer.status.as_u16(), answer.text());
    vec![
        told(browser.post("/v1/account/invitations/accept", &json!({"id": invitation})).await),
        told(browser.post("/v1/account/api-keys", &key).await),
        told(browser.post("/v1/account/delegations", &delegation).await),
        told(call(app, Method::POST, &members, &platform, Some(&member), &WHY).await),
        told(call(app, Method::POST, "/v1/platform/organizations", &platform, Some(&founded), &[]).await),
    ]
}

#[tokio::test]
async fn an_account_that_is_being_deleted_gains_nothing() {
    let mut scene = Scene::new().await;
    let app = Arc::clone(&scene.app);
    let there = organization(&app, "there").await;
    let inviter = organization_key(&app, there, &["invitations:*", "organization:read"]).await;
    let invited = invite(&app, there, &inviter, "ana@example.test", "member").await;
    assert_eq!(invited.status, 201, "{}", invited.text());
    let invitation = &invited.json()["id"];
    delete(&mut scene.browser).await;
    let mut back = sign_in(&app, "ana@example.test").await;
    prove(&app, &mut back).await;
    for (status, text) in gains(&scene, &mut back, invitation).await {
        assert_eq!(status, 409, "{text}");
        assert!(text.contains("the account is being deleted: keep it first"), "{text}");
    }
    assert_eq!(app.count("SELECT count(*) FROM membership").await, 1);
    assert_eq!(back.delete("/v1/account/deletion").await.status, 204);
    let kept = gains(&scene, &mut back, invitation).await;
    assert_eq!(
        kept.iter().map(|(status, _)| *status).collect::<Vec<_>>(),
        [200, 201, 201, 201, 201],
        "{kept:?}"
    );
}

/// Both wait for the account, the deletion first.
#[tokio::test]
async fn a_personal_key_that_is_made_beside_a_deletion_does_not_outlast_it() {
    let app = Arc::new(TestApp::builder().people().connections(4).start().await);
    let here = organization(&app, "here").await;
    let mut ana = register_with_password(&app, "ana@example.test").await;
    join(&app, here, account_of(&mut ana).await, "member").await;
    prove(&app, &mut ana).await;
    let mut elsewhere = sign_in(&app, "ana@example.test").await;
    prove(&app, &mut elsewhere).await;
    let wanted = json!({"name": "Laptop", "organization": "here", "permissions": ["organization:read"]});
    let client = app.database.client().await;
    client.batch_execute("BEGIN; SELECT 1 FROM account FOR UPDATE").await.unwrap();
    let (deleted, made, ()) = tokio::join!(
        ana.delete("/v1/account"),
        async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            elsewhere.post("/v1/account/api-keys", &wanted).await
        },
        async {
            tokio::time::sleep(Duration::from_millis(900)).await;
            client.batch_execute("COMMIT").await.unwrap();
        }
    );
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    assert!(matches!(made.status.as_u16(), 201 | 401), "{}", made.text());
    assert_eq!(
        app.count("SELECT count(*) FROM api_key WHERE revoked_at IS NULL").await,
        0,
        "{}",
        made.text()
    );
}

#[tokio::test]
async fn a_change_that_waited_for_an_erasure_is_refused() {
    let app = Arc::new(TestApp::builder().people().connections(4).start().await);
    let mut ana = register_with_password(&app, "ana@example.test").await;
    let client = app.database.client().await;
    client.batch_execute("BEGIN; SELECT 1 FROM account FOR UPDATE").await.unwrap();
    let renamed = json!({"display_name": "Ana Beatriz"});
    let (answer, ()) = tokio::join!(ana.call(Method::PATCH, "/v1/account", Some(&renamed)), async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        client
            .batch_execute("UPDATE account SET state = 'deleted', display_name = ''; COMMIT")
            .await
            .unwrap();
    });
    assert_eq!(answer.status, 401, "{}", answer.text());
    assert_eq!(app.count("SELECT count(*) FROM account WHERE display_name <> ''").await, 0);
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind = 'account.changed'").await, 0);
}

#[tokio::test]
async fn an_account_that_cannot_be_erased_does_not_stop_the_others() {
    let app = app().await;
    let mut ana = register_with_password(&app, "ana@example.test").await;
    let mut bia = register_with_password(&app, "bia@example.test").await;
    let stuck = account_of(&mut ana).await;
    for browser in [&mut ana, &mut bia] {
        prove(&app, browser).await;
        delete(browser).await;
    }
    app.sql(&format!(
        "UPDATE account SET deletion_at = now() - interval '1 hour' WHERE account_id = '{stuck}';
         UPDATE account SET deletion_at = now() WHERE account_id <> '{stuck}';
         CREATE FUNCTION keep_it() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF NEW.state = 'deleted' AND NEW.account_id = '{stuck}' THEN RAISE EXCEPTION 'stuck'; END IF;
             RETURN NEW;
         END $$;
         CREATE TRIGGER keep_it BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION keep_it()"
    ))
    .await;
    assert!(personal_data::erase_due(&app.app).await.is_err(), "the job is repeated");
    let deleted = format!("SELECT count(*) FROM account WHERE state = 'deleted' AND account_id <> '{stuck}'");
    assert_eq!(app.count(&deleted).await, 1);
    app.sql("DROP TRIGGER keep_it ON account").await;
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 1);
}

#[tokio::test]
async fn the_platform_sees_a_pending_deletion_and_changes_nothing_after_it() {
    let app = app().await;
    let mut ana = register_with_password(&app, "ana@example.test").await;
    let id = account_of(&mut ana).await;
    let key = platform_key(&app, &["platform.accounts:*"]).await;
    let path = format!("/v1/platform/accounts/{id}");
    assert_eq!(get(&app, &path, &key).await.json()["deletion_at"], Value::Null);
    prove(&app, &mut ana).await;
    let told = delete(&mut ana).await;
    assert_eq!(get(&app, &path, &key).await.json()["deletion_at"], told["deletion_at"]);
    let listed = get(&app, "/v1/platform/accounts", &key).await.json();
    assert_eq!(listed["items"][0]["deletion_at"], told["deletion_at"]);
    app.sql("UPDATE account SET deletion_at = now()").await;
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 1);
    for (verb, body) in [
        ("enable", json!({})),
        ("disable", json!({"reason": "ticket 9"})),
        ("end-sessions", json!({})),
        ("start-recovery", json!({"reason": "ticket 9"})),
    ] {
        let answer = call(&app, Method::POST, &format!("{path}/{verb}"), &key, Some(&body), &[]).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["code"].as_str()),
            (409, Some("conflict")),
            "{verb}"
        );
    }
    assert_eq!(get(&app, &path, &key).await.json()["state"], "deleted");
}

/// What a key did for its owner stays; from where it was used does not.
#[tokio::test]
async fn networks_in_the_trail_under_a_personal_key_are_gone_after_an_erasure() {
    let mut scene = Scene::new().await;
    let app = Arc::clone(&scene.app);
    role(&app, scene.here, "accountant", &["roles:*", "salaries:*"]).await;
    let wanted =
        json!({"name": "Laptop", "organization": "here", "permissions": ["roles:*", "salaries:read"]});
    let made = scene.browser.post("/v1/account/api-keys", &wanted).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let key = made.json()["secret"].as_str().unwrap().to_owned();
    let body = json!({"key": "reader", "name": "Reader", "permissions": ["salaries:read"]});
    let path = format!("/v1/organizations/{}/roles", scene.here);
    assert_eq!(call(&app, Method::POST, &path, &key, Some(&body), &[]).await.status, 201);
    let done = "SELECT count(*) FROM trail t JOIN trail_personal p USING (organization_id, entry_id)
                WHERE t.kind = 'role.created' AND t.actor->>'kind' = 'api_key'";
    assert_eq!(app.count(done).await, 1);
    app.sql("UPDATE account SET deletion_at = now()").await;
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 1);
    assert_eq!(app.count(done).await, 0);
    assert_eq!(app.count("SELECT count(*) FROM trail WHERE kind = 'role.created'").await, 1);
}
