//! Clients whose id is the URL of a document about them (docs/decisions/0091).

mod attacks;
mod caching;
mod changes;
mod organizations;

use std::sync::Arc;

use porteiro_protocol::time::Clock;
use porteiro_testkit::{Answer, Browser, Flow, TestApp, nothing, verify};
use serde_json::{Value, json};

use super::{
    driver::{Relying, agree, get_json, parameter, person, userinfo, verifier},
    encode,
    signing::ClientKey,
    site::Site,
};
use crate::people::PASSWORD;

/// Where the tool listens this time; its document names no port.
const LOOPBACK: &str = "http://localhost:49152/callback";
const PATH: &str = "/oauth/client.json";

/// A tool as Claude Code and others publish themselves; `more` replaces members, and null leaves one out.
fn document(site: &Site, more: &Value) -> Value {
    let mut document = json!({
        "client_id": site.url(PATH),
        "client_name": "Tool",
        "client_uri": site.url("/"),
        "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback", site.url("/callback")],
        "grant_types": ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:jwt-bearer"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        document[name] = value.clone();
    }
    document.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    document
}

fn publish(site: &Site, more: &Value) {
    site.serve(PATH, "application/json", &document(site, more).to_string());
}

/// The tool, on a person's machine.
fn tool(site: &Site) -> Relying {
    Relying { id: site.url(PATH), secret: None, redirect_uri: LOOPBACK.to_owned() }
}

/// Another window of the same browser.
fn window(app: &Arc<TestApp>, browser: &Browser) -> Browser {
    let mut window = Browser::new(app);
    window.cookies.clone_from(&browser.cookies);
    window
}

async fn documents(app: &TestApp) -> i64 {
    app.count("SELECT count(*) FROM client WHERE client_id LIKE 'https://%'").await
}

/// Its document is not believed any more.
async fn make_stale(app: &TestApp) {
    app.sql(
        "UPDATE client SET document_until = now() - interval '1 second' WHERE document_until IS NOT NULL",
    )
    .await;
}

/// The path within this service that a flow leads to.
fn next(flow: &Value) -> String {
    let uri = flow["continue"]["uri"].as_str().unwrap_or_else(|| panic!("leads nowhere: {flow}"));
    uri.strip_prefix("https://id.example.test").expect("our own address").to_owned()
}

async fn sign_in(browser: &mut Browser, flow: Value) -> Value {
    let mut flow = Flow::new(flow);
    let login = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(browser, "password/check", login).await;
    if flow.stage() == "enrol" {
        flow.act(browser, "enrol/skip", nothing()).await;
    }
    flow.now
}

fn page(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.json()["error"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_tool_that_nobody_registered_signs_a_person_in_by_its_document() {
    let site = Site::start().await;
    let app = site.app().await;
    publish(&site, &json!({}));
    drop(person(&app).await);
    let discovery = app.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(discovery["client_id_metadata_document_supported"], true);

    let (mut browser, client, verifier) = (Browser::new(&app), tool(&site), verifier());
    let flow = client.ask(&mut browser, &verifier, &[("scope", "openid offline_access")]).await.json();
    assert_eq!((flow["stage"].as_str(), flow.get("request")), (Some("authenticate"), None), "{flow}");
    assert!(site.heard().is_empty(), "nobody has signed in yet");
    assert_eq!(documents(&app).await, 0);

    let done = sign_in(&mut browser, flow).await;
    let flow = get_json(&mut browser, &next(&done)).await.json();
    assert_eq!(flow["stage"], "consent", "{flow}");
    let shown = json!({"id": client.id, "name": "Tool", "trust": "unverified", "document_host": "localhost"});
    assert_eq!(flow["request"]["client"], shown, "no picture, no link: a stranger's");
    let heard = site.heard();
    assert_eq!(heard.len(), 1);
    assert!(heard[0].starts_with(&format!("GET {PATH} HTTP/1.1")), "{heard:?}");
    assert!(!heard[0].to_lowercase().contains("cookie"), "{heard:?}");

    let done = agree(&mut browser, flow).await;
    assert_eq!(parameter(&done, "iss").as_deref(), Some("https://id.example.test"));
    let code = parameter(&done, "code").unwrap();
    let tokens = client.redeem(&app, &code, &verifier).await;
    assert_eq!(tokens.status, 200, "{}", tokens.text());
    let tokens = tokens.json();
    let jwks = app.get("/.well-known/jwks.json").await.json();
    assert_eq!(verify(tokens["id_token"].as_str().unwrap(), &jwks).unwrap()["aud"], client.id.as_str());
    assert_eq!(userinfo(&app, tokens["access_token"].as_str().unwrap()).await.status, 200);
    let next = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(next.status, 200, "{}", next.text());
    assert_eq!(site.heard().len(), 1, "the token endpoint fetches nothing");
    let events = app.count("SELECT count(*) FROM security_log WHERE kind = 'client.registered'").await;
    assert_eq!((documents(&app).await, events), (1, 1));
}

/// Whoever is sent back has signed in a moment ago: `login` and `create` are done, and everything else stays.
#[tokio::test]
async fn a_request_comes_back_from_signing_in_as_it_went() {
    let site = Site::start().await;
    let app = site.app().await;
    publish(&site, &json!({}));
    drop(person(&app).await);
    let (client, verifier) = (tool(&site), verifier());
    let mut browser = Browser::new(&app);
    let more = [("prompt", "login consent"), ("state", "a&b=c d+é"), ("ui_locales", "pt-BR en")];
    let flow = client.ask(&mut browser, &verifier, &more).await.json();
    let done = sign_in(&mut browser, flow).await;
    let flow = get_json(&mut browser, &next(&done)).await.json();
    assert_eq!(flow["stage"], "consent", "nobody is asked to prove it twice: {flow}");
    let done = agree(&mut browser, flow).await;
    assert_eq!(parameter(&done, "state").as_deref(), Some("a&b=c d+é"));

    let mut stranger = Browser::new(&app);
    make_stale(&app).await;
    let silent = client.ask(&mut stranger, &super::driver::verifier(), &[("prompt", "none")]).await;
    assert_eq!(page(&silent), (400, "login_required".into()), "{}", silent.text());
    let large =
        client.ask(&mut stranger, &super::driver::verifier(), &[("state", &"x".repeat(13_000))]).await;
    assert_eq!(page(&large), (400, "invalid_request".into()), "{}", large.text());
    let plain = stranger.get(&client.path(&super::driver::verifier(), &[])).await;
    assert_eq!(page(&plain), (400, "interaction_required".into()), "there is no screen here");
}

#[tokio::test]
async fn a_loopback_address_may_have_any_port_and_is_asked_about_every_time() {
    let site = Site::start().await;
    let app = site.app().await;
    publish(&site, &json!({}));
    let mut browser = person(&app).await;
    let client = tool(&site);
    for uri in ["http://localhost:1/callback", "http://127.0.0.1:65535/callback", "http://localhost/callback"]
    {
        let here = Relying { redirect_uri: uri.to_owned(), ..client.clone() };
        let body = here.ask(&mut browser, &verifier(), &[]).await.json();
        assert_eq!(body["stage"], "consent", "{uri}: {body}");
        assert!(parameter(&agree(&mut browser, body).await, "code").is_some(), "{uri}");
    }
    for uri in [
        "http://[::1]/callback",
        "http://localhost/other",
        "https://localhost/callback",
        "http://evil.example/",
    ] {
        let there = Relying { redirect_uri: uri.to_owned(), ..client.clone() };
        let refused = there.ask(&mut browser, &verifier(), &[]).await;
        assert_eq!(page(&refused), (400, "invalid_request".into()), "{uri}");
    }
    // Although an administrator has verified it: everybody who runs the tool has the same id.
    app.sql("UPDATE client SET trust = 'verified', changed_at = clock_timestamp()").await;
    for round in 0..2 {
        let body = client.ask(&mut browser, &verifier(), &[]).await.json();
        assert_eq!(body["stage"], "consent", "{round}: {body}");
        agree(&mut browser, body).await;
    }
    let web = Relying { redirect_uri: site.url("/callback"), ..client };
    let body = web.ask(&mut browser, &verifier(), &[]).await.json();
    assert_eq!(body["stage"], "complete", "its own host is surely the same one: {body}");
}

/// As ChatGPT publishes itself: both members, and keys by reference.
#[tokio::test]
async fn a_client_that_declares_a_key_must_use_it() {
    let site = Site::start().await;
    let app = site.app().await;
    let key = ClientKey::new();
    site.serve_keys("/jwks.json", &key.jwks());
    publish(
        &site,
        &json!({
            "token_endpoint_auth_method": "none",
            "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
            "token_endpoint_auth_signing_alg": "ES256",
            "jwks_uri": site.url("/jwks.json"),
        }),
    );
    let mut browser = person(&app).await;
    let client = Relying { redirect_uri: site.url("/callback"), ..tool(&site) };
    let (code, verifier) = client.code(&mut browser, &[]).await;
    let bare = client.redeem(&app, &code, &verifier).await;
    assert_eq!(page(&bare), (401, "invalid_client".into()));
    let assertion = |key: &ClientKey, jti: &str| {
        let now = app.clock.now().unix_timestamp();
        let claims = json!({"iss": client.id, "sub": client.id, "aud": "https://id.example.test", "jti": jti,
                            "iat": now, "exp": now + 60});
        key.typed("JWT", &claims)
    };
    let redeem = async |assertion: &str| {
        let form = [
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", assertion),
            ("code", code.as_str()),
            ("code_verifier", verifier.as_str()),
            ("redirect_uri", client.redirect_uri.as_str()),
            ("grant_type", "authorization_code"),
        ];
        app.form("/connect/token", encode(&form)).await
    };
    assert_eq!(page(&redeem(&assertion(&ClientKey::new(), "a")).await), (401, "invalid_client".into()));
    let good = redeem(&assertion(&key, "b")).await;
    assert_eq!(good.status, 200, "{}", good.text());
}

/// With registration closed only administrators create clients: no document is read, and discovery says so.
#[tokio::test]
async fn where_registration_is_closed_documents_are_too() {
    let site = Site::start().await;
    let app = site.builder().settings(|settings| settings.client_registrations_per_hour = 0).start().await;
    let app = Arc::new(app);
    publish(&site, &json!({}));
    let mut browser = person(&app).await;
    let discovery = app.get("/.well-known/openid-configuration").await.json();
    assert_eq!(discovery["client_id_metadata_document_supported"], false);
    let refused = tool(&site).ask(&mut browser, &verifier(), &[]).await;
    assert_eq!(page(&refused), (400, "invalid_request".into()));
    assert!(site.heard().is_empty());
}
