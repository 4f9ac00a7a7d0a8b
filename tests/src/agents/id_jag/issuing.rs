//! A client gets an assertion about a member for another server.

use http::Method;
use porteiro_protocol::time::Duration;
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::verify;
use serde_json::json;

use super::driver::{CHAT, CHAT_API, Directory, ID_JAG, ID_TOKEN, REFRESH_TOKEN, ask};
use crate::{
    agents::driver::{ACCESS_TOKEN, EXCHANGE},
    oauth::driver::Relying,
    organizations::driver::{call, claims, organization_key, platform_key, set_status},
};

#[tokio::test]
async fn a_client_gets_an_assertion_for_its_id_token() {
    let mut directory = Directory::new().await;
    let tokens = directory.sign_in(&[]).await;
    let id_token = tokens["id_token"].as_str().unwrap();
    let answer = directory.ask(id_token, &[("scope", "chat.read"), ("resource", CHAT_API)]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let told = answer.json();
    assert_eq!((&told["issued_token_type"], &told["token_type"]), (&json!(ID_JAG), &json!("N_A")));
    assert_eq!((&told["scope"], &told["expires_in"]), (&json!("chat.read"), &json!(300)));
    assert!(told.get("refresh_token").is_none() && told.get("id_token").is_none(), "{told}");
    assert_eq!(answer.header("cache-control"), "no-store");
    let assertion = told["access_token"].as_str().unwrap();
    let header: serde_json::Value = serde_json::from_slice(
        &base64::Engine::decode(
            &base64::engine::general_purpose::URL_SAFE_NO_PAD,
            assertion.split('.').next().unwrap(),
        )
        .unwrap(),
    )
    .unwrap();
    assert_eq!(header["typ"], "oauth-id-jag+jwt");
    let app = &directory.scene.app;
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let said = verify(assertion, &jwks).unwrap();
    let before = claims(id_token);
    for same in ["iss", "sub", "auth_time", "acr"] {
        assert_eq!(said[same], before[same], "{same}");
    }
    assert_eq!(said["sub"], directory.scene.membership.to_string());
    assert_eq!((&said["aud"], &said["client_id"]), (&json!(CHAT), &json!("wiki-there")));
    assert_eq!((&said["scope"], &said["resource"]), (&json!("chat.read"), &json!(CHAT_API)));
    assert_eq!(said["tenant"], directory.scene.here.to_string());
    assert_eq!(said["exp"].as_i64().unwrap() - said["iat"].as_i64().unwrap(), 300);
    assert!(said["jti"].is_string() && said.get("email").is_none(), "{said}");
    for table in ["security_log", "trail"] {
        let entries = format!("SELECT count(*) FROM {table} WHERE kind = 'assertion.issued'");
        assert_eq!(app.count(&entries).await, 1, "{table}");
    }
    // It is for the other server alone.
    assert!(!directory.scene.counts(&directory.client, assertion).await);
}

#[tokio::test]
async fn a_refresh_token_will_do_and_is_not_rotated() {
    let mut directory = Directory::new().await;
    let tokens = directory.sign_in(&[]).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    for _ in 0..2 {
        let answer = directory.ask(refresh, &[("subject_token_type", REFRESH_TOKEN)]).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json()["scope"], "chat.read chat.history", "the registered scope");
    }
    let next = directory.client.refresh(&directory.scene.app, refresh, &[]).await;
    assert_eq!(next.status, 200, "{}", next.text());
    // Superseded now: whoever presents it ends the grant.
    let answer = directory.ask(refresh, &[("subject_token_type", REFRESH_TOKEN)]).await;
    assert_eq!(answer.json()["error"], "invalid_request", "{}", answer.text());
    let next = next.json()["refresh_token"].as_str().unwrap().to_owned();
    let answer = directory.client.refresh(&directory.scene.app, &next, &[]).await;
    assert_eq!(answer.json()["error"], "invalid_grant", "{}", answer.text());
}

#[tokio::test]
async fn each_thing_that_is_wrong_has_its_error() {
    let mut directory = Directory::new().await;
    let tokens = directory.sign_in(&[]).await;
    let id_token = tokens["id_token"].as_str().unwrap();
    let access_token = tokens["access_token"].as_str().unwrap();
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("subject_token", "")], "invalid_request"),
        (&[("subject_token", "junk")], "invalid_request"),
        (&[("subject_token_type", "")], "invalid_request"),
        (&[("subject_token_type", REFRESH_TOKEN)], "invalid_request"),
        (&[("subject_token", access_token)], "invalid_request"),
        (&[("subject_token", access_token), ("subject_token_type", ACCESS_TOKEN)], "invalid_request"),
        (&[("actor_token", access_token), ("actor_token_type", ACCESS_TOKEN)], "invalid_request"),
        (&[("authorization_details", r#"[{"type":"x"}]"#)], "invalid_authorization_details"),
        (&[("audience", "")], "invalid_request"),
        (&[("audience", "https://elsewhere.example")], "invalid_target"),
        (&[("audience", "https://login.chat.example/")], "invalid_target"),
        (&[("audience", "https://id.example.test")], "invalid_target"),
        (&[("resource", "https://api.chat.example/other")], "invalid_target"),
        (&[("organization", "elsewhere")], "invalid_target"),
        (&[("scope", "chat.read chat.write")], "invalid_scope"),
        (&[("scope", "chat.*")], "invalid_scope"),
        (&[("scope", "chat.read\tx")], "invalid_scope"),
    ];
    for (more, error) in cases {
        let answer = directory.ask(id_token, more).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["error"]), (400, &json!(error)), "{more:?}");
    }
    let answer = directory.ask(id_token, &[("organization", "here"), ("unheard_of", "x")]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Scopes are those of the whole: one too many refuses all, with a reference that explains.
#[tokio::test]
async fn a_scope_too_many_is_refused_with_a_reference() {
    let mut directory = Directory::new().await;
    let tokens = directory.sign_in(&[]).await;
    let answer =
        directory.ask(tokens["id_token"].as_str().unwrap(), &[("scope", "chat.read chat.write")]).await;
    assert_eq!(answer.json()["error"], "invalid_scope");
    let refused = "SELECT count(*) FROM refusal WHERE rule = 'assertion_widened'";
    assert_eq!(directory.scene.app.count(refused).await, 1, "{}", answer.text());
}

/// Only the client that the ID token was issued to, and only if it can authenticate and was verified.
#[tokio::test]
async fn another_client_or_one_without_a_secret_gets_none() {
    let mut directory = Directory::new().await;
    let tokens = directory.sign_in(&[]).await;
    let app = directory.scene.app.clone();
    let grants = json!({"grant_types": ["authorization_code", "refresh_token", EXCHANGE]});
    let other = Relying::with(&app, Trust::Verified, grants.clone()).await;
    let made = directory.register(&json!({"client_id": other.id})).await;
    assert_eq!(made.status, 201, "{}", made.text());
    for (kind, token) in [(ID_TOKEN, &tokens["id_token"]), (REFRESH_TOKEN, &tokens["refresh_token"])] {
        let token = token.as_str().unwrap();
        let answer = ask(&app, &other, token, &[("subject_token_type", kind)]).await;
        assert_eq!(answer.json()["error"], "invalid_request", "{}", answer.text());
    }
    let mut public = grants.clone();
    public["token_endpoint_auth_method"] = json!("none");
    for (trust, metadata) in [(Trust::Verified, public), (Trust::Unverified, grants)] {
        let client = Relying::with(&app, trust, metadata).await;
        let answer = ask(&app, &client, tokens["id_token"].as_str().unwrap(), &[]).await;
        assert_eq!(answer.json()["error"], "unauthorized_client", "{}", answer.text());
    }
    let client = Relying::public(&app, Trust::Verified).await;
    let made = directory.register(&json!({"client_id": client.id})).await;
    assert_eq!(made.status, 422, "{}", made.text());
}

/// Outside organizations nobody registers servers; without `openid` nobody was identified.
#[tokio::test]
async fn a_grant_outside_the_organization_or_without_identity_is_not_enough() {
    let mut directory = Directory::new().await;
    let personal = directory.sign_in(&[("organization", "")]).await;
    let anonymous = directory.sign_in(&[("scope", "salaries:read")]).await;
    let (id, refresh) = (&personal["id_token"], &personal["refresh_token"]);
    for (kind, token) in
        [(ID_TOKEN, id), (REFRESH_TOKEN, refresh), (REFRESH_TOKEN, &anonymous["refresh_token"])]
    {
        let answer = directory.ask(token.as_str().unwrap(), &[("subject_token_type", kind)]).await;
        assert_eq!(answer.json()["error"], "invalid_request", "{}", answer.text());
    }
}

#[tokio::test]
async fn an_expired_id_token_is_not_enough() {
    let mut directory = Directory::new().await;
    let tokens = directory.sign_in(&[]).await;
    directory.scene.app.clock.advance(Duration::seconds(301));
    let answer = directory.ask(tokens["id_token"].as_str().unwrap(), &[]).await;
    assert_eq!(answer.json()["error"], "invalid_request", "{}", answer.text());
}

/// What ends a person's presence ends the assertions about them.
#[tokio::test]
async fn nothing_is_asserted_after_the_end() {
    for what in
        ["session", "consent", "member", "organization", "client policy", "frozen", "server", "account"]
    {
        let mut directory = Directory::new().await;
        let tokens = directory.sign_in(&[]).await;
        let id_token = tokens["id_token"].as_str().unwrap();
        let first = directory.ask(id_token, &[]).await;
        assert_eq!(first.status, 200, "{}", first.text());
        let app = directory.scene.app.clone();
        let powers = ["members:*", "client-policies:*", "organization:*", "salaries:*", "reports:read"];
        let key = organization_key(&app, directory.scene.here, &powers).await;
        match what {
            "session" => {
                let sessions = directory.scene.browser.get("/v1/account/sessions").await.json();
                let path = format!("/v1/account/sessions/{}", sessions["items"][0]["id"].as_str().unwrap());
                assert_eq!(directory.scene.browser.delete(&path).await.status, 204);
            }
            "consent" => {
                let path = format!("/v1/account/grants/{}", directory.client.id);
                assert_eq!(directory.scene.browser.delete(&path).await.status, 204);
            }
            "member" => {
                let path = directory.path(&format!("members/{}/disable", directory.scene.membership));
                let body = json!({"reason": "a test"});
                let answer = call(&app, Method::POST, &path, &key, Some(&body), &[]).await;
                assert!(answer.status.is_success(), "{}", answer.text());
            }
            "organization" => set_status(&app, directory.scene.here, "suspended").await,
            "client policy" => {
                let path = directory.path(&format!("client-policies/{}", directory.client.id));
                let body = json!({"decision": "block"});
                let answer =
                    call(&app, Method::PUT, &path, &key, Some(&body), &[("if-none-match", "*")]).await;
                assert!(answer.status.is_success(), "{}", answer.text());
            }
            "frozen" => {
                app.sql("UPDATE organization SET policy = policy || '{\"agents\": \"frozen\"}'").await;
            }
            "server" => {
                let path = directory.path("authorization-servers");
                let all = call(&app, Method::GET, &path, &directory.key, None, &[]).await.json();
                let path = format!("{path}/{}", all["items"][0]["id"].as_str().unwrap());
                let gone = call(&app, Method::DELETE, &path, &directory.key, None, &[]).await;
                assert_eq!(gone.status, 204, "{}", gone.text());
            }
            _ => {
                let platform = platform_key(&app, &["platform.accounts:*"]).await;
                let path = format!("/v1/platform/accounts/{}/disable", directory.scene.account);
                let (body, why) = (json!({"reason": "a test"}), [("porteiro-reason", "a test")]);
                let answer = call(&app, Method::POST, &path, &platform, Some(&body), &why).await;
                assert!(answer.status.is_success(), "{}", answer.text());
            }
        }
        let answer = directory.ask(id_token, &[]).await;
        assert_eq!(answer.status, 400, "{what}: {}", answer.text());
        // A refresh token for offline access outlives the session, as it does everywhere.
        let refresh = tokens["refresh_token"].as_str().unwrap();
        let answer = directory.ask(refresh, &[("subject_token_type", REFRESH_TOKEN)]).await;
        assert_eq!(answer.status, if what == "session" { 200 } else { 400 }, "{what}: {}", answer.text());
    }
}

#[tokio::test]
async fn servers_are_registered_once_by_issuer_and_client_and_leave_a_trail() {
    let directory = Directory::new().await;
    let again = directory.register(&json!({})).await;
    assert_eq!(again.status, 409, "{}", again.text());
    for wrong in [
        json!({"issuer": "https://id.example.test"}),
        json!({"issuer": "http://login.chat.example"}),
        json!({"issuer": "https://login.chat.example/?x"}),
        json!({"client_id": "nobody"}),
        json!({"remote_client_id": ""}),
        json!({"scope": "a\tb"}),
        json!({"resources": ["urn:x"]}),
    ] {
        let answer = directory.register(&wrong).await;
        assert_eq!(answer.status, 422, "{wrong} {}", answer.text());
    }
    let app = &directory.scene.app;
    let path = directory.path("authorization-servers");
    let all = call(app, Method::GET, &path, &directory.key, None, &[]).await.json();
    assert_eq!(all["items"][0]["remote_client_id"], "wiki-there", "{all}");
    let one = format!("{path}/{}", all["items"][0]["id"].as_str().unwrap());
    assert_eq!(call(app, Method::DELETE, &one, &directory.key, None, &[]).await.status, 204);
    assert_eq!(call(app, Method::DELETE, &one, &directory.key, None, &[]).await.status, 404);
    for kind in ["authorization_server.added", "authorization_server.removed"] {
        assert_eq!(
            app.count(&format!("SELECT count(*) FROM trail WHERE kind = '{kind}'")).await,
            1,
            "{kind}"
        );
    }
}

#[tokio::test]
async fn metadata_announce_assertions() {
    let directory = Directory::new().await;
    let document = directory.scene.app.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(document["identity_chaining_requested_token_types_supported"], json!([ID_JAG]));
}
