//! One of every kind.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{jose::Algorithm, time::Clock};
use porteiro_service::oauth::{
    clients::{self, Trust},
    logout,
};
use porteiro_testkit::{Browser, TestApp, verify};
use serde_json::{Value, json};

use super::super::{
    LEDGER, app, device,
    driver::{CALLBACK, Relying, agree, challenge, parameter, person, userinfo, verifier},
    encode,
    registration::REGISTER,
    service,
    signing::ClientKey,
};

/// Everything somebody could hold.
#[derive(Debug)]
pub struct World {
    pub app: Arc<TestApp>,
    pub browser: Browser,
    /// The client that all of it is about, with its key; it speaks of the house, so that it may ask for `account`.
    pub client: Relying,
    pub key: ClientKey,
    /// The verifier of the unused code.
    pub verifier: String,
    pub registered: String,
    pub flow: String,
    pub kinds: Vec<(&'static str, String)>,
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

impl World {
    pub async fn new() -> Self {
        let app = app().await;
        let browser = person(&app).await;
        let key = ClientKey::new();
        let grants = ["authorization_code", "refresh_token", device::GRANT];
        let more = json!({"grant_types": grants, "jwks": key.jwks(), "userinfo_signed_response_alg": "ES256",
                          "authorization_signed_response_alg": "ES256", "client_uri": "https://app.example.test"});
        let client = Relying::with(&app, Trust::FirstParty, more).await;
        let mut world = Self {
            app,
            browser,
            client,
            key,
            verifier: verifier(),
            registered: String::new(),
            flow: String::new(),
            kinds: Vec::new(),
        };
        world.opaque().await;
        world.signed_by_us().await;
        world.forged().await;
        world.signed_by_clients();
        world
    }

    pub fn kind(&self, name: &str) -> &str {
        &self.kinds.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no {name}")).1
    }

    fn add(&mut self, name: &'static str, token: impl Into<String>) {
        self.kinds.push((name, token.into()));
    }

    fn now(&self) -> i64 {
        self.app.clock.now().unix_timestamp()
    }

    async fn opaque(&mut self) {
        let tokens = self.client.tokens(&mut self.browser, &self.app, &[]).await;
        self.add("access token", text(&tokens, "access_token"));
        self.add("refresh token", text(&tokens, "refresh_token"));
        self.add("ID token", text(&tokens, "id_token"));
        let asked = self.client.ask(&mut self.browser, &self.verifier, &[]).await.json();
        let done = agree(&mut self.browser, asked).await;
        self.add("code", parameter(&done, "code").unwrap());
        self.add("session token", self.browser.session().unwrap().clone());
        self.add("client secret", self.client.secret.clone().unwrap());
        let mut other = Browser::new(&self.app);
        let flow = other.open(json!({"kind": "sign_in"})).await;
        flow.id().clone_into(&mut self.flow);
        self.add("flow secret", other.cookies["__Host-bind"].clone());
        let body = json!({"client_name": "X", "redirect_uris": ["https://x.example/cb"]});
        let registered = self.app.json(REGISTER, &body).await.json();
        self.registered = text(&registered, "client_id");
        self.add("registration token", text(&registered, "registration_access_token"));
        let uri = self.pushed().await;
        self.add("pushed request", uri);
        let uri = self.pushed().await;
        self.add("secret of a pushed request", uri.rsplit(':').next().unwrap());
        let asked = device::asks(&self.app, &self.client, &[("scope", "openid")]).await;
        device::allows(&mut self.browser, &asked.user_code).await;
        self.add("device code", asked.device_code);
        self.add("user code", asked.user_code);
    }

    async fn pushed(&self) -> String {
        let hash = challenge(&verifier());
        let request = [
            ("redirect_uri", CALLBACK),
            ("response_type", "code"),
            ("scope", "openid"),
            ("code_challenge", hash.as_str()),
            ("code_challenge_method", "S256"),
        ];
        text(&self.client.call(&self.app, "/connect/par", &request).await.json(), "request_uri")
    }

    async fn signed_by_us(&mut self) {
        let tokens = self.client.tokens(&mut self.browser, &self.app, &[("scope", "openid account")]).await;
        self.add("account token", text(&tokens, "access_token"));
        let more = [("scope", "openid invoices:read"), ("resource", LEDGER)];
        let tokens = self.client.tokens(&mut self.browser, &self.app, &more).await;
        self.add("access token for an API, with openid", text(&tokens, "access_token"));
        let more = [("scope", "invoices:read"), ("resource", LEDGER)];
        let tokens = self.client.tokens(&mut self.browser, &self.app, &more).await;
        self.add("access token for an API", text(&tokens, "access_token"));
        let robot = service(&self.app, "client_secret_post", json!({})).await;
        let form = [
            ("grant_type", "client_credentials"),
            ("scope", "invoices:read"),
            ("client_id", robot["client_id"].as_str().unwrap()),
            ("client_secret", robot["client_secret"].as_str().unwrap()),
        ];
        let own = self.app.form("/connect/token", encode(&form)).await.json();
        self.add("access token of a client", text(&own, "access_token"));
        let me = userinfo(&self.app, self.kind("access token")).await;
        assert_eq!(me.header("content-type"), "application/jwt");
        self.add("signed userinfo", me.text());
        let answer = self.browser.get(&self.client.path(&verifier(), &[("response_mode", "jwt")])).await;
        let location = url::Url::parse(answer.header("location")).unwrap();
        self.add("signed answer", location.query_pairs().next().unwrap().1);
        let metadata = self.app.get("/.well-known/openid-configuration").await.json();
        self.add("signed metadata", text(&metadata, "signed_metadata"));
        let id = self.claims("ID token").await;
        let known = clients::find(&self.app.app.store, &self.client.id).await.unwrap().unwrap();
        let session = self.browser.get("/v1/account/sessions").await.json()["items"][0]["id"].clone();
        let (sub, session) = (text(&id, "sub").parse().unwrap(), session.as_str().unwrap().parse().unwrap());
        self.add("logout token", logout::token(&self.app.app, &known, sub, session).await.unwrap());
    }

    async fn claims(&self, kind: &str) -> Value {
        let jwks = self.app.get("/.well-known/jwks.json").await.json();
        verify(self.kind(kind), &jwks).unwrap()
    }

    /// With our own key: what a mistake of ours would look like.
    async fn ours(&self, typ: &str, claims: &Value) -> String {
        let signer = self.app.app.keys.current().signer(Algorithm::Es256).unwrap();
        signer.jwt(typ, claims).await.unwrap()
    }

    /// An account token with one thing wrong each.
    async fn forged(&mut self) {
        let good = self.claims("account token").await;
        let change = |name: &str, value: Value| {
            let mut claims = good.clone();
            claims[name] = value;
            claims
        };
        let without = |name: &str| {
            let mut claims = good.clone();
            claims.as_object_mut().unwrap().remove(name);
            claims
        };
        let now = self.now();
        let expired = self.ours("at+jwt", &change("exp", json!(now))).await;
        self.add("expired", expired);
        let no_end = self.ours("at+jwt", &without("exp")).await;
        self.add("without exp", no_end);
        let no_beginning = self.ours("at+jwt", &without("iat")).await;
        self.add("without iat", no_beginning);
        let text_end = self.ours("at+jwt", &change("exp", json!("99999999999"))).await;
        self.add("exp as text", text_end);
        let future = self.ours("at+jwt", &change("iat", json!(now + 600))).await;
        self.add("from the future", future);
        let issuer = self.ours("at+jwt", &change("iss", json!("https://evil.example"))).await;
        self.add("of another issuer", issuer);
        let untyped = self.ours("JWT", &good).await;
        self.add("typed as any JWT", untyped);
        let audience =
            self.ours("at+jwt", &change("aud", json!([good["aud"], "https://evil.example"]))).await;
        self.add("for several audiences", audience);
        let subject =
            self.ours("at+jwt", &change("sub", json!("00000000-0000-0000-0000-000000000000"))).await;
        self.add("of another person", subject);

        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let token = self.kind("account token").to_owned();
        let signature = token.rsplit('.').next().unwrap().to_owned();
        for (name, alg) in [("alg none", "none"), ("alg None", "None"), ("no alg", "")] {
            let header =
                if alg.is_empty() { json!({"typ": "at+jwt"}) } else { json!({"typ": "at+jwt", "alg": alg}) };
            self.add(name, format!("{}.{}.", part(&header), part(&good)));
        }
        self.add("signature taken off", token[..token.len() - signature.len()].to_owned());
        self.add("truncated", token[..token.len() - 2].to_owned());
        self.add(
            "claims changed",
            format!(
                "{}.{}.{signature}",
                part(&json!({"typ": "at+jwt", "alg": "ES256"})),
                part(&change("scope", json!("openid account admin")))
            ),
        );
        let jwks = self.app.get("/.well-known/jwks.json").await.json();
        let key = jwks["keys"].as_array().unwrap().iter().find(|key| key["alg"] == "ES256").unwrap().clone();
        for (name, secret) in
            [("HMAC with the public key", key.to_string()), ("HMAC with a coordinate", text(&key, "x"))]
        {
            let input = format!(
                "{}.{}",
                part(&json!({"typ": "at+jwt", "alg": "HS256", "kid": key["kid"]})),
                part(&good)
            );
            let mac = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, secret.as_bytes());
            let tag = aws_lc_rs::hmac::sign(&mac, input.as_bytes());
            self.add(name, format!("{input}.{}", URL_SAFE_NO_PAD.encode(tag)));
        }
        let forger = ClientKey::new();
        for (name, header) in [
            ("foreign key", json!({"typ": "at+jwt", "alg": "ES256", "kid": key["kid"]})),
            (
                "foreign key in the header",
                json!({"typ": "at+jwt", "alg": "ES256", "kid": key["kid"], "jwk": forger.jwk()}),
            ),
            (
                "foreign key at an address",
                json!({"typ": "at+jwt", "alg": "ES256", "jku": "https://evil.example/jwks"}),
            ),
        ] {
            self.add(name, forger.sign(&header, &good));
        }
        let own = self.key.typed("at+jwt", &good);
        self.add("signed by the client", own);
    }

    fn signed_by_clients(&mut self) {
        let (now, id) = (self.now(), self.client.id.clone());
        let assertion = json!({"iss": id, "sub": id, "aud": "https://id.example.test", "iat": now, "exp": now + 60, "jti": "a"});
        self.add("client assertion", self.key.typed("JWT", &assertion));
        let object = json!({"iss": id, "aud": "https://id.example.test", "exp": now + 60, "client_id": id, "response_type": "code",
                            "redirect_uri": CALLBACK, "scope": "openid", "code_challenge": challenge(&verifier()),
                            "code_challenge_method": "S256"});
        self.add("request object", self.key.typed("oauth-authz-req+jwt", &object));
        // As far as a request object can be made to look like an assertion.
        let mut both = object;
        both["sub"] = json!(id);
        both["jti"] = json!("b");
        self.add(
            "request object with the claims of an assertion",
            self.key.typed("oauth-authz-req+jwt", &both),
        );
        let proof = self.key.proof(
            "GET",
            "https://id.example.test/connect/userinfo",
            now,
            &json!({"sub": id, "iss": id}),
        );
        self.add("DPoP proof", proof);
    }
}
