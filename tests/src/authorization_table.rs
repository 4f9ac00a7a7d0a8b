//! Who gets what from every route. A route without a row fails here and in `cargo xtask tidy`.

use axum::body::Body;
use http::{Method, Request, StatusCode};
use porteiro_service::http::Access;
use porteiro_testkit::TestApp;

/// Route, and what somebody without any credential gets.
const TABLE: &[(&str, StatusCode)] = &[
    ("GET /healthz", StatusCode::OK),
    ("GET /readyz", StatusCode::OK),
    ("GET /.well-known/openid-configuration", StatusCode::OK),
    ("GET /.well-known/oauth-authorization-server", StatusCode::OK),
    ("GET /.well-known/oauth-protected-resource", StatusCode::OK),
    // No such API is registered.
    ("GET /.well-known/oauth-protected-resource/{*resource}", StatusCode::NOT_FOUND),
    ("GET /.well-known/jwks.json", StatusCode::OK),
    ("GET /connect/authorization-details-types", StatusCode::OK),
    // Exists only where related origins are configured.
    ("GET /.well-known/webauthn", StatusCode::NOT_FOUND),
    // Without a client, and with a body that is no form.
    ("POST /connect/token", StatusCode::BAD_REQUEST),
    ("POST /connect/par", StatusCode::BAD_REQUEST),
    ("POST /connect/device", StatusCode::BAD_REQUEST),
    ("POST /connect/ciba", StatusCode::BAD_REQUEST),
    ("POST /connect/challenge", StatusCode::BAD_REQUEST),
    ("POST /connect/introspect", StatusCode::BAD_REQUEST),
    ("POST /connect/revoke", StatusCode::BAD_REQUEST),
    // No client, so nowhere to send anybody.
    ("GET /connect/authorize", StatusCode::BAD_REQUEST),
    ("POST /connect/authorize", StatusCode::BAD_REQUEST),
    // Nobody is signed in: there is nothing to end.
    ("GET /connect/logout", StatusCode::OK),
    ("POST /connect/logout", StatusCode::BAD_REQUEST),
    ("GET /connect/userinfo", StatusCode::UNAUTHORIZED),
    ("POST /connect/userinfo", StatusCode::UNAUTHORIZED),
    // What introduces nobody; with nobody's token.
    ("POST /connect/register", StatusCode::BAD_REQUEST),
    ("GET /connect/register/{client_id}", StatusCode::UNAUTHORIZED),
    ("PUT /connect/register/{client_id}", StatusCode::UNAUTHORIZED),
    ("DELETE /connect/register/{client_id}", StatusCode::UNAUTHORIZED),
    // A stranger's POST lacks the origin of a page of ours.
    ("POST /v1/flows", StatusCode::FORBIDDEN),
    ("GET /v1/flows/{id}", StatusCode::NOT_FOUND),
    ("DELETE /v1/flows/{id}", StatusCode::NOT_FOUND),
    ("POST /v1/flows/{id}/{module}/{verb}", StatusCode::NOT_FOUND),
    ("GET /v1/account", StatusCode::UNAUTHORIZED),
    ("PATCH /v1/account", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/account", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/account/deletion", StatusCode::UNAUTHORIZED),
    ("POST /v1/account/export", StatusCode::UNAUTHORIZED),
    ("GET /v1/account/credentials", StatusCode::UNAUTHORIZED),
    ("PATCH /v1/account/credentials/{id}", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/account/credentials/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/account/sessions", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/account/sessions", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/account/sessions/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/account/activity", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/account/recovery", StatusCode::UNAUTHORIZED),
    ("GET /v1/account/grants", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/account/grants/{client_id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/account/directory-identities", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/account/directory-identities/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/account/organizations", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/account/organizations/{organization}", StatusCode::UNAUTHORIZED),
    ("GET /v1/account/organizations/{organization}/permissions", StatusCode::UNAUTHORIZED),
    ("GET /v1/account/approvals", StatusCode::UNAUTHORIZED),
    ("GET /v1/account/approvals/{id}", StatusCode::UNAUTHORIZED),
    ("POST /v1/account/approvals/{id}/approve", StatusCode::UNAUTHORIZED),
    ("POST /v1/account/approvals/{id}/deny", StatusCode::UNAUTHORIZED),
    ("POST /v1/account/approvals/{id}/report", StatusCode::UNAUTHORIZED),
    ("GET /v1/account/push-subscriptions", StatusCode::UNAUTHORIZED),
    ("POST /v1/account/push-subscriptions", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/account/push-subscriptions/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/approvals", StatusCode::UNAUTHORIZED),
    ("GET /v1/account/delegations", StatusCode::UNAUTHORIZED),
    ("POST /v1/account/delegations", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/account/delegations/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/delegations", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/delegations", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/delegations/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/connections", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/connections", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/connections/{connection}", StatusCode::UNAUTHORIZED),
    ("PUT /v1/organizations/{organization}/connections/{connection}", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/connections/{connection}", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/connections/{connection}/test", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/authorization-servers", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/authorization-servers", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/authorization-servers/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/assertion-issuers", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/assertion-issuers", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/assertion-issuers/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/domains", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/domains", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/domains/{id}", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/domains/{id}/verify", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/domains/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/external-identities", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/external-identities", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/external-identities/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/account/api-keys", StatusCode::UNAUTHORIZED),
    ("POST /v1/account/api-keys", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/account/api-keys/{id}", StatusCode::UNAUTHORIZED),
    // Without an invitation.
    ("POST /v1/invitations/look", StatusCode::BAD_REQUEST),
    ("GET /v1/account/invitations", StatusCode::UNAUTHORIZED),
    ("POST /v1/account/invitations/accept", StatusCode::UNAUTHORIZED),
    ("GET /v1/platform/api-keys", StatusCode::UNAUTHORIZED),
    ("POST /v1/platform/api-keys", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/platform/api-keys/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/api-keys", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/api-keys", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/api-keys/{id}", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/api-keys/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/invitations", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/invitations", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/invitations/{id}", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/invitations/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/openapi.json", StatusCode::OK),
    ("GET /v1/changes", StatusCode::OK),
    ("GET /v1/organizations/{organization}/audit-events", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/refusals/{reference}", StatusCode::UNAUTHORIZED),
    ("GET /v1/platform/refusals/{reference}", StatusCode::UNAUTHORIZED),
    ("GET /v1/platform/accounts", StatusCode::UNAUTHORIZED),
    ("GET /v1/platform/accounts/{account}", StatusCode::UNAUTHORIZED),
    ("POST /v1/platform/accounts/{account}/disable", StatusCode::UNAUTHORIZED),
    ("POST /v1/platform/accounts/{account}/enable", StatusCode::UNAUTHORIZED),
    ("POST /v1/platform/accounts/{account}/end-sessions", StatusCode::UNAUTHORIZED),
    ("POST /v1/platform/accounts/{account}/start-recovery", StatusCode::UNAUTHORIZED),
    ("GET /v1/platform/clients", StatusCode::UNAUTHORIZED),
    ("POST /v1/platform/clients", StatusCode::UNAUTHORIZED),
    ("GET /v1/platform/clients/{client_id}", StatusCode::UNAUTHORIZED),
    ("PATCH /v1/platform/clients/{client_id}", StatusCode::UNAUTHORIZED),
    ("POST /v1/platform/clients/{client_id}/rotate-secret", StatusCode::UNAUTHORIZED),
    ("POST /v1/platform/clients/{client_id}/disable", StatusCode::UNAUTHORIZED),
    ("POST /v1/platform/clients/{client_id}/enable", StatusCode::UNAUTHORIZED),
    ("POST /connect/federation/{connection}/logout", StatusCode::BAD_REQUEST),
    ("POST /connect/federation/{organization}/{connection}/logout", StatusCode::BAD_REQUEST),
    ("GET /v1/platform/connections", StatusCode::UNAUTHORIZED),
    ("POST /v1/platform/connections", StatusCode::UNAUTHORIZED),
    ("GET /v1/platform/connections/{connection}", StatusCode::UNAUTHORIZED),
    ("PUT /v1/platform/connections/{connection}", StatusCode::UNAUTHORIZED),
    ("POST /v1/platform/connections/{connection}/test", StatusCode::UNAUTHORIZED),
    ("GET /v1/platform/apis", StatusCode::UNAUTHORIZED),
    ("POST /v1/platform/apis", StatusCode::UNAUTHORIZED),
    ("GET /v1/platform/apis/{api}", StatusCode::UNAUTHORIZED),
    ("PUT /v1/platform/apis/{api}", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/platform/apis/{api}", StatusCode::UNAUTHORIZED),
    ("GET /v1/platform/security-log", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/members/{member}/impersonations", StatusCode::UNAUTHORIZED),
    (
        "POST /v1/organizations/{organization}/members/{member}/impersonations/{impersonation}/tokens",
        StatusCode::UNAUTHORIZED,
    ),
    (
        "DELETE /v1/organizations/{organization}/members/{member}/impersonations/{impersonation}",
        StatusCode::UNAUTHORIZED,
    ),
    ("GET /v1/organizations", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}", StatusCode::UNAUTHORIZED),
    ("PATCH /v1/organizations/{organization}", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/policy", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/branding", StatusCode::UNAUTHORIZED),
    ("PATCH /v1/organizations/{organization}/branding", StatusCode::UNAUTHORIZED),
    ("PUT /v1/organizations/{organization}/branding/logo", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/branding/logo", StatusCode::UNAUTHORIZED),
    ("GET /v1/platform/clients/{client_id}/branding", StatusCode::UNAUTHORIZED),
    ("PATCH /v1/platform/clients/{client_id}/branding", StatusCode::UNAUTHORIZED),
    ("PUT /v1/platform/clients/{client_id}/branding/logo", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/platform/clients/{client_id}/branding/logo", StatusCode::UNAUTHORIZED),
    // Nobody has such a picture.
    ("GET /v1/branding/organizations/{owner}/{digest}", StatusCode::NOT_FOUND),
    ("GET /v1/branding/clients/{owner}/{digest}", StatusCode::NOT_FOUND),
    ("PUT /v1/organizations/{organization}/policy", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/suspend", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/resume", StatusCode::UNAUTHORIZED),
    ("GET /v1/platform/organizations", StatusCode::UNAUTHORIZED),
    ("POST /v1/platform/organizations", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/members", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/members", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/members/{member}", StatusCode::UNAUTHORIZED),
    ("PATCH /v1/organizations/{organization}/members/{member}", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/members/{member}", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/members/{member}/disable", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/members/{member}/enable", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/members/{member}/directory-identities", StatusCode::UNAUTHORIZED),
    (
        "DELETE /v1/organizations/{organization}/members/{member}/directory-identities/{identity}",
        StatusCode::UNAUTHORIZED,
    ),
    ("GET /v1/organizations/{organization}/members/{member}/grants", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/members/{member}/grants", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/members/{member}/grants/{client_id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/roles", StatusCode::UNAUTHORIZED),
    ("POST /v1/organizations/{organization}/roles", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/roles/{role}", StatusCode::UNAUTHORIZED),
    ("PATCH /v1/organizations/{organization}/roles/{role}", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/roles/{role}", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/permissions", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/groups", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/groups/{group}", StatusCode::UNAUTHORIZED),
    ("PATCH /v1/organizations/{organization}/groups/{group}", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/provisioning-refusals", StatusCode::UNAUTHORIZED),
    ("GET /scim/v2/{organization}/ServiceProviderConfig", StatusCode::UNAUTHORIZED),
    ("GET /scim/v2/{organization}/ResourceTypes", StatusCode::UNAUTHORIZED),
    ("GET /scim/v2/{organization}/ResourceTypes/{id}", StatusCode::UNAUTHORIZED),
    ("GET /scim/v2/{organization}/Schemas", StatusCode::UNAUTHORIZED),
    ("GET /scim/v2/{organization}/Schemas/{id}", StatusCode::UNAUTHORIZED),
    ("POST /scim/v2/{organization}/.search", StatusCode::UNAUTHORIZED),
    ("GET /scim/v2/{organization}/Users", StatusCode::UNAUTHORIZED),
    ("POST /scim/v2/{organization}/Users", StatusCode::UNAUTHORIZED),
    ("POST /scim/v2/{organization}/Users/.search", StatusCode::UNAUTHORIZED),
    ("GET /scim/v2/{organization}/Users/{id}", StatusCode::UNAUTHORIZED),
    ("PUT /scim/v2/{organization}/Users/{id}", StatusCode::UNAUTHORIZED),
    ("PATCH /scim/v2/{organization}/Users/{id}", StatusCode::UNAUTHORIZED),
    ("DELETE /scim/v2/{organization}/Users/{id}", StatusCode::UNAUTHORIZED),
    ("GET /scim/v2/{organization}/Groups", StatusCode::UNAUTHORIZED),
    ("POST /scim/v2/{organization}/Groups", StatusCode::UNAUTHORIZED),
    ("POST /scim/v2/{organization}/Groups/.search", StatusCode::UNAUTHORIZED),
    ("GET /scim/v2/{organization}/Groups/{id}", StatusCode::UNAUTHORIZED),
    ("PUT /scim/v2/{organization}/Groups/{id}", StatusCode::UNAUTHORIZED),
    ("PATCH /scim/v2/{organization}/Groups/{id}", StatusCode::UNAUTHORIZED),
    ("DELETE /scim/v2/{organization}/Groups/{id}", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/client-policies", StatusCode::UNAUTHORIZED),
    ("GET /v1/organizations/{organization}/client-policies/{client_id}", StatusCode::UNAUTHORIZED),
    ("PUT /v1/organizations/{organization}/client-policies/{client_id}", StatusCode::UNAUTHORIZED),
    ("DELETE /v1/organizations/{organization}/client-policies/{client_id}", StatusCode::UNAUTHORIZED),
];

/// An organization that may be there or not: a stranger is not told.
const SOMEWHERE: &str = "0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f";

#[tokio::test]
async fn every_route_answers_strangers_as_the_table_says() {
    let app = TestApp::new().await;
    let mut rows: Vec<&str> = TABLE.iter().map(|(route, _)| *route).collect();
    for route in porteiro_service::table() {
        let name = format!("{} {}", route.method, route.path);
        let Some((_, expected)) = TABLE.iter().find(|(row, _)| *row == name) else {
            panic!("{name} has no row in the authorization table");
        };
        rows.retain(|row| *row != name);
        let body =
            if route.method == Method::GET { Body::empty() } else { Body::from(r#"{"kind":"sign_in"}"#) };
        let request = Request::builder()
            .method(route.method.clone())
            .uri(route.path.replace("{organization}", SOMEWHERE).replace(['{', '}'], ""))
            .header("content-type", "application/json");
        let answer = app.send(request.body(body).unwrap()).await;
        assert_eq!(answer.status, *expected, "{name}: {}", answer.text());
        match route.access {
            Access::Public(why) => assert!(!why.is_empty(), "{name} does not say why it is public"),
            Access::Client => assert!(answer.status.is_client_error(), "{name} answers a stranger"),
            Access::FlowOwner => {
                assert_eq!(answer.status, StatusCode::NOT_FOUND, "{name} exists for a stranger");
            }
            Access::Session
            | Access::RegistrationToken
            | Access::Token(_)
            | Access::Organization(_)
            | Access::Platform(_)
            | Access::Provisioning(_) => {
                assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{name} answers a stranger");
            }
        }
    }
    assert!(rows.is_empty(), "rows without a route: {rows:?}");
}

#[tokio::test]
async fn a_route_takes_no_method_it_does_not_declare() {
    let app = TestApp::new().await;
    for route in porteiro_service::table() {
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let declared =
                porteiro_service::table().iter().any(|one| one.path == route.path && one.method == method);
            if !declared {
                let answer = app.method(method.clone(), &route.path.replace(['{', '}'], "")).await;
                assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {}", route.path);
            }
        }
    }
}
