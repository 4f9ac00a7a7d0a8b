//! An organization does not lose its last owner by a deletion, unless nobody else is in it.

use porteiro_service::personal_data;
use porteiro_testkit::{Browser, TestApp};
use serde_json::json;

use super::{super::register_with_password, delete, prove, sign_in};
use crate::organizations::driver::{account_of, get, join, organization, organization_key};

async fn member(
    app: &std::sync::Arc<TestApp>,
    address: &str,
    place: porteiro_protocol::id::OrganizationId,
    role: &str,
) -> Browser {
    app.forget_limits().await;
    let mut browser = register_with_password(app, address).await;
    join(app, place, account_of(&mut browser).await, role).await;
    prove(app, &mut browser).await;
    browser
}

#[tokio::test]
async fn the_last_owner_of_others_first_makes_another() {
    let app = super::super::app().await;
    let here = organization(&app, "here").await;
    let mut ana = member(&app, "ana@example.test", here, "owner").await;
    let mut bia = member(&app, "bia@example.test", here, "member").await;
    let refused = ana.delete("/v1/account").await;
    assert_eq!((refused.status.as_u16(), refused.json()["code"].as_str()), (409, Some("last_owner")));
    assert_eq!(refused.json()["organizations"], json!([{"id": here, "name": "The here company"}]));
    assert_eq!(ana.get("/v1/account").await.status, 200, "nothing ended");
    app.sql("UPDATE membership_role SET role_key = 'owner'").await;
    delete(&mut ana).await;
    // An owner who is about to go is none to rely on.
    assert_eq!(bia.delete("/v1/account").await.status, 200, "nobody else is left there");
    let mut again = sign_in(&app, "bia@example.test").await;
    let left = again.delete(&format!("/v1/account/organizations/{here}")).await;
    assert_eq!(left.json()["code"], "last_owner", "{}", left.text());
}

#[tokio::test]
async fn two_owners_at_once_do_not_each_rely_on_the_other() {
    let app = std::sync::Arc::new(TestApp::builder().people().connections(4).start().await);
    let here = organization(&app, "here").await;
    let mut ana = member(&app, "ana@example.test", here, "owner").await;
    let mut bia = member(&app, "bia@example.test", here, "owner").await;
    member(&app, "caio@example.test", here, "member").await;
    let (one, other) = tokio::join!(ana.delete("/v1/account"), bia.delete("/v1/account"));
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", one.text(), other.text());
}

#[tokio::test]
async fn an_organization_in_which_nobody_is_left_is_suspended() {
    let app = super::super::app().await;
    let here = organization(&app, "here").await;
    let mut ana = member(&app, "ana@example.test", here, "owner").await;
    let key = organization_key(&app, here, &["organization:read"]).await;
    let path = format!("/v1/organizations/{here}");
    delete(&mut ana).await;
    assert_eq!(get(&app, &path, &key).await.json()["status"], "enabled", "she may come back");
    app.sql("UPDATE account SET deletion_at = now()").await;
    assert_eq!(personal_data::erase_due(&app.app).await.unwrap(), 1);
    let told = get(&app, &path, &key).await;
    assert_eq!(told.json()["code"], "organization_suspended", "{}", told.text());
    let suspended =
        "SELECT count(*) FROM trail WHERE kind = 'organization.suspended' AND actor->>'kind' = 'system'";
    assert_eq!(app.count(suspended).await, 1);
}
