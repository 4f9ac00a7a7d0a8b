//! A client that registered itself, administrators who change it, and what its registration token is worth then.

use http::Method;
use porteiro_service::oauth::clients::{self, Trust};
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

use super::{
    super::{app, app_with, encode},
    error, manage, registered, text, website,
};
use crate::organizations::{
    driver::platform_key,
    staff::{patch, post, refusal},
};

async fn token(app: &TestApp, client: &Value, scope: &str) -> Value {
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", text(client, "client_id")),
        ("client_secret", text(client, "client_secret")),
        ("scope", scope),
    ];
    app.form("/connect/token", encode(&form)).await.json()
}

async fn is_active(app: &TestApp, client: &Value, token: &str) -> bool {
    let form = [
        ("client_id", text(client, "client_id")),
        ("client_secret", text(client, "client_secret")),
        ("token", token),
    ];
    app.form("/connect/introspect", encode(&form)).await.json()["active"] == true
}

const ALL: [&str; 3] = ["authorization_code", "refresh_token", "client_credentials"];

#[tokio::test]
async fn a_promoted_client_may_have_more_and_falls_back_when_it_replaces_its_registration() {
    let app = app().await;
    let key = platform_key(&app, &["platform.clients:*"]).await;
    let method = json!({"token_endpoint_auth_method": "client_secret_post"});
    let client = registered(&app, &method).await;
    let (id, opens) = (text(&client, "client_id"), text(&client, "registration_access_token"));
    let path = format!("/v1/platform/clients/{id}");
    // While nobody vouches for it, an administrator gives it no more than it could register.
    for metadata in [
        json!({"grant_types": ALL}),
        json!({"scope": "openid invoices:write"}),
        json!({"authorization_details_types": ["payment"]}),
        json!({"client_name": "Porteiro"}),
    ] {
        let answer = patch(&app, &path, &key, &json!({"metadata": metadata})).await;
        assert_eq!(refusal(&answer), (422, "field_invalid".into()), "{metadata}");
    }
    let more = json!({"grant_types": ALL, "scope": "openid invoices:write", "kind": "agent"});
    let promoted = patch(&app, &path, &key, &json!({"trust": "verified", "metadata": more})).await;
    assert_eq!(promoted.status, 200, "{}", promoted.text());
    assert_eq!(
        (&promoted.json()["trust"], &promoted.json()["metadata"]["kind"]),
        (&json!("verified"), &json!("agent"))
    );
    // Its kind is another, so older tokens ended; they are told by the second in which they were made.
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    app.catch_up().await;
    let own = token(&app, &client, "invoices:write").await;
    let own = text(&own, "access_token");
    assert!(is_active(&app, &client, own).await);

    // Its token still reads; it keeps nothing by replacing, and what it had ends.
    let read = manage(&app, Method::GET, id, opens, None).await.json();
    assert_eq!((&read["kind"], &read["grant_types"]), (&json!("agent"), &json!(ALL)));
    for wish in [json!({"grant_types": ALL}), json!({"scope": "openid invoices:write"})] {
        let mut body = website(&wish);
        body["client_id"] = json!(id);
        let answer = manage(&app, Method::PUT, id, opens, Some(&body)).await;
        assert_eq!(error(&answer), (400, "invalid_client_metadata".into()), "{wish}");
    }
    assert!(is_active(&app, &client, own).await, "a refusal changes nothing");
    let mut body = website(&method);
    body["client_id"] = json!(id);
    let replaced = manage(&app, Method::PUT, id, opens, Some(&body)).await;
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    assert!(replaced.json().get("kind").is_none());
    let row = clients::find(&app.app.store, id).await.unwrap().unwrap();
    assert_eq!(row.trust, Trust::Unverified);
    assert_eq!(token(&app, &client, "invoices:write").await["error"], "unauthorized_client");
    assert!(!is_active(&app, &client, own).await);
}

/// What an administrator changed while a replacement waited counts: the old secret does not come back, and what the
/// client got by being trusted ends.
#[tokio::test]
async fn a_replacement_starts_from_what_administrators_left() {
    let app = app_with(4).await;
    let key = platform_key(&app, &["platform.clients:*"]).await;
    let method = json!({"token_endpoint_auth_method": "client_secret_post"});
    let client = registered(&app, &method).await;
    let id = text(&client, "client_id").to_owned();
    let lock = app.database.client().await;
    lock.batch_execute("BEGIN").await.unwrap();
    lock.query("SELECT 1 FROM client WHERE client_id = $1 FOR UPDATE", &[&id]).await.unwrap();
    let waiting = {
        let (app, client, mut body) = (app.clone(), client.clone(), website(&method));
        body["client_id"] = client["client_id"].clone();
        tokio::spawn(async move {
            let opens = text(&client, "registration_access_token");
            manage(&app, Method::PUT, text(&client, "client_id"), opens, Some(&body)).await
        })
    };
    // It has read the client and waits for the row.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert!(!waiting.is_finished());
    let sql = "UPDATE client SET trust = 'verified', secret_hash = $2, changed_at = clock_timestamp()
               WHERE client_id = $1";
    lock.execute(sql, &[&id, &[7_u8; 32].as_slice()]).await.unwrap();
    lock.batch_execute("COMMIT").await.unwrap();
    let replaced = waiting.await.unwrap();
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    let row = clients::find(&app.app.store, &id).await.unwrap().unwrap();
    assert_eq!(row.secret_hash.as_deref(), Some([7_u8; 32].as_slice()), "the rotated secret stays");
    assert_eq!(row.trust, Trust::Unverified);
    assert!(row.grants_from > row.created_at, "what it got while it was trusted is over");
    let rotate = format!("/v1/platform/clients/{id}/rotate-secret");
    assert_eq!(post(&app, &rotate, &key, &json!({})).await.status, 201);
}
