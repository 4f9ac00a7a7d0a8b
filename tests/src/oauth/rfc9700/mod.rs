//! RFC 9700 and OAuth 2.1, duty by duty: `docs/rfc9700.md` says which test shows which.

mod answers;
mod clients;
mod consent;
mod extensions;
mod hostile;
mod parameters;
mod pkce;
mod redirects;
mod refreshing;
mod responses;

use axum::body::Body;
use http::{Request, header};
use porteiro_testkit::{Answer, Browser, TestApp};
use url::Url;

use super::driver::Relying;

pub const ISSUER: &str = "https://id.example.test";

/// Where an answer sends the browser.
pub fn location(answer: &Answer) -> Url {
    assert_eq!(answer.status, 303, "{}", answer.text());
    Url::parse(answer.header("location")).unwrap()
}

pub fn value(url: &Url, name: &str) -> Option<String> {
    let found: Vec<String> =
        url.query_pairs().filter(|(known, _)| known == name).map(|(_, value)| value.into_owned()).collect();
    assert!(found.len() < 2, "{name} came more than once");
    found.into_iter().next()
}

/// The error of an answer that went to the client.
pub fn error(answer: &Answer) -> String {
    value(&location(answer), "error").unwrap_or_else(|| panic!("no error in {}", answer.header("location")))
}

/// Nobody was sent anywhere, by any means a browser follows.
pub fn stays(answer: &Answer, what: &str) {
    assert_eq!(answer.status, 400, "{what}: {} {}", answer.header("location"), answer.text());
    for name in ["location", "refresh", "link"] {
        assert!(answer.headers.get(name).is_none(), "{what}: {name}");
    }
    assert!(!answer.text().contains('<'), "{what}: a page that could act: {}", answer.text());
}

/// A form, posted by a page to the authorization endpoint in the person's browser.
pub async fn post(app: &TestApp, browser: &Browser, path: &str, form: String) -> Answer {
    let cookies: Vec<String> =
        browser.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::COOKIE, cookies.join("; "))
        .body(Body::from(form));
    app.send(request.unwrap()).await
}

/// A client that this person has allowed `openid`: from here on it is answered at once.
pub async fn known(app: &TestApp, browser: &mut Browser) -> Relying {
    let client = Relying::web(app).await;
    client.tokens(browser, app, &[]).await;
    client
}
