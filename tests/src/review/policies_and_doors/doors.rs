//! Every way to use authority that was given before.

use std::sync::Arc;

use porteiro_protocol::id::{AccountId, MembershipId, OrganizationId};
use porteiro_service::{
    api_keys::KeyKind,
    oauth::{apis, clients::Trust},
};
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};

use crate::{
    agents::driver::{agent, exchange},
    oauth::{
        app,
        driver::{Relying, parameter, person, userinfo, verifier},
        encode, service,
    },
    organizations::driver::{
        PAYROLL, account_of, get, join, join_client, key, organization, organization_key, platform_key, role,
    },
};

macro_rules! doors {
    ($($door:ident),+ $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Door { $($door),+ }
        impl Door {
            pub const ALL: [Self; doors!(@count $($door)+)] = [$(Self::$door),+];
        }
    };
    (@count $($door:ident)+) => { <[()]>::len(&[$(doors!(@unit $door)),+]) };
    (@unit $door:ident) => { () };
}

doors! {
    // Of the person's session.
    Session, Authorize,
    // Of a grant.
    Redeem, Refresh, IntrospectAccess, IntrospectRefresh, Userinfo, ManageByToken,
    // Of what an agent got for it.
    Exchange, IntrospectExchanged,
    // Of keys.
    PersonalKey, OrganizationKey, PersonalKeyAsClient, PersonalKeysToken,
    // Of a client that is a member itself.
    ClientCredentials, ClientsToken,
}

impl Door {
    pub const OF_THE_GRANT: [Self; 8] = [
        Self::Redeem,
        Self::Refresh,
        Self::IntrospectAccess,
        Self::IntrospectRefresh,
        Self::Userinfo,
        Self::ManageByToken,
        Self::Exchange,
        Self::IntrospectExchanged,
    ];
    pub const OF_THE_PERSON: [Self; 3] =
        [Self::PersonalKey, Self::PersonalKeyAsClient, Self::PersonalKeysToken];
}

/// What the grant is for: both an API's permission and one of our own would be two APIs, so there are two grants.
const ASKED: [(&str, &str); 2] = [("scope", "openid salaries:read"), ("organization", "here")];
const MANAGES: [(&str, &str); 2] = [("scope", "members:read"), ("organization", "here")];

pub struct Stand {
    pub app: Arc<TestApp>,
    pub here: OrganizationId,
    pub member: MembershipId,
    pub account: AccountId,
    pub browser: Browser,
    pub client: Relying,
    /// A client that is a member for itself.
    pub robot: Value,
    pub operator: String,
    pub owner: String,
    pub personal: String,
    shared: String,
    /// The API's own, which introspects.
    resource_server: Value,
    codes: Vec<(String, String)>,
    tokens: Value,
    managing: String,
    /// A client that the person lets act for them, and what it got.
    agent: Relying,
    exchanged: String,
    personal_token: String,
    robot_token: String,
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

/// An API whose scopes are permissions, and which asks about its tokens.
pub fn payroll(scopes: &[&str], introspected_by: &str) -> apis::Api {
    let scope = |name: &&str| json!({"name": name, "description": {"en": name, "pt": name}});
    let scopes: Vec<Value> = scopes.iter().map(scope).collect();
    let api = json!({"identifier": PAYROLL, "name": "Payroll", "organizational": true, "scopes": scopes,
                     "introspected_by": [introspected_by]});
    serde_json::from_value(api).unwrap()
}

pub const SCOPES: [&str; 3] = ["salaries:read", "salaries:write", "reports:read"];

impl Stand {
    pub async fn new() -> Self {
        let app = app().await;
        let resource_server = service(&app, "client_secret_post", json!({})).await;
        let api = payroll(&SCOPES, text(&resource_server, "client_id"));
        apis::register(&app.app.store, &api).await.unwrap();
        let mut browser = person(&app).await;
        let here = organization(&app, "here").await;
        let names = ["salaries:read", "members:read"];
        role(&app, here, "clerk", &names).await;
        role(&app, here, "guest", &["reports:read"]).await;
        let account = account_of(&mut browser).await;
        let member = join(&app, here, account, "clerk").await;
        let client =
            Relying::with(&app, Trust::Verified, json!({"scope": "openid salaries:read members:read"}));
        let client = client.await;
        let robot = service(&app, "client_secret_post", json!({})).await;
        join_client(&app, here, text(&robot, "client_id"), "clerk").await;
        let operator = [
            "organizations:administer",
            "platform.accounts:write",
            "platform.clients:read",
            "platform.clients:write",
        ];
        let owner =
            ["organization:*", "members:*", "roles:*", "client-policies:*", "api-keys:*", "salaries:*"];
        let mut stand = Self {
            personal: key(&app, KeyKind::Personal, Some(here), Some(member), &names).await,
            shared: organization_key(&app, here, &names).await,
            operator: platform_key(&app, &operator).await,
            owner: organization_key(&app, here, &owner).await,
            tokens: client.tokens(&mut browser, &app, &ASKED).await,
            codes: vec![client.code(&mut browser, &ASKED).await],
            managing: text(&client.tokens(&mut browser, &app, &MANAGES).await, "access_token").to_owned(),
            agent: agent(&app, json!({})).await,
            exchanged: String::new(),
            personal_token: String::new(),
            robot_token: String::new(),
            app,
            here,
            member,
            account,
            browser,
            client,
            robot,
            resource_server,
        };
        let (personal, robot) = (stand.key_as_client().await.json(), stand.robot_asks().await.json());
        text(&personal, "access_token").clone_into(&mut stand.personal_token);
        text(&robot, "access_token").clone_into(&mut stand.robot_token);
        stand.delegate().await;
        let exchanged = stand.exchange().await.json();
        text(&exchanged, "access_token").clone_into(&mut stand.exchanged);
        stand
    }

    async fn delegate(&self) {
        let (account, here, member) = (self.account, self.here, self.member);
        self.app
            .sql(&format!(
                "INSERT INTO delegation (owner_id, delegation_id, account_id, organization_id, membership_id, client_id,
                     audience, scope, redelegable, source, expires_at)
                 VALUES ('{account}', gen_random_uuid(), '{account}', '{here}', '{member}', '{}', '{PAYROLL}',
                     'salaries:read', false, 'person', now() + interval '1 day')",
                self.agent.id
            ))
            .await;
    }

    async fn exchange(&self) -> Answer {
        let token = text(&self.tokens, "access_token");
        exchange(&self.app, &self.agent, token, &[("scope", "salaries:read")]).await
    }

    pub fn resource_server(&self) -> &str {
        text(&self.resource_server, "client_id")
    }

    pub async fn another_code(&mut self) {
        let code = self.client.code(&mut self.browser, &ASKED).await;
        self.codes.push(code);
    }

    async fn robot_asks(&self) -> Answer {
        let form = encode(&[
            ("grant_type", "client_credentials"),
            ("client_id", text(&self.robot, "client_id")),
            ("client_secret", text(&self.robot, "client_secret")),
            ("scope", "salaries:read"),
            ("organization", "here"),
        ]);
        self.app.form("/connect/token", form).await
    }

    async fn key_as_client(&self) -> Answer {
        let parts: Vec<&str> = self.personal.strip_prefix("pt_key_").unwrap().splitn(2, '_').collect();
        let secret = parts[1].rsplit_once('_').unwrap().0;
        let basic = base64::Engine::encode(
            &base64::engine::general_purpose::STANDARD,
            format!("{}:{secret}", parts[0]),
        );
        let request = http::Request::post("/connect/token")
            .header("authorization", format!("Basic {basic}"))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(encode(&[("grant_type", "client_credentials"), ("scope", "salaries:read")]).into());
        self.app.send(request.unwrap()).await
    }

    /// As the API itself asks.
    async fn active(&self, token: &str) -> bool {
        let form = encode(&[
            ("client_id", text(&self.resource_server, "client_id")),
            ("client_secret", text(&self.resource_server, "client_secret")),
            ("token", token),
        ]);
        self.app.form("/connect/introspect", form).await.json()["active"] == true
    }

    /// Whether a door opens. Using a code or a refresh token up is part of it.
    pub async fn opens(&mut self, door: Door) -> bool {
        self.app.forget_limits().await;
        let app = Arc::clone(&self.app);
        let members = format!("/v1/organizations/{}/members", self.here);
        match door {
            Door::Session => self.browser.get(&members).await.status == 200,
            Door::Authorize => {
                // What was allowed before may have to be allowed anew.
                let answer = self.client.ask(&mut self.browser, &verifier(), &ASKED).await.json();
                answer["stage"] == "consent" || parameter(&answer, "code").is_some()
            }
            Door::Redeem => {
                let Some((code, verifier)) = self.codes.last().cloned() else { return false };
                let opened = self.client.redeem(&app, &code, &verifier).await.status == 200;
                if opened {
                    self.codes.pop();
                    self.another_code().await;
                }
                opened
            }
            Door::Exchange => self.exchange().await.status == 200,
            Door::IntrospectExchanged => self.active(&self.exchanged).await,
            Door::Refresh => {
                let answer = self.client.refresh(&app, text(&self.tokens, "refresh_token"), &[]).await;
                let opened = answer.status == 200;
                if opened {
                    self.tokens = answer.json();
                }
                opened
            }
            Door::IntrospectAccess => self.active(text(&self.tokens, "access_token")).await,
            Door::IntrospectRefresh => {
                let form = [("token", text(&self.tokens, "refresh_token"))];
                self.client.call(&app, "/connect/introspect", &form).await.json()["active"] == true
            }
            Door::Userinfo => userinfo(&app, text(&self.tokens, "access_token")).await.status == 200,
            Door::ManageByToken => get(&app, &members, &self.managing).await.status == 200,
            Door::PersonalKey => get(&app, &members, &self.personal).await.status == 200,
            Door::OrganizationKey => get(&app, &members, &self.shared).await.status == 200,
            Door::PersonalKeyAsClient => self.key_as_client().await.status == 200,
            Door::PersonalKeysToken => self.active(&self.personal_token).await,
            Door::ClientCredentials => self.robot_asks().await.status == 200,
            Door::ClientsToken => self.active(&self.robot_token).await,
        }
    }
}
