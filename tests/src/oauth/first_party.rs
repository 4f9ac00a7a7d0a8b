//! Apps of the same house: their own screens (`/connect/challenge`) and the account API by token, with RFC 9470.

use axum::body::Body;
use http::{Method, Request, header};
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Answer, Flow, TestApp};
use serde_json::{Value, json};

use super::{
    app,
    driver::{Relying, challenge, parameter, person, verifier},
};
use crate::people::PASSWORD;

async fn step(app: &TestApp, flow: &Value, action: &str, token: &str, mut input: Value) -> Answer {
    input["step"] = flow["step"].clone();
    let path = format!("/v1/flows/{}/{action}", flow["id"].as_str().unwrap());
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::AUTHORIZATION, format!("Flow {token}"))
        .body(Body::from(input.to_string()));
    app.send(request.unwrap()).await
}

#[tokio::test]
async fn an_app_with_screens_of_its_own_signs_a_person_in() {
    let app = app().await;
    crate::people::register_with_password(&app, "ana@example.test").await;
    let client = Relying::with(&app, Trust::FirstParty, json!({"token_endpoint_auth_method": "none"})).await;
    let verifier = verifier();
    let hash = challenge(&verifier);
    let form =
        [("scope", "openid account"), ("code_challenge", hash.as_str()), ("code_challenge_method", "S256")];
    let answer = client.call(&app, "/connect/challenge", &form).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["error"]),
        (403, &json!("insufficient_authorization"))
    );
    let body = answer.json();
    let token = body["auth_session"].as_str().unwrap();
    let input = json!({"identifier": "ana@example.test", "password": PASSWORD});
    let done = step(&app, &body["flow"], "password/check", token, input).await;
    assert_eq!(done.status, 200, "{}", done.text());
    let mut done = done.json();
    if done["stage"] == "enrol" {
        let token = done["auth_session"].as_str().unwrap().to_owned();
        done = step(&app, &done, "enrol/skip", &token, json!({})).await.json();
    }
    assert_eq!((&done["stage"], &done["continue"]["type"]), (&json!("complete"), &json!("authorization")));
    let code = done["continue"]["response"]["code"].as_str().unwrap();
    let form = [("code", code), ("code_verifier", verifier.as_str())];
    let tokens = client.token(&app, "authorization_code", &form).await;
    assert_eq!(tokens.status, 200, "{}", tokens.text());
    assert_eq!(tokens.json()["scope"], "openid account");
    let stranger = Relying::public(&app, Trust::Verified).await;
    let refused = stranger.call(&app, "/connect/challenge", &form).await;
    assert_eq!(refused.json()["error"], "unauthorized_client");
}

async fn account(app: &TestApp, method: Method, path: &str, token: &str) -> Answer {
    let request =
        Request::builder().method(method).uri(path).header(header::AUTHORIZATION, format!("Bearer {token}"));
    app.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn the_account_api_takes_a_token_of_the_house_and_says_when_it_needs_a_fresh_proof() {
    let app = app().await;
    let mut browser = person(&app).await;
    let house = Relying::with(&app, Trust::FirstParty, json!({})).await;
    let tokens = house.tokens(&mut browser, &app, &[("scope", "openid account")]).await;
    let token = tokens["access_token"].as_str().unwrap();
    assert_eq!(account(&app, Method::GET, "/v1/account", token).await.json()["display_name"], "Ana");
    app.sql("UPDATE session SET proofs = jsonb_set(proofs, '{0,at}', to_jsonb(extract(epoch FROM now())::bigint - 3600))").await;
    let credentials = account(&app, Method::GET, "/v1/account/credentials", token).await.json();
    let id = credentials["items"][0]["id"].as_str().unwrap();
    let stale = account(&app, Method::DELETE, &format!("/v1/account/credentials/{id}"), token).await;
    assert_eq!(stale.status, 401);
    let challenge = "Bearer error=\"insufficient_user_authentication\", max_age=\"600\", resource_metadata=";
    assert!(stale.header("www-authenticate").starts_with(challenge), "{}", stale.header("www-authenticate"));
    // The client asks for it, as RFC 9470 §4 says, and may.
    let secret = verifier();
    let asked = [("max_age", "600"), ("scope", "openid account")];
    let mut flow = Flow::new(house.ask(&mut browser, &secret, &asked).await.json());
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    let code = parameter(&flow.now, "code").unwrap_or_else(|| panic!("{}", flow.now));
    let newer = house.redeem(&app, &code, &secret).await.json();
    let token = newer["access_token"].as_str().unwrap();
    let fresh = account(&app, Method::DELETE, "/v1/account/sessions", token).await;
    assert_eq!(fresh.status, 200, "{}", fresh.text());

    for (what, trust, scope) in [
        ("a stranger may not ask for it", Trust::Verified, "openid account"),
        ("nor together with an API", Trust::FirstParty, "account invoices:read"),
    ] {
        let client = Relying::with(&app, trust, json!({})).await;
        let refused = client.ask(&mut browser, &verifier(), &[("scope", scope)]).await.json();
        assert_eq!(parameter(&refused, "error").as_deref(), Some("invalid_scope"), "{what}");
    }
    let other = house.tokens(&mut browser, &app, &[]).await;
    let lacking = account(&app, Method::GET, "/v1/account", other["access_token"].as_str().unwrap()).await;
    assert_eq!(lacking.status, 403, "{}", lacking.text());
    assert_eq!(browser.delete(&format!("/v1/account/grants/{}", house.id)).await.status, 204);
    assert_eq!(account(&app, Method::GET, "/v1/account", token).await.status, 401, "taken back");
}
