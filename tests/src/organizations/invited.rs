//! What the secret of an invitation shows before it is accepted.

use http::Method;
use porteiro_testkit::Browser;
use serde_json::json;

use super::{
    driver::call,
    invitations::{code, installation, invite, mailed, path},
};

/// Whoever has the secret sees who invites, and for whom; nobody else sees anything.
#[tokio::test]
async fn the_secret_shows_who_invites_and_whom() {
    let (app, here, key) = installation().await;
    app.sql("UPDATE organization SET name = 'Acme <b>&'").await;
    let made = invite(&app, here, &key, "ana@work.example.test", "member").await.json();
    let token = mailed(&app, "ana@work.example.test").await;
    let mut stranger = Browser::new(&app);
    let look = |token: &str| json!({"token": token});
    let shown = stranger.post("/v1/invitations/look", &look(&token)).await;
    assert_eq!(shown.status, 200, "{}", shown.text());
    let shown = shown.json();
    assert_eq!((&shown["organization"]["name"], &shown["role"]), (&json!("Acme <b>&"), &json!("member")));
    assert_eq!(shown["email"], "a•••@w•••.test");
    let swapped: String = token.chars().rev().collect();
    for wrong in ["", "pt_inv_x", swapped.as_str()] {
        assert_eq!(stranger.post("/v1/invitations/look", &look(wrong)).await.status, 422, "{wrong}");
    }
    let one = format!("{}/{}", path(here), made["id"].as_str().unwrap());
    let gone = call(&app, Method::DELETE, &one, &key, None, &[]).await;
    assert!(gone.status.is_success(), "{}", gone.text());
    assert_eq!(code(&stranger.post("/v1/invitations/look", &look(&token)).await), (422, "refused".into()));
}
