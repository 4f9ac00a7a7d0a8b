//! A directory that provisions an organization.

use std::sync::Arc;

use axum::body::Body;
use http::{Method, Request, header};
use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};
use porteiro_service::{members, organizations};
use porteiro_testkit::{Answer, TestApp};
use serde_json::{Value, json};

use crate::organizations::{driver::organization_key, staff::context};

pub const SCIM: &str = "application/scim+json";
pub const PATCH: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
pub const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

#[derive(Debug, Clone)]
pub struct Directory {
    pub app: Arc<TestApp>,
    pub organization: OrganizationId,
    pub key: String,
}

impl Directory {
    pub async fn new(app: &Arc<TestApp>, organization: OrganizationId) -> Self {
        let key = organization_key(app, organization, &["scim:provision"]).await;
        Self { app: Arc::clone(app), organization, key }
    }

    /// The same directory at another node.
    pub fn at(&self, app: &Arc<TestApp>) -> Self {
        Self { app: Arc::clone(app), ..self.clone() }
    }

    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        more: &[(&str, &str)],
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/scim/v2/{}/{path}", self.organization))
            .header(header::AUTHORIZATION, format!("Bearer {}", self.key))
            .header(header::CONTENT_TYPE, SCIM);
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        let body = body.map_or_else(Body::empty, |value| Body::from(value.to_string()));
        self.app.send(request.body(body).unwrap()).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None, &[]).await
    }

    /// A list with a filter.
    pub async fn find(&self, resource: &str, filter: &str) -> Answer {
        let filter: String = url::form_urlencoded::byte_serialize(filter.as_bytes()).collect();
        self.get(&format!("{resource}?filter={filter}")).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, Some(body), &[]).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, Some(body), &[]).await
    }

    /// Operations of a PATCH.
    pub async fn patch(&self, path: &str, operations: Value) -> Answer {
        let body = json!({"schemas": [PATCH], "Operations": operations});
        self.send(Method::PATCH, path, Some(&body), &[]).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None, &[]).await
    }

    /// A new user; its id.
    pub async fn user(&self, name: &str) -> String {
        let answer = self.post("Users", &user(name)).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// A new group with these members; its id.
    pub async fn group(&self, name: &str, members: &[&str]) -> String {
        let members: Vec<Value> = members.iter().map(|id| json!({"value": id})).collect();
        let answer = self.post("Groups", &json!({"displayName": name, "members": members})).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// Somebody signs in as a user, as a connection of the organization would let them.
    pub async fn claim(&self, id: &str, account: AccountId) {
        let (organization, id): (_, MembershipId) = (self.organization, id.parse().unwrap());
        let (service, context) = (&self.app.app, &context());
        let claimed = service.store.run_tx("test.claim", |tx| async move {
            organizations::lock(&tx, organization).await?;
            members::claim(service, &tx, context, organization, id, account).await
        });
        assert!(claimed.await.unwrap());
    }

    pub async fn is_active(&self, id: &str) -> bool {
        self.get(&format!("Users/{id}")).await.json()["active"].as_bool().unwrap()
    }

    /// The ids in a group, sorted.
    pub async fn members(&self, group: &str) -> Vec<String> {
        let found = self.get(&format!("Groups/{group}")).await.json();
        let list = found["members"].as_array().cloned().unwrap_or_default();
        let mut ids: Vec<String> = list.iter().map(|one| one["value"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    }
}

/// What a directory says of somebody.
pub fn user(name: &str) -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE],
        "userName": name,
        "externalId": format!("x-{name}"),
        "active": true,
        "displayName": format!("The {name}"),
        "name": {"givenName": "Given", "familyName": "Family"},
        "emails": [{"type": "work", "value": format!("{name}@corp.test"), "primary": true}],
        ENTERPRISE: {"department": "Sales"},
    })
}

/// Status and `scimType` of a refusal.
pub fn refusal(answer: &Answer) -> (u16, String) {
    let told = answer.json();
    assert_eq!(told["schemas"], json!(["urn:ietf:params:scim:api:messages:2.0:Error"]), "{told}");
    assert_eq!(told["status"], json!(answer.status.as_u16().to_string()));
    assert_eq!(answer.header("content-type"), SCIM);
    (answer.status.as_u16(), told["scimType"].as_str().unwrap_or_default().to_owned())
}

pub async fn directory() -> Directory {
    let app = Arc::new(TestApp::builder().start().await);
    let here = crate::organizations::driver::organization(&app, "here").await;
    Directory::new(&app, here).await
}
