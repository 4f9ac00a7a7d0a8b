//! `fapi-ciba-id1-test-plan`, poll and ping, with `private_key_jwt` and with certificates. Each test runs for every way to
//! authenticate that its module is for.

mod objects;
mod ping;
mod requests;
mod tokens;

use std::{net::SocketAddr, sync::Arc};

use axum::body::Body;
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use http::{Request, header};
use porteiro_protocol::jose::Algorithm;
use porteiro_service::{
    http::Peer,
    oauth::clients::{self, Profile, Trust},
};
use porteiro_testkit::{Answer, Browser, TestApp, TestAppBuilder};
use serde_json::{Value, json};

use super::{ISSUER, changed, now};
use crate::{
    agents::driver::{Asked, CIBA, asked, proved},
    oauth::{driver::verifier, encode, signing::ClientKey},
    organizations::driver::account_of,
};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Where clients with certificates go.
const MTLS: &str = "https://mtls.example.test";
const BACKCHANNEL: &str = "/connect/ciba";
const TOKEN: &str = "/connect/token";

/// How a client authenticates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Assertion,
    Certificate,
}

const KINDS: [Kind; 2] = [Kind::Assertion, Kind::Certificate];

struct Party {
    kind: Kind,
    id: String,
    key: ClientKey,
    /// Its tokens are bound to this, whichever way it authenticates.
    certificate: Vec<u8>,
    /// Whom it asks.
    person: String,
    pinged: bool,
}

/// The suite's two clients in every plan, and the person who lets them ask.
struct Stage {
    app: Arc<TestApp>,
    browser: Browser,
    pairs: Vec<(Party, Party)>,
}

impl Stage {
    async fn new() -> Self {
        Self::on(TestApp::builder().people(), &json!({})).await
    }

    /// `more`: metadata of the clients.
    async fn on(builder: TestAppBuilder, more: &Value) -> Self {
        let builder = builder.settings(|settings| {
            settings.client_certificate_header = Some("x-client-certificate".into());
            settings.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
            settings.mtls_base_url = Some(MTLS.into());
        });
        let app = Arc::new(builder.start().await);
        let mut browser = proved(&app, "ana@example.test").await;
        let person = account_of(&mut browser).await.to_string();
        let mut pairs = Vec::new();
        for kind in KINDS {
            let one = Party::new(&app, kind, &person, more).await;
            pairs.push((one, Party::new(&app, kind, &person, more).await));
        }
        app.catch_up().await;
        for party in pairs.iter().flat_map(|(one, two)| [one, two]) {
            let body = json!({"client_id": party.id, "scope": "openid profile email"});
            let answer = browser.post("/v1/account/delegations", &body).await;
            assert_eq!(answer.status, 201, "{}", answer.text());
        }
        Self { app, browser, pairs }
    }
}

/// A certificate nobody signed, and its key as RFC 8705 §2.2.2 has a client register it.
fn certificate() -> (Vec<u8>, Value) {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["client.example.test".to_owned()]).unwrap();
    let der = params.self_signed(&key).unwrap().der().to_vec();
    let point = key.public_key_raw();
    let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..65]));
    let chain = [STANDARD.encode(&der)];
    (der, json!({"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": "certificate", "x5c": chain}))
}

/// Sends it as a client that shows this certificate.
async fn send(app: &TestApp, mut request: Request<Body>, certificate: Option<&[u8]>) -> Answer {
    let address = SocketAddr::from(([203, 0, 113, 7], 4242));
    let certificate = certificate.map(|der| Arc::new(der.to_vec()));
    request.extensions_mut().insert(Peer { address, certificate });
    app.send(request).await
}

impl Party {
    async fn new(app: &TestApp, kind: Kind, person: &str, more: &Value) -> Self {
        let key = ClientKey::of(Algorithm::Ps256);
        let (certificate, by_certificate) = certificate();
        let (method, jwks) = match kind {
            Kind::Assertion => ("private_key_jwt", key.jwks()),
            Kind::Certificate => {
                ("self_signed_tls_client_auth", json!({"keys": [key.jwk(), by_certificate]}))
            }
        };
        let metadata = json!({
            "client_name": "Conformance", "kind": "agent", "grant_types": [CIBA], "response_types": [],
            "token_endpoint_auth_method": method, "jwks": jwks, "id_token_signed_response_alg": "PS256",
            "backchannel_authentication_request_signing_alg": "PS256",
            "require_pushed_authorization_requests": true, "tls_client_certificate_bound_access_tokens": true,
        });
        let metadata = changed(metadata, more);
        let (store, entropy) = (&app.app.store, &*app.app.entropy);
        let made = clients::create_under(store, entropy, &metadata, Trust::Verified, Profile::Fapi2).await;
        let pinged = metadata["backchannel_token_delivery_mode"] == "ping";
        Self { kind, id: made.unwrap().client_id, key, certificate, person: person.to_owned(), pinged }
    }

    /// What a request says (FAPI-CIBA §5.2.2, CIBA Core §7.1.1).
    fn claims(&self, app: &TestApp, changes: &Value) -> Value {
        let mut claims = json!({
            "iss": self.id, "aud": ISSUER, "iat": now(app), "nbf": now(app), "exp": now(app) + 300, "jti": verifier(),
            "scope": "openid profile email", "login_hint": self.person,
        });
        if self.pinged {
            claims["client_notification_token"] = json!("bearer-of-the-client");
        }
        changed(claims, changes)
    }

    fn assertion_by(&self, key: &ClientKey, app: &TestApp, audience: &str) -> String {
        let claims = json!({"iss": self.id, "sub": self.id, "aud": audience, "iat": now(app), "nbf": now(app),
                            "exp": now(app) + 60, "jti": verifier()});
        key.typed("JWT", &claims)
    }

    /// As the suite does: each endpoint is the audience under the address where it is called.
    fn assertion(&self, app: &TestApp, path: &str) -> String {
        let base = if path == TOKEN { MTLS } else { ISSUER };
        self.assertion_by(&self.key, app, &format!("{base}{path}"))
    }

    /// A form, with this assertion and this certificate, each where there is one.
    async fn post(
        app: &TestApp,
        path: &str,
        form: &[(&str, &str)],
        assertion: Option<&str>,
        certificate: Option<&[u8]>,
    ) -> Answer {
        let mut pairs = form.to_vec();
        if let Some(assertion) = assertion {
            pairs.extend([("client_assertion_type", ASSERTION), ("client_assertion", assertion)]);
        }
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(encode(&pairs)))
            .unwrap();
        send(app, request, certificate).await
    }

    /// A form as this client sends it.
    async fn call(&self, app: &TestApp, path: &str, form: &[(&str, &str)]) -> Answer {
        let certificate = Some(self.certificate.as_slice());
        match self.kind {
            Kind::Assertion => {
                let assertion = self.assertion(app, path);
                let shown = certificate.filter(|_| path == TOKEN);
                Self::post(app, path, form, Some(&assertion), shown).await
            }
            Kind::Certificate => {
                let form = [form, &[("client_id", self.id.as_str())]].concat();
                Self::post(app, path, &form, None, certificate).await
            }
        }
    }

    /// Asks the person, with claims replaced.
    async fn ask(&self, app: &TestApp, changes: &Value) -> Answer {
        let object = self.key.request_object(&self.claims(app, changes));
        self.call(app, BACKCHANNEL, &[("request", &object)]).await
    }

    async fn asked(&self, app: &TestApp, changes: &Value) -> Asked {
        asked(&self.ask(app, changes).await)
    }

    async fn poll(&self, app: &TestApp, asked: &Asked) -> Answer {
        self.call(app, TOKEN, &[("grant_type", CIBA), ("auth_req_id", &asked.handle)]).await
    }

    /// Asks, is approved, and gets its tokens.
    async fn tokens(&self, app: &TestApp, browser: &mut Browser, changes: &Value) -> Value {
        let asked = self.asked(app, changes).await;
        refused(&self.poll(app, &asked).await, &["authorization_pending"], "undecided");
        approve(browser, &asked).await;
        let answer = self.poll(app, &asked).await;
        assert_eq!(answer.status, 200, "{:?}: {}", self.kind, answer.text());
        answer.json()
    }

    /// The resource, as the holder of this certificate.
    async fn resource(&self, app: &TestApp, token: &str, certificate: Option<&[u8]>) -> Answer {
        let request = Request::get("/connect/userinfo")
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header("x-fapi-interaction-id", INTERACTION)
            .body(Body::empty())
            .unwrap();
        send(app, request, certificate).await
    }
}

const INTERACTION: &str = "c770AEF3-6784-41f7-8e0e-ff5f97bddb3a";

/// The person decides about the newest request.
async fn decide(browser: &mut Browser, verb: &str, body: &Value) {
    let waiting = browser.get("/v1/account/approvals?state=pending").await.json();
    let id = super::text(&waiting["items"][0], "id").to_owned();
    let answer = browser.post(&format!("/v1/account/approvals/{id}/{verb}"), body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

async fn approve(browser: &mut Browser, asked: &Asked) {
    decide(browser, "approve", &json!({"number": asked.number})).await;
}

/// An error in a body, one of these.
fn refused(answer: &Answer, errors: &[&str], what: &str) {
    assert!(matches!(answer.status.as_u16(), 400 | 401), "{what}: {} {}", answer.status, answer.text());
    let error = answer.json()["error"].as_str().unwrap_or_default().to_owned();
    assert!(errors.contains(&error.as_str()), "{what}: {error}");
}
