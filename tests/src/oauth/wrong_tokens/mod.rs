//! Every kind of token at every place that takes one: it opens its own door and no other (RFC 8725 §3.12, ASVS 9.2.2).

mod kinds;

use axum::body::Body;
use http::{Method, Request, header};
use porteiro_testkit::Answer;
use serde_json::json;

use super::{
    device,
    driver::{CALLBACK, verifier},
    encode,
};
use kinds::World;

/// A place that takes tokens, and the kinds that are good there.
struct Door {
    name: &'static str,
    opens_for: &'static [&'static str],
}

const fn door(name: &'static str, opens_for: &'static [&'static str]) -> Door {
    Door { name, opens_for }
}

/// Good at userinfo: a person's, with `openid`, whichever API it is for (decision 0024).
const WITH_OPENID: &[&str] = &["access token", "account token", "access token for an API, with openid"];
/// Ours for this client, whatever they are good for.
const OWN: &[&str] = &[
    "access token",
    "account token",
    "access token for an API, with openid",
    "access token for an API",
    "refresh token",
];

const DOORS: &[Door] = &[
    door("GET userinfo", WITH_OPENID),
    door("POST userinfo", WITH_OPENID),
    door("POST userinfo, in the form", WITH_OPENID),
    door("GET userinfo, as DPoP", &[]),
    door("introspection", OWN),
    door("revocation", OWN),
    door("account, as Bearer", &["account token"]),
    door("account, as DPoP", &[]),
    door("account, as Session", &["session token"]),
    door("account, as cookie", &["session token"]),
    door("grants, as Bearer", &["account token"]),
    door("registration", &["registration token"]),
    door("flow, as cookie", &["flow secret"]),
    door("flow, as Flow", &[]),
    door("hint at authorize", &["ID token"]),
    door("hint at sign-out", &["ID token"]),
    door("request", &["request object"]),
    door("request_uri", &["pushed request"]),
    door("request_uri, with our prefix", &["secret of a pushed request"]),
    door("code", &["code"]),
    door("device_code", &["device code"]),
    door("refresh_token", &["refresh token"]),
    door("client_assertion", &["client assertion"]),
    door("client_secret", &["client secret"]),
];

impl World {
    async fn with(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, String)],
        form: Option<String>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if form.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        self.app.send(request.body(form.map_or_else(Body::empty, Body::from)).unwrap()).await
    }

    async fn bearing(&self, method: Method, path: &str, scheme: &str, token: &str) -> Answer {
        self.with(method, path, &[("authorization", format!("{scheme} {token}"))], None).await
    }

    async fn at_authorize(&mut self, more: &[(&str, &str)]) -> bool {
        let pairs = [&[("client_id", self.client.id.as_str())], more].concat();
        let answer = self.browser.get(&format!("/connect/authorize?{}", encode(&pairs))).await;
        answer.status == 303 && answer.header("location").contains("code=")
    }

    async fn at_token(&self, form: &[(&str, &str)]) -> bool {
        let answer = self.app.form("/connect/token", encode(form)).await;
        assert!(answer.status == 200 || answer.status.is_client_error(), "{}", answer.text());
        answer.status == 200
    }

    /// Whether it opens.
    async fn opens(&mut self, door: &str, token: &str) -> bool {
        let (id, secret) = (self.client.id.clone(), self.client.secret.clone().unwrap());
        let me = [("client_id", id.as_str()), ("client_secret", secret.as_str())];
        let userinfo = "/connect/userinfo";
        let ok = |answer: Answer| {
            let closed = matches!(answer.status.as_u16(), 400 | 401 | 403 | 404);
            assert!(answer.status == 200 || closed, "{door}: {} {}", answer.status, answer.text());
            answer.status == 200
        };
        match door {
            "GET userinfo" => ok(self.bearing(Method::GET, userinfo, "Bearer", token).await),
            "GET userinfo, as DPoP" => ok(self.bearing(Method::GET, userinfo, "DPoP", token).await),
            "POST userinfo" => ok(self.bearing(Method::POST, userinfo, "Bearer", token).await),
            "POST userinfo, in the form" => {
                ok(self.app.form(userinfo, encode(&[("access_token", token)])).await)
            }
            "introspection" => {
                let form = [&me[..], &[("token", token)]].concat();
                let answer = self.app.form("/connect/introspect", encode(&form)).await;
                assert_eq!(answer.status, 200, "{}", answer.text());
                let active = answer.json()["active"] == json!(true);
                assert!(active || answer.json() == json!({"active": false}), "{}", answer.text());
                active
            }
            "revocation" => {
                let before = self.live().await;
                let form = [&me[..], &[("token", token)]].concat();
                let answer = self.app.form("/connect/revoke", encode(&form)).await;
                assert!(matches!(answer.status.as_u16(), 200 | 400), "{}", answer.text());
                self.live().await != before
            }
            "account, as Bearer" => ok(self.bearing(Method::GET, "/v1/account", "Bearer", token).await),
            "account, as DPoP" => ok(self.bearing(Method::GET, "/v1/account", "DPoP", token).await),
            "account, as Session" => ok(self.bearing(Method::GET, "/v1/account", "Session", token).await),
            "grants, as Bearer" => ok(self.bearing(Method::GET, "/v1/account/grants", "Bearer", token).await),
            "account, as cookie" => {
                let cookie = [("cookie", format!("__Host-session={token}"))];
                ok(self.with(Method::GET, "/v1/account", &cookie, None).await)
            }
            "registration" => {
                self.app.forget_limits().await;
                let path = format!("/connect/register/{}", self.registered);
                ok(self.bearing(Method::GET, &path, "Bearer", token).await)
            }
            "flow, as cookie" => {
                let cookie = [("cookie", format!("__Host-bind={token}"))];
                ok(self.with(Method::GET, &format!("/v1/flows/{}", self.flow), &cookie, None).await)
            }
            "flow, as Flow" => {
                ok(self.bearing(Method::GET, &format!("/v1/flows/{}", self.flow), "Flow", token).await)
            }
            "hint at authorize" => {
                let query = self.client.query(&verifier(), &[("id_token_hint", token), ("prompt", "none")]);
                let answer = self.browser.get(&format!("/connect/authorize?{query}")).await;
                answer.header("location").contains("code=")
            }
            "hint at sign-out" => {
                // Nobody is signed in here, so that nothing is ended: what is looked at is whether it is believed.
                let query = encode(&[("id_token_hint", token)]);
                ok(self.app.get(&format!("/connect/logout?{query}")).await)
            }
            "request" => {
                let whole = self.client.query(&verifier(), &[]);
                let query = format!("{whole}&{}", encode(&[("request", token)]));
                let answer = self.browser.get(&format!("/connect/authorize?{query}")).await;
                answer.header("location").contains("code=")
            }
            "request_uri" => self.at_authorize(&[("request_uri", token)]).await,
            "request_uri, with our prefix" => {
                let uri = format!("urn:ietf:params:oauth:request_uri:{token}");
                self.at_authorize(&[("request_uri", &uri)]).await
            }
            "code" => {
                let form = [
                    ("grant_type", "authorization_code"),
                    ("code", token),
                    ("code_verifier", &self.verifier),
                    ("redirect_uri", CALLBACK),
                ];
                self.at_token(&[&me[..], &form].concat()).await
            }
            "device_code" => {
                let form = [("grant_type", device::GRANT), ("device_code", token)];
                self.at_token(&[&me[..], &form].concat()).await
            }
            "refresh_token" => {
                self.at_token(
                    &[&me[..], &[("grant_type", "refresh_token"), ("refresh_token", token)]].concat(),
                )
                .await
            }
            "client_assertion" => self.asserted(token).await,
            "client_secret" => {
                self.app.forget_limits().await;
                let form = encode(&[("client_id", id.as_str()), ("client_secret", token), ("token", "x")]);
                ok(self.app.form("/connect/introspect", form).await)
            }
            other => panic!("no such door: {other}"),
        }
    }

    /// At a client that proves itself by key and has everything else in common.
    async fn asserted(&self, token: &str) -> bool {
        self.app.forget_limits().await;
        self.app.sql("UPDATE client SET metadata = metadata || '{\"token_endpoint_auth_method\": \"private_key_jwt\"}'
                      WHERE metadata ? 'authorization_signed_response_alg'").await;
        self.app.app.directory.forget(&self.client.id);
        let form = [
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", token),
            ("token", "x"),
        ];
        let answer = self.app.form("/connect/introspect", encode(&form)).await;
        self.app.sql("UPDATE client SET metadata = metadata || '{\"token_endpoint_auth_method\": \"client_secret_post\"}'
                      WHERE metadata ? 'authorization_signed_response_alg'").await;
        self.app.app.directory.forget(&self.client.id);
        assert!(matches!(answer.status.as_u16(), 200 | 400 | 401), "{}", answer.text());
        answer.status == 200
    }

    /// What lives: grants, sessions, clients.
    async fn live(&self) -> i64 {
        let sql = "SELECT (SELECT count(*) FROM oauth_grant WHERE revoked_at IS NULL)
                        + (SELECT count(*) FROM session WHERE ended_at IS NULL)
                        + (SELECT count(*) FROM client WHERE disabled_at IS NULL)";
        self.app.count(sql).await
    }
}

/// First every wrong pair, of which none may open or end anything; then every right one, which shows that the door works.
#[tokio::test]
async fn a_token_opens_its_own_door_and_no_other() {
    let mut world = World::new().await;
    let kinds = world.kinds.clone();
    let mut wrong = Vec::new();
    let mut tried = 0;
    for door in DOORS {
        for known in door.opens_for {
            assert!(kinds.iter().any(|(name, _)| name == known), "no kind {known}");
        }
        for (name, token) in kinds.iter().filter(|(name, _)| !door.opens_for.contains(name)) {
            tried += 1;
            if world.opens(door.name, token).await {
                wrong.push(format!("{name} at {}", door.name));
            }
        }
    }
    assert!(wrong.is_empty(), "of {tried} pairs, these opened: {wrong:#?}");
    let revoked = "SELECT count(*) FROM oauth_grant WHERE revoked_at IS NOT NULL";
    assert_eq!(world.app.count(revoked).await, 0, "something wrong ended something");
    // What a right one does may end it, so the doors that end things come last.
    let mut doors: Vec<&Door> = DOORS.iter().collect();
    doors.sort_by_key(|door| {
        u8::from(matches!(door.name, "refresh_token" | "code" | "device_code"))
            + 2 * u8::from(door.name == "revocation")
    });
    for door in doors {
        for kind in door.opens_for {
            // A refreshed token is another; the old one would end its family.
            if door.name == "revocation" && *kind == "refresh token" {
                continue;
            }
            let token = world.kind(kind).to_owned();
            assert!(world.opens(door.name, &token).await, "{kind} does not open {}", door.name);
        }
    }
    assert!(tried > 700, "{tried} pairs");
}
