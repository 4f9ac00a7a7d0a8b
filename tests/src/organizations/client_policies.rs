//! Which clients an organization lets act for it.

use http::Method;
use porteiro_service::oauth::clients::Trust;
use serde_json::{Value, json};

use super::{
    driver::{call, get, house, organization, organization_key},
    staff::{Staff, refusal},
};
use crate::oauth::driver::{Relying, agree, parameter, verifier};

const ASKED: [(&str, &str); 2] = [("scope", "openid"), ("organization", "here")];

async fn outcome(client: &Relying, staff: &mut Staff) -> String {
    let answer = client.ask(&mut staff.browser, &verifier(), &ASKED).await;
    let body = agree(&mut staff.browser, answer.json()).await;
    parameter(&body, "error")
        .or_else(|| parameter(&body, "code").map(|_| "code".into()))
        .unwrap_or_else(|| body.to_string())
}

#[tokio::test]
async fn a_client_is_let_in_by_name_by_trust_and_by_policy() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let mut ana = Staff::new(&app, "ana@example.test", here, "admin").await;
    let key = organization_key(&app, here, &["client-policies:*"]).await;
    let path = |client: &Relying| format!("/v1/organizations/{here}/client-policies/{}", client.id);
    let (known, own) = (Relying::web(&app).await, Relying::with(&app, Trust::FirstParty, json!({})).await);
    let policy = async |word: &str| {
        app.sql(&format!("UPDATE organization SET policy = '{{\"third_party_clients\": \"{word}\"}}'")).await;
    };
    for word in ["all", "verified"] {
        policy(word).await;
        assert_eq!(outcome(&known, &mut ana).await, "code", "{word}");
    }
    policy("listed").await;
    assert_eq!(outcome(&known, &mut ana).await, "access_denied");
    assert_eq!(outcome(&own, &mut ana).await, "code", "of the house");
    let say = async |client: &Relying, decision: &str| {
        let body = json!({"decision": decision});
        call(&app, Method::PUT, &path(client), &key, Some(&body), &[]).await
    };
    assert_eq!(say(&known, "allow").await.json()["decision"], "allow");
    assert_eq!(outcome(&known, &mut ana).await, "code", "listed");
    assert_eq!(say(&own, "block").await.status, 200);
    assert_eq!(outcome(&own, &mut ana).await, "access_denied", "blocked by name, even of the house");
    let list = get(&app, &format!("/v1/organizations/{here}/client-policies"), &key).await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    let page = get(&app, &format!("/v1/organizations/{here}/client-policies?limit=1"), &key).await.json();
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest =
        get(&app, &format!("/v1/organizations/{here}/client-policies?limit=1&cursor={cursor}"), &key).await;
    assert_ne!(rest.json()["items"][0]["client_id"], page["items"][0]["client_id"]);
    assert_eq!(call(&app, Method::DELETE, &path(&own), &key, None, &[]).await.status, 204);
    assert_eq!(outcome(&own, &mut ana).await, "code");
    let gone = call(&app, Method::DELETE, &path(&own), &key, None, &[]).await;
    assert_eq!(refusal(&gone), (404, "not_found".into()));
    let nobody = format!("/v1/organizations/{here}/client-policies/nobody");
    let unknown = call(&app, Method::PUT, &nobody, &key, Some(&json!({"decision": "block"})), &[]).await;
    assert_eq!(refusal(&unknown), (404, "not_found".into()));
    let odd = call(&app, Method::PUT, &path(&own), &key, Some(&json!({"decision": "perhaps"})), &[]).await;
    assert_eq!(refusal(&odd), (400, "malformed".into()));
    assert_eq!(app.count("SELECT count(*) FROM trail WHERE kind = 'client_policy.changed'").await, 3);
}

#[tokio::test]
async fn a_client_that_is_let_in_no_more_loses_what_it_had_there_and_only_there() {
    let app = house().await;
    let (here, there) = (organization(&app, "here").await, organization(&app, "there").await);
    let mut ana = Staff::new(&app, "ana@example.test", here, "admin").await;
    super::driver::join(&app, there, ana.account, "member").await;
    let mut bo = Staff::new(&app, "bo@example.test", here, "member").await;
    let (client, other) = (Relying::web(&app).await, Relying::web(&app).await);
    let key = organization_key(&app, here, &["client-policies:*"]).await;
    let path = format!("/v1/organizations/{here}/client-policies/{}", client.id);
    let mut ended: Vec<Value> = Vec::new();
    for staff in [&mut ana, &mut bo] {
        ended.push(client.tokens(&mut staff.browser, &app, &ASKED).await);
    }
    let waiting = client.code(&mut ana.browser, &ASKED).await;
    let kept = [
        (
            &client,
            client.tokens(&mut ana.browser, &app, &[("scope", "openid"), ("organization", "there")]).await,
        ),
        (&client, client.tokens(&mut ana.browser, &app, &[]).await),
        (&other, other.tokens(&mut ana.browser, &app, &ASKED).await),
    ];
    let block = call(&app, Method::PUT, &path, &key, Some(&json!({"decision": "block"})), &[]).await;
    assert_eq!(block.status, 200, "{}", block.text());
    for tokens in &ended {
        let refresh = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
        assert_eq!(refresh.json()["error"], "invalid_grant");
        let token = [("token", tokens["access_token"].as_str().unwrap())];
        assert_eq!(client.call(&app, "/connect/introspect", &token).await.json(), json!({"active": false}));
    }
    assert_eq!(client.redeem(&app, &waiting.0, &waiting.1).await.json()["error"], "invalid_grant");
    for (client, tokens) in &kept {
        let refresh = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
        assert_eq!(refresh.status, 200, "{}", refresh.text());
    }
    let logged = "SELECT count(*) FROM security_log WHERE kind = 'grant.revoked' AND payload->>'reason' = 'client_blocked'";
    assert_eq!(app.count(logged).await, 3, "each in its person's own log");
    let again = call(&app, Method::PUT, &path, &key, Some(&json!({"decision": "block"})), &[]).await;
    assert_eq!(again.status, 200);
    assert_eq!(app.count("SELECT count(*) FROM trail WHERE kind = 'client_policy.changed'").await, 1);
    call(&app, Method::DELETE, &path, &key, None, &[]).await;
    for tokens in &ended {
        let refresh = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
        assert_eq!(refresh.json()["error"], "invalid_grant", "let in again, and what ended stays ended");
    }
}
