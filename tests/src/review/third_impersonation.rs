//! Whoever acts as a member stops when they may no longer, and the member is told what is true; keys that cannot be fetched
//! are nobody's wrong proof.

use http::Method;
use porteiro_service::{
    management::platform::{Change, change_at_console},
    oauth::clients::Trust,
};
use porteiro_testkit::Answer;
use serde_json::{Value, json};

use crate::{
    oauth::{
        driver::{Relying, userinfo},
        encode, service,
        signing::ClientKey,
        site::Site,
    },
    organizations::{
        driver::{call, get, platform_key},
        impersonation::{Scene, give, text},
    },
};

const SCOPE: &str = "openid members:read";

/// What the token opens: the management API, userinfo, introspection.
async fn opens(scene: &Scene, token: &str) -> [bool; 3] {
    let path = format!("/v1/organizations/{}/test", scene.here);
    [
        get(&scene.app, &path, token).await.status == 200,
        userinfo(&scene.app, token).await.status == 200,
        scene.is_active(token).await,
    ]
}

/// Begins one, which opens everything, and returns its token.
async fn begun(scene: &Scene) -> String {
    let token = text(&scene.started(SCOPE, None).await, "access_token").to_owned();
    assert_eq!(opens(scene, &token).await, [true; 3]);
    token
}

async fn is_over(scene: &Scene, token: &str, because: &str) {
    assert_eq!(opens(scene, token).await, [false; 3], "{because}");
    let trail = scene.trail().await;
    let last = trail.last().unwrap();
    assert_eq!((text(last, "type"), text(last, "reason")), ("impersonation.ended", because));
    let going = "SELECT count(*) FROM impersonation WHERE ended_at IS NULL";
    assert_eq!(scene.app.count(going).await, 0, "{because}");
}

const ENDED: &str = "the session or grant of the platform administrator ended";

#[tokio::test]
async fn taking_the_permission_away_ends_what_its_holder_does_as_others() {
    let scene = Scene::new().await;
    give(&scene.app, scene.operator, &["members:impersonate", "platform.log:read"]).await;
    let token = begun(&scene).await;
    let change = async |change: Change| {
        let (store, now) = (&scene.app.app.store, scene.app.app.clock.now());
        let entropy = &*scene.app.app.entropy;
        change_at_console(store, now, entropy, scene.operator, &change).await.unwrap().unwrap();
    };
    change(Change::Revoke(vec!["platform.log:read".parse().unwrap()])).await;
    assert_eq!(opens(&scene, &token).await, [true; 3], "something else was taken");
    change(Change::Revoke(vec!["members:impersonate".parse().unwrap()])).await;
    is_over(&scene, &token, "the platform administrator lost the permission").await;
    change(Change::Grant(vec!["members:impersonate".parse().unwrap()])).await;
    assert_eq!(opens(&scene, &token).await, [false; 3], "giving it back revives nothing");
}

#[tokio::test]
async fn a_token_is_worth_nothing_while_its_actor_lacks_the_permission() {
    let scene = Scene::new().await;
    let token = begun(&scene).await;
    // However it was lost.
    give(&scene.app, scene.operator, &["members:*"]).await;
    assert_eq!(opens(&scene, &token).await, [false; 3]);
}

#[tokio::test]
async fn ending_the_sessions_of_an_operator_ends_what_they_do_as_others() {
    let scene = Scene::new().await;
    let key = platform_key(&scene.app, &["platform.accounts:write"]).await;
    let path = format!("/v1/platform/accounts/{}/end-sessions", scene.operator);
    // The second time there is no session left, and they begin by a grant that outlived it.
    for _ in 0..2 {
        let token = begun(&scene).await;
        let answer = call(&scene.app, Method::POST, &path, &key, None, &[]).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        is_over(&scene, &token, ENDED).await;
    }
}

#[tokio::test]
async fn an_operator_who_takes_back_what_their_client_may_ends_it_too() {
    let mut scene = Scene::new().await;
    let token = begun(&scene).await;
    let other = Relying::with(&scene.app, Trust::FirstParty, json!({})).await;
    other.tokens(&mut scene.olga, &scene.app, &[("scope", "openid")]).await;
    assert_eq!(scene.olga.delete(&format!("/v1/account/grants/{}", other.id)).await.status, 204);
    assert_eq!(opens(&scene, &token).await, [true; 3], "another client's");
    let own = scene.token.clone();
    let revoked = scene.client.call(&scene.app, "/connect/revoke", &[("token", own.as_str())]).await;
    assert_eq!(revoked.status, 200, "{}", revoked.text());
    is_over(&scene, &token, ENDED).await;
}

#[tokio::test]
async fn the_member_reads_the_whole_reason_and_what_the_trail_does_not_say() {
    let scene = Scene::new().await;
    let reason = format!("{} see https://evil.example/x the end", "because of it ".repeat(30));
    let body = json!({"reason": reason, "scope": SCOPE});
    assert_eq!(scene.start(&body).await.status, 201);
    let mail = &scene.app.mails("ana@example.test").await[0];
    let said = mail.text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(&"because of it ".repeat(30)) && said.contains("the end."), "{said}");
    assert!(!said.contains("evil.example"), "{said}");
    assert!(said.contains("does not list what they read"), "{said}");
}

fn unavailable(answer: &Answer) {
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["error"]),
        (503, &json!("temporarily_unavailable")),
        "{}",
        answer.text()
    );
    assert!(!answer.header("retry-after").is_empty());
}

#[tokio::test]
async fn a_client_whose_keys_cannot_be_fetched_is_told_to_try_again() {
    let site = Site::start().await;
    let app = site.app().await;
    let key = ClientKey::new();
    let client = service(&app, "private_key_jwt", json!({"jwks_uri": site.url("/jwks")})).await;
    let id = text(&client, "client_id");
    let present = async |key: &ClientKey, jti: &str| {
        let now = app.app.clock.now().unix_timestamp();
        let claims = json!({"iss": id, "sub": id, "aud": app.app.issuer(), "exp": now + 60, "jti": jti});
        let assertion = key.typed("JWT", &claims);
        let form = [
            ("grant_type", "client_credentials"),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", assertion.as_str()),
        ];
        app.form("/connect/token", encode(&form)).await
    };
    unavailable(&present(&key, "down").await);
    unavailable(&present(&key, "still down").await);
    site.serve_keys("/jwks", &key.jwks());
    app.clock.advance(porteiro_protocol::time::Duration::seconds(6));
    let refused: Value = present(&ClientKey::new(), "another's").await.json();
    assert_eq!(refused["error"], "invalid_client", "the keys are known, and this is none of them");
    assert_ne!(present(&key, "up").await.json()["error"], "invalid_client");
}

#[tokio::test]
async fn so_is_one_whose_request_object_cannot_be_verified_for_that_reason() {
    let site = Site::start().await;
    let app = site.app().await;
    let client = Relying::with(&app, Trust::Verified, json!({"jwks_uri": site.url("/jwks")})).await;
    let object = ClientKey::new().request_object(&json!({"iss": client.id, "aud": app.app.issuer()}));
    unavailable(&client.call(&app, "/connect/par", &[("request", object.as_str())]).await);
    let query = encode(&[("client_id", client.id.as_str()), ("request", object.as_str())]);
    unavailable(&app.get(&format!("/connect/authorize?{query}")).await);
}
