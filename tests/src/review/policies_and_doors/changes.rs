//! Everything that narrows what somebody may do, how it is undone, and which doors it closes.

use std::collections::BTreeSet;

use http::Method;
use porteiro_service::oauth::apis;
use serde_json::{Value, json};

use super::doors::{Door, SCOPES, Stand, payroll};
use crate::organizations::driver::{PAYROLL, call};

/// What may change. Each has a row here and a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    MinLevel,
    MaxAge,
    ThirdPartyClients,
    AgentsFrozen,
    RequireConnection,
    ClientBlocked,
    TrustLowered,
    OrganizationMode,
    ClientDisabled,
    RegisteredScope,
    GrantTypeRemoved,
    MemberDisabled,
    MemberRemoved,
    RoleNarrowed,
    MemberRoles,
    OrganizationSuspended,
    AccountDisabled,
    SessionsEnded,
    GrantsEnded,
    KeyRevoked,
    ApiNarrowed,
    ApiRemoved,
}

/// What a person's own proofs, and whatever is asked of them, decide about.
const PROVED: [Door; 10] = [
    Door::Session,
    Door::Authorize,
    Door::Redeem,
    Door::Refresh,
    Door::IntrospectAccess,
    Door::IntrospectRefresh,
    Door::Userinfo,
    Door::ManageByToken,
    Door::Exchange,
    Door::IntrospectExchanged,
];

fn set(doors: &[&[Door]]) -> BTreeSet<Door> {
    doors.concat().into_iter().collect()
}

impl Change {
    /// Which doors are closed at once, and which of them stay closed when it is undone.
    pub fn row(self) -> (BTreeSet<Door>, BTreeSet<Door>) {
        let (grant, person) = (&Door::OF_THE_GRANT[..], &Door::OF_THE_PERSON[..]);
        let robot = &[Door::ClientCredentials, Door::ClientsToken][..];
        let authorize = &[Door::Authorize][..];
        match self {
            // What a stronger or younger proof would open is not over: the policy may be lowered again.
            Self::MinLevel | Self::MaxAge => (set(&[&PROVED]), set(&[])),
            // Of clients that are not of the house, the machine's too.
            Self::ThirdPartyClients => {
                (set(&[grant, authorize, robot]), set(&[grant, &[Door::ClientsToken]]))
            }
            // What came another way waits, and so do personal keys, which no connection vouches for.
            Self::RequireConnection => (set(&[&PROVED, person]), set(&[])),
            // Whatever they were given waits.
            Self::AgentsFrozen => (set(&[&[Door::Exchange, Door::IntrospectExchanged]]), set(&[])),
            Self::ClientBlocked | Self::TrustLowered | Self::OrganizationMode | Self::ClientDisabled => {
                (set(&[grant, authorize]), set(&[grant]))
            }
            // The family waits, as for a role; a token that carries what the client gave up is worth nothing meanwhile.
            Self::RegisteredScope => {
                let closed = [Door::Redeem, Door::Refresh, Door::IntrospectAccess, Door::Userinfo];
                // What an agent got before is within what the agent registered, which is another client's.
                (set(&[&closed, authorize, &[Door::Exchange]]), set(&[]))
            }
            // Only what the client was given is over: it may ask again.
            Self::GrantTypeRemoved => (set(&[grant]), set(&[grant])),
            Self::MemberDisabled | Self::MemberRemoved => {
                (set(&[grant, authorize, person, &[Door::Session]]), set(&[grant, person]))
            }
            // Authority that was held through a role waits for it to come back (docs/decisions/0036); so do keys.
            Self::RoleNarrowed => {
                let closed = [Door::Session, Door::Redeem, Door::Refresh, Door::IntrospectAccess];
                let more = [Door::Userinfo, Door::ManageByToken, Door::Exchange, Door::IntrospectExchanged];
                (set(&[&closed, &more, authorize, person, robot]), set(&[]))
            }
            Self::MemberRoles => {
                let closed = [Door::Session, Door::Redeem, Door::Refresh, Door::IntrospectAccess];
                let more = [Door::Userinfo, Door::ManageByToken, Door::Exchange, Door::IntrospectExchanged];
                (set(&[&closed, &more, authorize, person]), set(&[]))
            }
            // It stays visible to its members (docs/decisions/0044).
            Self::OrganizationSuspended => {
                let closed = Door::ALL.into_iter().filter(|door| *door != Door::Session).collect();
                (closed, set(&[]))
            }
            // The session is gone too: they sign in again.
            Self::AccountDisabled => {
                let closed = set(&[grant, authorize, person, &[Door::Session]]);
                (closed.clone(), closed)
            }
            Self::SessionsEnded => (set(&[grant, authorize, &[Door::Session]]), set(&[])),
            Self::GrantsEnded => (set(&[grant]), set(&[])),
            Self::KeyRevoked => (set(&[person]), set(&[])),
            Self::ApiNarrowed | Self::ApiRemoved => {
                let closed = [Door::Redeem, Door::Refresh, Door::IntrospectAccess, Door::Userinfo];
                let keys = [Door::PersonalKeyAsClient, Door::PersonalKeysToken];
                let agents = [Door::Exchange, Door::IntrospectExchanged];
                // Delegations for an API end with it.
                let stays = if self == Self::ApiRemoved { &agents[..] } else { &[] };
                (set(&[&closed, authorize, robot, &keys, &agents]), set(&[stays]))
            }
        }
    }
}

/// What is kept in memory is asked after four times a second (docs/decisions/0030).
async fn noticed() {
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
}

impl Stand {
    async fn send(&self, method: Method, path: &str, key: &str, body: Option<&Value>) {
        let why = ("porteiro-reason", "the table");
        let seen = call(&self.app, Method::GET, path, key, None, &[why]).await;
        let headers = [why, ("if-match", seen.header("etag"))];
        let answer = call(&self.app, method, path, key, body, &headers).await;
        assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
    }

    fn place(&self, rest: &str) -> String {
        format!("/v1/organizations/{}{rest}", self.here)
    }

    async fn policy(&self, policy: Value) {
        self.send(Method::PUT, &self.place("/policy"), &self.owner, Some(&policy)).await;
    }

    /// A connection by which nobody has signed in: the API would refuse it.
    async fn require_connection(&self) {
        let here = self.here;
        self.app
            .sql(&format!(
                "INSERT INTO organization_connection (organization_id, connection_id, name, issuer, client_id,
                        client_authentication, algorithm, enabled, subject_claim, authoritative)
                 VALUES ('{here}', gen_random_uuid(), 'Directory', 'https://directory.test', 'porteiro',
                         'private_key_jwt', 'ES256', true, 'sub', false)"
            ))
            .await;
        self.app
            .sql(
                "UPDATE organization o SET authority_version = authority_version + 1, version = o.version + 1,
                        policy = policy || jsonb_build_object('require_connection', c.connection_id)
                 FROM organization_connection c WHERE o.organization_id = c.organization_id",
            )
            .await;
    }

    async fn change_client(&self, change: Value) {
        let path = format!("/v1/platform/clients/{}", self.client.id);
        self.send(Method::PATCH, &path, &self.operator, Some(&change)).await;
    }

    async fn order(&self, path: &str, body: Value) {
        self.send(Method::POST, path, &self.operator, Some(&body)).await;
    }

    pub async fn apply(&mut self, change: Change) {
        let member = self.place(&format!("/members/{}", self.member));
        match change {
            Change::MinLevel => self.policy(json!({"min_level": "aal2"})).await,
            Change::MaxAge => {
                self.policy(json!({"max_age": 1})).await;
                tokio::time::sleep(std::time::Duration::from_millis(2_500)).await;
                self.app.catch_up().await;
            }
            Change::ThirdPartyClients => self.policy(json!({"third_party_clients": "listed"})).await,
            Change::AgentsFrozen => self.policy(json!({"agents": "frozen"})).await,
            Change::RequireConnection => self.require_connection().await,
            Change::ClientBlocked => {
                let path = self.place(&format!("/client-policies/{}", self.client.id));
                self.send(Method::PUT, &path, &self.owner, Some(&json!({"decision": "block"}))).await;
            }
            Change::TrustLowered => self.change_client(json!({"trust": "unverified"})).await,
            Change::OrganizationMode => self.change_client(json!({"organization_mode": "none"})).await,
            Change::ClientDisabled => {
                self.order(&format!("/v1/platform/clients/{}/disable", self.client.id), json!({})).await;
            }
            Change::RegisteredScope => {
                self.change_client(json!({"metadata": {"scope": "openid members:read"}})).await;
            }
            Change::GrantTypeRemoved => {
                self.change_client(json!({"metadata": {"grant_types": ["authorization_code"]}})).await;
            }
            Change::MemberDisabled => {
                self.order(&format!("{member}/disable"), json!({"reason": "the table"})).await;
            }
            Change::MemberRemoved => self.send(Method::DELETE, &member, &self.operator, None).await,
            Change::RoleNarrowed => {
                let body = json!({"permissions": ["reports:read"]});
                self.send(Method::PATCH, &self.place("/roles/clerk"), &self.operator, Some(&body)).await;
            }
            Change::MemberRoles => {
                let body = json!({"roles": ["guest"], "primary_role": "guest"});
                self.send(Method::PATCH, &member, &self.operator, Some(&body)).await;
            }
            Change::OrganizationSuspended => {
                let body = json!({"reason_code": "abuse", "note": "the table"});
                self.order(&self.place("/suspend"), body).await;
            }
            Change::AccountDisabled => {
                let path = format!("/v1/platform/accounts/{}/disable", self.account);
                self.order(&path, json!({"reason": "the table"})).await;
            }
            Change::SessionsEnded => {
                let path = format!("/v1/platform/accounts/{}/end-sessions", self.account);
                self.order(&path, json!({"reason": "the table"})).await;
            }
            Change::GrantsEnded => {
                self.send(Method::DELETE, &format!("{member}/grants"), &self.operator, None).await;
            }
            Change::KeyRevoked => {
                let id = self.personal.strip_prefix("pt_key_").unwrap().split('_').next().unwrap();
                let path = self.place(&format!("/api-keys/{id}"));
                self.send(Method::DELETE, &path, &self.operator, None).await;
            }
            Change::ApiNarrowed => {
                let api = payroll(&SCOPES[1..], self.resource_server());
                apis::register(&self.app.app.store, &api).await.unwrap();
                noticed().await;
            }
            Change::ApiRemoved => {
                assert!(apis::remove(&self.app.app.store, PAYROLL).await.unwrap());
                noticed().await;
            }
        }
    }

    /// `false` where nothing undoes it.
    pub async fn undo(&mut self, change: Change) -> bool {
        let member = self.place(&format!("/members/{}", self.member));
        match change {
            Change::MinLevel | Change::MaxAge | Change::ThirdPartyClients | Change::AgentsFrozen => {
                self.policy(json!({})).await;
            }
            Change::RequireConnection => {
                self.send(Method::PUT, &self.place("/policy"), &self.operator, Some(&json!({}))).await;
            }
            Change::ClientBlocked => {
                let path = self.place(&format!("/client-policies/{}", self.client.id));
                self.send(Method::DELETE, &path, &self.owner, None).await;
            }
            Change::TrustLowered => self.change_client(json!({"trust": "verified"})).await,
            Change::OrganizationMode => self.change_client(json!({"organization_mode": "optional"})).await,
            Change::ClientDisabled => {
                self.order(&format!("/v1/platform/clients/{}/enable", self.client.id), json!({})).await;
            }
            Change::RegisteredScope => {
                let scope = "openid salaries:read members:read";
                self.change_client(json!({"metadata": {"scope": scope}})).await;
            }
            Change::GrantTypeRemoved => {
                let both = ["authorization_code", "refresh_token"];
                self.change_client(json!({"metadata": {"grant_types": both}})).await;
            }
            Change::MemberDisabled => self.order(&format!("{member}/enable"), json!({})).await,
            Change::MemberRemoved => {
                let body = json!({"account_id": self.account, "role": "clerk"});
                self.order(&self.place("/members"), body).await;
            }
            Change::RoleNarrowed => {
                let body = json!({"permissions": ["salaries:read", "members:read"]});
                self.send(Method::PATCH, &self.place("/roles/clerk"), &self.operator, Some(&body)).await;
            }
            Change::MemberRoles => {
                let body = json!({"roles": ["clerk"], "primary_role": "clerk"});
                self.send(Method::PATCH, &member, &self.operator, Some(&body)).await;
            }
            Change::OrganizationSuspended => self.order(&self.place("/resume"), json!({})).await,
            Change::AccountDisabled => {
                self.order(&format!("/v1/platform/accounts/{}/enable", self.account), json!({})).await;
            }
            Change::ApiNarrowed | Change::ApiRemoved => {
                let api = payroll(&SCOPES, self.resource_server());
                apis::register(&self.app.app.store, &api).await.unwrap();
            }
            Change::SessionsEnded | Change::GrantsEnded | Change::KeyRevoked => return false,
        }
        true
    }
}
