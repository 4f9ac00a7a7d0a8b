//! Who is let in to a route of the management API, and who is not.

use axum::Extension;
use http::Method;
use porteiro_service::{
    http::{Access, Route},
    management::Caller,
};
use porteiro_testkit::TestApp;
use serde_json::json;

use super::driver::{call, get, organization, organization_key, platform_key};

async fn who(Extension(caller): Extension<Caller>) -> axum::Json<serde_json::Value> {
    axum::Json(json!({"actor": caller.actor, "organization": caller.organization.map(|it| it.slug)}))
}

async fn app() -> TestApp {
    let routes = vec![
        Route::get("/v1/organizations/{organization}/test", Access::Organization("members:read"), who),
        Route::post("/v1/organizations/{organization}/test", Access::Organization("members:write"), who),
        Route::get("/v1/platform/test", Access::Platform("platform.accounts:read"), who),
    ];
    TestApp::builder().routes(routes).start().await
}

#[tokio::test]
async fn a_key_opens_its_own_organization_as_far_as_it_says_and_no_other() {
    let app = app().await;
    let (here, there) = (organization(&app, "here").await, organization(&app, "there").await);
    let key = organization_key(&app, here, &["members:read"]).await;
    let path = format!("/v1/organizations/{here}/test");
    assert_eq!(get(&app, &path, &key).await.json()["organization"], "here");
    assert_eq!(call(&app, Method::POST, &path, &key, None, &[]).await.status, 403, "too little");
    assert_eq!(get(&app, &format!("/v1/organizations/{there}/test"), &key).await.status, 404, "another's");
    assert_eq!(get(&app, "/v1/platform/test", &key).await.status, 403, "not the platform's");
    assert_eq!(app.get(&path).await.status, 401, "nobody");
    let mut wrong = key.clone().into_bytes();
    wrong[25] = if wrong[25] == b'a' { b'b' } else { b'a' };
    let answer = get(&app, &path, std::str::from_utf8(&wrong).unwrap()).await;
    assert_eq!((answer.status.as_u16(), answer.json()["code"].as_str()), (401, Some("unauthenticated")));
}

#[tokio::test]
async fn a_suspended_organization_is_closed_to_its_keys() {
    let app = app().await;
    let here = organization(&app, "here").await;
    let key = organization_key(&app, here, &["members:*"]).await;
    let path = format!("/v1/organizations/{here}/test");
    assert_eq!(call(&app, Method::POST, &path, &key, None, &[]).await.status, 200);
    let client = app.database.client().await;
    client.execute("UPDATE organization SET status = 'suspended'", &[]).await.unwrap();
    for method in [Method::GET, Method::POST] {
        let answer = call(&app, method, &path, &key, None, &[]).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["code"].as_str()),
            (409, Some("organization_suspended"))
        );
    }
}

#[tokio::test]
async fn the_platform_acts_in_an_organization_by_name_with_a_reason_in_its_trail() {
    let app = app().await;
    let here = organization(&app, "here").await;
    let path = format!("/v1/organizations/{here}/test");
    let all = platform_key(&app, &["platform.organizations:*", "organizations:*"]).await;
    assert_eq!(get(&app, &path, &all).await.status, 404, "no wildcard covers it");
    let key = platform_key(&app, &["organizations:administer"]).await;
    let answer = get(&app, &path, &key).await;
    assert_eq!((answer.status.as_u16(), answer.json()["code"].as_str()), (403, Some("reason_required")));
    let why = [("porteiro-reason", "ticket 17")];
    assert_eq!(call(&app, Method::GET, &path, &key, None, &why).await.status, 200);
    let client = app.database.client().await;
    let row = client
        .query_one(
            "SELECT kind, reason, actor->>'kind', sequence FROM trail WHERE organization_id = $1",
            &[&here.uuid()],
        )
        .await
        .unwrap();
    let found: (String, String, String, i64) = (row.get(0), row.get(1), row.get(2), row.get(3));
    assert_eq!(found, ("platform.administered".into(), "ticket 17".into(), "api_key".into(), 1));
}
