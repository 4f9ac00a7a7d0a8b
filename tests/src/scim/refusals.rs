//! The organization's administrator reads why a directory was refused.

use serde_json::{Value, json};

use super::driver::{directory, user};
use crate::organizations::driver::{get, organization_key};

#[tokio::test]
async fn every_refusal_is_explained_and_a_repetition_is_counted() {
    let directory = directory().await;
    let (app, here) = (&directory.app, directory.organization);
    let key = organization_key(app, here, &["audit:read"]).await;
    let path = format!("/v1/organizations/{here}/provisioning-refusals");
    let ana = directory.user("ana").await;
    for _ in 0..3 {
        assert_eq!(directory.post("Users", &user("ana")).await.status, 409);
    }
    let off = json!([{"op": "replace", "path": "active", "value": "maybe"}]);
    assert_eq!(directory.patch(&format!("Users/{ana}"), off).await.status, 400);
    assert_eq!(directory.find("Users", "shoe eq 1").await.status, 400);
    // What directories do to find out whether somebody exists is no refusal.
    assert_eq!(directory.get(&format!("Users/{here}")).await.status, 404);
    assert_eq!(directory.delete(&format!("Users/{here}")).await.status, 404);
    let told = get(app, &path, &key).await.json();
    let items = told["items"].as_array().unwrap();
    let said: Vec<(&Value, &Value, &Value, &Value)> =
        items.iter().map(|one| (&one["method"], &one["status"], &one["scim_type"], &one["times"])).collect();
    assert_eq!(
        said,
        [
            (&json!("DELETE"), &json!(404), &Value::Null, &json!(1)),
            (&json!("GET"), &json!(400), &json!("invalidFilter"), &json!(1)),
            (&json!("PATCH"), &json!(400), &json!("invalidValue"), &json!(1)),
            (&json!("POST"), &json!(409), &json!("uniqueness"), &json!(3)),
        ]
    );
    assert_eq!(items[2]["resource"], json!(format!("Users/{ana}")));
    assert!(items[2]["detail"].as_str().unwrap().contains("active must be true or false"));
    assert!(!told.to_string().contains("maybe"), "no value that was sent is kept");
}

#[tokio::test]
async fn the_list_does_not_grow() {
    let directory = directory().await;
    let (app, here) = (&directory.app, directory.organization);
    app.sql(&format!("INSERT INTO provisioning_head VALUES ('{here}', 100000)")).await;
    app.sql(&format!(
        "INSERT INTO provisioning_refusal (organization_id, place, number, fingerprint, actor, method, resource, status,
             detail, request_id)
         SELECT '{here}', n % 500, 99500 + n, decode(md5(n::text), 'hex'), 'a', 'GET', 'Users', 400, 'x', gen_random_uuid()
         FROM generate_series(1, 500) n"
    ))
    .await;
    for number in 0..20 {
        assert_eq!(directory.delete(&format!("Users/nobody-{number}")).await.status, 404);
    }
    assert_eq!(app.count("SELECT count(*) FROM provisioning_refusal").await, 500);
    assert_eq!(app.count("SELECT count(*) FROM provisioning_refusal WHERE number > 100000").await, 20);
    assert_eq!(app.count("SELECT min(number) FROM provisioning_refusal").await, 99_521);
}
