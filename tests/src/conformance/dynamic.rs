//! `oidcc-dynamic-certification-test-plan`: clients that register themselves and prove themselves with a key.

use std::sync::Arc;

use porteiro_protocol::{jose::Algorithm, time::Duration};
use porteiro_service::oauth::{
    clients::Trust,
    keys::{self, Rotation},
};
use porteiro_testkit::{Answer, Browser, TestApp, verify};
use serde_json::{Value, json};

use super::{ISSUER, arrived, header_of, id_token, list, metadata, text};
use crate::oauth::{
    driver::{CALLBACK, Relying, agree, challenge, get_json, person, userinfo, verifier},
    encode,
    rfc9700::stays,
    signing::ClientKey,
    site::Site,
};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

struct Dynamic {
    app: Arc<TestApp>,
    site: Site,
    browser: Browser,
}

/// A client that registered itself, and its key.
struct Registered {
    answer: Value,
    key: ClientKey,
    redirect_uri: String,
}

impl Dynamic {
    async fn new() -> Self {
        let site = Site::start().await;
        let app = site.app().await;
        let browser = person(&app).await;
        Self { app, site, browser }
    }

    async fn register(&self, more: Value) -> Registered {
        let key = ClientKey::of(Algorithm::Rs256);
        let mut metadata = json!({
            "client_name": "Conformance", "redirect_uris": [CALLBACK], "contacts": ["certification@example.test"],
            "grant_types": ["authorization_code"], "response_types": ["code"], "jwks": key.jwks(),
            "token_endpoint_auth_method": "private_key_jwt",
        });
        for (name, value) in more.as_object().unwrap() {
            metadata[name] = value.clone();
        }
        metadata.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let answer = self.app.json("/connect/register", &metadata).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        let answer = answer.json();
        for (name, value) in metadata.as_object().unwrap() {
            assert_eq!(answer[name], *value, "{name} is said back");
        }
        assert!(
            answer["registration_access_token"].is_string() && answer["registration_client_uri"].is_string()
        );
        Registered { redirect_uri: text_at(&metadata["redirect_uris"], 0), answer, key }
    }

    async fn refused(&self, more: Value) -> Answer {
        let mut metadata = json!({"client_name": "Conformance", "redirect_uris": [CALLBACK]});
        for (name, value) in more.as_object().unwrap() {
            metadata[name] = value.clone();
        }
        self.app.json("/connect/register", &metadata).await
    }

    async fn code(&mut self, client: &Registered, more: &[(&str, &str)]) -> (String, String) {
        let verifier = verifier();
        let answer = get_json(&mut self.browser, &client.path(&verifier, more)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let body = agree(&mut self.browser, answer.json()).await;
        let callback = arrived(&client.redirect_uri, "", &body);
        assert_eq!(callback.get("state").map(String::as_str), Some("s-1"));
        (callback["code"].clone(), verifier)
    }

    async fn tokens(&mut self, client: &Registered, more: &[(&str, &str)]) -> Value {
        let (code, verifier) = self.code(client, more).await;
        let answer = client.redeem(&self.app, &code, &verifier, &json!({})).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }
}

fn text_at(value: &Value, index: usize) -> String {
    value[index].as_str().unwrap().to_owned()
}

impl Registered {
    fn id(&self) -> &str {
        text(&self.answer, "client_id")
    }

    fn path(&self, verifier: &str, more: &[(&str, &str)]) -> String {
        let client =
            Relying { id: self.id().to_owned(), secret: None, redirect_uri: self.redirect_uri.clone() };
        client.path(verifier, more)
    }

    /// As the suite does: for the token endpoint, and new each time.
    fn assertion(&self, app: &TestApp, key: &ClientKey, more: &Value) -> String {
        let now = app.app.clock.now().unix_timestamp();
        let mut claims = json!({"iss": self.id(), "sub": self.id(), "aud": format!("{ISSUER}/connect/token"),
                                "iat": now, "exp": now + 60, "jti": verifier()});
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        key.typed("JWT", &claims)
    }

    async fn token(&self, app: &TestApp, key: &ClientKey, form: &[(&str, &str)], more: &Value) -> Answer {
        let assertion = self.assertion(app, key, more);
        let proof = [("client_assertion_type", ASSERTION), ("client_assertion", assertion.as_str())];
        app.form("/connect/token", encode(&[form, &proof].concat())).await
    }

    async fn redeem(&self, app: &TestApp, code: &str, verifier: &str, more: &Value) -> Answer {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", &self.redirect_uri),
        ];
        self.token(app, &self.key, &form, more).await
    }
}

#[tokio::test]
async fn oidcc_server_with_a_key() {
    let mut plan = Dynamic::new().await;
    let client = plan.register(json!({})).await;
    let tokens = plan.tokens(&client, &[]).await;
    id_token(&plan.app, &tokens, client.id(), Some("n-1")).await;
}

#[tokio::test]
async fn oidcc_idtoken_rs256() {
    let mut plan = Dynamic::new().await;
    let client = plan.register(json!({"id_token_signed_response_alg": "RS256"})).await;
    let tokens = plan.tokens(&client, &[]).await;
    assert_eq!(header_of(text(&tokens, "id_token"))["alg"], "RS256");
    id_token(&plan.app, &tokens, client.id(), Some("n-1")).await;
}

#[tokio::test]
async fn oidcc_userinfo_rs256() {
    let mut plan = Dynamic::new().await;
    let client = plan.register(json!({"userinfo_signed_response_alg": "RS256"})).await;
    let tokens = plan.tokens(&client, &[]).await;
    let answer = userinfo(&plan.app, text(&tokens, "access_token")).await;
    assert!(answer.header("content-type").starts_with("application/jwt"));
    assert_eq!(header_of(&answer.text())["alg"], "RS256");
    let claims = verify(&answer.text(), &super::keys(&plan.app).await).unwrap();
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!(ISSUER), &json!(client.id())));
    assert!(claims["sub"].is_string() && claims.get("nonce").is_none());
}

#[tokio::test]
async fn oidcc_ensure_redirect_uri_in_authorization_request() {
    let mut plan = Dynamic::new().await;
    let two = json!({"redirect_uris": [CALLBACK, "https://app.example.test/second"]});
    let client = plan.register(two).await;
    let page = plan.browser.get(&client.path(&verifier(), &[("redirect_uri", "")])).await;
    stays(&page, "no redirect_uri");
}

#[tokio::test]
async fn oidcc_redirect_uri_query_ok() {
    let mut plan = Dynamic::new().await;
    let uri = "https://app.example.test/callback?foo=bar";
    let client = plan.register(json!({"redirect_uris": [uri]})).await;
    let verifier = verifier();
    let answer = get_json(&mut plan.browser, &client.path(&verifier, &[])).await.json();
    let callback = arrived(uri, "", &agree(&mut plan.browser, answer).await);
    assert_eq!(callback["foo"], "bar");
    assert_eq!(client.redeem(&plan.app, &callback["code"], &verifier, &json!({})).await.status, 200);
}

#[tokio::test]
async fn oidcc_redirect_uri_query_mismatch() {
    let mut plan = Dynamic::new().await;
    let client = plan.register(json!({"redirect_uris": ["https://app.example.test/callback?foo=bar"]})).await;
    for other in ["https://app.example.test/callback?foo=baz", CALLBACK] {
        stays(&plan.browser.get(&client.path(&verifier(), &[("redirect_uri", other)])).await, other);
    }
}

#[tokio::test]
async fn oidcc_redirect_uri_query_added() {
    let mut plan = Dynamic::new().await;
    let client = plan.register(json!({})).await;
    let more = "https://app.example.test/callback?foo=bar";
    stays(&plan.browser.get(&client.path(&verifier(), &[("redirect_uri", more)])).await, more);
}

#[tokio::test]
async fn oidcc_redirect_uri_regfrag() {
    let plan = Dynamic::new().await;
    let refused = plan.refused(json!({"redirect_uris": ["https://app.example.test/callback#foo"]})).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["error"]), (400, &json!("invalid_redirect_uri")));
}

/// Whoever signs in is given the client's pictures and links if somebody has checked the client; a stranger's are
/// registered and not shown (docs/decisions/0039).
async fn is_shown_before_sign_in(member: &str) {
    let plan = Dynamic::new().await;
    let uri = "https://app.example.test/about";
    let stranger = plan.register(json!({member: uri})).await;
    let known = Relying::with(&plan.app, Trust::Verified, json!({member: uri})).await;
    let mut nobody = Browser::new(&plan.app);
    let flow = known.ask(&mut nobody, &verifier(), &[]).await.json();
    assert_eq!((&flow["stage"], &flow["request"]["client"][member]), (&json!("authenticate"), &json!(uri)));
    let flow = get_json(&mut nobody, &stranger.path(&verifier(), &[])).await.json();
    assert_eq!(flow["stage"], "authenticate", "{flow}");
    assert!(flow["request"]["client"].get(member).is_none(), "{flow}");
}

#[tokio::test]
async fn oidcc_registration_logo_uri() {
    is_shown_before_sign_in("logo_uri").await;
}

#[tokio::test]
async fn oidcc_registration_policy_uri() {
    is_shown_before_sign_in("policy_uri").await;
}

#[tokio::test]
async fn oidcc_registration_tos_uri() {
    is_shown_before_sign_in("tos_uri").await;
}

#[tokio::test]
async fn oidcc_registration_jwks_uri() {
    let mut plan = Dynamic::new().await;
    let uri = plan.site.url("/jwks");
    let client = plan.register(json!({"jwks": null, "jwks_uri": uri})).await;
    plan.site.serve_keys("/jwks", &client.key.jwks());
    let tokens = plan.tokens(&client, &[]).await;
    id_token(&plan.app, &tokens, client.id(), Some("n-1")).await;
    assert_eq!(plan.site.heard().len(), 1);
}

/// Pairwise subjects are not announced, so the suite skips both; and they cannot be registered.
#[tokio::test]
async fn oidcc_registration_sector_uri() {
    let plan = Dynamic::new().await;
    assert_eq!(list(&metadata(&plan.app).await, "subject_types_supported"), ["public"]);
    plan.site.serve("/sector", "application/json", &json!([CALLBACK]).to_string());
    let sector = json!({"subject_type": "pairwise", "sector_identifier_uri": plan.site.url("/sector")});
    let refused = plan.refused(sector).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["error"]), (400, &json!("invalid_client_metadata")));
    assert!(plan.site.heard().is_empty());
}

#[tokio::test]
async fn oidcc_registration_sector_bad() {
    let plan = Dynamic::new().await;
    plan.site.serve("/sector", "application/json", &json!(["https://other.example.test/"]).to_string());
    let sector = json!({"subject_type": "pairwise", "sector_identifier_uri": plan.site.url("/sector")});
    let refused = plan.refused(sector).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["error"]), (400, &json!("invalid_client_metadata")));
    assert!(plan.site.heard().is_empty());
}

#[tokio::test]
async fn oidcc_server_rotate_keys() {
    let plan = Dynamic::new().await;
    let ids = |set: &Value| -> Vec<(String, String)> {
        let pair = |key: &Value| (text(key, "kid").to_owned(), text(key, "kty").to_owned());
        set["keys"].as_array().unwrap().iter().map(pair).collect()
    };
    let before = ids(&super::keys(&plan.app).await);
    let (store, settings) = (&plan.app.app.store, &plan.app.app.checked.settings);
    for algorithm in [Algorithm::Rs256, Algorithm::Es256] {
        keys::rotate(store, plan.app.app.keys.master(), settings, algorithm, Rotation::Now).await.unwrap();
    }
    plan.app.app.keys.reload(store).await.unwrap();
    let after = ids(&super::keys(&plan.app).await);
    let new: Vec<_> = after.iter().filter(|key| !before.contains(key)).collect();
    assert!(new.iter().any(|(_, kty)| kty == "RSA") && new.iter().any(|(_, kty)| kty == "EC"), "{new:?}");
    assert!(before.iter().all(|key| after.contains(key)), "what was there can still be verified with");
}

/// The suite waits a minute; here the clock does.
#[tokio::test]
async fn oidcc_refresh_token_rp_key_rotation() {
    let mut plan = Dynamic::new().await;
    let more = json!({"jwks": null, "jwks_uri": plan.site.url("/jwks"),
                      "grant_types": ["authorization_code", "refresh_token"]});
    let client = plan.register(more).await;
    plan.site.serve_keys("/jwks", &client.key.jwks());
    let scope = [("scope", "openid offline_access"), ("prompt", "consent")];
    let tokens = plan.tokens(&client, &scope).await;
    let next = ClientKey::of(Algorithm::Rs256);
    plan.site.serve_keys("/jwks", &next.jwks());
    plan.app.clock.advance(Duration::seconds(60));
    let form = [("grant_type", "refresh_token"), ("refresh_token", text(&tokens, "refresh_token"))];
    let answer = client.token(&plan.app, &next, &form, &json!({})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Not announced, so skipped; and refused.
#[tokio::test]
async fn oidcc_request_uri_unsigned() {
    let plan = Dynamic::new().await;
    assert!(
        !list(&metadata(&plan.app).await, "request_object_signing_alg_values_supported").contains(&"none")
    );
    let none = json!({"request_object_signing_alg": "none", "request_uris": [plan.site.url("/requesturi")]});
    let refused = plan.refused(none).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["error"]), (400, &json!("invalid_client_metadata")));
}

/// The address is registered with a fragment that says nothing about the content. PKCE stands beside the object.
#[tokio::test]
async fn oidcc_request_uri_signed_rs256() {
    let mut plan = Dynamic::new().await;
    let uri = format!("{}#random", plan.site.url("/requesturi/1"));
    let client = plan.register(json!({"request_object_signing_alg": "RS256", "request_uris": [uri]})).await;
    let object = client.key.typed(
        "JWT",
        &json!({"iss": client.id(), "aud": ISSUER, "client_id": client.id(), "redirect_uri": CALLBACK,
                "response_type": "code", "scope": "openid", "state": "inside", "nonce": "n-inside"}),
    );
    plan.site.serve("/requesturi/1", "application/jwt", &object);
    let verifier = verifier();
    let challenge = challenge(&verifier);
    let query = encode(&[
        ("client_id", client.id()),
        ("scope", "openid"),
        ("response_type", "code"),
        ("request_uri", &uri),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ]);
    let answer = get_json(&mut plan.browser, &format!("/connect/authorize?{query}")).await;
    let callback = arrived(CALLBACK, "", &agree(&mut plan.browser, answer.json()).await);
    assert_eq!(callback["state"], "inside");
    let tokens = client.redeem(&plan.app, &callback["code"], &verifier, &json!({})).await.json();
    id_token(&plan.app, &tokens, client.id(), Some("n-inside")).await;
    assert_eq!(plan.site.heard().len(), 1);
}

#[tokio::test]
async fn oidcc_refresh_token_with_a_key() {
    let mut plan = Dynamic::new().await;
    let grants = json!({"grant_types": ["authorization_code", "refresh_token"]});
    let (client, other) = (plan.register(grants.clone()).await, plan.register(grants).await);
    let scope = ("scope", "openid offline_access");
    let tokens = plan.tokens(&client, &[scope, ("prompt", "consent")]).await;
    let form = [("grant_type", "refresh_token"), ("refresh_token", text(&tokens, "refresh_token")), scope];
    let foreign = other.token(&plan.app, &other.key, &form, &json!({})).await;
    assert_eq!((foreign.status.as_u16(), &foreign.json()["error"]), (400, &json!("invalid_grant")));
    let own = client.token(&plan.app, &client.key, &form, &json!({})).await;
    assert_eq!(own.status, 200, "{}", own.text());
    let (first, second) = (
        super::claims_of(&plan.app, text(&tokens, "access_token")).await,
        super::claims_of(&plan.app, text(&own.json(), "access_token")).await,
    );
    for name in ["iss", "sub", "aud", "client_id", "auth_time"] {
        assert_eq!(first[name], second[name], "{name}");
    }
}

#[tokio::test]
async fn oidcc_ensure_client_assertion_with_iss_aud_succeeds() {
    let mut plan = Dynamic::new().await;
    let client = plan.register(json!({})).await;
    let (code, verifier) = plan.code(&client, &[]).await;
    let answer = client.redeem(&plan.app, &code, &verifier, &json!({"aud": ISSUER})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}
