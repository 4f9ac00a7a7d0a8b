//! Everything stored about a person, as a file.

use std::collections::BTreeSet;

use http::Method;
use porteiro_service::personal_data::sources;
use serde_json::json;

use super::{
    super::{PASSWORD, app, enrol_totp, generate_recovery_codes, register_with_password},
    export, prove,
};
use crate::{
    agents::driver::{Scene, prove_two_factors},
    organizations::driver::{account_of, key},
};

#[tokio::test]
async fn an_export_has_a_list_for_every_source_and_nothing_of_another_person() {
    let mut scene = Scene::new().await;
    scene.token("openid offline_access", None).await;
    scene.delegated("salaries:read", Some("here")).await;
    let kind = porteiro_service::api_keys::KeyKind::Personal;
    key(&scene.app, kind, Some(scene.here), Some(scene.membership), &["reports:read"]).await;
    let mut bia = register_with_password(&scene.app, "bia@example.test").await;
    let other = account_of(&mut bia).await.to_string();

    let document = export(&mut scene.browser).await;
    assert_eq!(
        (&document["format"], &document["issuer"]),
        (&json!("porteiro-account-1"), &json!("https://id.example.test"))
    );
    let names: BTreeSet<&str> = document["data"].as_object().unwrap().keys().map(String::as_str).collect();
    let expected: BTreeSet<&str> =
        sources::all().filter(|source| source.is_shown()).map(|source| source.table).collect();
    assert_eq!(names, expected);
    let rows = |name: &str| document["data"][name].as_array().unwrap().len();
    for (name, least) in [
        ("account", 1),
        ("credential", 2),
        ("session", 1),
        ("oauth_grant", 1),
        ("delegation", 1),
        ("membership", 1),
        ("membership_role", 1),
        ("api_key", 1),
        ("security_log", 3),
        ("security_log_personal", 3),
    ] {
        assert!(rows(name) >= least, "{name}: {document}");
    }
    let text = document.to_string();
    assert!(text.contains("ana@example.test") && text.contains("203.0.113.7"), "{text}");
    assert!(!text.contains("bia@example.test") && !text.contains(&other), "{text}");
    let columns: BTreeSet<&str> =
        document["data"]["session"][0].as_object().unwrap().keys().map(String::as_str).collect();
    let source = sources::all().find(|source| source.table == "session").unwrap();
    assert_eq!(columns, source.shown.split_whitespace().collect());
}

#[tokio::test]
async fn an_export_contains_no_secret() {
    let app = app().await;
    let mut ana = register_with_password(&app, "ana@example.test").await;
    prove(&app, &mut ana).await;
    let totp = enrol_totp(&mut ana).await;
    prove_two_factors(&mut ana, &totp).await;
    let codes = generate_recovery_codes(&mut ana).await;
    let text = export(&mut ana).await.to_string();
    let secrets = app
        .database
        .client()
        .await
        .query(
            "SELECT encode(token_hash, 'hex') FROM session UNION SELECT encode(token_hash, 'base64') FROM session
             UNION SELECT hash FROM recovery_code
             UNION SELECT value #>> '{}' FROM credential, jsonb_each(body) WHERE kind IN ('password', 'totp', 'recovery_codes')",
            &[],
        )
        .await
        .unwrap();
    let mut secrets: Vec<String> = secrets.iter().filter_map(|row| row.get::<_, Option<String>>(0)).collect();
    assert!(secrets.len() >= 12, "{secrets:?}");
    secrets.extend(codes);
    secrets.extend([PASSWORD.to_owned(), "argon2".to_owned(), ana.session().unwrap().clone()]);
    for secret in secrets.iter().filter(|secret| secret.len() > 5) {
        assert!(!text.contains(secret.as_str()), "{secret}");
    }
}

#[tokio::test]
async fn an_export_of_many_pages_is_complete() {
    let app = app().await;
    let mut ana = register_with_password(&app, "ana@example.test").await;
    prove(&app, &mut ana).await;
    app.sql(
        "INSERT INTO security_log (entry_id, subject_id, kind, payload)
         SELECT (left(entry_id::text, 19) || substr(gen_random_uuid()::text, 20))::uuid, subject_id, 'proof.refused', '{}'
         FROM (SELECT * FROM security_log ORDER BY entry_id LIMIT 1) l, generate_series(1, 1000);
         INSERT INTO consent (account_id, client_id, audience, organization_id, scope)
         SELECT account_id, 'client ' || n, 'a', '00000000-0000-0000-0000-000000000000', 'x'
         FROM account, generate_series(1, 450) n",
    )
    .await;
    let stored = usize::try_from(app.count("SELECT count(*) FROM security_log").await).unwrap();
    let before = app.app.store.sent();
    let document = export(&mut ana).await;
    let entries: BTreeSet<String> = document["data"]["security_log"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["entry_id"].as_str().unwrap().to_owned())
        .collect();
    // With the entry of the export itself.
    assert_eq!(entries.len(), stored + 1);
    assert_eq!(document["data"]["security_log"].as_array().unwrap().len(), stored + 1);
    assert_eq!(document["data"]["consent"].as_array().unwrap().len(), 450);
    let statements = app.app.store.sent() - before;
    assert!(statements < 120, "{statements}: a page of rows is one statement, and one more for the session");
}

#[tokio::test]
async fn an_export_needs_a_recent_proof_is_told_by_mail_and_is_limited() {
    let app = app().await;
    let mut ana = register_with_password(&app, "ana@example.test").await;
    // The password was set, not proved.
    let early = ana.call(Method::POST, "/v1/account/export", None).await;
    assert_eq!((early.status.as_u16(), early.json()["code"].as_str()), (403, Some("step_up_required")));
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind = 'account.exported'").await, 0);
    prove(&app, &mut ana).await;
    for _ in 0..3 {
        export(&mut ana).await;
    }
    assert_eq!(app.mail("ana@example.test").await.0, "Your data was exported");
    let limited = ana.call(Method::POST, "/v1/account/export", None).await;
    assert_eq!(limited.status, 429, "{}", limited.text());
    assert!(limited.header("retry-after").parse::<u32>().unwrap() > 600);
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind = 'account.exported'").await, 3);
    // A link on another site cannot make the browser download it.
    assert_eq!(ana.get("/v1/account/export").await.status, 405);
}
