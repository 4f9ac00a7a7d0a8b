//! `/v1/account`: sessions, credentials, activity, and the rule that a way in always remains.

use http::Method;
use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::json;

use super::{PASSWORD, app, enrol, register, register_with_password};

async fn item(browser: &mut Browser, kind: &str) -> String {
    let listed = browser.get("/v1/account/credentials").await.json();
    let item = listed["items"].as_array().unwrap().iter().find(|item| item["kind"] == kind).cloned();
    item.unwrap_or_else(|| panic!("no {kind}"))["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_last_way_in_cannot_be_removed() {
    let app = app().await;
    let mut browser = register_with_password(&app, "ana@example.test").await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    let email = item(&mut browser, "email").await;
    let answer = browser.delete(&format!("/v1/account/credentials/{email}")).await;
    assert_eq!((answer.status.as_u16(), answer.json()["code"].as_str()), (409, Some("conflict")));
    let password = item(&mut browser, "password").await;
    assert_eq!(browser.delete(&format!("/v1/account/credentials/{password}")).await.status, 204);
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind = 'credential.removed'").await, 1);
}

#[tokio::test]
async fn two_removals_at_once_leave_a_way_in() {
    let app = app().await;
    let mut browser = register(&app, "ana@example.test").await;
    let mut flow = enrol(&mut browser, "email").await;
    flow.act(&mut browser, "email/add", json!({"address": "ana@second.test"})).await;
    let code = app.mailed_code("ana@second.test").await;
    flow.act(&mut browser, "email/verify", json!({"code": code})).await;
    assert_eq!(flow.stage(), "complete");
    let listed = browser.get("/v1/account/credentials").await.json();
    let ids: Vec<String> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 2);
    let cookies = browser.cookies.clone();
    let mut racing = tokio::task::JoinSet::new();
    for id in ids {
        let mut browser = Browser::new(&app);
        browser.cookies.clone_from(&cookies);
        racing.spawn(async move {
            browser.delete(&format!("/v1/account/credentials/{id}")).await.status.as_u16()
        });
    }
    // The other one is the last way in by then, or was the proof it was asked with.
    let statuses = racing.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 204).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 204 | 403 | 409)), "{statuses:?}");
    assert_eq!(app.count("SELECT count(*) FROM credential").await, 1);
}

#[tokio::test]
async fn an_added_address_signs_in_and_a_taken_one_cannot_be_added() {
    let app = app().await;
    register(&app, "bob@example.test").await;
    let mut browser = register(&app, "ana@example.test").await;
    for (address, expected) in [("ana@second.test", 200), ("bob@example.test", 422)] {
        app.forget_limits().await;
        let mut flow = enrol(&mut browser, "email").await;
        flow.act(&mut browser, "email/add", json!({"address": address})).await;
        let code = app.mailed_code(address).await;
        let answer = flow.attempt(&mut browser, "email/verify", json!({"code": code})).await;
        assert_eq!(answer.status.as_u16(), expected, "{address}: {}", answer.text());
    }
    app.forget_limits().await;
    let mut other = Browser::new(&app);
    let mut flow = other.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut other, "email_code/send", json!({"identifier": "ana@second.test"})).await;
    let code = app.mailed_code("ana@second.test").await;
    flow.act(&mut other, "email_code/check", json!({"code": code})).await;
    assert_eq!(flow.now["account"]["display_name"], "Ana");
}

#[tokio::test]
async fn sessions_are_listed_and_ended() {
    let app = app().await;
    let mut here = register(&app, "ana@example.test").await;
    app.forget_limits().await;
    let mut there = Browser::new(&app);
    there.user_agent = "Other/2.0".into();
    let mut flow = there.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut there, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let code = app.mailed_code("ana@example.test").await;
    flow.act(&mut there, "email_code/check", json!({"code": code})).await;
    flow.act(&mut there, "enrol/skip", nothing()).await;

    let listed = here.get("/v1/account/sessions").await.json();
    let sessions = listed["items"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    let other = sessions.iter().find(|session| session["current"] == false).unwrap();
    assert_eq!(
        (other["user_agent"].as_str(), other["address"].as_str()),
        (Some("Other/2.0"), Some("203.0.113.7"))
    );
    let ended = here.delete(&format!("/v1/account/sessions/{}", other["id"].as_str().unwrap())).await;
    assert_eq!(ended.status, 204, "{}", ended.text());
    assert_eq!(there.get("/v1/account").await.status, 401);

    let own = here.get("/v1/account/sessions").await.json()["items"][0]["id"].as_str().unwrap().to_owned();
    let token = here.session().unwrap().clone();
    assert_eq!(here.delete(&format!("/v1/account/sessions/{own}")).await.status, 204);
    assert!(here.session().is_none(), "the cookie is taken back");
    here.cookies.insert("__Host-session".into(), token);
    assert_eq!(here.get("/v1/account").await.status, 401, "and the token is dead");
}

#[tokio::test]
async fn asvs_7_3_sessions_end_after_seven_idle_days_and_after_thirty_in_any_case() {
    let app = app().await;
    let mut browser = register(&app, "ana@example.test").await;
    for (sql, status) in [
        ("UPDATE session SET seen_at = now() - interval '6 days 23 hours'", 200),
        ("UPDATE session SET seen_at = now() - interval '7 days 2 minutes'", 401),
        ("UPDATE session SET seen_at = now(), created_at = now() - interval '29 days 23 hours'", 200),
        ("UPDATE session SET seen_at = now(), created_at = now() - interval '30 days 1 second'", 401),
    ] {
        app.sql(sql).await;
        assert_eq!(browser.get("/v1/account").await.status.as_u16(), status, "{sql}");
    }
}

#[tokio::test]
async fn a_session_is_marked_as_used_at_most_once_a_minute() {
    let app = app().await;
    let mut browser = register(&app, "ana@example.test").await;
    let seen = "SELECT (extract(epoch FROM seen_at) * 1000000)::bigint FROM session";
    let before = app.count(seen).await;
    for _ in 0..5 {
        browser.get("/v1/account").await;
    }
    assert_eq!(app.count(seen).await, before);
    app.sql("UPDATE session SET seen_at = now() - interval '61 seconds'").await;
    browser.get("/v1/account").await;
    assert!(app.count(seen).await > before - 61_000_000);
}

#[tokio::test]
async fn asvs_7_1_2_the_fifty_first_session_ends_the_one_unused_for_longest() {
    let app = app().await;
    let mut browser = register(&app, "ana@example.test").await;
    app.sql(
        "INSERT INTO session (session_id, account_id, token_hash, proofs, seen_at, user_agent)
         SELECT (overlay(session_id::text placing lpad(to_hex(n), 12, '0') from 25))::uuid, account_id, '\\x00', '[]',
                now() - make_interval(mins => n), 'filler'
         FROM session, generate_series(1, 49) n",
    )
    .await;
    assert_eq!(app.count("SELECT count(*) FROM session WHERE ended_at IS NULL").await, 50);
    app.forget_limits().await;
    browser.cookies.clear();
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "ana@example.test"})).await;
    let code = app.mailed_code("ana@example.test").await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(app.count("SELECT count(*) FROM session WHERE ended_at IS NULL").await, 50);
    let ended = "SELECT count(*) FROM session WHERE end_reason = 'too_many' AND seen_at < now() - interval '48 minutes'";
    assert_eq!(app.count(ended).await, 1);
}

#[tokio::test]
async fn asvs_7_4_2_a_disabled_account_has_no_session() {
    let app = app().await;
    let mut browser = register(&app, "ana@example.test").await;
    app.sql("UPDATE account SET state = 'disabled'").await;
    assert_eq!(browser.get("/v1/account").await.status, 401);
}

#[tokio::test]
async fn a_change_asked_for_by_another_site_is_refused() {
    let app = app().await;
    let browser = register(&app, "ana@example.test").await;
    let cookie = format!("__Host-session={}", browser.session().unwrap());
    for origin in [None, Some("https://evil.example")] {
        let mut request = http::Request::builder()
            .method(Method::DELETE)
            .uri("/v1/account/sessions")
            .header("cookie", &cookie);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let answer = app.send(request.body(axum::body::Body::empty()).unwrap()).await;
        assert_eq!(answer.status, 403);
    }
}

#[tokio::test]
async fn a_person_sees_their_own_activity() {
    let app = app().await;
    let mut browser = register(&app, "ana@example.test").await;
    let activity = browser.get("/v1/account/activity").await.json();
    let kinds: Vec<&str> =
        activity["items"].as_array().unwrap().iter().map(|item| item["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"sign_in.succeeded") && kinds.contains(&"account.created"), "{kinds:?}");
}

/// Anybody who knows an address can try passwords for weeks, and make a key or sign in once in between.
#[tokio::test]
async fn wrong_passwords_do_not_push_the_rest_of_the_activity_out() {
    let app = app().await;
    let mut browser = register_with_password(&app, "ana@example.test").await;
    let mut stranger = Browser::new(&app);
    let mut flow = stranger.open(json!({"kind": "sign_in"})).await;
    let guess = json!({"identifier": "ana@example.test", "password": "a wild guess, and wrong"});
    flow.attempt(&mut stranger, "password/check", guess).await;
    // As many more as the limits allow within some weeks.
    app.sql(
        "INSERT INTO security_log (entry_id, subject_id, kind, payload, at)
         SELECT overlay(entry_id::text placing '7fff-bfff-' || lpad(n::text, 12, '0') from 15)::uuid, subject_id, kind,
                payload, at
         FROM security_log, generate_series(1, 149) n WHERE kind = 'proof.refused'",
    )
    .await;
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind = 'proof.refused'").await, 150);
    let activity = browser.get("/v1/account/activity").await.json();
    let items = activity["items"].as_array().unwrap();
    let of = |kind: &str| items.iter().filter(|item| item["kind"] == kind).count();
    assert_eq!((of("proof.refused"), of("account.created"), of("sign_in.succeeded")), (100, 1, 1));
    assert!(items.is_sorted_by(|one, next| one["id"].as_str() > next["id"].as_str()), "newest first");
}

/// By trigger, which holds for a superuser, and by privilege, for the role a deployment would use.
#[tokio::test]
async fn the_security_log_cannot_be_changed() {
    let app = app().await;
    register(&app, "ana@example.test").await;
    let database = app.database.client().await;
    for sql in ["UPDATE security_log SET kind = 'x'", "DELETE FROM security_log", "TRUNCATE security_log"] {
        let error = database.batch_execute(sql).await.unwrap_err();
        assert!(error.as_db_error().unwrap().message().contains("append-only"), "{sql}");
    }
    let role = format!("porteiro_service_{}", std::process::id());
    database
        .batch_execute(&format!(
            "DROP ROLE IF EXISTS {role}; CREATE ROLE {role}; GRANT SELECT, INSERT ON security_log TO {role}; SET ROLE {role}"
        ))
        .await
        .unwrap();
    for sql in ["UPDATE security_log SET kind = 'x'", "DELETE FROM security_log", "TRUNCATE security_log"] {
        let error = database.batch_execute(sql).await.unwrap_err();
        assert!(error.as_db_error().unwrap().message().contains("permission denied"), "{sql}: {error:?}");
    }
    database.batch_execute(&format!("RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}")).await.unwrap();
}

#[tokio::test]
async fn nothing_an_account_endpoint_says_contains_a_secret() {
    let app = app().await;
    let mut browser = register_with_password(&app, "ana@example.test").await;
    for path in ["/v1/account", "/v1/account/credentials", "/v1/account/sessions", "/v1/account/activity"] {
        let text = browser.get(path).await.text();
        for secret in ["argon2", "hash", "pt_ses_", "canonical", "token"] {
            assert!(!text.contains(secret), "{path} contains {secret}: {text}");
        }
    }
    let _: Option<&TestApp> = None;
}
