//! Who decides whom to trust, and what remains of it in the logs.

use http::Method;
use serde_json::json;

use super::resource::{HERE, Issuer, POWERS, Resource};
use crate::{
    oauth::driver::Relying,
    organizations::driver::{account_of, call, join, organization_key},
    people,
};

#[tokio::test]
async fn trusts_are_checked_unique_and_leave_a_trail() {
    let issuer = Issuer::start().await;
    let resource = issuer.resource().await;
    let good =
        json!({"issuer": "https://idp.example", "client_id": resource.client.id, "algorithms": ["RS256"]});
    let again = json!({"issuer": issuer.name(), "client_id": resource.client.id, "algorithms": ["RS256"]});
    assert_eq!(resource.post("assertion-issuers", &again).await.status, 409);
    let public = Relying::public(&resource.app, porteiro_service::oauth::clients::Trust::Verified).await;
    for (name, value) in [
        ("issuer", json!(HERE)),
        ("issuer", json!("http://idp.example")),
        ("tenant", json!("")),
        ("client_id", json!("nobody")),
        ("client_id", json!(public.id)),
        ("algorithms", json!([])),
        ("algorithms", json!(["HS256"])),
        ("algorithms", json!(["none"])),
    ] {
        let mut wrong = good.clone();
        wrong[name] = value;
        let answer = resource.post("assertion-issuers", &wrong).await;
        assert_eq!(answer.status, 422, "{wrong} {}", answer.text());
    }
    resource.remove("assertion-issuers").await;
    resource.remove("external-identities").await;
    for kind in [
        "assertion_issuer.trusted",
        "assertion_issuer.removed",
        "external_identity.linked",
        "external_identity.removed",
    ] {
        let entries = format!("SELECT count(*) FROM trail WHERE kind = '{kind}'");
        assert_eq!(resource.app.count(&entries).await, 1, "{kind}");
    }
    for kind in ["external_identity.linked", "external_identity.removed"] {
        let entries = format!("SELECT count(*) FROM security_log WHERE kind = '{kind}'");
        assert_eq!(resource.app.count(&entries).await, 1, "{kind}");
    }
}

/// Whoever links a member lets another server speak as them: nobody can for somebody who holds more.
#[tokio::test]
async fn a_link_takes_all_permissions_of_the_member() {
    let issuer = Issuer::start().await;
    let resource = Resource::new(&issuer.site).await;
    let (app, path) = (&resource.app, resource.path("external-identities"));
    let body = json!({"issuer": issuer.name(), "subject": "U1", "membership": resource.membership});
    let weak = organization_key(app, resource.there, &["trusts:*", "reports:read"]).await;
    let answer = call(app, Method::POST, &path, &weak, Some(&body), &[]).await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    let reader = organization_key(app, resource.there, &["trusts:read", "salaries:*", "reports:read"]).await;
    assert_eq!(call(app, Method::POST, &path, &reader, Some(&body), &[]).await.status, 403);
    let mut browser = people::register_with_password(app, "owner@example.test").await;
    let account = account_of(&mut browser).await;
    let owner = join(app, resource.there, account, "owner").await;
    let of_owner = json!({"issuer": issuer.name(), "subject": "U2", "membership": owner});
    let strong = organization_key(app, resource.there, POWERS).await;
    assert_eq!(call(app, Method::POST, &path, &strong, Some(&of_owner), &[]).await.status, 403);
    assert_eq!(call(app, Method::POST, &path, &strong, Some(&body), &[]).await.status, 201);
    for (name, value, status) in [
        ("subject", json!("U1"), 409),
        ("subject", json!(""), 422),
        ("issuer", json!(HERE), 422),
        ("membership", json!("0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f"), 422),
    ] {
        let mut other = json!({"issuer": issuer.name(), "subject": "U3", "membership": resource.membership});
        other[name] = value;
        let answer = call(app, Method::POST, &path, &strong, Some(&other), &[]).await;
        assert_eq!(answer.status, status, "{other} {}", answer.text());
    }
}

/// A subject of somebody who has left can become another member; of a member who is there, it cannot.
#[tokio::test]
async fn a_removed_member_frees_the_subject() {
    let issuer = Issuer::start().await;
    let resource = issuer.resource().await;
    let app = &resource.app;
    let mut browser = people::register_with_password(app, "bo@example.test").await;
    let account = account_of(&mut browser).await;
    let bo = join(app, resource.there, account, "accountant").await;
    let body = json!({"issuer": issuer.name(), "subject": "U019", "membership": bo});
    assert_eq!(resource.post("external-identities", &body).await.status, 409);
    app.sql(&format!("UPDATE membership SET state = 'removed', disabled_at = now(), disabled_by = 'x' WHERE membership_id = '{}'", resource.membership))
        .await;
    let answer = resource.redeem(&issuer.assertion(&resource, &json!({})), &[]).await;
    assert_eq!(answer.json()["error"], "invalid_grant", "{}", answer.text());
    let answer = resource.post("external-identities", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let answer = resource.redeem(&issuer.assertion(&resource, &json!({})), &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}
