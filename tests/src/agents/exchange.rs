//! The contract of token exchange (RFC 8693, docs/decisions/0089).

use porteiro_service::oauth::{apis, clients::Trust};
use serde_json::{Value, json};

use super::driver::{ACCESS_TOKEN, Scene, agent, exchange, exchanged};
use crate::{
    oauth::{
        LEDGER,
        driver::{Relying, userinfo},
    },
    organizations::driver::{PAYROLL, claims, role},
};

#[tokio::test]
async fn an_agent_acts_for_a_person_and_the_token_says_so() {
    let mut scene = Scene::new().await;
    let token = scene.token("salaries:read salaries:write", Some("here")).await;
    scene.delegated("salaries:read", Some("here")).await;
    let answer = scene.exchange(&token, &[("scope", "salaries:read")]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let told = answer.json();
    assert_eq!(told["issued_token_type"], ACCESS_TOKEN);
    assert_eq!((&told["scope"], &told["token_type"]), (&json!("salaries:read"), &json!("Bearer")));
    assert!(told.get("refresh_token").is_none() && told.get("id_token").is_none(), "{told}");
    assert_eq!(answer.header("cache-control"), "no-store");
    let (before, after) = (claims(&token), claims(told["access_token"].as_str().unwrap()));
    for same in ["sub", "org", "role", "aud", "iss", "acr", "auth_time"] {
        assert_eq!(before[same], after[same], "{same}");
    }
    assert_eq!(after["client_id"], scene.agent.id);
    assert_eq!(after["act"], json!({"sub": scene.agent.id, "sub_profile": "ai_agent"}));
    assert_ne!(before["grant_id"], after["grant_id"], "a grant of its own");
    assert!(after["exp"].as_i64() <= before["exp"].as_i64());
    let introspected = [("token", told["access_token"].as_str().unwrap())];
    let introspected = scene.agent.call(&scene.app, "/connect/introspect", &introspected).await.json();
    assert_eq!((&introspected["active"], &introspected["act"]), (&json!(true), &after["act"]));
    let entry = "SELECT count(*) FROM security_log WHERE kind = 'token.exchanged'";
    assert_eq!(scene.app.count(entry).await, 1);
    let entry = "SELECT count(*) FROM trail WHERE kind = 'token.exchanged'";
    assert_eq!(scene.app.count(entry).await, 1);
}

#[tokio::test]
async fn without_a_scope_it_is_exactly_the_subject_tokens() {
    let mut scene = Scene::new().await;
    let token = scene.token("openid invoices:read", None).await;
    scene.delegated("openid invoices:read", None).await;
    let answer = scene.exchange(&token, &[]).await;
    assert_eq!(answer.json()["scope"], "openid invoices:read", "{}", answer.text());
    let token = answer.json()["access_token"].as_str().unwrap().to_owned();
    assert_eq!(userinfo(&scene.app, &token).await.json()["sub"], scene.account.to_string());
}

#[tokio::test]
async fn the_short_name_of_the_grant_is_taken() {
    let mut scene = Scene::new().await;
    let token = scene.token("invoices:read", None).await;
    scene.delegated("invoices:read", None).await;
    let form = [("subject_token", token.as_str()), ("subject_token_type", ACCESS_TOKEN)];
    assert_eq!(scene.agent.token(&scene.app, "token-exchange", &form).await.status, 200);
}

/// What is wrong with a request, and how it is told.
#[tokio::test]
async fn each_thing_that_is_wrong_has_its_error() {
    let mut scene = Scene::new().await;
    let token = scene.token("salaries:read salaries:write", Some("here")).await;
    scene.delegated("salaries:read", Some("here")).await;
    let own = scene.agent.id.clone();
    let machine = crate::oauth::service(&scene.app, "client_secret_post", json!({})).await;
    let id_token = "urn:ietf:params:oauth:token-type:id_token";
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("subject_token", "")], "invalid_request"),
        (&[("subject_token", "junk")], "invalid_request"),
        (&[("subject_token_type", "")], "invalid_request"),
        (&[("subject_token_type", id_token)], "invalid_request"),
        (&[("requested_token_type", id_token)], "invalid_request"),
        (&[("actor_token_type", ACCESS_TOKEN)], "invalid_request"),
        (&[("actor_token", &token), ("actor_token_type", ACCESS_TOKEN)], "invalid_request"),
        (&[("scope", "salaries:read reports:read")], "invalid_scope"),
        (&[("scope", "salaries:*")], "invalid_scope"),
        (&[("scope", "salaries:read salaries:write")], "invalid_request"),
        (&[("scope", "salaries:read"), ("resource", LEDGER)], "invalid_target"),
        (&[("scope", "salaries:read"), ("resource", "https://nowhere.example")], "invalid_target"),
        (&[("scope", "salaries:read"), ("resource", PAYROLL), ("audience", LEDGER)], "invalid_target"),
        (&[("scope", "salaries:read"), ("organization", "elsewhere")], "invalid_target"),
        (
            &[("scope", "salaries:read"), ("authorization_details", r#"[{"type":"x"}]"#)],
            "invalid_authorization_details",
        ),
    ];
    for (more, error) in cases {
        let answer = scene.exchange(&token, more).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["error"]), (400, &json!(error)), "{more:?}");
    }
    for more in [
        &[("scope", "salaries:read"), ("audience", PAYROLL)][..],
        &[("scope", "salaries:read"), ("resource", PAYROLL), ("audience", PAYROLL)],
        &[("scope", "salaries:read"), ("organization", "here"), ("unheard_of", "x")],
    ] {
        let answer = scene.exchange(&token, more).await;
        assert_eq!(answer.status, 200, "{more:?} {}", answer.text());
    }
    assert!(!own.is_empty() && machine["client_id"].is_string());
}

#[tokio::test]
async fn only_confidential_verified_clients_that_registered_the_grant_exchange() {
    let mut scene = Scene::new().await;
    let token = scene.token("invoices:read", None).await;
    let others = [
        Relying::web(&scene.app).await,
        Relying::with(&scene.app, Trust::Unverified, json!({"grant_types": [super::driver::EXCHANGE]})).await,
        Relying::with(
            &scene.app,
            Trust::Verified,
            json!({"grant_types": [super::driver::EXCHANGE], "token_endpoint_auth_method": "none"}),
        )
        .await,
    ];
    for other in others {
        let answer = exchange(&scene.app, &other, &token, &[]).await;
        assert_eq!(answer.json()["error"], "unauthorized_client", "{}", answer.text());
    }
}

/// Neither a client's own token, nor a refresh token, nor an ID token is a person's access token.
#[tokio::test]
async fn other_kinds_of_tokens_are_not_exchanged() {
    let mut scene = Scene::new().await;
    scene.delegated("openid invoices:read", None).await;
    let tokens = scene.client.tokens(&mut scene.browser, &scene.app, &[]).await;
    let robot = crate::oauth::service(&scene.app, "client_secret_post", json!({})).await;
    let robot = Relying {
        id: robot["client_id"].as_str().unwrap().to_owned(),
        secret: robot["client_secret"].as_str().map(str::to_owned),
        redirect_uri: String::new(),
    };
    let own = robot.token(&scene.app, "client_credentials", &[("scope", "invoices:read")]).await.json();
    for wrong in [&tokens["refresh_token"], &tokens["id_token"], &own["access_token"]] {
        let answer = scene.exchange(wrong.as_str().unwrap(), &[]).await;
        assert_eq!(answer.json()["error"], "invalid_request", "{}", answer.text());
    }
}

#[tokio::test]
async fn an_api_takes_tokens_of_another_by_the_scopes_it_maps() {
    let mut scene = Scene::new().await;
    let scope = |name: &str| json!({"name": name, "description": {"en": name, "pt": name}});
    let archive = "https://archive.example.test";
    let api = json!({
        "identifier": archive, "name": "Archive", "scopes": [scope("files:read"), scope("files:write")],
        "exchanges": [{"from": LEDGER, "scopes": [{"name": "files:read", "from": ["invoices:read"]}]}],
    });
    let api: apis::Api = serde_json::from_value(api).unwrap();
    api.check(scene.app.app.issuer()).unwrap();
    apis::register(&scene.app.app.store, &api).await.unwrap();
    scene.app.catch_up().await;
    let token = scene.token("invoices:read", None).await;
    scene.delegated("files:read files:write", None).await;
    let good = [("resource", archive), ("scope", "files:read")];
    let moved = exchanged(&scene.app, &scene.agent, &token, &good).await;
    assert_eq!((&claims(&moved)["aud"], &claims(&moved)["scope"]), (&json!(archive), &json!("files:read")));
    for (more, error) in [
        (&[("resource", archive)][..], "invalid_scope"),
        (&[("resource", archive), ("scope", "files:write")], "invalid_scope"),
        (&[("resource", archive), ("scope", "invoices:read")], "invalid_scope"),
        (&[("resource", PAYROLL), ("scope", "salaries:read")], "invalid_target"),
    ] {
        let answer = scene.exchange(&token, more).await;
        assert_eq!(answer.json()["error"], error, "{more:?} {}", answer.text());
    }
    // Not back again: no API takes tokens of this one.
    let answer = scene.exchange(&moved, &[("resource", LEDGER), ("scope", "invoices:read")]).await;
    assert_eq!(answer.json()["error"], "invalid_target", "{}", answer.text());
}

/// What a scope is mapped to may be a permission of another API, which the member must hold there.
#[tokio::test]
async fn at_another_api_the_member_must_hold_what_it_maps_to() {
    let mut scene = Scene::new().await;
    let scope = |name: &str| json!({"name": name, "description": {"en": name, "pt": name}});
    let (vault, map) =
        ("https://vault.example.test", |name: &str| json!({"name": name, "from": ["salaries:read"]}));
    let api = json!({
        "identifier": vault, "name": "Vault", "organizational": true,
        "scopes": [scope("reports:read"), scope("vaults:open")],
        "exchanges": [{"from": PAYROLL, "scopes": [map("reports:read"), map("vaults:open")]}],
    });
    let api: apis::Api = serde_json::from_value(api).unwrap();
    apis::register(&scene.app.app.store, &api).await.unwrap();
    scene.app.catch_up().await;
    let token = scene.token("salaries:read", Some("here")).await;
    // Delegated while it was held.
    role(&scene.app, scene.here, "accountant", &["salaries:*", "reports:read", "vaults:open"]).await;
    let body = json!({"client_id": scene.agent.id, "resource": vault, "scope": "reports:read vaults:open",
        "organization": "here"});
    assert_eq!(scene.delegate(&body).await.status, 201);
    role(&scene.app, scene.here, "accountant", &["salaries:*", "reports:read"]).await;
    assert!(scene.counts(&scene.client, &token).await, "the subject token is held still");
    let asked = |scope| [("resource", vault), ("scope", scope)];
    let answer = scene.exchange(&token, &asked("vaults:open")).await;
    assert_eq!(answer.json()["error"], "invalid_scope", "{}", answer.text());
    assert_eq!(scene.exchange(&token, &asked("reports:read")).await.status, 200);
}

/// A chain grows by one at each exchange by another client, and only where the delegations allow it.
#[tokio::test]
async fn a_chain_has_at_most_four_links_and_each_may_be_forbidden() {
    let mut scene = Scene::new().await;
    let mut token = scene.token("invoices:read", None).await;
    let mut chain: Vec<Value> = Vec::new();
    for link in 0..5 {
        let next = agent(&scene.app, json!({"kind": if link % 2 == 0 { "agent" } else { "service" }})).await;
        let body = json!({"client_id": next.id, "scope": "invoices:read", "redelegable": true});
        assert_eq!(scene.delegate(&body).await.status, 201);
        let answer = exchange(&scene.app, &next, &token, &[]).await;
        if link == 4 {
            assert_eq!(answer.json()["error"], "invalid_request", "{}", answer.text());
            break;
        }
        assert_eq!(answer.status, 200, "{link} {}", answer.text());
        token = answer.json()["access_token"].as_str().unwrap().to_owned();
        chain.push(json!(next.id));
        let mut act = &claims(&token)["act"];
        for expected in chain.iter().rev() {
            assert_eq!(&act["sub"], expected);
            act = &act["act"];
        }
        assert!(act.is_null());
    }
    // The agent of the scene may not pass on what it gets.
    let token = scene.token("invoices:read", None).await;
    scene.delegated("invoices:read", None).await;
    let held = exchanged(&scene.app, &scene.agent, &token, &[]).await;
    let other = agent(&scene.app, json!({})).await;
    let body = json!({"client_id": other.id, "scope": "invoices:read", "redelegable": true});
    assert_eq!(scene.delegate(&body).await.status, 201);
    let answer = exchange(&scene.app, &other, &held, &[]).await;
    assert_eq!(answer.json()["error"], "invalid_request", "{}", answer.text());
    // It may narrow it for itself, and stays one actor.
    let again = exchanged(&scene.app, &scene.agent, &held, &[]).await;
    assert_eq!(claims(&again)["act"], claims(&held)["act"]);
}

/// What an agent gets by its person's consent says that it acts, and leaves a delegation.
#[tokio::test]
async fn consent_to_an_agent_is_a_delegation() {
    let mut scene = Scene::new().await;
    let grants = json!(["authorization_code", "refresh_token", super::driver::EXCHANGE]);
    let own = agent(&scene.app, json!({"grant_types": grants})).await;
    let asked = [("scope", "openid offline_access invoices:read")];
    let tokens = own.tokens(&mut scene.browser, &scene.app, &asked).await;
    let act = json!({"sub": own.id, "sub_profile": "ai_agent"});
    assert_eq!(claims(tokens["access_token"].as_str().unwrap())["act"], act);
    let refreshed = own.refresh(&scene.app, tokens["refresh_token"].as_str().unwrap(), &[]).await.json();
    assert_eq!(claims(refreshed["access_token"].as_str().unwrap())["act"], act);
    let listed = scene.browser.get("/v1/account/delegations").await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    let one = &listed["items"][0];
    assert_eq!((&one["source"], &one["scope"]), (&json!("consent"), &json!("openid invoices:read")));
    assert_eq!(one["redelegable"], false);
    let token = scene.token("invoices:read", None).await;
    let held = exchanged(&scene.app, &own, &token, &[]).await;
    assert!(scene.counts(&own, &held).await);
    // The same again renews it and adds none.
    own.tokens(&mut scene.browser, &scene.app, &[("scope", asked[0].1), ("prompt", "consent")]).await;
    let listed = scene.browser.get("/v1/account/delegations").await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
}
