//! Where the browser may be sent (RFC 9700 §2.1, §4.1, §4.11).

use porteiro_service::oauth::clients::{self, Trust};
use porteiro_testkit::Browser;
use serde_json::json;

use super::{
    super::{
        app,
        driver::{CALLBACK, Relying, person, verifier},
        encode,
    },
    error, known, location, stays, value,
};

/// One change each, of the kinds that have fooled servers before.
fn mutations(uri: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (index, byte) in uri.bytes().enumerate() {
        let (before, after) = (&uri[..index], &uri[index + 1..]);
        all.push(format!("{before}{after}"));
        if byte.is_ascii_lowercase() {
            all.push(format!("{before}{}{after}", byte.to_ascii_uppercase() as char));
        }
        if byte.is_ascii_alphanumeric() {
            all.push(format!("{before}%{byte:02X}{after}"));
            all.push(format!("{before}%25{byte:02x}{after}"));
        }
    }
    for tail in [
        "/",
        "//",
        "/.",
        "/..",
        "/../evil",
        "/%2e%2e/evil",
        ";/evil",
        "..;/",
        ".",
        "?",
        "?x=1",
        "&x=1",
        "#",
        "#x",
        "%00",
        "%0d%0aLocation:https://evil.example",
        "%20",
        " ",
        "\t",
        "\n",
        "\u{0}",
        "\\",
        "\\@evil.example",
        "@evil.example",
        ",https://evil.example",
        "*",
        "/*",
        "é",
        "\u{200b}",
        "?redirect_uri=https://evil.example",
    ] {
        all.push(format!("{uri}{tail}"));
        all.push(format!("{tail}{uri}"));
    }
    for host in [
        "evil.example",
        "app.example.test.evil.example",
        "evil.example/app.example.test",
        "app.example.test:443",
        "app.example.test:8443",
        "app.example.test.",
        "app.example.test@evil.example",
        "evil.example\\@app.example.test",
        "user@app.example.test",
        "user:pass@app.example.test",
        "app%2eexample.test",
        "appXexample.test",
        "127.0.0.1",
        "[::1]",
        "localhost",
        "аpp.example.test",
        "app.example.test%00.evil.example",
        "app.example.test%2f.evil.example",
        "app.example.test#.evil.example",
        "app.example.test?.evil.example",
        "*.example.test",
        "",
    ] {
        all.push(uri.replace("app.example.test", host));
    }
    for scheme in ["http", "HTTPS", "ftp", "javascript", "data", "file", "ws", "https:https", "x-https"] {
        all.push(uri.replacen("https", scheme, 1));
    }
    all.extend(
        ["", "null", "/", "/callback", "//app.example.test/callback", "about:blank"].map(str::to_owned),
    );
    all.push(format!("{uri} {uri}"));
    all.push(uri.repeat(80));
    all.retain(|one| one != uri);
    all.sort();
    all.dedup();
    all
}

/// The hardest setting: a client somebody checked, a person who is signed in and has said yes before.
#[tokio::test]
async fn nobody_is_ever_sent_to_an_address_that_is_not_registered() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let two = json!({"redirect_uris": [CALLBACK, "https://app.example.test/other"]});
    let other = Relying::with(&app, Trust::Verified, two).await;
    let wrong = mutations(CALLBACK);
    assert!(wrong.len() >= 200, "only {} mutations", wrong.len());
    for uri in &wrong {
        for client in [&client, &other] {
            // An empty value counts as none, and with one address registered none is needed.
            let pairs = [("redirect_uri", uri.as_str()), ("prompt", "none")];
            let query = if uri.is_empty() {
                format!("{}&redirect_uri=", client.query(&verifier(), &pairs))
            } else {
                client.query(&verifier(), &pairs)
            };
            if uri.is_empty() && client.id != other.id {
                continue;
            }
            let answer = browser.get(&format!("/connect/authorize?{query}")).await;
            stays(&answer, uri);
            assert!(uri.len() < 12 || !answer.text().contains(uri), "{uri} is repeated");
        }
    }
    // And the right one goes where it should.
    let answer = browser.get(&client.path(&verifier(), &[])).await;
    assert!(answer.header("location").starts_with(&format!("{CALLBACK}?code=")));
}

#[tokio::test]
async fn an_unknown_client_is_told_nothing_by_redirect() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let gone = Relying::web(&app).await;
    clients::disable(&app.app.store, &gone.id).await.unwrap();
    for id in ["nobody", "", "00000000-0000-0000-0000-000000000000", &client.id.to_uppercase(), &gone.id] {
        let stranger = Relying { id: id.to_owned(), ..client.clone() };
        for more in [vec![], vec![("prompt", "none")], vec![("response_type", "token")]] {
            stays(&browser.get(&stranger.path(&verifier(), &more)).await, id);
        }
    }
}

#[tokio::test]
async fn only_the_port_of_a_loopback_address_may_differ() {
    let app = app().await;
    let mut browser = person(&app).await;
    let metadata = json!({"redirect_uris": ["http://127.0.0.1/cb"], "token_endpoint_auth_method": "none"});
    let client = Relying::with(&app, Trust::Verified, metadata).await;
    for port in ["", ":1", ":8080", ":65535"] {
        let uri = format!("http://127.0.0.1{port}/cb");
        let answer =
            browser.get(&client.path(&verifier(), &[("redirect_uri", &uri), ("prompt", "none")])).await;
        assert_eq!(error(&answer), "consent_required");
        assert!(answer.header("location").starts_with(&format!("{uri}?")), "{}", answer.header("location"));
    }
    for uri in [
        "http://localhost/cb",
        "http://[::1]/cb",
        "https://127.0.0.1/cb",
        "http://127.0.0.1:0/cb",
        "http://127.0.0.1:65536/cb",
        "http://127.0.0.1:8080/cb/",
        "http://127.0.0.1:8080/",
        "http://127.0.0.2/cb",
        "http://127.0.0.1:80@evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
    ] {
        stays(
            &browser.get(&client.path(&verifier(), &[("redirect_uri", uri), ("prompt", "none")])).await,
            uri,
        );
    }
}

/// RFC 9700 §2.6, OAuth 2.1 §2.3 and §8.4: by whomever a client is made.
#[tokio::test]
async fn addresses_that_could_not_be_trusted_cannot_be_registered() {
    let app = app().await;
    let made = async |uri: &str| {
        let metadata = json!({"redirect_uris": [uri], "grant_types": ["authorization_code"], "token_endpoint_auth_method": "none"});
        clients::create(&app.app.store, &*app.app.entropy, &metadata, Trust::FirstParty).await.is_ok()
    };
    for bad in [
        "http://app.example.test/cb",
        "http://10.0.0.1/cb",
        "http://localhost.evil.example/cb",
        "https://app.example.test/cb#",
        "https://app.example.test/cb#x",
        "/cb",
        "app.example.test/cb",
        "https://",
        "https:///cb",
        "https://*.example.test/cb",
        "https://user@app.example.test/cb",
        "myapp:/cb",
        "myapp://cb",
        "com.example.app:",
        "Com.Example.App:/cb",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///cb",
    ] {
        assert!(!made(bad).await, "{bad}");
    }
    for good in
        ["https://app.example.test/cb", "http://127.0.0.1/cb", "http://[::1]/cb", "com.example.app:/cb"]
    {
        assert!(made(good).await, "{good}");
    }
}

/// RFC 9700 §4.11.2: or whoever registers would have an open redirector of us.
#[tokio::test]
async fn a_stranger_gets_no_error_by_redirect_whether_anybody_is_signed_in_or_not() {
    let app = app().await;
    let (mut browser, mut nobody) = (person(&app).await, Browser::new(&app));
    let stranger = Relying::with(&app, Trust::Unverified, json!({})).await;
    let checked = Relying::web(&app).await;
    for more in [
        vec![("scope", "no:such")],
        vec![("scope", "invoices:write")],
        vec![("response_type", "token")],
        vec![("prompt", "none")],
        vec![("prompt", "none"), ("response_mode", "form_post")],
        vec![("code_challenge_method", "plain")],
        vec![("resource", "https://nowhere.example")],
        vec![("acr_values", "urn:unheard:of")],
        vec![("id_token_hint", "x.y.z")],
        vec![],
    ] {
        for agent in [&mut browser, &mut nobody] {
            stays(&agent.get(&stranger.path(&verifier(), &more)).await, &format!("{more:?}"));
        }
    }
    assert_eq!(error(&nobody.get(&checked.path(&verifier(), &[("prompt", "none")])).await), "login_required");
}

/// RFC 9700 §4.12: a 307 would post on what was posted here.
#[tokio::test]
async fn a_redirect_is_a_303_and_nothing_else() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    for more in [vec![], vec![("prompt", "none")], vec![("scope", "no:such")], vec![("max_age", "x")]] {
        for method in ["GET", "POST"] {
            let query = client.query(&verifier(), &more);
            let answer = match method {
                "GET" => browser.get(&format!("/connect/authorize?{query}")).await,
                _ => super::post(&app, &browser, "/connect/authorize", query).await,
            };
            assert_eq!(answer.status, 303, "{method} {more:?}: {}", answer.text());
            assert_eq!(value(&location(&answer), "state").as_deref(), Some("s-1"));
        }
    }
    let out = browser.get("/connect/logout").await;
    assert_eq!(out.status, 200, "a question, not a redirect: {}", out.text());
}

/// A registered query stays, and ours joins it; nothing of the request can change where it goes.
#[tokio::test]
async fn the_registered_query_is_kept_and_cannot_be_overridden() {
    let app = app().await;
    let mut browser = person(&app).await;
    let uri = "https://app.example.test/cb?tenant=a%20b";
    let client = Relying::with(&app, Trust::FirstParty, json!({"redirect_uris": [uri]})).await;
    let state = "x&code=stolen&iss=https://evil.example#fragment\u{e9}";
    let answer = browser.get(&client.path(&verifier(), &[("state", state)])).await;
    let url = location(&answer);
    assert!(answer.header("location").starts_with(&format!("{uri}&code=")));
    assert_eq!(value(&url, "state").as_deref(), Some(state));
    assert_eq!(value(&url, "iss").as_deref(), Some(super::ISSUER));
    assert!(url.fragment().is_none());
    let plain = encode(&[("client_id", &client.id), ("redirect_uri", "https://app.example.test/cb")]);
    stays(&browser.get(&format!("/connect/authorize?{plain}")).await, "without its query");
}
