//! One person, one code, several windows and ways of looking at it.

use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::{Value, json};

use super::{super::app, allows, asks, clerk, error, person, polls, polls_in_time, television, typed};
use crate::people::{PASSWORD, register_with_password};

/// They said yes, got frightened, and say no where it is still asked: the no holds.
#[tokio::test]
async fn a_later_no_takes_back_a_yes() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    for redeemed in [false, true] {
        for way in ["consent/deny", "cancel"] {
            let asked = asks(&app, &device, &[("scope", "openid offline_access")]).await;
            let mut other = typed(&mut ana, &asked.user_code).await;
            allows(&mut ana, &asked.user_code).await;
            let tokens =
                if redeemed { polls(&app, &device, &asked.device_code).await.json() } else { Value::Null };
            if way == "cancel" {
                ana.delete(&format!("/v1/flows/{}", other.id())).await;
            } else {
                other.act(&mut ana, way, nothing()).await;
            }
            let answer = match tokens["refresh_token"].as_str() {
                Some(token) => device.refresh(&app, token, &[]).await,
                None => polls(&app, &device, &asked.device_code).await,
            };
            assert_eq!(error(&answer), "invalid_grant", "{way}, redeemed: {redeemed}");
        }
    }
}

#[tokio::test]
async fn a_second_yes_is_the_same_yes() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    let mut other = typed(&mut ana, &asked.user_code).await;
    allows(&mut ana, &asked.user_code).await;
    let mails = app.count("SELECT count(*) FROM job").await;
    other.act(&mut ana, "consent/allow", nothing()).await;
    assert_eq!(other.now["continue"], json!({"type": "device", "outcome": "approved"}));
    assert_eq!(app.count("SELECT count(*) FROM job").await, mails, "they were told once");
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant").await, 1);
    assert_eq!(polls(&app, &device, &asked.device_code).await.status, 200);

    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    let (mut one, mut two) =
        (typed(&mut ana, &asked.user_code).await, typed(&mut ana, &asked.user_code).await);
    one.act(&mut ana, "consent/deny", nothing()).await;
    two.act(&mut ana, "consent/allow", nothing()).await;
    assert_eq!(two.now["continue"]["error"], "access_denied", "decided is decided");
    assert_eq!(error(&polls(&app, &device, &asked.device_code).await), "access_denied");
}

/// In one window they said that they are somebody else; the other one can still say no.
#[tokio::test]
async fn a_no_counts_while_nobody_else_looked_it_up() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    let (mut one, mut two) =
        (typed(&mut ana, &asked.user_code).await, typed(&mut ana, &asked.user_code).await);
    one.act(&mut ana, "account/switch", nothing()).await;
    two.act(&mut ana, "consent/deny", nothing()).await;
    assert_eq!(error(&polls(&app, &device, &asked.device_code).await), "access_denied");
}

/// What was let in is in the list from the first moment, not from the device's next poll.
#[tokio::test]
async fn a_device_can_be_taken_back_before_it_noticed() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    allows(&mut ana, &asked.user_code).await;
    let held = ana.get("/v1/account/grants").await.json();
    assert_eq!(held["items"][0]["grants"][0]["scope"], "openid", "{held}");
    assert_eq!(ana.delete(&format!("/v1/account/grants/{}", device.id)).await.status, 204);
    assert_eq!(error(&polls(&app, &device, &asked.device_code).await), "invalid_grant");
}

/// A membership ends while its member reads the question: there is nothing left to say yes to, and the device's time runs
/// out.
#[tokio::test]
async fn what_turns_out_to_be_impossible_is_no_yes() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let (mut ana, _) = clerk(&app).await;
    let asked = asks(&app, &device, &[("scope", "salaries:read"), ("organization", "here")]).await;
    let mut flow = typed(&mut ana, &asked.user_code).await;
    app.sql("UPDATE membership SET state = 'disabled'").await;
    let answer = flow.attempt(&mut ana, "consent/allow", nothing()).await;
    assert_eq!(answer.json()["code"], "flow_finished", "{}", answer.text());
    flow.show(&mut ana).await;
    assert_eq!((flow.stage(), &flow.now["reason"]), ("denied", &json!("request_refused")), "{}", flow.now);
    let answer = polls_in_time(&app, &device, &asked.device_code).await;
    assert_eq!(error(&answer), "authorization_pending");
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant").await, 0);
}

/// Signing in on the way to a device is signing in: from a new browser its owner hears of it, whatever becomes of the
/// device.
#[tokio::test]
async fn a_new_browser_is_told_of_here_too() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    register_with_password(&app, "ana@example.test").await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    let mut thief = Browser::new(&app);
    let mut flow = thief.open(json!({"kind": "confirm_device"})).await;
    flow.act(&mut thief, "password/check", json!({"identifier": "ana@example.test", "password": PASSWORD}))
        .await;
    flow.act(&mut thief, "device/look", json!({"user_code": asked.user_code})).await;
    app.sql("UPDATE device_request SET expires_at = now()").await;
    flow.act(&mut thief, "consent/allow", nothing()).await;
    assert_eq!(flow.now["continue"]["error"], "expired_token");
    assert_eq!(app.mail("ana@example.test").await.0, "New sign-in to your account");
}

/// An app that drives the flow by its token keeps a session it can use.
#[tokio::test]
async fn an_app_of_the_house_is_signed_in_afterwards() {
    let app = TestApp::builder().people().settings(|settings| settings.api_flows = true).start().await;
    let app = std::sync::Arc::new(app);
    let device = television(&app, Trust::Verified).await;
    register_with_password(&app, "ana@example.test").await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    let opened = json!({"kind": "confirm_device", "transport": "api"});
    let mut flow = app.json("/v1/flows", &opened).await.json();
    let steps = [
        ("password/check", json!({"identifier": "ana@example.test", "password": PASSWORD})),
        ("device/look", json!({"user_code": asked.user_code})),
        ("consent/allow", json!({})),
    ];
    for (action, mut input) in steps {
        input["step"] = flow["step"].clone();
        let path = format!("/v1/flows/{}/{action}", flow["id"].as_str().unwrap());
        let request = http::Request::post(path)
            .header("authorization", format!("Flow {}", flow["auth_session"].as_str().unwrap()))
            .header("content-type", "application/json")
            .body(input.to_string().into());
        let answer = app.send(request.unwrap()).await;
        assert_eq!(answer.status, 200, "{action}: {}", answer.text());
        flow = answer.json();
    }
    let token = flow["continue"]["session_token"].as_str().unwrap();
    let me = http::Request::get("/v1/account").header("authorization", format!("Session {token}"));
    assert_eq!(app.send(me.body(axum::body::Body::empty()).unwrap()).await.status, 200);
}
