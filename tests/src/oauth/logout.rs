//! Sign-out: what hangs on a session ends with it, everywhere, and whoever wants to know is told.

use porteiro_service::oauth::{
    clients::{self, Trust},
    logout,
};
use porteiro_testkit::{Browser, nothing, verify};
use serde_json::{Value, json};

use super::{
    app,
    driver::{Relying, get_json, person, userinfo, verifier},
    encode,
};
use crate::people::PASSWORD;

const AFTER: &str = "https://app.example.test/bye";

async fn client(app: &porteiro_testkit::TestApp) -> Relying {
    let metadata = json!({
        "post_logout_redirect_uris": [AFTER],
        "backchannel_logout_uri": "https://app.example.test/logout",
    });
    Relying::with(app, Trust::Verified, metadata).await
}

async fn leave(browser: &mut Browser, pairs: &[(&str, &str)]) -> (u16, Value) {
    let answer = get_json(browser, &format!("/connect/logout?{}", encode(pairs))).await;
    (answer.status.as_u16(), answer.json())
}

#[tokio::test]
async fn a_client_signs_its_person_out_and_gets_them_back() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = client(&app).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let offline = client.tokens(&mut browser, &app, &[("scope", "openid offline_access")]).await;
    let hint = tokens["id_token"].as_str().unwrap();
    let pairs = [("id_token_hint", hint), ("post_logout_redirect_uri", AFTER), ("state", "a b")];
    let (status, body) = leave(&mut browser, &pairs).await;
    assert_eq!((status, &body["continue"]["uri"]), (200, &json!(format!("{AFTER}?state=a%20b"))));
    assert!(browser.session().is_none());
    // Nothing of the session works any more; what was allowed beyond it does.
    let refresh = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(refresh.json()["error"], "invalid_grant");
    assert_eq!(userinfo(&app, tokens["access_token"].as_str().unwrap()).await.status, 401);
    assert_eq!(client.refresh(&app, offline["refresh_token"].as_str().unwrap(), &[]).await.status, 200);
    // Signed out already: the same answer.
    assert_eq!(leave(&mut browser, &pairs).await.1["continue"]["uri"], body["continue"]["uri"]);
    let none = client.ask(&mut browser, &verifier(), &[("prompt", "none")]).await.json();
    assert!(none["continue"]["uri"].as_str().unwrap().contains("error=login_required"), "{none}");
}

/// ASVS 10.6.2: no page can sign people out behind their back, nor send them anywhere.
#[tokio::test]
async fn without_a_token_of_this_session_the_person_is_asked() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = client(&app).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let hint = tokens["id_token"].as_str().unwrap();
    let mut other = crate::people::register(&app, "bea@example.test").await;
    for pairs in [vec![], vec![("state", "x")], vec![("client_id", client.id.as_str())]] {
        assert_eq!(leave(&mut browser, &pairs).await.1["stage"], "confirm", "{pairs:?}");
    }
    assert_eq!(leave(&mut other, &[("id_token_hint", hint)]).await.1["stage"], "confirm");
    for pairs in [
        vec![("post_logout_redirect_uri", AFTER)],
        vec![("post_logout_redirect_uri", AFTER), ("client_id", client.id.as_str())],
        vec![("post_logout_redirect_uri", "https://app.example.test/bye?x=1"), ("id_token_hint", hint)],
        vec![("post_logout_redirect_uri", "https://evil.example.test/"), ("id_token_hint", hint)],
        vec![("id_token_hint", "eyJhbGciOiJub25lIn0.e30.")],
        vec![("id_token_hint", tokens["access_token"].as_str().unwrap())],
        vec![("id_token_hint", hint), ("client_id", "another")],
    ] {
        let (status, body) = leave(&mut browser, &pairs).await;
        assert_eq!((status, &body["error"]), (400, &json!("invalid_request")), "{pairs:?}");
    }
    assert!(browser.get("/v1/account").await.status == 200, "still signed in");
    let confirm = leave(&mut browser, &[]).await.1["confirm"].as_str().unwrap().to_owned();
    // Another person's confirmation, and a GET with the right one from nowhere in particular, do nothing.
    let foreign = leave(&mut other, &[]).await.1["confirm"].as_str().unwrap().to_owned();
    assert_eq!(leave(&mut browser, &[("confirm", &foreign)]).await.1["stage"], "confirm");
    assert_eq!(leave(&mut browser, &[("confirm", &confirm)]).await.1["stage"], "complete");
    assert!(browser.session().is_none());
    let page = other.get("/connect/logout").await;
    assert!(page.text().contains("<form method=\"post\">") && page.header("x-frame-options") == "DENY");
}

#[tokio::test]
async fn every_client_of_a_session_that_wants_to_know_is_told_once() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (one, quiet) = (client(&app).await, Relying::web(&app).await);
    one.tokens(&mut browser, &app, &[]).await;
    one.tokens(&mut browser, &app, &[("scope", "openid offline_access")]).await;
    quiet.tokens(&mut browser, &app, &[]).await;
    let sessions = browser.get("/v1/account/sessions").await.json();
    let session = sessions["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(browser.delete(&format!("/v1/account/sessions/{session}")).await.status, 204);
    let rows = app
        .database
        .client()
        .await
        .query("SELECT payload FROM job WHERE kind = 'logout.tell'", &[])
        .await
        .unwrap();
    let told: Vec<Value> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["client_id"], &told[0]["session"]), (&json!(one.id), &json!(session)));
}

/// OpenID Connect Back-Channel Logout §2.4.
#[tokio::test]
async fn the_logout_token_says_who_and_which_session_and_is_no_id_token() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = client(&app).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let id = verify(tokens["id_token"].as_str().unwrap(), &jwks).unwrap();
    let known = clients::find(&app.app.store, &client.id).await.unwrap().unwrap();
    let session = browser.get("/v1/account/sessions").await.json()["items"][0]["id"].clone();
    let (subject, session) = (id["sub"].as_str().unwrap(), session.as_str().unwrap());
    let token = logout::token(&app.app, &known, subject.parse().unwrap(), session.parse().unwrap());
    let token = token.await.unwrap();
    let claims = verify(&token, &jwks).unwrap();
    assert_eq!((&claims["sub"], &claims["sid"], &claims["aud"]), (&id["sub"], &id["sid"], &json!(client.id)));
    assert!(claims["events"]["http://schemas.openid.net/event/backchannel-logout"].is_object());
    assert!(claims["exp"].is_i64() && claims["jti"].is_string() && claims.get("nonce").is_none());
    // It proves nothing anywhere.
    assert_eq!(userinfo(&app, &token).await.status, 401);
    assert_eq!(leave(&mut browser, &[("id_token_hint", &token)]).await.0, 400);
}

/// CVE-2026-4874: telling a client that a session ended must not reach into our own network.
#[tokio::test]
async fn cve_2026_4874_clients_cannot_have_us_call_our_own_network() {
    let app = app().await;
    let mut browser = person(&app).await;
    let server = crate::fetch::Recorder::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let address = format!("https://localhost:{}/logout", server.port);
    let client = Relying::with(&app, Trust::Verified, json!({"backchannel_logout_uri": address})).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    leave(&mut browser, &[("id_token_hint", tokens["id_token"].as_str().unwrap())]).await;
    porteiro_service::jobs::run_due(&app.app).await.unwrap();
    assert!(server.heard().is_empty());
    let waiting = "SELECT count(*) FROM job WHERE kind = 'logout.tell' AND attempts > 0";
    assert_eq!(app.count(waiting).await, 1, "tried, refused, and to be tried again");
}

/// Without screens: the page, as a browser gets it, and its form, as a browser sends it.
#[tokio::test]
async fn the_bare_page_signs_out() {
    let app = app().await;
    let mut browser = person(&app).await;
    let page = browser.get("/connect/logout").await;
    // With `no-referrer` the browser would send `Origin: null`.
    assert_eq!(page.header("referrer-policy"), "same-origin");
    let text = page.text();
    let confirm = text.split("name=\"confirm\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    for (origin, expected) in [("null", "Sign out?"), ("https://id.example.test", "You are signed out.")] {
        let session = browser.session().unwrap().clone();
        let request = http::Request::post("/connect/logout")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", origin)
            .header("cookie", format!("__Host-session={session}"));
        let body = encode(&[("confirm", confirm)]);
        let answer = app.send(request.body(axum::body::Body::from(body)).unwrap()).await;
        assert!(answer.text().contains(expected), "{origin}: {}", answer.text());
    }
    assert_eq!(browser.get("/v1/account").await.status, 401);
}

/// On a browser that many use: what was proved in a flow that waits is not there for whoever comes next.
#[tokio::test]
async fn a_flow_that_waits_is_not_open_to_whoever_comes_after_a_sign_out() {
    let app = app().await;
    let client = client(&app).await;
    person(&app).await;
    for by_client in [true, false] {
        let mut browser = Browser::new(&app);
        // Proved, and left standing at the question; then signed in beside it.
        let mut waiting = browser.open(json!({"kind": "sign_in"})).await;
        let mut flow = browser.open(json!({"kind": "sign_in"})).await;
        let input = json!({"identifier": "ana@example.test", "password": PASSWORD});
        waiting.act(&mut browser, "password/check", input.clone()).await;
        assert_eq!(waiting.stage(), "enrol", "{}", waiting.now);
        flow.act(&mut browser, "password/check", input).await;
        flow.act(&mut browser, "enrol/skip", nothing()).await;
        let path = format!("/v1/flows/{}", waiting.id());
        assert_eq!(browser.get(&path).await.status, 200);
        if by_client {
            let tokens = client.tokens(&mut browser, &app, &[]).await;
            let hint = tokens["id_token"].as_str().unwrap();
            assert_eq!(leave(&mut browser, &[("id_token_hint", hint)]).await.1["stage"], "complete");
        } else {
            let sessions = browser.get("/v1/account/sessions").await.json();
            let own =
                sessions["items"].as_array().unwrap().iter().find(|one| one["current"] == true).unwrap();
            let path = format!("/v1/account/sessions/{}", own["id"].as_str().unwrap());
            assert_eq!(browser.delete(&path).await.status, 204);
        }
        assert!(browser.session().is_none());
        let reopened = browser.get(&path).await;
        assert_eq!(reopened.status, 404, "{}", reopened.text());
        app.forget_limits().await;
    }
}
