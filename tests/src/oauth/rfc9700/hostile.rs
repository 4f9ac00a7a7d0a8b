//! Everything that comes from outside is hostile (OAuth 2.1 §7.12, §4.1.2.1).

use http::{Request, header};
use porteiro_protocol::time::Clock;
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::SeededEntropy;
use serde_json::{Value, json};

use super::{
    super::{
        app,
        driver::{CALLBACK, Relying, challenge, get_json, person, verifier},
        encode,
        signing::ClientKey,
    },
    known, stays,
};

/// What a browser reads off the page that posts an answer: where to, and the fields. Nothing else may be in it.
pub fn fields(page: &str) -> (String, Vec<(String, String)>) {
    let attribute = |tag: &str, name: &str| {
        let rest = tag.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("no {name} in {tag}")).1;
        let raw = rest.split_once('"').unwrap().0;
        raw.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&")
    };
    let tags: Vec<&str> = page.split('<').skip(1).map(|part| part.split('>').next().unwrap()).collect();
    let names: Vec<&str> = tags.iter().map(|tag| tag.split(' ').next().unwrap()).collect();
    let inputs = names.iter().filter(|name| **name == "input").count();
    let expected = [
        &["!doctype", "html", "meta", "title", "/title", "form"][..],
        &vec!["input"; inputs],
        &["noscript", "button", "/button", "/noscript", "/form", "script", "/script", "/html"],
    ];
    assert_eq!(names, expected.concat(), "{page}");
    assert!(page.contains("<script>document.forms[0].submit()</script>"), "{page}");
    let form = tags.iter().find(|tag| tag.starts_with("form ")).unwrap();
    assert_eq!(attribute(form, "method"), "post");
    let read = |tag: &&&str| (attribute(tag, "name"), attribute(tag, "value"));
    (
        attribute(form, "action"),
        tags.iter().filter(|tag| tag.starts_with("input ")).map(|tag| read(&tag)).collect(),
    )
}

const SCRIPTS: &[&str] = &[
    "\"><script>alert(1)</script>",
    "'><img src=x onerror=alert(1)>",
    "</form><form action=https://evil.example>",
    "\" autofocus onfocus=\"alert(1)",
    "&quot;><script>",
    "&lt;script&gt;",
    "javascript:alert(1)",
    "</script><script>alert(1)</script>",
    "<!--",
    "]]>",
    "%3Cscript%3E",
    "＜script＞",
    "\u{202e}",
    "' onmouseover='x",
    "a b+c%20d",
    "é🦀",
    "\\\"",
    "data:text/html,<script>alert(1)</script>",
];

/// CVE-2026-42849: `state` came back as markup.
#[tokio::test]
async fn cve_2026_42849_whatever_is_in_state_comes_back_as_text() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    for state in SCRIPTS {
        for more in [vec![], vec![("scope", "no:such")]] {
            let more = [more.as_slice(), &[("state", *state), ("response_mode", "form_post")]].concat();
            let answer = browser.get(&client.path(&verifier(), &more)).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
            let (action, fields) = fields(&answer.text());
            assert_eq!(action, CALLBACK);
            assert!(fields.contains(&("state".into(), (*state).into())), "{state}: {fields:?}");
            let policy = answer.header("content-security-policy");
            assert!(
                policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
                "{policy}"
            );
            assert!(!policy.contains("unsafe") && policy.contains("script-src 'sha256-"), "{policy}");
            assert_eq!(answer.header("cache-control"), "no-store");
            assert_eq!(answer.header("referrer-policy"), "no-referrer");
        }
        let answer = browser.get(&client.path(&verifier(), &[("state", state)])).await;
        assert_eq!(super::value(&super::location(&answer), "state").as_deref(), Some(*state));
    }
    // U+0000 is refused before anybody could be told.
    let answer = browser.get(&client.path(&verifier(), &[("state", "a\u{0}b")])).await;
    assert_eq!((answer.status.as_u16(), answer.headers.get("location")), (400, None));
    for state in ["a\nb", "a\r\nSet-Cookie: x=y", "\u{7f}", "\u{85}"] {
        let answer = browser.get(&client.path(&verifier(), &[("state", state)])).await;
        assert_eq!(super::error(&answer), "invalid_request");
        assert_eq!(super::value(&super::location(&answer), "state"), None, "what cannot be echoed is not");
        assert_eq!(answer.headers.get_all("set-cookie").iter().count(), 0);
    }
}

fn is_error_text(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

/// RFC 6749 §5.2: visible ASCII without quotes and backslashes; and never what was sent.
fn check(error: &Value, sent: &str) {
    let (code, words) = (error["error"].as_str(), error["error_description"].as_str().unwrap_or_default());
    assert!(code.is_some_and(|code| code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')), "{error}");
    assert!(is_error_text(words), "{words:?}");
    assert!(!error.to_string().contains("canary"), "{error} repeats {sent}");
}

#[tokio::test]
async fn errors_say_nothing_that_was_sent_and_only_in_allowed_characters() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let random = SeededEntropy::new(9700);
    let pick = |from: usize| usize::try_from(random.next() % from as u64).unwrap();
    let names = [
        "client_id",
        "redirect_uri",
        "response_type",
        "response_mode",
        "scope",
        "nonce",
        "code_challenge",
        "code_challenge_method",
        "prompt",
        "max_age",
        "acr_values",
        "claims",
        "ui_locales",
        "login_hint",
        "id_token_hint",
        "resource",
        "authorization_details",
        "organization",
        "dpop_jkt",
        "request",
        "request_uri",
    ];
    let shapes = [
        "canary",
        "canary\"x\\",
        "[{\"type\":\"canary\"}]",
        "{\"canary\":1}",
        "https://canary.example/",
        "canary\u{e9}",
        "canary\u{0}",
        "canary\r\nx: y",
        "{\"id_token\":{\"canary\":{\"values\":[\"canary\"]}}}",
        "none canary",
        "-1canary",
        "urn:ietf:params:oauth:request_uri:canary",
        "eyJhbGciOiJub25lIn0.canary.",
        "<script>canary</script>",
    ];
    let mut refusals = 0;
    for _ in 0..400 {
        let (name, shape) = (names[pick(names.len())], shapes[pick(shapes.len())]);
        let more = [(name, shape), (names[pick(names.len())], shapes[pick(shapes.len())])];
        let more = if more[0].0 == more[1].0 { &more[..1] } else { &more[..] };
        let answer = get_json(&mut browser, &client.path(&verifier(), more)).await;
        if answer.status == 200 {
            let body = answer.json();
            if let Some(uri) = body["continue"]["uri"].as_str() {
                assert!(uri.starts_with(CALLBACK) && !uri.contains("canary"), "{uri}");
                let url = url::Url::parse(uri).unwrap();
                let told = |name| super::value(&url, name);
                if let Some(code) = told("error") {
                    refusals += 1;
                    check(&json!({"error": code, "error_description": told("error_description")}), shape);
                }
            }
        } else {
            refusals += 1;
            stays(&answer, shape);
            check(&answer.json(), shape);
        }
    }
    assert!(refusals > 300, "only {refusals} of 400 were refused");
    for path in
        ["/connect/token", "/connect/par", "/connect/device", "/connect/revoke", "/connect/introspect"]
    {
        for name in [
            "grant_type",
            "code",
            "refresh_token",
            "scope",
            "resource",
            "token",
            "client_assertion",
            "client_assertion_type",
            "authorization_details",
        ] {
            for shape in shapes {
                let form = [("grant_type", "authorization_code"), ("code", "x"), ("token", "")];
                let form: Vec<_> =
                    form.into_iter().filter(|(n, _)| *n != name).chain([(name, shape)]).collect();
                let answer = client.call(&app, path, &form).await;
                assert!(!answer.text().contains("canary"), "{path} {name}: {}", answer.text());
                if answer.status != 200 {
                    check(&answer.json(), shape);
                }
            }
        }
    }
}

/// The header set of the server that names us cannot be moved by who calls (RFC 9700 §4.13).
#[tokio::test]
async fn headers_anybody_can_send_change_nothing() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let before = app.get("/.well-known/openid-configuration").await.text();
    for (name, lie) in [
        ("host", "evil.example"),
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-proto", "http"),
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-for", "not an address"),
        ("x-forwarded-prefix", "/evil"),
        ("x-real-ip", "127.0.0.1"),
        ("forwarded", "for=127.0.0.1;host=evil.example;proto=http"),
        ("forwarded", "\"\\"),
        ("x-original-url", "/healthz"),
        ("x-rewrite-url", "/healthz"),
        ("x-http-method-override", "GET"),
        ("x-ssl-client-verify", "SUCCESS"),
        ("x-ssl-client-cert", "-----BEGIN%20CERTIFICATE-----"),
        ("x-client-cert", "-----BEGIN%20CERTIFICATE-----"),
        ("x-user", "ana@example.test"),
        ("remote-user", "ana@example.test"),
    ] {
        let request = Request::get("/.well-known/openid-configuration")
            .header(name, lie)
            .body(axum::body::Body::empty());
        assert_eq!(app.send(request.unwrap()).await.text(), before, "{name}");
        browser.headers.push((name, lie.to_owned()));
        let answer = browser.get(&client.path(&verifier(), &[])).await;
        browser.headers.pop();
        let url = super::location(&answer);
        assert_eq!(super::value(&url, "iss").as_deref(), Some(super::ISSUER), "{name}");
        let bare = encode(&[("client_id", &client.id), ("grant_type", "authorization_code"), ("code", "x")]);
        let request = Request::post("/connect/token")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(name, lie)
            .body(axum::body::Body::from(bare));
        assert_eq!(app.send(request.unwrap()).await.status, 401, "{name} proved a client");
        let request = Request::get("/v1/account").header(name, lie).body(axum::body::Body::empty());
        assert_eq!(app.send(request.unwrap()).await.status, 401, "{name} proved a person");
    }
}

/// OAuth 2.1 §5.1: a token in an address is in logs and histories; it counts for nothing.
#[tokio::test]
async fn a_token_in_the_address_is_ignored() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let token = tokens["access_token"].as_str().unwrap();
    let query = encode(&[("access_token", token)]);
    assert_eq!(app.get(&format!("/connect/userinfo?{query}")).await.status, 401);
    assert_eq!(app.form(&format!("/connect/userinfo?{query}"), "").await.status, 401);
    assert_eq!(app.form("/connect/userinfo", query.clone()).await.status, 200);
    let both = Request::post("/connect/userinfo")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .body(axum::body::Body::from(query));
    assert_eq!(app.send(both.unwrap()).await.status, 400, "in one way, not in two");
    let session =
        encode(&[("access_token", browser.session().unwrap()), ("session", browser.session().unwrap())]);
    assert_eq!(app.get(&format!("/v1/account?{session}")).await.status, 401);
    // Nor does a client's own secret count there.
    let client = Relying::web(&app).await;
    let query = encode(&[("client_id", &client.id), ("client_secret", client.secret.as_ref().unwrap())]);
    for path in
        ["/connect/par", "/connect/device", "/connect/introspect", "/connect/revoke", "/connect/token"]
    {
        let form = encode(&[("client_id", &client.id), ("token", "x"), ("grant_type", "authorization_code")]);
        assert_eq!(app.form(&format!("{path}?{query}"), form).await.status, 401, "{path}");
    }
}

/// ASVS 10.4.15: a signature over a request says nothing about what stands beside it. OpenID Connect Core §6.1 fills in
/// what was left open, such as the nonce, and no authority.
#[tokio::test]
async fn what_stands_beside_a_signed_request_adds_no_authority() {
    let app = app().await;
    let mut browser = person(&app).await;
    let key = ClientKey::new();
    let client = Relying::with(&app, Trust::FirstParty, json!({"jwks": key.jwks()})).await;
    let now = app.clock.now().unix_timestamp();
    let secret = verifier();
    let object = key.request_object(&json!({
        "iss": client.id, "aud": super::ISSUER, "exp": now + 60, "client_id": client.id, "response_type": "code",
        "redirect_uri": CALLBACK, "scope": "openid", "state": "signed", "code_challenge_method": "S256",
        "code_challenge": challenge(&secret),
    }));
    let beside = [
        ("authorization_details", "[{\"type\":\"payment\"}]"),
        ("resource", super::super::LEDGER),
        ("scope", "openid email invoices:write"),
        ("state", "beside"),
        ("nonce", "beside"),
    ];
    let path = format!("{}&{}", client.path(&verifier(), &beside), encode(&[("request", &object)]));
    let url = super::location(&browser.get(&path).await);
    assert_eq!(super::value(&url, "state").as_deref(), Some("signed"));
    let tokens = client.redeem(&app, &super::value(&url, "code").unwrap(), &secret).await.json();
    assert_eq!(tokens["scope"], "openid");
    assert!(tokens.get("authorization_details").is_none(), "{tokens}");
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let id = porteiro_testkit::verify(tokens["id_token"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!(id["nonce"], "beside", "{id}");
    let access = porteiro_testkit::verify(tokens["access_token"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!(access["aud"], super::ISSUER);
}
