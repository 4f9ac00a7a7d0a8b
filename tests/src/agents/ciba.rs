//! CIBA Core 1.0: requests, errors and polling.

use porteiro_protocol::{
    assurance::ACR_AAL2,
    jose::Algorithm,
    time::{Clock, Duration},
};
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::verify;
use serde_json::{Value, json};

use super::driver::{
    CIBA, EXCHANGE, Scene, action, ask, asked, asking_agent, exchange, prove_two_factors, proved,
};
use crate::{
    oauth::{LEDGER, driver::Relying, signing::ClientKey, site::Site},
    organizations::driver::{account_of, payroll},
};

#[tokio::test]
async fn an_agent_asks_for_one_payment_and_gets_one_token_for_exactly_that() {
    let mut scene = Scene::asking().await;
    let answer = scene.ask(&scene.agent, &[("binding_message", "Order 7")]).await;
    assert_eq!(answer.header("cache-control"), "no-store");
    let body = answer.json();
    assert_eq!((&body["expires_in"], &body["interval"]), (&json!(300), &json!(5)), "{body}");
    let request = asked(&answer);
    assert_eq!(scene.poll(&request).await.json()["error"], "authorization_pending");
    // Ana reads it in the words of the API, and picks the number that the agent shows her.
    let waiting = scene.waiting().await;
    let words = json!({"en": "Pay \u{2068}10.00\u{2069} to \u{2068}Bea\u{2069}",
        "pt": "Pagar \u{2068}10.00\u{2069} para \u{2068}Bea\u{2069}"});
    assert!(waiting["wants"].as_array().unwrap().contains(&words), "{waiting}");
    assert_eq!(waiting["binding_message"], "Order 7");
    assert_eq!(waiting["client_name"], "Ledger agent");
    assert_eq!(waiting["numbers"].as_array().unwrap().len(), 3);
    assert!(waiting["numbers"].as_array().unwrap().contains(&json!(request.number)));
    let decided = scene.approve(&request).await;
    assert_eq!((&decided["state"], &decided["digest"]), (&json!("approved"), &waiting["digest"]));
    let tokens = scene.poll(&request).await;
    assert_eq!(tokens.status, 200, "{}", tokens.text());
    let tokens = tokens.json();
    assert!(tokens["refresh_token"].is_null() && tokens["expires_in"].as_i64().unwrap() <= 300, "{tokens}");
    let jwks = scene.app.get("/.well-known/jwks.json").await.json();
    let claims = verify(tokens["access_token"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!(claims["sub"], scene.account.to_string());
    assert_eq!(claims["act"], json!({"sub": scene.agent.id, "sub_profile": "ai_agent"}));
    let details: Value = serde_json::from_str(&action("payment", "10.00")).unwrap();
    assert_eq!((&claims["authorization_details"], &claims["aud"]), (&details, &json!(LEDGER)));
    assert_eq!(claims["scope"], "openid invoices:write");
    let identity = verify(tokens["id_token"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!((&identity["sub"], &identity["aud"]), (&claims["sub"], &json!(scene.agent.id)));
    // Once.
    assert_eq!(scene.poll(&request).await.json()["error"], "invalid_grant");
    let history = scene.browser.get("/v1/account/approvals?state=consumed").await.json();
    assert_eq!(history["items"].as_array().unwrap().len(), 1, "{history}");
}

#[tokio::test]
async fn what_was_approved_is_not_multiplied_by_exchange() {
    let mut scene = Scene::asking().await;
    scene.delegated("openid invoices:write", None).await;
    let request = scene.asked(&[("authorization_details", "")]).await;
    scene.approve(&request).await;
    let token = scene.poll(&request).await.json()["access_token"].as_str().unwrap().to_owned();
    assert!(scene.counts(&scene.agent, &token).await);
    let answer = exchange(&scene.app, &scene.agent, &token, &[]).await;
    assert_eq!(answer.json()["error"], "invalid_request", "{}", answer.text());
}

#[tokio::test]
async fn every_wrong_request_has_the_error_of_the_standard() {
    let scene = Scene::asking().await;
    let unknown_type = json!([{"type": "loan", "amount": "1"}]).to_string();
    let unfit = json!([{"type": "payment", "amount": "1", "to": "Bea", "more": 1}]).to_string();
    for (more, error) in [
        (vec![("scope", "")], "invalid_request"),
        (vec![("scope", "invoices:write")], "invalid_scope"),
        (vec![("scope", "openid unheard:of")], "invalid_scope"),
        (vec![("scope", "openid offline_access")], "invalid_scope"),
        (vec![("scope", "openid account"), ("resource", ""), ("authorization_details", "")], "invalid_scope"),
        (vec![("resource", "https://nobody.example")], "invalid_target"),
        (vec![("login_hint", "")], "invalid_request"),
        (vec![("id_token_hint", "x")], "invalid_request"),
        (vec![("login_hint", ""), ("id_token_hint", "x")], "invalid_request"),
        (vec![("login_hint", ""), ("login_hint_token", "x")], "invalid_request"),
        (vec![("login_hint", "ana@example.test")], "unknown_user_id"),
        (vec![("organization", "here")], "unknown_user_id"),
        (vec![("organization", "nowhere")], "unknown_user_id"),
        (vec![("binding_message", "<script>")], "invalid_binding_message"),
        (vec![("requested_expiry", "soon")], "invalid_request"),
        (vec![("acr_values", "gold")], "unmet_authentication_requirements"),
        (vec![("authorization_details", "{")], "invalid_authorization_details"),
        (vec![("authorization_details", unknown_type.as_str())], "invalid_authorization_details"),
        (vec![("authorization_details", unfit.as_str())], "invalid_authorization_details"),
        (vec![("request", "e30.e30.AA")], "invalid_request"),
    ] {
        let answer = scene.ask(&scene.agent, &more).await;
        assert_eq!(answer.json()["error"], error, "{more:?} {}", answer.text());
        assert_eq!(answer.status, 400, "{more:?}");
    }
    let without = super::driver::agent(&scene.app, json!({})).await;
    assert_eq!(scene.ask(&without, &[]).await.json()["error"], "unauthorized_client");
    let metadata = json!({"grant_types": [CIBA, EXCHANGE]});
    let unverified = Relying::with(&scene.app, Trust::Unverified, metadata).await;
    assert_eq!(scene.ask(&unverified, &[]).await.json()["error"], "unauthorized_client");
    let stranger = Relying { secret: Some("wrong".into()), ..scene.agent.clone() };
    assert_eq!(scene.ask(&stranger, &[]).await.json()["error"], "invalid_client");
    assert_eq!(scene.app.count("SELECT count(*) FROM approval").await, 0);
}

#[tokio::test]
async fn who_is_unknown_disabled_or_did_not_delegate_is_not_told_apart() {
    let mut scene = Scene::asking().await;
    let mut bo = proved(&scene.app, "bo@example.test").await;
    let bo = account_of(&mut bo).await.to_string();
    let nobody = "00000000-0000-4000-8000-000000000000";
    let mut answers = Vec::new();
    for person in [nobody, &bo, &scene.membership.to_string()] {
        answers.push(ask(&scene.app, &scene.agent, person, &[]).await);
    }
    scene
        .app
        .sql(&format!("UPDATE account SET state = 'disabled' WHERE account_id = '{}'", scene.account))
        .await;
    answers.push(scene.ask(&scene.agent, &[]).await);
    for answer in &answers {
        assert_eq!((answer.status, &answer.body), (answers[0].status, &answers[0].body), "{}", answer.text());
        assert_eq!(answer.json()["error"], "unknown_user_id");
    }
    scene
        .app
        .sql(&format!("UPDATE account SET state = 'active' WHERE account_id = '{}'", scene.account))
        .await;
    assert_eq!(scene.ask(&scene.agent, &[]).await.status, 200);
    assert_eq!(scene.waiting().await["client_id"], scene.agent.id);
}

#[tokio::test]
async fn a_person_is_named_by_an_id_token_of_whichever_client() {
    let mut scene = Scene::asking().await;
    let tokens = scene.client.tokens(&mut scene.browser, &scene.app, &[]).await;
    let hint = tokens["id_token"].as_str().unwrap();
    let answer = scene.ask(&scene.agent, &[("login_hint", ""), ("id_token_hint", hint)]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let access = tokens["access_token"].as_str().unwrap();
    let answer = scene.ask(&scene.agent, &[("login_hint", ""), ("id_token_hint", access)]).await;
    assert_eq!(answer.json()["error"], "invalid_request");
}

#[tokio::test]
async fn a_client_that_polls_too_often_slows_down_and_nothing_is_written() {
    let mut scene = Scene::asking().await;
    let request = scene.asked(&[]).await;
    let rows = "SELECT xmin::text::bigint FROM approval";
    let before = scene.app.count(rows).await;
    assert_eq!(scene.poll(&request).await.json()["error"], "authorization_pending");
    let sent = scene.app.app.store.sent();
    let answer = scene.poll(&request).await;
    assert_eq!(answer.json()["error"], "slow_down", "{}", answer.text());
    assert_eq!(scene.app.app.store.sent() - sent, 1, "one read");
    for _ in 0..5 {
        assert_eq!(scene.poll(&request).await.json()["error"], "slow_down");
    }
    assert_eq!(scene.app.app.store.sent() - sent, 1, "and none for who comes back within a second");
    scene.app.clock.advance(Duration::seconds(9));
    assert_eq!(scene.poll(&request).await.json()["error"], "slow_down", "ten seconds by now");
    scene.app.clock.advance(Duration::seconds(15));
    assert_eq!(scene.poll(&request).await.json()["error"], "authorization_pending");
    assert_eq!(scene.app.count(rows).await, before, "the row was not written");
    // A decision is told at once.
    scene.approve(&request).await;
    assert_eq!(scene.poll(&request).await.status, 200);
}

#[tokio::test]
async fn each_outcome_is_told_by_its_error() {
    let mut scene = Scene::asking().await;
    let request = scene.asked(&[]).await;
    assert_eq!(scene.decide("deny", &json!({})).await.json()["state"], "denied");
    let answer = scene.poll(&request).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["error"]), (400, &json!("access_denied")));
    let late = scene.asked(&[("requested_expiry", "10")]).await;
    scene
        .app
        .sql("UPDATE approval SET expires_at = now() - interval '1 second' WHERE state = 'pending'")
        .await;
    assert_eq!(scene.poll(&late).await.json()["error"], "expired_token");
    let other = asking_agent(&scene.app, json!({})).await;
    let form = [("auth_req_id", late.handle.as_str())];
    assert_eq!(other.token(&scene.app, CIBA, &form).await.json()["error"], "invalid_grant");
    for (handle, error) in [("", "invalid_request"), ("pt_ar_AAAA", "invalid_grant"), ("x", "invalid_grant")]
    {
        let answer = scene.agent.token(&scene.app, CIBA, &[("auth_req_id", handle)]).await;
        assert_eq!(answer.json()["error"], error, "{handle}");
    }
}

#[tokio::test]
async fn a_signed_request_is_required_of_who_registered_it_and_checked_as_a_whole() {
    let mut scene = Scene::asking().await;
    let key = ClientKey::new();
    let signing = json!({"jwks": key.jwks(), "backchannel_authentication_request_signing_alg": "ES256"});
    scene.agent = asking_agent(&scene.app, signing).await;
    scene.delegated("invoices:read", None).await;
    assert_eq!(scene.ask(&scene.agent, &[]).await.json()["error"], "invalid_request", "unsigned");
    let now = scene.app.clock.now().unix_timestamp();
    let claims = |more: Value| {
        let mut claims = json!({
            "iss": scene.agent.id, "aud": scene.app.app.issuer(), "exp": now + 60, "nbf": now, "iat": now, "jti": "1",
            "scope": "openid invoices:write", "resource": LEDGER, "login_hint": scene.account,
            "requested_expiry": "120", "binding_message": "1234",
            "authorization_details": [{"type": "payment", "amount": "10.00", "to": "Bea"}],
        });
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims
    };
    let send =
        async |object: String| scene.agent.call(&scene.app, "/connect/ciba", &[("request", &object)]).await;
    let answer = send(key.typed("JWT", &claims(json!({})))).await;
    assert_eq!(answer.json()["expires_in"], 120, "{}", answer.text());
    let replayed = send(key.typed("JWT", &claims(json!({})))).await;
    assert_eq!(replayed.json()["error"], "invalid_request", "its jti is good once");
    for (name, wrong) in [
        ("iss", json!("other")),
        ("aud", json!("https://other.example")),
        ("exp", json!(now - 1)),
        ("exp", json!(now + 70 * 60)),
        ("nbf", json!(now + 600)),
        ("nbf", json!(now - 70 * 60)),
        ("iat", json!(null)),
        ("jti", json!(null)),
        ("aud", json!(null)),
    ] {
        let answer = send(key.typed("JWT", &claims(json!({name: wrong})))).await;
        assert_eq!(answer.json()["error"], "invalid_request", "{name} {wrong}");
    }
    let foreign = [ClientKey::new(), ClientKey::of(Algorithm::Rs256)];
    for other in foreign {
        let answer = send(other.typed("JWT", &claims(json!({})))).await;
        assert_eq!(answer.json()["error"], "invalid_request");
    }
    let object = key.typed("JWT", &claims(json!({})));
    let both = [("request", object.as_str()), ("scope", "openid")];
    let answer = scene.agent.call(&scene.app, "/connect/ciba", &both).await;
    assert_eq!(answer.json()["error"], "invalid_request", "nothing beside it");
    assert_eq!(scene.app.count("SELECT count(*) FROM approval").await, 1);
}

#[tokio::test]
async fn discovery_announces_what_is_served() {
    let scene = Scene::asking().await;
    let found = scene.app.get("/.well-known/openid-configuration").await.json();
    let endpoint = found["backchannel_authentication_endpoint"].as_str().unwrap();
    assert!(endpoint.ends_with("/connect/ciba"), "{endpoint}");
    assert_eq!(found["backchannel_token_delivery_modes_supported"], json!(["poll", "ping"]));
    assert_eq!(found["backchannel_user_code_parameter_supported"], false);
    assert!(found["grant_types_supported"].as_array().unwrap().contains(&json!(CIBA)));
}

/// A client that is pinged at a site, and what the site answers.
async fn pinged(site: &Site, answer: &str) -> Scene {
    let app = site.app().await;
    payroll(&app).await;
    site.answer("/ping", format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"));
    let more = json!({"backchannel_token_delivery_mode": "ping",
        "backchannel_client_notification_endpoint": site.url("/ping")});
    Scene::asking_on(app, more).await
}

#[tokio::test]
async fn a_client_in_ping_mode_is_told_of_the_decision_and_fetches_its_token() {
    let site = Site::start().await;
    let mut scene = pinged(&site, "204 No Content").await;
    for wrong in ["", "with space"] {
        let answer = scene.ask(&scene.agent, &[("client_notification_token", wrong)]).await;
        assert_eq!(answer.json()["error"], "invalid_request", "{wrong}");
    }
    let request = scene.asked(&[("client_notification_token", "bearer-of-the-client")]).await;
    porteiro_service::jobs::run_due(&scene.app.app).await.unwrap();
    assert_eq!(site.heard(), [""; 0], "nothing is decided yet");
    scene.approve(&request).await;
    porteiro_service::jobs::run_due(&scene.app.app).await.unwrap();
    let heard = site.heard();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].to_lowercase().contains("authorization: bearer bearer-of-the-client"), "{heard:?}");
    assert!(heard[0].contains(&json!({"auth_req_id": request.handle}).to_string()), "{heard:?}");
    assert_eq!(
        scene.app.count("SELECT count(*) FROM approval WHERE notification_token IS NOT NULL").await,
        0
    );
    assert_eq!(scene.poll(&request).await.status, 200);
}

#[tokio::test]
async fn a_client_that_refuses_a_ping_is_not_pinged_again_and_can_still_poll() {
    for answer in ["401 Unauthorized", "403 Forbidden", "301 Moved\r\nlocation: /elsewhere"] {
        let site = Site::start().await;
        let mut scene = pinged(&site, answer).await;
        let request = scene.asked(&[("client_notification_token", "token")]).await;
        scene.decide("deny", &json!({})).await;
        for _ in 0..2 {
            porteiro_service::jobs::run_due(&scene.app.app).await.unwrap();
            scene.app.sql("UPDATE job SET run_at = now()").await;
        }
        assert_eq!(site.heard().len(), 1, "{answer}");
        assert_eq!(scene.poll(&request).await.json()["error"], "access_denied");
    }
}

#[tokio::test]
async fn a_client_in_ping_mode_is_told_once_when_nobody_decided_in_time() {
    let site = Site::start().await;
    let mut scene = pinged(&site, "204 No Content").await;
    let run = async |scene: &Scene| {
        scene.app.sql("UPDATE schedule SET next_run_at = now() WHERE name = 'approvals.tell_expired'").await;
        for _ in 0..2 {
            porteiro_service::jobs::run_due(&scene.app.app).await.unwrap();
        }
    };
    let late = scene.asked(&[("client_notification_token", "token")]).await;
    let waits = scene.asked(&[("client_notification_token", "token")]).await;
    run(&scene).await;
    assert_eq!(site.heard(), [""; 0], "both wait");
    let sql = "UPDATE approval SET expires_at = now() WHERE approval_id = (SELECT approval_id FROM approval
         ORDER BY created_at LIMIT 1)";
    scene.app.sql(sql).await;
    for _ in 0..2 {
        run(&scene).await;
    }
    let heard = site.heard();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains(&json!({"auth_req_id": late.handle}).to_string()), "{heard:?}");
    assert_eq!(scene.poll(&late).await.json()["error"], "expired_token");
    scene.approve(&waits).await;
    run(&scene).await;
    assert_eq!(site.heard().len(), 2, "the other is told of the decision");
}

#[tokio::test]
async fn a_level_that_the_client_asks_for_is_binding() {
    let mut scene = Scene::asking().await;
    let request = scene.asked(&[("acr_values", "gold aal2")]).await;
    let refused = scene.decide("approve", &json!({"number": request.number})).await;
    assert_eq!(refused.json()["code"], "step_up_required", "{}", refused.text());
    assert_eq!(refused.json()["flow"]["body"]["level"], "aal2");
    let secret = crate::people::enrol_totp(&mut scene.browser).await;
    prove_two_factors(&mut scene.browser, &secret).await;
    scene.approve(&request).await;
    let tokens = scene.poll(&request).await.json();
    let jwks = scene.app.get("/.well-known/jwks.json").await.json();
    let claims = verify(tokens["id_token"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!(claims["acr"], ACR_AAL2, "{claims}");
    // The least of several will do.
    let request = scene.asked(&[("acr_values", "aal2 aal1")]).await;
    assert_eq!(scene.waiting().await["level"], "aal1");
    scene.approve(&request).await;
    // What the client registered counts where a request says nothing.
    let strict = asking_agent(&scene.app, json!({"default_acr_values": ["aal2"]})).await;
    let body = json!({"client_id": strict.id, "scope": "invoices:read"});
    assert_eq!(scene.delegate(&body).await.status, 201);
    assert_eq!(scene.ask(&strict, &[]).await.status, 200);
    assert_eq!(scene.waiting().await["level"], "aal2");
}
