//! Parameters (OAuth 2.1 §3.1, §3.2): each once, empty is absent, unknown is ignored.

use http::Method;
use serde_json::json;

use super::{
    super::{
        app,
        codes::refused,
        driver::{CALLBACK, person, verifier},
        encode,
    },
    known, location, stays, value,
};

/// Keycloak CVE-2026-9689: of two values one is checked and the other used.
#[tokio::test]
async fn cve_2026_9689_a_repeated_parameter_is_refused_wherever_it_stands() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let all = [
        "client_id",
        "redirect_uri",
        "response_type",
        "scope",
        "state",
        "nonce",
        "code_challenge",
        "code_challenge_method",
    ];
    for name in all {
        for second in ["", "x", CALLBACK, "https://evil.example/"] {
            for spelling in [name.to_owned(), format!("%{:02x}{}", name.as_bytes()[0], &name[1..])] {
                let pair = format!("{spelling}={}", encode(&[("", second)]).trim_start_matches('='));
                let query = client.query(&verifier(), &[]);
                for query in [format!("{query}&{pair}"), format!("{pair}&{query}")] {
                    stays(&browser.get(&format!("/connect/authorize?{query}")).await, &query);
                    stays(&super::post(&app, &browser, "/connect/authorize", query.clone()).await, &query);
                }
            }
        }
    }
    // Even one that means nothing to us.
    stays(&browser.get(&format!("{}&x=1&x=2", client.path(&verifier(), &[]))).await, "an unknown one twice");
}

#[tokio::test]
async fn back_channel_endpoints_refuse_repetition_too() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let (code, right) = client.code(&mut browser, &[]).await;
    let secret = client.secret.clone().unwrap();
    let form = encode(&[
        ("client_id", &client.id),
        ("client_secret", &secret),
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("code_verifier", &right),
        ("redirect_uri", CALLBACK),
    ]);
    for again in ["client_id", "client_secret", "grant_type", "code", "code_verifier", "redirect_uri"] {
        let value = form.split('&').find_map(|pair| pair.strip_prefix(&format!("{again}="))).unwrap();
        for second in [value, "", "x"] {
            refused(&app.form("/connect/token", format!("{form}&{again}={second}")).await, "invalid_request");
        }
    }
    for path in ["/connect/revoke", "/connect/introspect"] {
        let form = encode(&[("client_id", &client.id), ("client_secret", &secret), ("token", "x")]);
        refused(&app.form(path, format!("{form}&token=x")).await, "invalid_request");
    }
    let pushed = format!("{}&client_secret={secret}", client.query(&verifier(), &[]));
    refused(&app.form("/connect/par", format!("{pushed}&scope=openid")).await, "invalid_request");
    // None of that used the code up.
    assert_eq!(app.form("/connect/token", form).await.status, 200);
}

#[tokio::test]
async fn empty_means_absent_and_unknown_means_nothing() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let path = client.path(&verifier(), &[]);
    for more in
        ["&display=&claims=&resource=&prompt=&max_age=", "&unknown=1&foo[bar]=2&__proto__=3", "&", "&&=&"]
    {
        let path = client.path(&verifier(), &[]) + more;
        assert!(value(&location(&browser.get(&path).await), "code").is_some(), "{more}");
    }
    let missing = browser.get(&format!("{}&response_type=", path.replace("&response_type=code", ""))).await;
    assert_eq!(super::error(&missing), "invalid_request");
    let (code, right) = client.code(&mut browser, &[]).await;
    let form = [
        ("code", code.as_str()),
        ("code_verifier", &right),
        ("redirect_uri", ""),
        ("foo", "bar"),
        ("resource", ""),
    ];
    assert_eq!(client.token(&app, "authorization_code", &form).await.status, 200);
    for (grant, form) in [
        ("", vec![]),
        ("authorization_code", vec![("code", "")]),
        ("refresh_token", vec![("refresh_token", "")]),
    ] {
        refused(&client.token(&app, grant, &form).await, "invalid_request");
    }
}

#[tokio::test]
async fn back_channel_endpoints_take_posted_forms_alone() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let (code, right) = client.code(&mut browser, &[]).await;
    let form = encode(&[
        ("client_id", &client.id),
        ("client_secret", client.secret.as_ref().unwrap()),
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("code_verifier", &right),
        ("token", "x"),
    ]);
    for path in
        ["/connect/token", "/connect/par", "/connect/device", "/connect/revoke", "/connect/introspect"]
    {
        for method in [Method::GET, Method::HEAD, Method::PUT, Method::DELETE, Method::PATCH] {
            assert_eq!(
                app.method(method.clone(), &format!("{path}?{form}")).await.status,
                405,
                "{method} {path}"
            );
        }
        for media in ["application/json", "text/plain", "multipart/form-data; boundary=x", ""] {
            assert!(app.post(path, media, form.clone()).await.status.is_client_error(), "{media} {path}");
        }
        let answer = app.json(path, &json!({"client_id": client.id, "client_secret": client.secret})).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["error"]),
            (400, &json!("invalid_request")),
            "{path}"
        );
    }
    assert_eq!(app.form("/connect/token", form).await.status, 200, "the code was never touched");
    let metadata = app.get("/.well-known/openid-configuration").await.json();
    for (name, value) in metadata.as_object().unwrap().iter().filter(|(name, _)| name.ends_with("_endpoint"))
    {
        assert!(!value.as_str().unwrap().contains('#') && !value.as_str().unwrap().contains('?'), "{name}");
    }
}

/// OAuth 2.1 §10.2: where it is sent it must be the one of the request.
#[tokio::test]
async fn a_redirect_uri_at_the_token_endpoint_must_be_the_one_that_was_used() {
    let app = app().await;
    let mut browser = person(&app).await;
    let more = json!({"redirect_uris": [CALLBACK, "https://app.example.test/other"]});
    let client =
        super::super::driver::Relying::with(&app, porteiro_service::oauth::clients::Trust::Verified, more)
            .await;
    let (code, right) = client.code(&mut browser, &[]).await;
    for uri in
        ["https://app.example.test/other", "https://app.example.test/callback/", "https://evil.example/", "x"]
    {
        let form = [("code", code.as_str()), ("code_verifier", &right), ("redirect_uri", uri)];
        refused(&client.token(&app, "authorization_code", &form).await, "invalid_grant");
    }
    let form = [("code", code.as_str()), ("code_verifier", &right)];
    assert_eq!(client.token(&app, "authorization_code", &form).await.status, 200, "and it may be left out");
}
