//! `fapi2-security-profile-final-test-plan`, with certificates and with DPoP, and
//! `fapi2-message-signing-final-test-plan`: signed requests, signed answers. Each test runs for every plan its module is in.

mod assertions;
mod codes;
mod dpop;
mod metadata;
mod objects;
mod pushed;
mod requests;

use std::{net::SocketAddr, sync::Arc};

use axum::body::Body;
use http::{Method, Request, header};
use porteiro_protocol::jose::Algorithm;
use porteiro_service::{
    http::Peer,
    oauth::clients::{self, Profile, Trust},
};
use porteiro_testkit::{Answer, Browser, Flow, TestApp, nothing, verify};
use serde_json::{Map, Value, json};

use super::{Callback, ISSUER, arrived, changed, is_error, now};
use crate::oauth::{
    app,
    driver::{CALLBACK, agree, challenge, get_json, person, verifier},
    encode,
    signing::{ClientKey, token_hash},
};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mtls,
    Dpop,
    Signed,
}

const KINDS: [Kind; 3] = [Kind::Mtls, Kind::Dpop, Kind::Signed];

/// What a client's tokens are bound to.
enum Holder {
    Certificate(Vec<u8>),
    Key(Box<ClientKey>),
}

struct Party {
    kind: Kind,
    id: String,
    redirect_uri: String,
    key: ClientKey,
    holder: Holder,
}

/// The suite's two clients in every plan, and a person who is signed in.
struct Stage {
    app: Arc<TestApp>,
    browser: Browser,
    pairs: Vec<(Party, Party)>,
}

impl Stage {
    async fn new() -> Self {
        Self::of(&KINDS).await
    }

    async fn of(kinds: &[Kind]) -> Self {
        let app = app().await;
        let browser = person(&app).await;
        let mut pairs = Vec::new();
        for kind in kinds {
            let second = format!("{CALLBACK}?dummy1=lorem&dummy2=ipsum");
            pairs.push((Party::new(&app, *kind, CALLBACK).await, Party::new(&app, *kind, &second).await));
        }
        Self { app, browser, pairs }
    }
}

impl Holder {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Mtls | Kind::Signed => {
                let key = rcgen::KeyPair::generate().unwrap();
                let params = rcgen::CertificateParams::new(vec!["client.example.test".to_owned()]).unwrap();
                Self::Certificate(params.self_signed(&key).unwrap().der().to_vec())
            }
            Kind::Dpop => Self::Key(Box::new(ClientKey::new())),
        }
    }

    /// The request with the certificate, or with a proof for it.
    fn dress(&self, app: &TestApp, request: &mut Request<Body>, token: Option<&str>) {
        match self {
            Self::Certificate(der) => {
                let address = SocketAddr::from(([203, 0, 113, 7], 4242));
                request.extensions_mut().insert(Peer { address, certificate: Some(Arc::new(der.clone())) });
            }
            Self::Key(key) => {
                let proof = proof(app, key, request, token, &json!({}));
                request.headers_mut().append("dpop", proof.parse().unwrap());
            }
        }
    }
}

/// A proof for this request, with a nonce as our last answer would have given it.
fn proof(
    app: &TestApp,
    key: &ClientKey,
    request: &Request<Body>,
    token: Option<&str>,
    changes: &Value,
) -> String {
    let uri = format!("{ISSUER}{}", request.uri().path());
    let mut claims = json!({"nonce": app.app.secrets.nonce(now(app))});
    if let Some(token) = token {
        claims["ath"] = json!(token_hash(token));
    }
    key.proof(request.method().as_str(), &uri, now(app), &changed(claims, changes))
}

impl Party {
    async fn new(app: &TestApp, kind: Kind, redirect_uri: &str) -> Self {
        Self::keyed(app, kind, redirect_uri, ClientKey::new()).await
    }

    async fn keyed(app: &TestApp, kind: Kind, redirect_uri: &str, key: ClientKey) -> Self {
        let mut metadata = json!({
            "client_name": "Conformance", "redirect_uris": [redirect_uri], "grant_types": ["authorization_code"],
            "token_endpoint_auth_method": "private_key_jwt", "jwks": key.jwks(),
            "require_pushed_authorization_requests": true, "id_token_signed_response_alg": "PS256",
        });
        match kind {
            Kind::Mtls => metadata["tls_client_certificate_bound_access_tokens"] = json!(true),
            Kind::Dpop => metadata["dpop_bound_access_tokens"] = json!(true),
            Kind::Signed => {
                metadata["tls_client_certificate_bound_access_tokens"] = json!(true);
                metadata["require_signed_request_object"] = json!(true);
                metadata["authorization_signed_response_alg"] = json!("PS256");
            }
        }
        let (store, entropy) = (&app.app.store, &*app.app.entropy);
        let made = clients::create_under(store, entropy, &metadata, Trust::Verified, Profile::Fapi2).await;
        let id = made.unwrap().client_id;
        Self { kind, id, redirect_uri: redirect_uri.to_owned(), key, holder: Holder::new(kind) }
    }

    /// A client assertion as FAPI 2.0 wants it: for the issuer, in one string.
    fn assertion(&self, app: &TestApp, changes: &Value) -> String {
        self.assertion_by(&self.key, app, changes)
    }

    fn assertion_by(&self, key: &ClientKey, app: &TestApp, changes: &Value) -> String {
        let claims = json!({"iss": self.id, "sub": self.id, "aud": ISSUER, "iat": now(app), "nbf": now(app),
                            "exp": now(app) + 60, "jti": verifier()});
        key.typed("JWT", &changed(claims, changes))
    }

    /// A form, with this assertion and this holder's proof, each where there is one.
    async fn post(
        &self,
        app: &TestApp,
        path: &str,
        form: &[(&str, &str)],
        assertion: Option<&str>,
        holder: Option<&Holder>,
    ) -> Answer {
        let mut pairs = form.to_vec();
        if let Some(assertion) = assertion {
            pairs.extend([("client_assertion_type", ASSERTION), ("client_assertion", assertion)]);
        }
        let mut request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(encode(&pairs)))
            .unwrap();
        if let Some(holder) = holder {
            holder.dress(app, &mut request, None);
        }
        app.send(request).await
    }

    /// The parameters of a request; an empty value leaves one out.
    fn request(&self, verifier: &str, more: &[(&str, &str)]) -> Map<String, Value> {
        let mut request = json!({
            "client_id": self.id, "redirect_uri": self.redirect_uri, "response_type": "code", "scope": "openid",
            "state": "s-1", "nonce": "n-1", "code_challenge": challenge(verifier), "code_challenge_method": "S256",
        });
        if self.kind == Kind::Signed {
            request["response_mode"] = json!("jwt");
        }
        for (name, value) in more {
            request[*name] = json!(value);
        }
        let mut request = request.as_object().unwrap().clone();
        request.retain(|_, value| value != "");
        request
    }

    /// A request object around them (FAPI 2.0 Message Signing §5.3.1).
    fn object(&self, app: &TestApp, request: &Map<String, Value>, changes: &Value) -> Value {
        let mut claims = json!({"iss": self.id, "aud": ISSUER, "nbf": now(app), "exp": now(app) + 300});
        for (name, value) in request {
            claims[name] = value.clone();
        }
        changed(claims, changes)
    }

    /// Pushes a request as this client does, signed where it must be.
    async fn push(&self, app: &TestApp, verifier: &str, more: &[(&str, &str)]) -> Answer {
        let request = self.request(verifier, more);
        if self.kind == Kind::Signed {
            let object = self.key.request_object(&self.object(app, &request, &json!({})));
            return self.push_form(app, &[("request", &object)]).await;
        }
        let pairs: Vec<(&str, &str)> =
            request.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        self.push_form(app, &pairs).await
    }

    async fn push_form(&self, app: &TestApp, form: &[(&str, &str)]) -> Answer {
        let assertion = self.assertion(app, &json!({}));
        // The certificate does not come along here, as in the suite; a DPoP proof may, and has tests of its own.
        self.post(app, "/connect/par", form, Some(&assertion), None).await
    }

    async fn pushed(&self, app: &TestApp, verifier: &str, more: &[(&str, &str)]) -> String {
        let answer = self.push(app, verifier, more).await;
        assert_eq!(answer.status, 201, "{:?}: {}", self.kind, answer.text());
        let answer = answer.json();
        assert!((5..600).contains(&answer["expires_in"].as_i64().unwrap()));
        super::is_unguessable(super::text(&answer, "request_uri"));
        super::text(&answer, "request_uri").to_owned()
    }

    fn path(&self, request_uri: &str, more: &[(&str, &str)]) -> String {
        let pairs = [&[("client_id", self.id.as_str()), ("request_uri", request_uri)], more].concat();
        format!("/connect/authorize?{}", encode(&pairs))
    }

    /// What came back, read off the signed answer where it is one.
    async fn read(&self, app: &TestApp, body: &Value) -> Callback {
        let callback = arrived(&self.redirect_uri, "", body);
        let Some(response) = callback.get("response") else { return callback };
        assert!(self.kind == Kind::Signed && !callback.contains_key("code"), "{callback:?}");
        assert_eq!(super::header_of(response)["alg"], "PS256");
        let claims = verify(response, &super::keys(app).await).unwrap();
        assert_eq!((&claims["iss"], &claims["aud"]), (&json!(ISSUER), &json!(self.id)));
        assert!((10..=600).contains(&(claims["exp"].as_i64().unwrap() - now(app))), "{claims}");
        let texts = claims.as_object().unwrap().iter();
        texts.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    }

    async fn visit(
        &self,
        app: &TestApp,
        browser: &mut Browser,
        uri: &str,
        more: &[(&str, &str)],
    ) -> Callback {
        let answer = get_json(browser, &self.path(uri, more)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let body = agree(browser, answer.json()).await;
        let callback = self.read(app, &body).await;
        assert_eq!(callback.get("iss").map(String::as_str), Some(ISSUER));
        callback
    }

    /// From pushing to the callback.
    async fn authorize(
        &self,
        app: &TestApp,
        browser: &mut Browser,
        more: &[(&str, &str)],
    ) -> (Callback, String) {
        let verifier = verifier();
        let uri = self.pushed(app, &verifier, more).await;
        (self.visit(app, browser, &uri, &[]).await, verifier)
    }

    fn code_form<'a>(&'a self, code: &'a str, verifier: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", &self.redirect_uri),
        ]
    }

    async fn token(&self, app: &TestApp, form: &[(&str, &str)]) -> Answer {
        let assertion = self.assertion(app, &json!({}));
        self.post(app, "/connect/token", form, Some(&assertion), Some(&self.holder)).await
    }

    async fn redeem(&self, app: &TestApp, callback: &Callback, verifier: &str) -> Value {
        let answer = self.token(app, &self.code_form(&callback["code"], verifier)).await;
        assert_eq!(answer.status, 200, "{:?}: {}", self.kind, answer.text());
        answer.json()
    }

    async fn tokens(&self, app: &TestApp, browser: &mut Browser, more: &[(&str, &str)]) -> Value {
        let (callback, verifier) = self.authorize(app, browser, more).await;
        self.redeem(app, &callback, &verifier).await
    }

    /// The ID token, signed as FAPI 2.0 allows.
    async fn id(&self, app: &TestApp, tokens: &Value, nonce: Option<&str>) -> Value {
        assert_eq!(super::header_of(super::text(tokens, "id_token"))["alg"], "PS256");
        super::id_token(app, tokens, &self.id, nonce).await
    }

    fn scheme(&self) -> &'static str {
        match self.kind {
            Kind::Mtls | Kind::Signed => "Bearer",
            Kind::Dpop => "DPoP",
        }
    }

    /// The resource, with the token in the header under this scheme.
    async fn resource(&self, app: &TestApp, token: &str, scheme: &str, holder: Option<&Holder>) -> u16 {
        let mut request = Request::builder()
            .method(Method::GET)
            .uri("/connect/userinfo")
            .header(header::AUTHORIZATION, format!("{scheme} {token}"))
            .body(Body::empty())
            .unwrap();
        if let Some(holder) = holder {
            holder.dress(app, &mut request, Some(token));
        }
        app.send(request).await.status.as_u16()
    }
}

/// An error in a body, one of these.
fn refused(answer: &Answer, errors: &[&str], what: &str) {
    assert!(matches!(answer.status.as_u16(), 400 | 401), "{what}: {} {}", answer.status, answer.text());
    let error = answer.json()["error"].as_str().unwrap_or_default().to_owned();
    assert!(errors.contains(&error.as_str()), "{what}: {error}");
}
