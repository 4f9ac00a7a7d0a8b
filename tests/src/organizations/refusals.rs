//! Refusals that explain themselves: to whoever may know, and to nobody else.

use http::Method;
use porteiro_service::{api_keys::KeyKind, limits::REFUSAL_SUBJECT};
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use super::driver::{account_of, call, get, join, key, organization, organization_key, platform_key, role};

fn reference(answer: &Answer) -> String {
    assert_eq!((answer.status.as_u16(), answer.json()["code"].as_str()), (403, Some("forbidden")));
    answer.json()["reference"]
        .as_str()
        .unwrap_or_else(|| panic!("no reference in {}", answer.text()))
        .to_owned()
}

async fn explained(app: &TestApp, place: &str, reference: &str, bearer: &str) -> Value {
    let answer = get(app, &format!("/v1/{place}/refusals/{reference}"), bearer).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[tokio::test]
async fn a_key_that_lacks_a_permission_gets_a_reference_and_its_organization_the_rest() {
    let app = TestApp::new().await;
    let (here, there) = (organization(&app, "here").await, organization(&app, "there").await);
    let weak = organization_key(&app, here, &["members:read", "roles:*"]).await;
    let answer = get(&app, &format!("/v1/organizations/{here}/audit-events"), &weak).await;
    let reference = reference(&answer);
    assert!(!answer.text().contains("roles:"), "the caller is not told what is held");

    let reader = organization_key(&app, here, &["audit:read"]).await;
    let told = explained(&app, &format!("organizations/{here}"), &reference, &reader).await;
    let id = weak.split('_').nth(2).unwrap();
    assert_eq!(told["rule"], "credential_lacks_permission");
    assert!(told["sentence"].as_str().unwrap().starts_with("The token or key does not carry"));
    assert_eq!(told["asked"], json!(["audit:read"]));
    assert_eq!(told["held"], json!([{"by": "api_key", "permissions": ["members:read", "roles:*"]}]));
    assert_eq!(told["subject"], json!({"kind": "api_key", "id": id}));
    assert_eq!((&told["organization"], &told["reference"]), (&json!(here), &json!(reference)));
    assert_eq!(told["request_id"], answer.header("x-request-id"));
    assert!(told["would_pass"].as_str().unwrap().contains("audit:read") && told["at"].is_string());

    let operator = platform_key(&app, &["platform.log:read"]).await;
    assert_eq!(explained(&app, "platform", &reference, &operator).await, told);
    // The trail has it too, under the same reference.
    let trail =
        get(&app, &format!("/v1/organizations/{here}/audit-events?type=authority.refused"), &reader).await;
    let entry = &trail.json()["items"][0];
    assert_eq!(entry["target"], json!({"kind": "refusal", "id": reference}));
    assert_eq!(
        (&entry["outcome"], &entry["reason"]),
        (&json!("refused"), &json!("credential_lacks_permission"))
    );
    assert_eq!((&entry["actor"]["id"], &entry["request_id"]), (&json!(id), &told["request_id"]));

    // Foreign, unknown, malformed and expired are one answer.
    let foreign = organization_key(&app, there, &["audit:read"]).await;
    let unknown = "0193f0a0-0000-7000-8000-000000000000";
    let bodies = [
        get(&app, &format!("/v1/organizations/{there}/refusals/{reference}"), &foreign).await,
        get(&app, &format!("/v1/organizations/{there}/refusals/{unknown}"), &foreign).await,
        get(&app, &format!("/v1/organizations/{there}/refusals/nothing"), &foreign).await,
        get(&app, &format!("/v1/organizations/{here}/refusals/{unknown}"), &reader).await,
    ];
    app.sql("UPDATE refusal SET at = now() - interval '31 days'").await;
    let expired = get(&app, &format!("/v1/organizations/{here}/refusals/{reference}"), &reader).await;
    for answer in bodies.iter().chain([&expired]) {
        let mut body = answer.json();
        body["instance"] = Value::Null;
        let mut first = bodies[0].json();
        first["instance"] = Value::Null;
        assert_eq!((answer.status.as_u16(), body), (404, first));
    }
}

#[tokio::test]
async fn what_a_member_held_is_told_role_by_role_as_it_was() {
    let app = crate::people::app().await;
    let here = organization(&app, "here").await;
    let mut ana = crate::people::register_with_password(&app, "ana@example.test").await;
    let membership = join(&app, here, account_of(&mut ana).await, "member").await;
    role(&app, here, "clerk", &["invoices:read", "invoices:write"]).await;
    app.sql(&format!(
        "INSERT INTO membership_role (organization_id, role_key, created_at, membership_id)
         SELECT organization_id, 'clerk', created_at, membership_id FROM membership
         WHERE membership_id = '{membership}'"
    ))
    .await;
    let answer = ana.get(&format!("/v1/organizations/{here}/audit-events")).await;
    let reference = reference(&answer);
    // What changes afterwards changes nothing about it.
    role(&app, here, "clerk", &["audit:read"]).await;
    let reader = organization_key(&app, here, &["audit:read"]).await;
    let told = explained(&app, &format!("organizations/{here}"), &reference, &reader).await;
    assert_eq!(told["rule"], "permission_not_held");
    assert_eq!(
        told["held"],
        json!([
            {"by": "clerk", "permissions": ["invoices:read", "invoices:write"]},
            {"by": "member", "permissions": ["organization:read"]},
        ])
    );
    assert_eq!(told["subject"], json!({"kind": "member", "id": membership}));
    assert_eq!(
        ana.get(&format!("/v1/organizations/{here}/refusals/{reference}")).await.status,
        200,
        "now they may"
    );
}

#[tokio::test]
async fn a_key_that_says_more_than_its_owner_holds_is_explained() {
    let app = crate::people::app().await;
    let here = organization(&app, "here").await;
    let mut ana = crate::people::register_with_password(&app, "ana@example.test").await;
    let membership = join(&app, here, account_of(&mut ana).await, "member").await;
    let names = ["organization:read", "audit:read"];
    let personal = key(&app, KeyKind::Personal, Some(here), Some(membership), &names).await;
    let reference = reference(&get(&app, &format!("/v1/organizations/{here}/audit-events"), &personal).await);
    let reader = organization_key(&app, here, &["audit:read"]).await;
    let told = explained(&app, &format!("organizations/{here}"), &reference, &reader).await;
    assert_eq!((&told["rule"], &told["asked"]), (&json!("key_exceeds_owner"), &json!(names)));
    assert_eq!(told["held"], json!([{"by": "member", "permissions": ["organization:read"]}]));
}

#[tokio::test]
async fn what_concerns_no_organization_is_for_the_platform_alone() {
    let app = TestApp::new().await;
    let here = organization(&app, "here").await;
    let weak = platform_key(&app, &["platform.accounts:read"]).await;
    let reference = reference(&call(&app, Method::GET, "/v1/platform/clients", &weak, None, &[]).await);
    let operator = platform_key(&app, &["platform.log:read"]).await;
    let told = explained(&app, "platform", &reference, &operator).await;
    assert_eq!((&told["organization"], &told["asked"]), (&Value::Null, &json!(["platform.clients:read"])));
    let reader = organization_key(&app, here, &["audit:read"]).await;
    let answer = get(&app, &format!("/v1/organizations/{here}/refusals/{reference}"), &reader).await;
    assert_eq!(answer.status, 404);
    assert_eq!(app.count("SELECT count(*) FROM trail WHERE kind = 'authority.refused'").await, 0);
}

#[tokio::test]
async fn a_flood_of_refusals_fills_nothing() {
    let app = TestApp::new().await;
    let here = organization(&app, "here").await;
    let weak = organization_key(&app, here, &["members:read"]).await;
    let other = organization_key(&app, here, &["members:read"]).await;
    let burst = usize::try_from(REFUSAL_SUBJECT.burst).unwrap();
    let mut references = 0;
    for _ in 0..burst + 20 {
        let answer = get(&app, &format!("/v1/organizations/{here}/audit-events"), &weak).await;
        assert_eq!(answer.status, 403, "refused all the same");
        references += usize::from(answer.json()["reference"].is_string());
    }
    // One may come back while the others are asked for.
    assert!((burst..=burst + 1).contains(&references), "{references}");
    let rows = i64::try_from(references).unwrap();
    assert_eq!(app.count("SELECT count(*) FROM refusal").await, rows);
    assert_eq!(app.count("SELECT count(*) FROM trail WHERE kind = 'authority.refused'").await, rows);
    reference(&get(&app, &format!("/v1/organizations/{here}/audit-events"), &other).await);
}

#[tokio::test]
async fn an_oauth_error_carries_its_reference_as_a_member_and_in_words_where_it_has_none() {
    use axum::response::IntoResponse;
    use porteiro_protocol::error::ErrorCode;
    use porteiro_service::http::OAuthError;
    let error = OAuthError::new(ErrorCode::InvalidScope, "the member does not hold all scopes")
        .with_reference(Some("r-1"));
    assert_eq!(error.described(), "the member does not hold all scopes (reference r-1)");
    let body = axum::body::to_bytes(error.into_response().into_body(), 1_000).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        body,
        json!({"error": "invalid_scope", "error_description": "the member does not hold all scopes", "reference": "r-1"})
    );
    let plain = OAuthError::new(ErrorCode::InvalidScope, "no").with_reference(None::<String>);
    assert_eq!(plain.described(), "no");
}
