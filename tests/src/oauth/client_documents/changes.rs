//! A document that says something else after a person has agreed to what it said before.

use porteiro_testkit::{Flow, TestApp, nothing};
use serde_json::{Value, json};

use super::{make_stale, page, publish, tool, window};
use crate::oauth::{
    driver::{Relying, parameter, person, verifier},
    signing::ClientKey,
    site::Site,
};

/// The members that the log names.
async fn changes(app: &TestApp) -> Vec<Value> {
    let client = app.database.client().await;
    let sql = "SELECT payload FROM security_log WHERE kind = 'client.changed' ORDER BY entry_id";
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, Value>(0)["members"].clone()).collect()
}

#[tokio::test]
async fn a_document_that_becomes_another_clients_ends_what_was_granted() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let client = tool(&site);
    let (one, other) = (ClientKey::new(), ClientKey::new());
    for (what, before, after) in [
        (
            "redirect_uris",
            json!({}),
            json!({"redirect_uris": ["http://localhost/callback", "http://[::1]/evil"]}),
        ),
        ("jwks", json!({"jwks": one.jwks()}), json!({"jwks": other.jwks()})),
        ("jwks_uri", json!({}), json!({"jwks_uri": site.url("/jwks.json")})),
        ("client_name", json!({}), json!({"client_name": "Another"})),
        ("dpop_bound_access_tokens", json!({}), json!({"dpop_bound_access_tokens": true})),
    ] {
        publish(&site, &before);
        make_stale(&app).await;
        let tokens = client.tokens(&mut browser, &app, &[]).await;
        app.sql("UPDATE client SET trust = 'verified', changed_at = clock_timestamp()").await;
        publish(&site, &after);
        // As long as it is believed, nothing changes.
        let still = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
        assert_eq!(still.status, 200, "{what}: {}", still.text());
        make_stale(&app).await;
        let asked = client.ask(&mut browser, &verifier(), &[]).await.json();
        assert_eq!(asked["request"]["client"]["trust"], "unverified", "{what}: {asked}");
        let over = client.refresh(&app, still.json()["refresh_token"].as_str().unwrap(), &[]).await;
        assert_eq!(page(&over).0, 400, "{what}: {}", over.text());
        assert!(changes(&app).await.contains(&json!([what])), "{what}: {:?}", changes(&app).await);
    }
}

#[tokio::test]
async fn what_makes_it_no_other_client_ends_nothing() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let client = tool(&site);
    publish(&site, &json!({}));
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    app.sql("UPDATE client SET trust = 'verified', changed_at = clock_timestamp()").await;
    publish(&site, &json!({"software_version": "2", "logo_uri": site.url("/logo.png")}));
    make_stale(&app).await;
    let asked = client.ask(&mut browser, &verifier(), &[]).await.json();
    assert_eq!(asked["request"]["client"]["trust"], "verified", "{asked}");
    let next = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(next.status, 200, "{}", next.text());
    assert_eq!(changes(&app).await, [json!([])]);
}

/// What an administrator changed here stays, until the publisher changes the document.
#[tokio::test]
async fn an_administrators_change_is_undone_by_the_publisher_and_not_by_time() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let client = tool(&site);
    publish(&site, &json!({}));
    client.ask(&mut browser, &verifier(), &[]).await;
    app.sql(
        "UPDATE client SET trust = 'verified', metadata = jsonb_set(metadata, '{client_name}', '\"Renamed\"'),
             changed_at = clock_timestamp()",
    )
    .await;
    for (published, shown) in [
        (json!({}), json!(["Renamed", "verified"])),
        (json!({"software_version": "2", "client_name": "Other"}), json!(["Other", "unverified"])),
    ] {
        publish(&site, &published);
        make_stale(&app).await;
        let asked = client.ask(&mut browser, &verifier(), &[]).await.json();
        let asked = &asked["request"]["client"];
        assert_eq!(json!([asked["name"], asked["trust"]]), shown, "{published}");
    }
}

/// A yes is for what was shown: a document that changes while the person reads is shown again.
#[tokio::test]
async fn a_yes_to_what_the_document_said_before_is_no_yes_to_what_it_says_now() {
    let site = Site::start().await;
    let app = site.app().await;
    let mut browser = person(&app).await;
    let client = tool(&site);
    publish(&site, &json!({}));
    let mut reading = Flow::new(client.ask(&mut browser, &verifier(), &[]).await.json());
    let mut moving = Flow::new(
        Relying { redirect_uri: site.url("/callback"), ..client.clone() }
            .ask(&mut browser, &verifier(), &[])
            .await
            .json(),
    );
    publish(&site, &json!({"client_name": "Bank", "redirect_uris": ["http://localhost/callback"]}));
    make_stale(&app).await;
    let mut elsewhere = window(&app, &browser);
    client.ask(&mut elsewhere, &verifier(), &[]).await;

    let again = reading.act(&mut browser, "consent/allow", nothing()).await;
    assert_eq!(
        (again["stage"].as_str(), again["request"]["client"]["name"].as_str()),
        (Some("consent"), Some("Bank"))
    );
    let done = reading.act(&mut browser, "consent/allow", nothing()).await;
    assert!(parameter(done, "code").is_some(), "{done}");
    let gone = moving.attempt(&mut browser, "consent/allow", nothing()).await;
    assert_ne!(gone.status, 200, "its address is not registered any more: {}", gone.text());
}
