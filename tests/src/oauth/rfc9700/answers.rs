//! What every answer carries, and which scripts may read it.

use axum::body::Body;
use http::{Method, Request};
use porteiro_testkit::Answer;

use super::{
    super::{
        app,
        driver::{Relying, person, verifier},
        encode,
    },
    known, post,
};

fn is_framed_by_nobody(answer: &Answer, what: &str) {
    assert_eq!(answer.header("x-frame-options"), "DENY", "{what}");
    let policy = answer.header("content-security-policy");
    assert!(
        policy.contains("frame-ancestors 'none'") && policy.contains("default-src 'none'"),
        "{what}: {policy}"
    );
    assert!(
        !policy.contains("http:") && !policy.contains("https:") && !policy.contains('*'),
        "{what}: {policy}"
    );
    // To nobody; to ourselves where a form of ours needs its origin, which is signing out without screens and nowhere else.
    let own_form = answer.text().contains("<form method=\"post\"><input type=\"hidden\" name=\"confirm\"");
    let referrer = if own_form { "same-origin" } else { "no-referrer" };
    assert!(!own_form || what.ends_with(" /connect/logout"), "{what}");
    assert_eq!(answer.header("referrer-policy"), referrer, "{what}");
    assert_eq!(answer.header("x-content-type-options"), "nosniff", "{what}");
    for name in ["x-frame-options", "content-security-policy", "referrer-policy", "cache-control"] {
        assert_eq!(answer.headers.get_all(name).iter().count(), 1, "{what}: {name}");
    }
}

/// Every route, by every method, signed in and not.
#[tokio::test]
async fn no_route_answers_without_the_headers() {
    let app = app().await;
    let mut browser = person(&app).await;
    let mut looked = 0;
    for route in porteiro_service::table() {
        let path = route.path.replace(['{', '}'], "");
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS, Method::HEAD]
        {
            // Signing the browser out would end the crawl.
            let what = format!("{method} {path}");
            let request =
                Request::builder().method(method.clone()).uri(&path).header("origin", "https://evil.example");
            is_framed_by_nobody(&app.send(request.body(Body::empty()).unwrap()).await, &what);
            if matches!(method, Method::GET | Method::POST) {
                is_framed_by_nobody(&browser.call(method, &path, None).await, &what);
            }
            looked += 1;
        }
    }
    assert!(looked > 150, "{looked}");
}

/// Pages that carry something: the code, an error, a question.
#[tokio::test]
async fn pages_of_the_authorization_endpoint_carry_the_headers_and_are_not_kept() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    for more in [
        vec![],
        vec![("response_mode", "form_post")],
        vec![("prompt", "consent")],
        vec![("scope", "no:such")],
        vec![("scope", "no:such"), ("response_mode", "form_post")],
        vec![("redirect_uri", "https://evil.example/")],
        vec![("client_id", "nobody")],
    ] {
        let what = format!("{more:?}");
        let query = client.query(&verifier(), &more);
        let by_get = browser.get(&format!("/connect/authorize?{query}")).await;
        let by_post = post(&app, &browser, "/connect/authorize", client.query(&verifier(), &more)).await;
        let by_json = client.ask(&mut browser, &verifier(), &more).await;
        for answer in [by_get, by_post, by_json] {
            is_framed_by_nobody(&answer, &what);
            assert_eq!(answer.header("cache-control"), "no-store", "{what}");
            // Nothing is fetched from anywhere, so nobody is told by `Referer` either.
            for outside in ["src=", "href=", "url("] {
                assert!(!answer.text().contains(outside), "{what}: {}", answer.text());
            }
        }
    }
}

/// OAuth 2.1 §3.2.3: tokens, and refusals of them, are for nobody's cache.
#[tokio::test]
async fn nothing_that_carries_a_token_is_kept() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let (code, right) = client.code(&mut browser, &[]).await;
    let tokens = client.redeem(&app, &code, &right).await;
    let body = tokens.json();
    let refresh = body["refresh_token"].as_str().unwrap();
    let access = body["access_token"].as_str().unwrap();
    let metadata = super::super::driver::challenge(&right);
    let push = [
        ("redirect_uri", client.redirect_uri.as_str()),
        ("response_type", "code"),
        ("scope", "openid"),
        ("code_challenge", &metadata),
        ("code_challenge_method", "S256"),
    ];
    for (what, status, answer) in [
        ("tokens", 200, tokens),
        ("introspection", 200, client.call(&app, "/connect/introspect", &[("token", access)]).await),
        ("userinfo", 200, super::super::driver::userinfo(&app, access).await),
        ("pushed", 201, client.call(&app, "/connect/par", &push).await),
        ("refreshed", 200, client.refresh(&app, refresh, &[]).await),
        ("replayed", 400, client.refresh(&app, refresh, &[]).await),
        ("revoked", 200, client.call(&app, "/connect/revoke", &[("token", access)]).await),
        ("no client", 401, app.form("/connect/token", "grant_type=refresh_token&client_id=x").await),
        ("no token", 401, app.get("/connect/userinfo").await),
        ("account", 200, browser.get("/v1/account").await),
        ("grants", 200, browser.get("/v1/account/grants").await),
    ] {
        assert_eq!(answer.status.as_u16(), status, "{what}: {}", answer.text());
        assert_eq!(answer.header("cache-control"), "no-store", "{what}");
    }
}

/// RFC 9700 §2.6: scripts of other pages have no business where people sign in.
#[tokio::test]
async fn no_script_of_another_page_reads_what_is_not_public() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    // Documents that are anybody's, and where clients introduce themselves.
    let public = [
        "/.well-known/",
        "/connect/authorization-details-types",
        "/connect/register",
        "/v1/openapi.json",
        "/v1/changes",
    ];
    let asked_first = ["/connect/token", "/connect/userinfo"];
    for route in porteiro_service::table() {
        let path = route.path.replace(['{', '}'], "");
        let is_public = public.iter().any(|open| route.path.starts_with(open));
        let from = |method: Method| {
            Request::builder().method(method).uri(&path).header("origin", "https://evil.example")
        };
        let answer = app.send(from(route.method.clone()).body(Body::empty()).unwrap()).await;
        let allowed = |answer: &Answer| answer.headers.get("access-control-allow-origin").is_some();
        assert!(!allowed(&answer) || is_public, "{} {path}", route.method);
        let preflight = from(Method::OPTIONS)
            .header("access-control-request-method", route.method.as_str())
            .header("access-control-request-headers", "authorization");
        let preflight = app.send(preflight.body(Body::empty()).unwrap()).await;
        assert!(!allowed(&preflight) || is_public || asked_first.contains(&route.path), "{path}");
        for answer in [answer, preflight] {
            assert!(answer.headers.get("access-control-allow-credentials").is_none(), "{path}");
        }
    }
    for more in [vec![], vec![("scope", "no:such")], vec![("client_id", "nobody")]] {
        browser.headers.push(("origin", "https://app.example.test".into()));
        let answer = browser.get(&client.path(&verifier(), &more)).await;
        browser.headers.pop();
        let names = answer.headers.keys().filter(|name| name.as_str().starts_with("access-control")).count();
        assert_eq!(names, 0, "{:?}", answer.headers);
    }
}

/// CVE-2026-37977: the origin was taken from what nobody had verified. Here only of a client that proved itself, and only
/// those its own answers go to.
#[tokio::test]
async fn cve_2026_37977_an_origin_is_allowed_after_its_client_proved_itself() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let wrong = Relying { secret: Some("wrong".into()), ..client.clone() };
    let secret = |client: &Relying| client.secret.clone().unwrap();
    for (origin, client, allowed) in [
        ("https://app.example.test", &client, true),
        ("https://app.example.test", &wrong, false),
        ("https://evil.example", &client, false),
        ("http://app.example.test", &client, false),
        ("https://app.example.test:8443", &client, false),
        ("https://app.example.test.evil.example", &client, false),
        ("null", &client, false),
    ] {
        let form =
            [("client_id", client.id.as_str()), ("client_secret", &secret(client)), ("grant_type", "x")];
        let request = Request::post("/connect/token")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", origin)
            .body(Body::from(encode(&form)));
        let answer = app.send(request.unwrap()).await;
        let expected = if allowed { origin } else { "" };
        assert_eq!(answer.header("access-control-allow-origin"), expected, "{origin}");
    }
    let token = client.tokens(&mut browser, &app, &[]).await["access_token"].as_str().unwrap().to_owned();
    for (origin, token, allowed) in [
        ("https://app.example.test", token.as_str(), true),
        ("https://evil.example", &token, false),
        ("https://app.example.test", "x.y.z", false),
    ] {
        let request = Request::get("/connect/userinfo")
            .header("authorization", format!("Bearer {token}"))
            .header("origin", origin)
            .body(Body::empty());
        let answer = app.send(request.unwrap()).await;
        let expected = if allowed { origin } else { "" };
        assert_eq!(answer.header("access-control-allow-origin"), expected, "{origin}");
    }
}
