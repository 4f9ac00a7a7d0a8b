//! An organization says by name which of these clients act for it.

use http::Method;
use serde_json::json;

use super::{PATH, documents, publish, tool};
use crate::{
    oauth::{
        driver::{agree, parameter, verifier},
        site::Site,
    },
    organizations::{
        driver::{call, organization, organization_key},
        staff::{Staff, refusal},
    },
};

const ASKED: [(&str, &str); 2] = [("scope", "openid"), ("organization", "here")];

#[tokio::test]
async fn an_administrator_who_allows_a_url_has_its_document_read() {
    let site = Site::start().await;
    let app = site.app().await;
    let here = organization(&app, "here").await;
    let mut ana = Staff::new(&app, "ana@example.test", here, "admin").await;
    let key = organization_key(&app, here, &["client-policies:*"]).await;
    let encoded = |url: &str| url.replace(':', "%3A").replace('/', "%2F").replace('?', "%3F");
    let set = async |url: &str, decision: &str| {
        let path = format!("/v1/organizations/{here}/client-policies/{}", encoded(url));
        call(&app, Method::PUT, &path, &key, Some(&json!({"decision": decision})), &[]).await
    };
    let client = tool(&site);
    let outcome = async |staff: &mut Staff| {
        let answer = client.ask(&mut staff.browser, &verifier(), &ASKED).await;
        let body = agree(&mut staff.browser, answer.json()).await;
        parameter(&body, "code")
            .map_or_else(|| body["error"].as_str().unwrap_or("none").to_owned(), |_| "code".into())
    };
    app.sql("UPDATE organization SET policy = '{\"third_party_clients\": \"listed\"}'").await;

    assert_eq!(
        refusal(&set(&client.id, "allow").await),
        (404, "not_found".into()),
        "there is no document yet"
    );
    publish(&site, &json!({}));
    assert_eq!(outcome(&mut ana).await, "access_denied", "nobody has listed it");
    app.sql("DELETE FROM client WHERE document_until IS NOT NULL").await;
    app.app.directory.forget(&client.id);
    assert_eq!(set(&client.id, "allow").await.json()["decision"], "allow");
    assert_eq!(documents(&app).await, 1, "read for the administrator");
    let heard = site.heard().len();
    assert_eq!(outcome(&mut ana).await, "code");
    assert_eq!(site.heard().len(), heard);
    assert_eq!(set(&client.id, "block").await.status, 200);
    assert_eq!(outcome(&mut ana).await, "access_denied");

    // Blocked before anybody has used it: nothing is fetched for that.
    let other = site.url("/never.json");
    assert_eq!(set(&other, "block").await.json()["decision"], "block");
    for (url, decision) in [
        (site.url("/a/../never.json"), "block"),
        (site.url("/never.json?x=1"), "allow"),
        (site.url(PATH).replace("https", "http"), "block"),
    ] {
        assert_eq!(refusal(&set(&url, decision).await), (404, "not_found".into()), "{url}");
    }
    assert_eq!(site.heard().len(), heard);
}
