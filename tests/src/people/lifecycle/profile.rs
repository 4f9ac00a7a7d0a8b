//! A person changes the name and the language of their account.

use http::Method;
use serde_json::json;

use super::super::{app, register};
use crate::organizations::driver::{account_of, join, organization};

#[tokio::test]
async fn a_person_changes_name_and_language_and_organizations_keep_theirs() {
    let app = app().await;
    let mut ana = register(&app, "ana@example.test").await;
    let here = organization(&app, "here").await;
    join(&app, here, account_of(&mut ana).await, "member").await;
    let new = json!({"display_name": "  Ana Souza ", "locale": "pt-BR"});
    let answer = ana.call(Method::PATCH, "/v1/account", Some(&new)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let shown = ana.get("/v1/account").await.json();
    assert_eq!((&shown["display_name"], &shown["locale"]), (&json!("Ana Souza"), &json!("pt-BR")));
    assert_eq!(app.count("SELECT count(*) FROM membership WHERE display_name = 'A member'").await, 1);
    // The same again changes nothing, and the log says nothing.
    assert_eq!(ana.call(Method::PATCH, "/v1/account", Some(&new)).await.status, 200);
    let logged = "SELECT count(*) FROM security_log WHERE kind = 'account.changed'
                  AND payload = '{\"members\": [\"display_name\", \"locale\"]}'";
    assert_eq!(app.count(logged).await, 1);
}

#[tokio::test]
async fn a_name_that_cannot_be_read_is_refused() {
    let app = app().await;
    let mut ana = register(&app, "ana@example.test").await;
    for (change, status) in [
        (json!({"display_name": ""}), 422),
        (json!({"display_name": "   "}), 422),
        (json!({"display_name": "a\u{202e}b"}), 422),
        (json!({"display_name": "x".repeat(101)}), 422),
        (json!({"locale": "xx"}), 422),
        (json!({"display_name": null}), 400),
        (json!({"platform_administrator": true}), 400),
        (json!({"state": "disabled"}), 400),
        (json!([]), 400),
    ] {
        let answer = ana.call(Method::PATCH, "/v1/account", Some(&change)).await;
        assert_eq!(answer.status.as_u16(), status, "{change}: {}", answer.text());
    }
    assert_eq!(app.count("SELECT count(*) FROM account WHERE display_name = 'Ana'").await, 1);
}
