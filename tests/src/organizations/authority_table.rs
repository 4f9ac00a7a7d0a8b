//! Which permission every route of the management API asks for, and that nothing less opens it. A route without a row
//! fails here.

use axum::body::Body;
use http::{Method, Request, header};
use porteiro_service::{
    http::{Access, Route},
    permissions::{OWN, Reach},
};
use porteiro_testkit::{Answer, TestApp};

use super::driver::{organization, organization_key, platform_key};

/// Route, and the permission it asks for: in the organization of its path, or in the installation.
const TABLE: &[(&str, &str)] = &[
    ("GET /v1/organizations/{organization}/audit-events", "audit:read"),
    ("GET /v1/organizations/{organization}/refusals/{reference}", "audit:read"),
    ("GET /v1/platform/refusals/{reference}", "platform.log:read"),
    ("GET /v1/platform/accounts", "platform.accounts:read"),
    ("GET /v1/platform/accounts/{account}", "platform.accounts:read"),
    ("POST /v1/platform/accounts/{account}/disable", "platform.accounts:write"),
    ("POST /v1/platform/accounts/{account}/enable", "platform.accounts:write"),
    ("POST /v1/platform/accounts/{account}/end-sessions", "platform.accounts:write"),
    ("POST /v1/platform/accounts/{account}/start-recovery", "platform.accounts:write"),
    ("GET /v1/platform/clients", "platform.clients:read"),
    ("POST /v1/platform/clients", "platform.clients:write"),
    ("GET /v1/platform/clients/{client_id}", "platform.clients:read"),
    ("PATCH /v1/platform/clients/{client_id}", "platform.clients:write"),
    ("POST /v1/platform/clients/{client_id}/rotate-secret", "platform.clients:write"),
    ("POST /v1/platform/clients/{client_id}/disable", "platform.clients:write"),
    ("POST /v1/platform/clients/{client_id}/enable", "platform.clients:write"),
    ("GET /v1/platform/connections", "platform.connections:read"),
    ("POST /v1/platform/connections", "platform.connections:write"),
    ("GET /v1/platform/connections/{connection}", "platform.connections:read"),
    ("PUT /v1/platform/connections/{connection}", "platform.connections:write"),
    ("POST /v1/platform/connections/{connection}/test", "platform.connections:write"),
    ("GET /v1/platform/apis", "platform.apis:read"),
    ("POST /v1/platform/apis", "platform.apis:write"),
    ("GET /v1/platform/apis/{api}", "platform.apis:read"),
    ("PUT /v1/platform/apis/{api}", "platform.apis:write"),
    ("DELETE /v1/platform/apis/{api}", "platform.apis:write"),
    ("GET /v1/platform/security-log", "platform.log:read"),
    ("POST /v1/organizations/{organization}/members/{member}/impersonations", "members:impersonate"),
    (
        "POST /v1/organizations/{organization}/members/{member}/impersonations/{impersonation}/tokens",
        "members:impersonate",
    ),
    (
        "DELETE /v1/organizations/{organization}/members/{member}/impersonations/{impersonation}",
        "members:impersonate",
    ),
    ("GET /v1/organizations/{organization}", "organization:read"),
    ("PATCH /v1/organizations/{organization}", "organization:write"),
    ("GET /v1/organizations/{organization}/policy", "organization:read"),
    ("PUT /v1/organizations/{organization}/policy", "organization:write"),
    ("GET /v1/organizations/{organization}/branding", "organization:read"),
    ("PATCH /v1/organizations/{organization}/branding", "organization:write"),
    ("PUT /v1/organizations/{organization}/branding/logo", "organization:write"),
    ("DELETE /v1/organizations/{organization}/branding/logo", "organization:write"),
    ("GET /v1/platform/clients/{client_id}/branding", "platform.clients:read"),
    ("PATCH /v1/platform/clients/{client_id}/branding", "platform.clients:write"),
    ("PUT /v1/platform/clients/{client_id}/branding/logo", "platform.clients:write"),
    ("DELETE /v1/platform/clients/{client_id}/branding/logo", "platform.clients:write"),
    ("POST /v1/organizations/{organization}/suspend", "organizations:administer"),
    ("POST /v1/organizations/{organization}/resume", "organizations:administer"),
    ("GET /v1/platform/organizations", "platform.organizations:read"),
    ("POST /v1/platform/organizations", "platform.organizations:write"),
    ("GET /v1/organizations/{organization}/approvals", "approvals:read"),
    ("GET /v1/organizations/{organization}/delegations", "delegations:read"),
    ("POST /v1/organizations/{organization}/delegations", "delegations:write"),
    ("DELETE /v1/organizations/{organization}/delegations/{id}", "delegations:write"),
    ("GET /v1/organizations/{organization}/connections", "connections:read"),
    ("POST /v1/organizations/{organization}/connections", "connections:write"),
    ("GET /v1/organizations/{organization}/connections/{connection}", "connections:read"),
    ("PUT /v1/organizations/{organization}/connections/{connection}", "connections:write"),
    ("DELETE /v1/organizations/{organization}/connections/{connection}", "connections:write"),
    ("POST /v1/organizations/{organization}/connections/{connection}/test", "connections:write"),
    ("GET /v1/organizations/{organization}/domains", "domains:read"),
    ("POST /v1/organizations/{organization}/domains", "domains:write"),
    ("GET /v1/organizations/{organization}/domains/{id}", "domains:read"),
    ("POST /v1/organizations/{organization}/domains/{id}/verify", "domains:write"),
    ("DELETE /v1/organizations/{organization}/domains/{id}", "domains:write"),
    ("GET /v1/organizations/{organization}/authorization-servers", "trusts:read"),
    ("POST /v1/organizations/{organization}/authorization-servers", "trusts:write"),
    ("DELETE /v1/organizations/{organization}/authorization-servers/{id}", "trusts:write"),
    ("GET /v1/organizations/{organization}/assertion-issuers", "trusts:read"),
    ("POST /v1/organizations/{organization}/assertion-issuers", "trusts:write"),
    ("DELETE /v1/organizations/{organization}/assertion-issuers/{id}", "trusts:write"),
    ("GET /v1/organizations/{organization}/external-identities", "trusts:read"),
    ("POST /v1/organizations/{organization}/external-identities", "trusts:write"),
    ("DELETE /v1/organizations/{organization}/external-identities/{id}", "trusts:write"),
    ("GET /v1/organizations/{organization}/api-keys", "api-keys:read"),
    ("POST /v1/organizations/{organization}/api-keys", "api-keys:write"),
    ("GET /v1/organizations/{organization}/api-keys/{id}", "api-keys:read"),
    ("DELETE /v1/organizations/{organization}/api-keys/{id}", "api-keys:write"),
    ("GET /v1/platform/api-keys", "platform.api-keys:read"),
    ("POST /v1/platform/api-keys", "platform.api-keys:write"),
    ("DELETE /v1/platform/api-keys/{id}", "platform.api-keys:write"),
    ("GET /v1/organizations/{organization}/invitations", "invitations:read"),
    ("POST /v1/organizations/{organization}/invitations", "invitations:write"),
    ("GET /v1/organizations/{organization}/invitations/{id}", "invitations:read"),
    ("DELETE /v1/organizations/{organization}/invitations/{id}", "invitations:write"),
    ("GET /v1/organizations/{organization}/members", "members:read"),
    ("POST /v1/organizations/{organization}/members", "members:write"),
    ("GET /v1/organizations/{organization}/members/{member}", "members:read"),
    ("PATCH /v1/organizations/{organization}/members/{member}", "members:write"),
    ("DELETE /v1/organizations/{organization}/members/{member}", "members:write"),
    ("POST /v1/organizations/{organization}/members/{member}/disable", "members:write"),
    ("POST /v1/organizations/{organization}/members/{member}/enable", "members:write"),
    ("GET /v1/organizations/{organization}/members/{member}/directory-identities", "members:read"),
    (
        "DELETE /v1/organizations/{organization}/members/{member}/directory-identities/{identity}",
        "members:write",
    ),
    ("GET /v1/organizations/{organization}/members/{member}/grants", "members:read"),
    ("DELETE /v1/organizations/{organization}/members/{member}/grants", "members:write"),
    ("DELETE /v1/organizations/{organization}/members/{member}/grants/{client_id}", "members:write"),
    ("GET /v1/organizations/{organization}/roles", "roles:read"),
    ("POST /v1/organizations/{organization}/roles", "roles:write"),
    ("GET /v1/organizations/{organization}/roles/{role}", "roles:read"),
    ("PATCH /v1/organizations/{organization}/roles/{role}", "roles:write"),
    ("DELETE /v1/organizations/{organization}/roles/{role}", "roles:write"),
    ("GET /v1/organizations/{organization}/permissions", "roles:read"),
    ("GET /v1/organizations/{organization}/groups", "roles:read"),
    ("GET /v1/organizations/{organization}/groups/{group}", "roles:read"),
    ("PATCH /v1/organizations/{organization}/groups/{group}", "roles:write"),
    ("GET /v1/organizations/{organization}/provisioning-refusals", "audit:read"),
    ("GET /v1/organizations/{organization}/client-policies", "client-policies:read"),
    ("GET /v1/organizations/{organization}/client-policies/{client_id}", "client-policies:read"),
    ("PUT /v1/organizations/{organization}/client-policies/{client_id}", "client-policies:write"),
    ("DELETE /v1/organizations/{organization}/client-policies/{client_id}", "client-policies:write"),
];

const MADE_UP: &str = "0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f";

fn name(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

fn managed() -> Vec<(Route, &'static str, Reach)> {
    let managed = |route: Route| match route.access {
        Access::Organization(permission) => Some((route, permission, Reach::Organization)),
        Access::Platform(permission) => Some((route, permission, Reach::Platform)),
        Access::Public(_)
        | Access::FlowOwner
        | Access::Client
        | Access::RegistrationToken
        | Access::Token(_)
        | Access::Session
        // No operation of the management API: tests/src/scim/access.rs.
        | Access::Provisioning(_) => None,
    };
    porteiro_service::table().into_iter().filter_map(managed).collect()
}

/// A call with nothing in it but who calls.
async fn ask(app: &TestApp, method: &Method, path: &str, bearer: Option<&str>) -> Answer {
    let mut request = Request::builder()
        .method(method.clone())
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header("porteiro-reason", "a test");
    if let Some(bearer) = bearer {
        request = request.header(header::AUTHORIZATION, format!("Bearer {bearer}"));
    }
    let body = if *method == Method::GET { Body::empty() } else { Body::from("{}") };
    app.send(request.body(body).unwrap()).await
}

#[tokio::test]
async fn every_route_opens_to_its_permission_and_to_nothing_less() {
    let app = TestApp::new().await;
    let (here, there) = (organization(&app, "here").await, organization(&app, "there").await);
    let stranger = organization_key(&app, there, &every(Reach::Organization)).await;
    let mut rows: Vec<&str> = TABLE.iter().map(|(route, _)| *route).collect();
    for (route, permission, reach) in managed() {
        let name = name(&route);
        let row = TABLE.iter().find(|(row, _)| *row == name);
        let (_, expected) =
            row.unwrap_or_else(|| panic!("{name} has no row: say which permission it asks for"));
        assert_eq!(*expected, permission, "{name}");
        rows.retain(|row| *row != name);

        let mut path = route.path.replace("{organization}", &here.to_string());
        while let (Some(from), Some(to)) = (path.find('{'), path.find('}')) {
            path.replace_range(from..=to, MADE_UP);
        }
        let all_but: Vec<&str> = every(reach).into_iter().filter(|other| *other != permission).collect();
        let (enough, too_little, elsewhere) = match reach {
            Reach::Organization => (
                organization_key(&app, here, &[permission]).await,
                organization_key(&app, here, &all_but).await,
                404,
            ),
            Reach::Platform => {
                (platform_key(&app, &[permission]).await, platform_key(&app, &all_but).await, 403)
            }
        };
        let method = &route.method;
        for (bearer, status, who) in [
            (None, 401, "nobody"),
            (Some(&stranger), elsewhere, "another organization's key, with everything"),
            (Some(&too_little), 403, "a key with everything but the permission"),
        ] {
            let answer = ask(&app, method, &path, bearer.map(String::as_str)).await;
            assert_eq!(answer.status, status, "{name}, {who}: {}", answer.text());
        }
        let answer = ask(&app, method, &path, Some(&enough)).await;
        // Being let in is not yet being given more than one holds: that is another word.
        let code = if answer.status.is_success() { String::new() } else { answer.json()["code"].to_string() };
        assert!(
            !["\"unauthenticated\"", "\"forbidden\""].contains(&code.as_str()),
            "{name}: {}",
            answer.text()
        );
        assert!(!answer.status.is_server_error(), "{name}: {}", answer.text());
    }
    assert!(rows.is_empty(), "rows without a route: {rows:?}");
}

/// Every permission there is in such a place, each by its name.
fn every(reach: Reach) -> Vec<&'static str> {
    OWN.iter().filter(|own| own.reach == reach).map(|own| own.name).collect()
}

#[test]
fn every_route_has_an_operation_with_a_name_of_its_own() {
    let mut ids: Vec<&str> = Vec::new();
    for (route, permission, reach) in managed() {
        let name = name(&route);
        let operation = route.operation.as_ref().unwrap_or_else(|| panic!("{name} has no operation"));
        assert!(!ids.contains(&operation.id), "{name}: {} is another's", operation.id);
        ids.push(operation.id);
        let own = OWN.iter().find(|own| own.name == permission);
        assert_eq!(own.map(|own| own.reach), Some(reach), "{name}: {permission} means nothing there");
        let creates = route.method == Method::POST && operation.status == 201;
        assert_eq!(operation.creates, creates, "{name}: what answers 201 creates");
    }
}
