//! After two weeks, nothing by which a person can be known is left.

use porteiro_service::{api_keys::KeyKind, personal_data};
use porteiro_testkit::TestApp;
use serde_json::json;

use super::{
    super::{enrol_totp, generate_recovery_codes, register},
    delete, prove,
};
use crate::{
    agents::driver::{Scene, prove_two_factors},
    oauth::driver::Relying,
    organizations::{
        driver::{account_of, call, key, organization, platform_key},
        staff::{Staff, join_as},
    },
};

/// Tables whose rows contain a text. Those that leave by themselves within days do not count: mail that waits to be
/// sent, and flows.
async fn tables_with(app: &TestApp, text: &str) -> Vec<String> {
    let client = app.database.client().await;
    let tables = client
        .query(
            "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
               AND NOT relispartition AND relname NOT IN ('job', 'flow', 'challenge') ORDER BY 1",
            &[],
        )
        .await
        .unwrap();
    let mut found = Vec::new();
    for table in tables.iter().map(|row| row.get::<_, String>(0)) {
        let sql = format!("SELECT count(*) FROM {table} t WHERE t::text ILIKE '%' || $1 || '%'");
        let rows: i64 = client.query_one(&sql, &[&text]).await.unwrap().get(0);
        if rows > 0 {
            found.push(table);
        }
    }
    found
}

#[tokio::test]
async fn nothing_is_left_by_which_a_person_can_be_known() {
    let mut scene = Scene::new().await;
    let app = std::sync::Arc::clone(&scene.app);
    scene.token("openid offline_access", None).await;
    scene.delegated("salaries:read", Some("here")).await;
    key(&app, KeyKind::Personal, Some(scene.here), Some(scene.membership), &["reports:read"]).await;
    let totp = enrol_totp(&mut scene.browser).await;
    prove_two_factors(&mut scene.browser, &totp).await;
    generate_recovery_codes(&mut scene.browser).await;
    let renamed = json!({"display_name": "Ana Beatriz"});
    scene.browser.call(http::Method::PATCH, "/v1/account", Some(&renamed)).await;
    app.sql(&format!(
        "UPDATE membership SET display_name = 'Ana Beatriz';
         UPDATE membership SET user_name = 'Ana@example.test', user_name_key = 'ana@example.test', external_id = 'ana-beatriz-there',
                profile = jsonb_build_object('nickName', 'Ana Beatriz'), email_keys = '{{ana@example.test}}' WHERE membership_id = '{member}';
         UPDATE api_key SET name = 'of Ana Beatriz', last_used_address = '203.0.113.7' WHERE kind = 'personal';
         INSERT INTO external_identity (organization_id, identity_id, issuer, tenant, subject, membership_id)
         VALUES ('{here}', gen_random_uuid(), 'https://there.example', '', 'ana-beatriz-there', '{member}');
         INSERT INTO invitation (organization_id, invitation_id, email, email_key, role_key, secret_hash, state,
                                 invited_by, membership_id, expires_at)
         VALUES ('{here}', gen_random_uuid(), 'ana@example.test', 'k', 'member', 's', 'accepted', 'test', '{member}', now())",
        here = scene.here,
        member = scene.membership,
    ))
    .await;
    for text in ["ana@example.test", "Ana Beatriz", "ana-beatriz-there", "203.0.113.7"] {
        assert!(!tables_with(&app, text).await.is_empty(), "{text}");
    }
    app.forget_limits().await;
    app.sql("UPDATE account SET deletion_at = now()").await;
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 1);

    for text in ["ana@example.test", "Ana Beatriz", "ana-beatriz-there", "203.0.113.7"] {
        assert_eq!(tables_with(&app, text).await, [""; 0], "{text}");
    }
    for (table, rows) in [
        ("credential", 0),
        ("recovery_code", 0),
        ("identifier", 0),
        ("session", 0),
        ("delegation", 0),
        ("membership_role", 0),
        ("external_identity", 0),
        ("account WHERE state = 'deleted' AND deletion_at IS NULL", 1),
        ("membership WHERE state = 'removed'", 1),
        ("oauth_grant WHERE revoked_at IS NULL", 0),
        ("api_key WHERE revoked_at IS NULL", 0),
        ("security_log WHERE kind = 'account.deleted'", 1),
        ("trail WHERE kind = 'member.removed' AND reason = 'account_deleted'", 1),
    ] {
        assert_eq!(app.count(&format!("SELECT count(*) FROM {table}")).await, rows, "{table}");
    }
    // What was done stays, under an id alone.
    assert!(app.count("SELECT count(*) FROM security_log").await > 5);
    assert_eq!(app.mail("ana@example.test").await.0, "Your account was deleted");
}

#[tokio::test]
async fn the_address_of_a_deleted_account_is_free_and_the_new_account_is_another() {
    let app = super::super::app().await;
    let mut ana = super::super::register_with_password(&app, "ana@example.test").await;
    let before = account_of(&mut ana).await;
    prove(&app, &mut ana).await;
    delete(&mut ana).await;
    app.sql("UPDATE account SET deletion_at = now()").await;
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 1);
    app.forget_limits().await;
    let mut anew = register(&app, "ana@example.test").await;
    assert_ne!(account_of(&mut anew).await, before);
    assert_eq!(anew.get("/v1/account/organizations").await.json()["items"], json!([]));
    let activity = anew.get("/v1/account/activity").await.json();
    assert!(
        activity["items"].as_array().unwrap().iter().all(|one| one["kind"] != "account.deletion_requested")
    );
}

#[tokio::test]
async fn another_persons_rows_stay() {
    let app = super::super::app().await;
    let mut bia = super::super::register_with_password(&app, "bia@example.test").await;
    let mut ana = super::super::register_with_password(&app, "ana@example.test").await;
    let id = account_of(&mut ana).await;
    prove(&app, &mut ana).await;
    delete(&mut ana).await;
    let rows = "SELECT (SELECT count(*) FROM credential) + (SELECT count(*) FROM identifier)
                     + (SELECT count(*) FROM security_log_personal) + (SELECT count(*) FROM session)";
    let of_ana = format!(
        "SELECT (SELECT count(*) FROM credential WHERE account_id = '{id}')
              + (SELECT count(*) FROM identifier WHERE account_id = '{id}')
              + (SELECT count(*) FROM security_log_personal WHERE subject_id = '{id}')
              + (SELECT count(*) FROM session WHERE account_id = '{id}')"
    );
    let others = app.count(rows).await - app.count(&of_ana).await;
    app.sql("UPDATE account SET deletion_at = now() WHERE deletion_at IS NOT NULL").await;
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 1);
    // The entry about the deletion itself has the address of the service.
    assert_eq!((app.count(rows).await, app.count(&of_ana).await), (others + 1, 1));
    assert_eq!(bia.get("/v1/account").await.status, 200);
}

/// What the platform writes about a person goes with the person.
#[tokio::test]
async fn what_the_platform_noted_about_a_person_is_erased_with_them() {
    let app = super::super::app().await;
    let mut ana = super::super::register_with_password(&app, "ana@example.test").await;
    let path = format!("/v1/platform/accounts/{}", account_of(&mut ana).await);
    let key = platform_key(&app, &["platform.accounts:write"]).await;
    for (verb, reason) in [("start-recovery", "called from Lisbon"), ("disable", "called from Porto")] {
        let body = json!({"reason": reason});
        let done = call(&app, http::Method::POST, &format!("{path}/{verb}"), &key, Some(&body), &[]).await;
        assert!(done.status.is_success(), "{}", done.text());
    }
    assert_eq!(tables_with(&app, "called from").await, ["security_log_personal"]);
    app.sql("UPDATE account SET state = 'active', deletion_at = now()").await;
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 1);
    assert_eq!(tables_with(&app, "called from").await, [""; 0]);
}

/// Whoever administers others leaves no address and no device beside what is about them.
#[tokio::test]
async fn an_administrators_address_in_entries_about_others_is_erased_with_the_administrator() {
    let app = crate::organizations::driver::house().await;
    let here = organization(&app, "here").await;
    let mut boss = Staff::new(&app, "boss@example.test", here, "owner").await;
    let ben = join_as(&app, here, "Ben", "member").await;
    let client = Relying::console(&app).await;
    let managing = boss.token(&app, &client, here, "members:read members:write").await;
    let member = format!("/v1/organizations/{here}/members/{ben}");
    let device = [("user-agent", "the phone of the boss")];
    let seen = call(&app, http::Method::GET, &member, &managing, None, &[]).await;
    let headers = [device[0], ("if-match", seen.header("etag"))];
    let roles = json!({"roles": ["admin"]});
    let changed = call(&app, http::Method::PATCH, &member, &managing, Some(&roles), &headers).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(tables_with(&app, "phone of the boss").await, ["trail_personal"], "once, under the actor");

    // As an administrator of the platform.
    let boss_id = boss.account;
    app.sql(&format!(
        "INSERT INTO platform_authority (account_id, permissions)
         VALUES ('{boss_id}', '{{platform.accounts:write,organizations:administer}}')"
    ))
    .await;
    let scope = "platform.accounts:write";
    let platform = client.tokens(&mut boss.browser, &app, &[("scope", scope)]).await;
    let platform = platform["access_token"].as_str().unwrap();
    let sql = format!("SELECT account_id::text FROM membership WHERE membership_id = '{ben}'");
    let bens: String = app.database.client().await.query_one(&sql, &[]).await.unwrap().get(0);
    let path = format!("/v1/platform/accounts/{bens}/disable");
    let done =
        call(&app, http::Method::POST, &path, platform, Some(&json!({"reason": "ticket 4"})), &device).await;
    assert_eq!(done.status, 204, "{}", done.text());
    assert_eq!(tables_with(&app, "phone of the boss").await, ["security_log_personal", "trail_personal"]);
    app.sql(&format!("UPDATE account SET deletion_at = now() WHERE account_id = '{boss_id}'")).await;
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 1);
    assert_eq!(tables_with(&app, "phone of the boss").await, [""; 0]);
    assert_eq!(
        tables_with(&app, "ticket 4").await,
        ["security_log_personal"],
        "what is noted about Ben stays"
    );
}
