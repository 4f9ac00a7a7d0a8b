//! A key of every kind at every route there is: which doors it must not open.

use axum::body::Body;
use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Method, Request, header};
use porteiro_service::http::Access;
use porteiro_testkit::{Answer, TestApp};

use super::person;
use crate::{
    organizations::driver::{organization, organization_key, platform_key},
    people,
};

/// Everything a key of an organization could hold.
const ALL: &[&str] = &[
    "organization:*",
    "members:*",
    "roles:*",
    "invitations:*",
    "client-policies:*",
    "api-keys:*",
    "audit:*",
];
const PLATFORM: &[&str] = &[
    "platform.accounts:*",
    "platform.organizations:*",
    "platform.clients:*",
    "platform.apis:*",
    "platform.connections:*",
    "platform.api-keys:*",
    "platform.log:*",
];

async fn knock(app: &TestApp, method: &Method, path: &str, authorization: String) -> Answer {
    let kind =
        if path.starts_with("/connect") { "application/x-www-form-urlencoded" } else { "application/json" };
    let body = if *method == Method::GET { Body::empty() } else { Body::from("{}") };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, authorization)
        .header(header::CONTENT_TYPE, kind);
    app.send(request.body(body).unwrap()).await
}

#[tokio::test]
async fn no_key_opens_a_door_that_is_not_its_own() {
    let app = people::app().await;
    let (here, there) = (organization(&app, "here").await, organization(&app, "there").await);
    let mut ana = person(&app, "ana@example.test", here, "owner").await;
    let personal = ana.key("here", ALL).await["secret"].as_str().unwrap().to_owned();
    let own = organization_key(&app, here, ALL).await;
    let platform = platform_key(&app, PLATFORM).await;
    for route in porteiro_service::table() {
        let at = |place: &str| route.path.replace("{organization}", place).replace(['{', '}'], "");
        for (what, key, of_platform) in
            [("personal", &personal, false), ("organization", &own, false), ("platform", &platform, true)]
        {
            let bearer = format!("Bearer {key}");
            let basic = format!("Basic {}", STANDARD.encode(format!("{}:{key}", &key[7..19])));
            let name = format!("a {what} key at {} {}", route.method, route.path);
            let knocked = knock(&app, &route.method, &at(&here.to_string()), bearer.clone()).await;
            let status = knocked.status.as_u16();
            match route.access {
                Access::Public(_) => {}
                Access::Session | Access::Token(_) | Access::RegistrationToken => {
                    assert_eq!(status, 401, "{name}");
                }
                Access::FlowOwner => assert_eq!(status, 404, "{name}"),
                Access::Client => {
                    assert!(knocked.status.is_client_error(), "{name}");
                    let proved = knock(&app, &route.method, &at(""), basic).await;
                    // At the token endpoint it is a client, and this is no grant.
                    let told = proved.json()["error"].as_str().map(str::to_owned);
                    let expected =
                        if route.path == "/connect/token" { "unauthorized_client" } else { "invalid_client" };
                    assert_eq!(told.as_deref(), Some(expected), "{name}");
                }
                Access::Platform(_) if of_platform => assert_ne!(status, 401, "{name}"),
                Access::Platform(_) => assert_eq!(status, 403, "{name}"),
                // A key of the organization alone, and only with the permission.
                Access::Provisioning(_) => {
                    let foreign = knock(&app, &route.method, &at(&there.to_string()), bearer).await;
                    assert_eq!(foreign.status, 404, "{name}, another organization");
                    assert_eq!(status, if of_platform { 404 } else { 403 }, "{name}");
                }
                Access::Organization(_) => {
                    let foreign = knock(&app, &route.method, &at(&there.to_string()), bearer).await;
                    assert_eq!(foreign.status, 404, "{name}, another organization");
                    if of_platform {
                        assert_eq!(status, 404, "{name}");
                    } else {
                        assert_ne!(status, 401, "{name}");
                    }
                }
            }
        }
    }
}
