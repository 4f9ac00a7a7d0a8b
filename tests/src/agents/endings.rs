//! Whatever a token was derived from ends it: at introspection, at userinfo and for another exchange.

use http::Method;
use serde_json::json;

use super::driver::{Scene, agent, exchange, exchanged};
use crate::organizations::driver::{call, organization_key, platform_key, role, set_status};

/// A person's token in the organization, what the agent got for it, and what a second agent got for that.
async fn line(scene: &mut Scene) -> (String, String, crate::oauth::driver::Relying, String, String) {
    let subject = scene.token("openid salaries:read", Some("here")).await;
    let body = json!({"client_id": scene.agent.id, "scope": "openid salaries:read", "organization": "here",
        "redelegable": true});
    // All of it is for one API: `openid` goes along with any.
    let answer = scene.delegate(&body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let delegation = answer.json()["id"].as_str().unwrap().to_owned();
    let first = exchanged(&scene.app, &scene.agent, &subject, &[]).await;
    let second_agent = agent(&scene.app, json!({})).await;
    let body = json!({"client_id": second_agent.id, "scope": "salaries:read", "organization": "here"});
    assert_eq!(scene.delegate(&body).await.status, 201);
    let second = exchanged(&scene.app, &second_agent, &first, &[("scope", "salaries:read")]).await;
    (subject, first, second_agent, second, delegation)
}

#[tokio::test]
async fn whatever_ends_a_link_ends_everything_below_it() {
    for what in [
        "delegation",
        "consent",
        "session",
        "subject grant",
        "first grant",
        "member",
        "role",
        "organization",
        "agent",
        "client",
        "client policy",
        "account",
    ] {
        let mut scene = Scene::new().await;
        let (subject, first, second_agent, second, delegation) = line(&mut scene).await;
        assert!(
            scene.counts(&scene.agent, &first).await && scene.counts(&second_agent, &second).await,
            "{what}"
        );
        let keys = organization_key(
            &scene.app,
            scene.here,
            &["members:*", "client-policies:*", "salaries:*", "reports:read"],
        )
        .await;
        let platform = platform_key(&scene.app, &["platform.accounts:*", "platform.clients:*"]).await;
        let why = [("porteiro-reason", "a test")];
        let here = format!("/v1/organizations/{}", scene.here);
        let mut stays = vec![];
        match what {
            "delegation" => {
                let path = format!("/v1/account/delegations/{delegation}");
                assert_eq!(scene.browser.delete(&path).await.status, 204);
                stays.push((scene.client.clone(), subject.clone()));
            }
            "consent" => {
                let path = format!("/v1/account/grants/{}", scene.client.id);
                assert_eq!(scene.browser.delete(&path).await.status, 204);
            }
            "session" => {
                let sessions = scene.browser.get("/v1/account/sessions").await.json();
                let path = format!("/v1/account/sessions/{}", sessions["items"][0]["id"].as_str().unwrap());
                assert_eq!(scene.browser.delete(&path).await.status, 204);
            }
            "subject grant" => {
                assert_eq!(
                    scene.client.call(&scene.app, "/connect/revoke", &[("token", &subject)]).await.status,
                    200
                );
            }
            "first grant" => {
                assert_eq!(
                    scene.agent.call(&scene.app, "/connect/revoke", &[("token", &first)]).await.status,
                    200
                );
                stays.push((scene.client.clone(), subject.clone()));
            }
            "member" => {
                let path = format!("{here}/members/{}/disable", scene.membership);
                let body = json!({"reason": "a test"});
                let answer = call(&scene.app, Method::POST, &path, &keys, Some(&body), &[]).await;
                assert!(answer.status.is_success(), "{}", answer.text());
            }
            "role" => role(&scene.app, scene.here, "accountant", &["reports:read"]).await,
            "organization" => set_status(&scene.app, scene.here, "suspended").await,
            "agent" => {
                let path = format!("/v1/platform/clients/{}/disable", scene.agent.id);
                let answer = call(&scene.app, Method::POST, &path, &platform, Some(&json!({})), &why).await;
                assert!(answer.status.is_success(), "{}", answer.text());
                scene.app.catch_up().await;
                stays.push((scene.client.clone(), subject.clone()));
                assert!(!scene.counts(&second_agent, &second).await, "{what}");
                continue;
            }
            "client" => {
                let path = format!("/v1/platform/clients/{}/disable", scene.client.id);
                let answer = call(&scene.app, Method::POST, &path, &platform, Some(&json!({})), &why).await;
                assert!(answer.status.is_success(), "{}", answer.text());
                scene.app.catch_up().await;
            }
            "client policy" => {
                let path = format!("{here}/client-policies/{}", scene.agent.id);
                let body = json!({"decision": "block"});
                let answer =
                    call(&scene.app, Method::PUT, &path, &keys, Some(&body), &[("if-none-match", "*")]).await;
                assert!(answer.status.is_success(), "{}", answer.text());
                stays.push((scene.client.clone(), subject.clone()));
            }
            _ => {
                let path = format!("/v1/platform/accounts/{}/disable", scene.account);
                let body = json!({"reason": "a test"});
                let answer = call(&scene.app, Method::POST, &path, &platform, Some(&body), &why).await;
                assert!(answer.status.is_success(), "{}", answer.text());
            }
        }
        assert!(!scene.counts(&scene.agent, &first).await, "{what}");
        assert!(!scene.counts(&second_agent, &second).await, "{what}");
        for (client, token) in &stays {
            assert!(scene.counts(client, token).await, "{what}: what is above stays");
        }
        let answer = exchange(&scene.app, &second_agent, &first, &[("scope", "salaries:read")]).await;
        assert_eq!(answer.status, 400, "{what}: nothing is exchanged for it: {}", answer.text());
    }
}
