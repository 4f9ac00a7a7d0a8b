//! An empty or unknown query value is refused.

use http::Method;
use porteiro_service::{
    api::{Operation, Shape},
    http::{Access, Route},
};
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::json;

use crate::{
    organizations::{
        driver::{account_of, call, get, join, organization, organization_key, platform_key, role},
        staff::refusal,
    },
    people,
};

/// Every permission a route of an organization asks for.
fn of_organizations() -> Vec<&'static str> {
    let asked = |route: Route| match route.access {
        Access::Organization(permission) => Some(permission),
        _ => None,
    };
    porteiro_service::table().into_iter().filter_map(asked).collect()
}

/// Every permission a route of the platform asks for.
fn of_the_platform() -> Vec<&'static str> {
    let asked = |route: Route| match route.access {
        Access::Platform(permission) => Some(permission),
        _ => None,
    };
    porteiro_service::table().into_iter().filter_map(asked).collect()
}

/// Queries an operation must refuse: each of its parameters without a value, and with one it does not know.
fn wrong(operation: &Operation) -> Vec<String> {
    let mut queries = Vec::new();
    for parameter in &operation.query {
        let name = parameter.name;
        queries.extend([format!("{name}="), name.to_owned(), format!("{name}=%00")]);
        match parameter.shape {
            Shape::Text => {}
            Shape::Flag => queries.extend(["1", "TRUE", "yes", "true%20"].map(|it| format!("{name}={it}"))),
            Shape::Time => queries.extend(["yesterday", "1"].map(|it| format!("{name}={it}"))),
            Shape::Choice(_) => queries.push(format!("{name}=unheard-of")),
        }
    }
    if operation.is_list() {
        queries.extend(["limit=", "limit", "limit=0", "limit=x", "cursor=", "cursor=x"].map(str::to_owned));
    }
    queries.push("unheard-of=".into());
    queries
}

struct Callers {
    browser: Browser,
    organization: String,
    platform: String,
}

impl Callers {
    async fn knock(&mut self, app: &TestApp, route: &Route, path: &str) -> Option<Answer> {
        let bearer = match route.access {
            Access::Organization(_) => &self.organization,
            Access::Platform(_) => &self.platform,
            Access::Session => {
                return Some(self.browser.call(route.method.clone(), path, Some(&json!({}))).await);
            }
            Access::Public(_)
            | Access::Client
            | Access::FlowOwner
            | Access::Token(_)
            | Access::RegistrationToken
            | Access::Provisioning(_) => {
                return None;
            }
        };
        let body = (route.method != Method::GET).then(|| json!({}));
        let more = [("if-match", "\"1\""), ("porteiro-reason", "a test")];
        Some(call(app, route.method.clone(), path, bearer, body.as_ref(), &more).await)
    }
}

#[tokio::test]
async fn every_operation_refuses_a_query_parameter_without_a_value_or_with_one_it_does_not_know() {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let mut browser = people::register_with_password(&app, "ana@example.test").await;
    join(&app, here, account_of(&mut browser).await, "owner").await;
    let organization = organization_key(&app, here, &of_organizations()).await;
    let platform = platform_key(&app, &of_the_platform()).await;
    let mut callers = Callers { browser, organization, platform };
    let nobody = "00000000-0000-4000-8000-000000000000";
    let mut asked = 0;
    for route in porteiro_service::table() {
        let Some(operation) = &route.operation else { continue };
        let path = route.path.replace("{organization}", &here.to_string());
        let path: Vec<&str> =
            path.split('/').map(|part| if part.starts_with('{') { nobody } else { part }).collect();
        for query in wrong(operation) {
            let path = format!("{}?{query}", path.join("/"));
            let Some(answer) = callers.knock(&app, &route, &path).await else { continue };
            assert_eq!(
                refusal(&answer),
                (400, "malformed".into()),
                "{} {path}: {}",
                route.method,
                answer.text()
            );
            asked += 1;
        }
        app.forget_limits().await;
    }
    assert!(asked > 100, "{asked}");
}

#[tokio::test]
async fn an_empty_dry_run_changes_nothing() {
    let app = TestApp::new().await;
    let here = organization(&app, "here").await;
    role(&app, here, "clerk", &["members:read"]).await;
    let key = organization_key(&app, here, &of_organizations()).await;
    let policy = format!("/v1/organizations/{here}/policy");
    let clerk = format!("/v1/organizations/{here}/roles/clerk");
    for (method, path, body) in [
        (Method::PUT, policy.as_str(), json!({"min_level": "aal2"})),
        (Method::PATCH, clerk.as_str(), json!({"permissions": []})),
        (Method::DELETE, clerk.as_str(), json!({})),
    ] {
        let before = get(&app, path, &key).await;
        let tag = before.header("etag").to_owned();
        for empty in ["dry_run=", "dry_run"] {
            let asked = format!("{path}?{empty}");
            let answer = call(&app, method.clone(), &asked, &key, Some(&body), &[("if-match", &tag)]).await;
            assert_eq!(refusal(&answer), (400, "malformed".into()), "{method} {asked}");
            assert_eq!(get(&app, path, &key).await.json(), before.json(), "{method} {asked}");
        }
    }
}
