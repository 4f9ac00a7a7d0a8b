//! Somebody in an organization, with a browser, a management token and what it takes to call.

use std::sync::Arc;

use http::Method;
use porteiro_protocol::id::{AccountId, Id, MembershipId, OrganizationId};
use porteiro_service::{
    accounts::{self, NewAccount},
    http::RequestContext,
};
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::Value;

use super::driver::{account_of, call, join};
use crate::{oauth::driver::Relying, people::register_with_password};

pub const MANAGES: &str = "members:read members:write roles:read roles:write";

#[derive(Debug)]
pub struct Staff {
    pub browser: Browser,
    pub account: AccountId,
    pub member: MembershipId,
}

impl Staff {
    pub async fn new(app: &Arc<TestApp>, address: &str, organization: OrganizationId, role: &str) -> Self {
        let mut browser = register_with_password(app, address).await;
        let account = account_of(&mut browser).await;
        let member = join(app, organization, account, role).await;
        Self { browser, account, member }
    }

    /// A token of the management API that speaks for the organization.
    pub async fn token(
        &mut self,
        app: &Arc<TestApp>,
        client: &Relying,
        organization: OrganizationId,
        scope: &str,
    ) -> String {
        let asked = [("scope", scope), ("organization", &*organization.to_string())];
        let tokens = client.tokens(&mut self.browser, app, &asked).await;
        tokens["access_token"].as_str().unwrap().to_owned()
    }
}

/// A request from nowhere in particular, for use cases without a route.
pub fn context() -> RequestContext {
    RequestContext {
        request_id: "00000000-0000-4000-8000-000000000000".parse().unwrap(),
        address: std::net::Ipv4Addr::LOCALHOST.into(),
        user_agent: "test".into(),
        origin: None,
        fetch_site: None,
        accept_language: String::new(),
        locale: None,
        bind: None,
        session: None,
        directory: None,
        device: None,
        door: None,
        authorization: None,
        dpop: Vec::new(),
        has_cookies: false,
        certificate: None,
        acting: None,
    }
}

/// An account nobody signs in to.
pub async fn account(app: &TestApp, name: &str) -> AccountId {
    let id = Id::random(&*app.app.entropy);
    let handle = id.uuid();
    let new = NewAccount {
        id,
        display_name: name,
        locale: "en",
        user_handle: handle.as_bytes(),
        platform_administrator: false,
    };
    let new = &new;
    app.app.store.run_tx("test.account", |tx| async move { accounts::insert(&tx, new).await }).await.unwrap();
    id
}

/// Such an account as a member.
pub async fn join_as(app: &TestApp, organization: OrganizationId, name: &str, role: &str) -> MembershipId {
    join(app, organization, account(app, name).await, role).await
}

pub fn members(organization: OrganizationId) -> String {
    format!("/v1/organizations/{organization}/members")
}

/// Looks, and changes what it saw.
pub async fn change(app: &TestApp, method: Method, path: &str, bearer: &str, body: Option<&Value>) -> Answer {
    let bare = path.split('?').next().unwrap_or(path);
    let seen = call(app, Method::GET, bare, bearer, None, &[]).await;
    let tag = seen.header("etag").to_owned();
    call(app, method, path, bearer, body, &[("if-match", &tag)]).await
}

pub async fn patch(app: &TestApp, path: &str, bearer: &str, body: &Value) -> Answer {
    change(app, Method::PATCH, path, bearer, Some(body)).await
}

pub async fn post(app: &TestApp, path: &str, bearer: &str, body: &Value) -> Answer {
    call(app, Method::POST, path, bearer, Some(body), &[]).await
}

/// Status and code of a refusal.
pub fn refusal(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.json()["code"].as_str().unwrap_or_default().to_owned())
}
