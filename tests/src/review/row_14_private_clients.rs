//! Another organization's private client is unknown.

use http::Method;
use porteiro_protocol::id::OrganizationId;
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use crate::{
    oauth::{driver::Relying, service},
    organizations::{
        driver::{call, get, house, organization, organization_key, platform_key},
        staff::{Staff, post},
    },
};

const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

/// A machine client that belongs to one organization, with a name that tells something.
async fn private(app: &TestApp, owner: OrganizationId) -> Value {
    let key = platform_key(app, &["platform.clients:*"]).await;
    let metadata = json!({
        "client_name": "Acquisition of Initech",
        "grant_types": ["client_credentials"],
        "token_endpoint_auth_method": "client_secret_post",
    });
    let body = json!({"metadata": metadata, "trust": "verified", "organization": owner});
    let made = post(app, "/v1/platform/clients", &key, &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()
}

/// What an answer says, apart from which request it is about.
fn said(answer: &Answer) -> (u16, Value, Value) {
    let body = answer.json();
    (answer.status.as_u16(), body["code"].clone(), body["detail"].clone())
}

#[tokio::test]
async fn a_private_client_of_another_organization_is_answered_like_one_that_does_not_exist() {
    let app = house().await;
    let (here, there) = (organization(&app, "here").await, organization(&app, "there").await);
    let client = private(&app, there).await;
    let id = client["client_id"].as_str().unwrap();
    let permissions = ["members:*", "client-policies:*", "roles:*", "organization:*"];
    let ours = organization_key(&app, here, &permissions).await;
    let theirs = organization_key(&app, there, &permissions).await;
    let members = |place: OrganizationId| format!("/v1/organizations/{place}/members");
    let policy = |place: OrganizationId, id: &str| format!("/v1/organizations/{place}/client-policies/{id}");
    let robot = |id: &str| json!({"client_id": id, "role": "member"});

    let foreign = post(&app, &members(here), &ours, &robot(id)).await;
    let unknown = post(&app, &members(here), &ours, &robot(NOBODY)).await;
    assert!(foreign.status.is_client_error() && !foreign.text().contains("Initech"), "{}", foreign.text());
    assert_eq!(said(&foreign), said(&unknown));
    for decision in ["allow", "block"] {
        let body = json!({"decision": decision});
        let foreign = call(&app, Method::PUT, &policy(here, id), &ours, Some(&body), &[]).await;
        let unknown = call(&app, Method::PUT, &policy(here, NOBODY), &ours, Some(&body), &[]).await;
        assert_eq!(said(&foreign), said(&unknown), "{decision}");
        assert_eq!(foreign.status, 404, "{decision}");
    }
    assert_eq!(get(&app, &policy(here, id), &ours).await.status, 404);
    assert_eq!(app.count("SELECT count(*) FROM membership WHERE client_id IS NOT NULL").await, 0);

    let own = post(&app, &members(there), &theirs, &robot(id)).await;
    assert_eq!((own.status.as_u16(), &own.json()["display_name"]), (201, &json!("Acquisition of Initech")));
    let shared = service(&app, "client_secret_post", json!({})).await;
    let shared = shared["client_id"].as_str().unwrap();
    assert_eq!(post(&app, &members(here), &ours, &robot(shared)).await.status, 201, "nobody's own");
}

/// What was said of it by name, or stored before, gives it nothing elsewhere.
#[tokio::test]
async fn a_private_client_acts_for_no_other_organization_though_one_allows_it() {
    let app = house().await;
    let (here, there) = (organization(&app, "here").await, organization(&app, "there").await);
    let mut ana = Staff::new(&app, "ana@example.test", here, "owner").await;
    let client = Relying::with(&app, Trust::Verified, json!({})).await;
    let place = here.to_string();
    let asked = [("scope", "members:read"), ("organization", place.as_str())];
    let tokens = client.tokens(&mut ana.browser, &app, &asked).await;
    let members = format!("/v1/organizations/{here}/members");
    assert_eq!(get(&app, &members, tokens["access_token"].as_str().unwrap()).await.status, 200);
    app.sql(&format!(
        "INSERT INTO client_policy (organization_id, client_id, decision) VALUES ('{here}', '{0}', 'allow');
         UPDATE client SET organization_id = '{there}', changed_at = clock_timestamp() WHERE client_id = '{0}'",
        client.id
    ))
    .await;
    app.app.directory.forget(&client.id);
    let refresh = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await.json();
    assert_eq!(refresh["error"], "invalid_grant", "{refresh}");
    let answer = client.ask(&mut ana.browser, &crate::oauth::driver::verifier(), &asked).await.json();
    assert_eq!(
        crate::oauth::driver::parameter(&answer, "error").as_deref(),
        Some("access_denied"),
        "{answer}"
    );
}
