//! How organizations and clients look: set by whoever may, shown only where it is deserved.

use axum::body::Body;
use http::{Method, Request, header};
use porteiro_protocol::id::OrganizationId;
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};

use super::driver::{
    account_of, call, get, house, join, organization, organization_key, platform_key, set_status,
};
use crate::oauth::driver::{Relying, person, verifier};

const PNG: &[u8] = include_bytes!("../../../crates/protocol/src/picture/samples/plain.png");
const WEBP: &[u8] = include_bytes!("../../../crates/protocol/src/picture/samples/lossy.webp");

async fn put(app: &TestApp, path: &str, key: &str, kind: &str, bytes: &[u8], version: &str) -> Answer {
    let request = Request::put(path)
        .header(header::AUTHORIZATION, format!("Bearer {key}"))
        .header(header::CONTENT_TYPE, kind)
        .header(header::IF_MATCH, version);
    app.send(request.body(Body::from(bytes.to_vec())).unwrap()).await
}

async fn patch(app: &TestApp, path: &str, key: &str, body: &Value, version: &str) -> Answer {
    call(app, Method::PATCH, path, key, Some(body), &[("if-match", version)]).await
}

/// The picture as anybody gets it.
async fn picture(app: &TestApp, uri: &str) -> Answer {
    let path = uri.strip_prefix("https://id.example.test").unwrap_or_else(|| panic!("not ours: {uri}"));
    app.send(Request::get(path).body(Body::empty()).unwrap()).await
}

/// A house with an organization in its own colours and with a logo.
async fn dressed(app: &TestApp) -> (OrganizationId, String, String) {
    let here = organization(app, "here").await;
    let key = organization_key(app, here, &["organization:write", "organization:read"]).await;
    let path = format!("/v1/organizations/{here}/branding");
    let said = json!({"name": "Here", "color": "#7A1F5C", "color_dark": "#e9a6cf"});
    let answer = patch(app, &path, &key, &said, "\"0\"").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = put(app, &format!("{path}/logo"), &key, "image/png", PNG, "\"1\"").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    (here, key, path)
}

#[tokio::test]
async fn an_organization_sets_its_look_and_its_trail_says_so() {
    let app = house().await;
    let (here, key, path) = dressed(&app).await;
    let told = get(&app, &path, &key).await;
    assert_eq!(told.header("etag"), "\"2\"");
    let told = told.json();
    assert_eq!((&told["name"], &told["color"]), (&json!("Here"), &json!("#7a1f5c")));
    assert_eq!((&told["logo"]["width"], &told["logo"]["height"]), (&json!(48), &json!(20)));

    let uri = told["logo"]["uri"].as_str().unwrap().to_owned();
    let shown = picture(&app, &uri).await;
    assert_eq!((shown.status.as_u16(), shown.header("content-type")), (200, "image/png"));
    assert_eq!(shown.header("cache-control"), "public, max-age=31536000, immutable");
    assert_eq!(shown.header("x-content-type-options"), "nosniff");
    assert!(shown.header("content-security-policy").starts_with("default-src 'none'"));
    assert!(!shown.body.windows(12).any(|part| part == b"made at home"), "what it carried besides is gone");

    // Another picture has another address, and the old one shows nothing.
    let logo = format!("{path}/logo");
    let answer = put(&app, &logo, &key, "image/webp", WEBP, "\"2\"").await.json();
    assert_ne!(answer["logo"]["uri"], uri);
    assert_eq!(picture(&app, &uri).await.status, 404);
    let answer = call(&app, Method::DELETE, &logo, &key, None, &[("if-match", "\"3\"")]).await;
    assert!(answer.status == 200 && answer.json()["logo"].is_null());
    // What is taken away is the service's own again.
    let answer = patch(&app, &path, &key, &json!({"name": null, "color": null}), "\"4\"").await.json();
    assert_eq!(answer, json!({"name": null, "color": null, "color_dark": "#e9a6cf", "logo": null}));

    let reader = organization_key(&app, here, &["audit:read"]).await;
    let trail = get(&app, &format!("/v1/organizations/{here}/audit-events"), &reader).await.json();
    let changes: Vec<&Value> = trail["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["type"] == "organization.changed")
        .collect();
    assert_eq!(changes.len(), 5, "{trail}");
}

#[tokio::test]
async fn what_could_not_be_read_or_is_no_picture_is_refused_with_what_to_do() {
    let app = house().await;
    let (here, key, path) = dressed(&app).await;
    for (said, field, advice) in [
        (json!({"color": "#e9a6cf"}), "/color", "choose a darker one"),
        (json!({"color_dark": "#7a1f5c"}), "/color_dark", "choose a lighter one"),
        (json!({"color": "url(x)"}), "/color", "six digits"),
        (json!({"name": "a\u{202e}b"}), "/name", "invisible"),
    ] {
        let answer = patch(&app, &path, &key, &said, "\"2\"").await;
        assert_eq!(answer.status, 422, "{said}");
        let error = &answer.json()["errors"][0];
        assert!(error["pointer"] == field && error["detail"].as_str().unwrap().contains(advice), "{error}");
    }
    let more = json!({"css": "body{}"});
    assert_eq!(patch(&app, &path, &key, &more, "\"2\"").await.status, 400, "nothing that is code");
    let logo = format!("{path}/logo");
    let too_large = [PNG, &vec![0; 70_000]].concat();
    for (kind, bytes, status, part) in [
        ("image/svg+xml", &b"<svg/>"[..], 415, "image/png"),
        ("image/png", b"<svg/>", 422, "is not a PNG, JPEG or WebP picture"),
        ("image/png", WEBP, 422, "but the picture is"),
        ("image/png", &PNG[..100], 422, "truncated"),
        ("image/png", &too_large, 413, "65536"),
    ] {
        let answer = put(&app, &logo, &key, kind, bytes, "\"2\"").await;
        assert_eq!(answer.status, status, "{kind} {}", answer.text());
        assert!(answer.text().contains(part), "{}", answer.text());
    }
    assert_eq!(put(&app, &logo, &key, "image/png", PNG, "\"1\"").await.status, 412);
    // A suspended organization is seen nowhere and changes nothing.
    let uri = get(&app, &path, &key).await.json()["logo"]["uri"].as_str().unwrap().to_owned();
    set_status(&app, here, "suspended").await;
    assert_eq!(picture(&app, &uri).await.status, 404);
    assert_eq!(patch(&app, &path, &key, &json!({"name": "x"}), "\"2\"").await.status, 409);
}

/// The look of the flow that a request of this client opens.
async fn look(client: &Relying, browser: &mut Browser, more: &[(&str, &str)]) -> Value {
    let answer = client.ask(browser, &verifier(), more).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["branding"].clone()
}

async fn dress_client(app: &TestApp, client: &Relying) -> String {
    let key = platform_key(app, &["platform.clients:write", "platform.clients:read"]).await;
    let path = format!("/v1/platform/clients/{}/branding", client.id);
    let answer = patch(app, &path, &key, &json!({"color": "#1f3d7a"}), "\"0\"").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = put(app, &format!("{path}/logo"), &key, "image/png", PNG, "\"1\"").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["logo"]["uri"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_flow_wears_what_was_named_or_proved_and_never_what_was_typed() {
    let app = house().await;
    let (here, ..) = dressed(&app).await;
    let client = Relying::web(&app).await;
    let stranger = || Browser::new(&app);
    assert_eq!(look(&client, &mut stranger(), &[]).await, Value::Null);
    let named = look(&client, &mut stranger(), &[("organization", "here")]).await;
    assert_eq!((&named["of"], &named["name"]), (&json!("organization"), &json!("Here")));
    assert_eq!((&named["color"], &named["color_dark"]), (&json!("#7a1f5c"), &json!("#e9a6cf")));
    assert!(named["logo"]["uri"].as_str().unwrap().starts_with("https://id.example.test/v1/branding/"));
    assert_eq!(look(&client, &mut stranger(), &[("organization", "nowhere")]).await, Value::Null);

    dress_client(&app, &client).await;
    let worn = look(&client, &mut stranger(), &[]).await;
    assert_eq!((&worn["of"], &worn["name"]), (&json!("client"), &json!("Example")));
    let named = look(&client, &mut stranger(), &[("organization", "here")]).await;
    assert_eq!(named["of"], "organization", "the organization's is the nearer one");

    // A member types their address: still the client's look, until it is proved whose address it is.
    let mut ana = person(&app).await;
    join(&app, here, account_of(&mut ana).await, "owner").await;
    let asked = [("scope", "openid organization:read")];
    let mut browser = stranger();
    let flow = client.ask(&mut browser, &verifier(), &asked).await.json();
    let typed = json!({"step": flow["step"], "identifier": "ana@example.test"});
    let path = format!("/v1/flows/{}/email_code/send", flow["id"].as_str().unwrap());
    let answer = browser.post(&path, &typed).await.json();
    assert_eq!(answer["branding"]["of"], "client", "{answer}");
    let proved = look(&client, &mut ana, &asked).await;
    assert_eq!(proved["of"], "organization", "{proved}");

    set_status(&app, here, "suspended").await;
    let named = look(&client, &mut stranger(), &[("organization", "here")]).await;
    assert_eq!(named["of"], "client", "a suspended organization is not shown");
}

#[tokio::test]
async fn a_client_nobody_checked_looks_like_nobody() {
    let app = house().await;
    let (here, ..) = dressed(&app).await;
    let client = Relying::with(&app, Trust::Unverified, json!({})).await;
    let uri = dress_client(&app, &client).await;
    assert_eq!(picture(&app, &uri).await.status, 404);
    for more in [&[][..], &[("organization", "here")]] {
        assert_eq!(look(&client, &mut Browser::new(&app), more).await, Value::Null);
    }
    // Not for those who belong there either: where somebody works is easily guessed.
    let mut ana = person(&app).await;
    join(&app, here, account_of(&mut ana).await, "owner").await;
    assert_eq!(look(&client, &mut ana, &[("organization", "here")]).await, Value::Null);
    let key = platform_key(&app, &["platform.clients:write"]).await;
    let path = "/v1/platform/clients/nobody/branding";
    assert_eq!(patch(&app, path, &key, &json!({}), "\"0\"").await.status, 404);
}
