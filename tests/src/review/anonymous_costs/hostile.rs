//! What strangers send: large, varied, and as expensive as they can make it.

use std::sync::Arc;

use axum::body::Body;
use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Method, Request, header, request::Builder};
use porteiro_protocol::time::Clock;
use porteiro_service::http::Route;
use porteiro_testkit::{Browser, ORIGIN, TestApp};
use serde_json::{Value, json};

use super::table::Cost;
use crate::oauth::{
    driver::{CALLBACK, challenge, verifier},
    encode,
    signing::ClientKey,
};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Clients, a flow and a registration that a stranger has made.
#[derive(Debug)]
pub struct World {
    app: Arc<TestApp>,
    public: String,
    confidential: (String, String),
    signing: (String, ClientKey),
    flow: (String, String),
    large: String,
}

async fn registered(app: &TestApp, more: Value) -> Value {
    let mut metadata = json!({"client_name": "Stranger", "redirect_uris": [CALLBACK],
                              "grant_types": ["authorization_code", "refresh_token"]});
    for (name, value) in more.as_object().unwrap() {
        metadata[name] = value.clone();
    }
    let answer = app.json("/connect/register", &metadata).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

impl World {
    pub async fn made(app: &Arc<TestApp>) -> Self {
        let key = ClientKey::new();
        let public = registered(app, json!({"token_endpoint_auth_method": "none"})).await;
        let confidential = registered(app, json!({"token_endpoint_auth_method": "client_secret_post"})).await;
        let jwt = json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": key.jwks()});
        let signing = registered(app, jwt).await;
        let mut browser = Browser::new(app);
        let flow = browser.open(json!({"kind": "sign_in"})).await;
        let cookies: Vec<String> =
            browser.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Self {
            app: Arc::clone(app),
            public: text(&public, "client_id"),
            confidential: (text(&confidential, "client_id"), text(&confidential, "client_secret")),
            signing: (text(&signing, "client_id"), key),
            flow: (flow.id().to_owned(), cookies.join("; ")),
            large: "x".repeat(4_000),
        }
    }

    /// An authorization request: a good one, large; or one of several bad ones.
    fn authorization(&self, number: u32) -> Vec<(&'static str, String)> {
        let id = match number % 8 {
            1 if number % 16 == 1 => format!("https://nobody-{number}.example/client.json"),
            1 => format!("nobody-{number}"),
            2 | 3 => self.signing.0.clone(),
            _ => self.public.clone(),
        };
        let mut pairs = vec![
            ("client_id", id),
            ("redirect_uri", CALLBACK.to_owned()),
            ("response_type", "code".to_owned()),
            ("scope", "openid".to_owned()),
            ("state", self.large.clone()),
            ("code_challenge", challenge(&verifier())),
            ("code_challenge_method", "S256".to_owned()),
        ];
        match number % 8 {
            2 => pairs.push(("request", self.object(&self.signing.1))),
            3 => pairs.push(("request", self.object(&ClientKey::new()))),
            4 => pairs.push(("request_uri", format!("https://example.test/{number}"))),
            5 => pairs.push(("request_uri", format!("urn:ietf:params:oauth:request_uri:pt_par_{number}"))),
            6 => pairs.push(("prompt", "none".to_owned())),
            7 => pairs.push(("id_token_hint", format!("e30.{number}.AA"))),
            _ => {}
        }
        pairs
    }

    fn object(&self, key: &ClientKey) -> String {
        let now = self.app.clock.now().unix_timestamp();
        let claims = json!({
            "iss": self.signing.0, "aud": ORIGIN, "iat": now, "nbf": now, "exp": now + 300,
            "client_id": self.signing.0, "redirect_uri": CALLBACK, "response_type": "code", "scope": "openid",
            "code_challenge": challenge(&verifier()), "code_challenge_method": "S256",
        });
        let header = json!({"alg": "ES256", "kid": self.signing.1.jwk()["kid"]});
        key.sign(&header, &claims)
    }

    /// Who asks: nobody that is known, a client that proves itself, or one that does not.
    fn client(&self, number: u32) -> Vec<(&'static str, String)> {
        let named =
            |id: &str, secret: &str| vec![("client_id", id.to_owned()), ("client_secret", secret.to_owned())];
        match number % 6 {
            0 => named(&format!("nobody-{number}"), "x"),
            1 => named(&self.confidential.0, "wrong"),
            2 => named(&self.confidential.0, &self.confidential.1),
            3 => vec![("client_id", self.public.clone())],
            4 => self.assertion(number, &self.signing.1),
            _ => self.assertion(number, &ClientKey::new()),
        }
    }

    fn assertion(&self, number: u32, key: &ClientKey) -> Vec<(&'static str, String)> {
        let now = self.app.clock.now().unix_timestamp();
        let claims = json!({"iss": self.signing.0, "sub": self.signing.0, "aud": ORIGIN, "iat": now,
                            "exp": now + 60, "jti": format!("jti-{number}-{}", verifier())});
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": self.signing.1.jwk()["kid"]});
        let assertion = key.sign(&header, &claims);
        vec![("client_assertion_type", ASSERTION.to_owned()), ("client_assertion", assertion)]
    }

    fn proof(&self, path: &str, method: &str) -> String {
        let now = self.app.clock.now().unix_timestamp();
        let nonce = self.app.app.secrets.nonce(now);
        ClientKey::new().proof(method, &format!("{ORIGIN}{path}"), now, &json!({"nonce": nonce}))
    }
}

fn form(path: &str, pairs: &[(&str, String)]) -> Builder2 {
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let builder = Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    (builder, encode(&pairs))
}

type Builder2 = (Builder, String);

fn finish((builder, body): Builder2) -> Request<Body> {
    builder.body(Body::from(body)).unwrap()
}

fn json_request(method: &str, path: &str, body: &Value) -> Builder2 {
    let builder = Request::builder()
        .method(method)
        .uri(path)
        .header(header::ORIGIN, ORIGIN)
        .header(header::CONTENT_TYPE, "application/json");
    (builder, body.to_string())
}

/// Well-formed, and nobody's.
fn id(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

fn get(path: &str) -> Request<Body> {
    Request::get(path).header(header::ACCEPT, "application/json").body(Body::empty()).unwrap()
}

fn query(pairs: &[(&str, String)]) -> String {
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
    encode(&pairs)
}

/// A request to this route, another one for every number.
pub fn request(world: &World, cost: &Cost, number: u32) -> Request<Body> {
    let token = "/connect/token";
    match (cost.method, cost.path) {
        ("GET", "/connect/authorize") => {
            get(&format!("{}?{}", cost.path, query(&world.authorization(number))))
        }
        ("POST", "/connect/authorize") => {
            let mut pairs = world.authorization(number);
            let claims = format!(r#"{{"userinfo":{{"{}":null}}}}"#, "c".repeat(15_000));
            if number.is_multiple_of(4) {
                pairs.push(("claims", claims));
            }
            let (builder, body) = form(cost.path, &pairs);
            finish((builder.header(header::ACCEPT, "application/json"), body))
        }
        ("POST", "/connect/par") => {
            let mut pairs = world.authorization(number);
            pairs.retain(|(name, _)| *name != "client_id" && *name != "request_uri");
            pairs.extend(world.client(number));
            let (builder, body) = form(cost.path, &pairs);
            finish((builder.header("dpop", world.proof(cost.path, "POST")), body))
        }
        ("POST", "/connect/token") => {
            let mut pairs = world.client(number);
            let grant = ["authorization_code", "refresh_token", "client_credentials", "junk"];
            pairs.push(("grant_type", grant[number as usize % 4].to_owned()));
            pairs.push(("code", format!("pt_code_{number}")));
            pairs.push(("refresh_token", format!("pt_rt_{number}")));
            let (mut builder, body) = form(token, &pairs);
            if number.is_multiple_of(2) {
                builder = builder.header("dpop", world.proof(token, "POST"));
            }
            if number.is_multiple_of(7) {
                let key = STANDARD.encode(format!("pt_key_{number:022}:x"));
                builder = builder.header(header::AUTHORIZATION, format!("Basic {key}"));
            }
            finish((builder, body))
        }
        (
            "POST",
            path @ ("/connect/challenge"
            | "/connect/ciba"
            | "/connect/device"
            | "/connect/introspect"
            | "/connect/revoke"),
        ) => {
            let mut pairs = world.client(number);
            pairs.push(("token", format!("pt_rt_{number}")));
            pairs.push(("scope", world.large.clone()));
            finish(form(path, &pairs))
        }
        ("GET", "/connect/logout") => get(&format!("{}?id_token_hint=e30.{number}.AA", cost.path)),
        ("POST", "/connect/logout") => finish(form(
            cost.path,
            &[("client_id", format!("nobody-{number}")), ("state", world.large.clone())],
        )),
        ("POST", "/connect/register") => {
            let uris: Vec<String> =
                (0..8).map(|one| format!("https://a.example/{one}/{}", "p".repeat(1_500))).collect();
            let body = json!({"client_name": format!("Stranger {number}"), "redirect_uris": uris});
            finish(json_request("POST", cost.path, &body))
        }
        (method @ ("GET" | "PUT" | "DELETE"), "/connect/register/{client_id}") => {
            let id = if number.is_multiple_of(2) { world.public.clone() } else { format!("nobody-{number}") };
            let (builder, body) = json_request(method, &format!("/connect/register/{id}"), &json!({}));
            finish((builder.header(header::AUTHORIZATION, format!("Bearer pt_reg_{number}")), body))
        }
        (method, "/connect/userinfo") => Request::builder()
            .method(method)
            .uri(cost.path)
            .header(header::AUTHORIZATION, format!("DPoP e30.{number}.AA"))
            .header("dpop", world.proof(cost.path, method))
            .body(Body::empty())
            .unwrap(),
        ("POST", "/v1/flows") => {
            let kinds = ["sign_in", "recover", "register", "confirm_device", "reauthenticate", "sign_in"];
            let which = number as usize % kinds.len();
            let mut body = json!({"kind": kinds[which], "locale": world.large});
            if which == 5 {
                body["organization"] = json!(format!("{number:0>100}"));
            }
            finish(json_request("POST", cost.path, &body))
        }
        ("POST", "/v1/invitations/look") => {
            finish(json_request("POST", cost.path, &json!({"token": format!("pt_inv_{number}")})))
        }
        (method @ ("GET" | "DELETE"), "/v1/flows/{id}") => {
            let id = if number.is_multiple_of(2) { world.flow.0.clone() } else { id(number) };
            finish(json_request(method, &format!("/v1/flows/{id}"), &Value::Null))
        }
        ("POST", "/v1/flows/{id}/{module}/{verb}") => {
            let who = format!("stranger-{number}@example.test");
            let (action, body) = match number % 3 {
                0 => {
                    ("password/check", json!({"step": 1, "identifier": who, "password": "wrong wrong wrong"}))
                }
                1 => ("passkey/begin", json!({"step": number})),
                _ => ("junk/junk", json!({"step": 1})),
            };
            let (builder, body) =
                json_request("POST", &format!("/v1/flows/{}/{action}", world.flow.0), &body);
            finish((builder.header(header::COOKIE, &world.flow.1), body))
        }
        (
            "GET",
            path @ ("/v1/branding/clients/{owner}/{digest}" | "/v1/branding/organizations/{owner}/{digest}"),
        ) => get(&path.replace("{owner}", &id(number)).replace("{digest}", &format!("{number:064x}"))),
        ("GET", "/.well-known/oauth-protected-resource/{*resource}") => {
            get(&format!("/.well-known/oauth-protected-resource/stranger-{number}.example/{}", world.large))
        }
        ("POST", path) if path.starts_with("/connect/federation/") => {
            let path = path.replace("{organization}", &id(number)).replace("{connection}", &id(number + 1));
            finish(form(&path, &[("logout_token", format!("e30.{number}.AA"))]))
        }
        ("GET", path) => get(&format!("{path}?junk={number}")),
        (method, path) => panic!("say what a stranger sends to {method} {path}"),
    }
}

/// A request to a route that needs more than a stranger has.
pub fn unauthorized(route: &Route, authorization: Option<&str>, number: u32) -> Request<Body> {
    let mut path = String::new();
    for part in route.path.split('/').skip(1) {
        path.push('/');
        path.push_str(if part.starts_with('{') { "00000000-0000-4000-8000-000000000000" } else { part });
    }
    let mut builder =
        Request::builder().method(route.method.clone()).uri(path).header(header::ORIGIN, ORIGIN);
    if let Some(authorization) = authorization {
        builder = builder.header(header::AUTHORIZATION, format!("{authorization}{number}"));
    }
    if route.method == Method::GET || route.method == Method::DELETE {
        return builder.body(Body::empty()).unwrap();
    }
    builder.header(header::CONTENT_TYPE, "application/json").body(Body::from("{}")).unwrap()
}
