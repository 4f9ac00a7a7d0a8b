//! A client redeems another server's assertion about a member.

use std::sync::Arc;

use http::Method;
use porteiro_service::oauth::apis;
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

use super::{
    driver::Directory,
    resource::{HERE, Issuer, JWT_BEARER, Resource, redeem, redeemer},
};
use crate::{
    agents::driver::Scene,
    oauth::{driver::Relying, ledger, site::Site},
    organizations::driver::{
        PAYROLL, call, claims, organization, organization_key, payroll, platform_key, role, set_status,
    },
};

/// More parameters of a request.
type Form<'a> = &'a [(&'a str, &'a str)];

/// A deployment that is reached by others under the site's address: they get the documents that it serves.
async fn directory(site: &Site) -> Directory {
    let builder = TestApp::builder().people().settings(|settings| settings.base_url = site.url(""));
    let app = Arc::new(builder.start().await);
    apis::register(&app.app.store, &ledger()).await.unwrap();
    payroll(&app).await;
    for path in ["/.well-known/openid-configuration", "/.well-known/jwks.json"] {
        let document = app.get(path).await;
        site.serve(path, document.header("content-type"), &document.text());
    }
    app.catch_up().await;
    Directory::on(Scene::on(app).await).await
}

#[tokio::test]
async fn one_deployment_asserts_and_another_issues_the_token() {
    let site = Site::start().await;
    let mut idp = directory(&site).await;
    let resource = Resource::new(&site).await;
    let chat = json!({"issuer": HERE, "remote_client_id": resource.client.id,
        "scope": "salaries:read salaries:write", "resources": [PAYROLL]});
    let made = idp.register(&chat).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let tenant = idp.scene.here.to_string();
    resource.trust(&site.url(""), &json!({"tenant": tenant})).await;
    let subject = idp.scene.membership.to_string();
    resource.link(&site.url(""), &subject, &json!({"tenant": tenant})).await;

    let assertion = idp.assertion(&[("audience", HERE), ("scope", "salaries:read")]).await;
    let answer = resource.redeem(&assertion, &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let told = answer.json();
    assert!(told.get("refresh_token").is_none() && told.get("id_token").is_none(), "{told}");
    assert_eq!((&told["scope"], &told["token_type"]), (&json!("salaries:read"), &json!("Bearer")));
    assert!(told["expires_in"].as_i64().unwrap() <= 300, "{told}");
    let token = told["access_token"].as_str().unwrap();
    let said = claims(token);
    assert_eq!((&said["iss"], &said["aud"]), (&json!(HERE), &json!(PAYROLL)));
    assert_eq!(said["sub"], resource.membership.to_string());
    assert_eq!(said["org"], resource.there.to_string());
    assert_eq!((&said["client_id"], &said["scope"]), (&json!(resource.client.id), &json!("salaries:read")));
    assert_eq!(said["act"], json!({"sub": resource.client.id, "sub_profile": "service"}));
    assert!(said.get("auth_time").is_none(), "the issuer is not believed about it: {said}");
    assert!(resource.counts(token).await);
    for table in ["security_log", "trail"] {
        let entries = format!("SELECT count(*) FROM {table} WHERE kind = 'assertion.redeemed'");
        assert_eq!(resource.app.count(&entries).await, 1, "{table}");
    }
    // Neither side takes it for anything else.
    let again = redeem(&resource.nodes[1], &resource.client, &assertion, &[]).await;
    assert_eq!(again.json()["error"], "invalid_grant", "{}", again.text());
    let at_home = redeemer(&idp.scene.app, json!({})).await;
    let answer = redeem(&idp.scene.app, &at_home, &assertion, &[]).await;
    assert_eq!(answer.json()["error"], "invalid_grant", "{}", answer.text());
    assert!(answer.text().contains("our own"), "{}", answer.text());
}

#[tokio::test]
async fn metadata_announce_the_grant_and_its_profile() {
    let document = TestApp::new().await.get("/.well-known/oauth-authorization-server").await.json();
    let profile = "urn:ietf:params:oauth:grant-profile:id-jag";
    assert_eq!(document["authorization_grant_profiles_supported"], json!([profile]));
    let grants = document["grant_types_supported"].as_array().unwrap();
    assert!(grants.contains(&json!(JWT_BEARER)), "{grants:?}");
}

#[tokio::test]
async fn one_assertion_from_sixteen_places_at_once_is_one_token() {
    let issuer = Issuer::start().await;
    let resource = Arc::new(issuer.resource().await);
    let assertion = issuer.assertion(&resource, &json!({}));
    let mut all = tokio::task::JoinSet::new();
    for place in 0..16 {
        let (resource, assertion) = (Arc::clone(&resource), assertion.clone());
        all.spawn(async move {
            let node = &resource.nodes[place % resource.nodes.len()];
            redeem(node, &resource.client, &assertion, &[]).await
        });
    }
    let answers = all.join_all().await;
    let tokens = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(tokens, 1);
    assert!(answers.iter().all(|answer| answer.status == 200 || answer.json()["error"] == "invalid_grant"));
    let grants = format!("SELECT count(*) FROM oauth_grant WHERE client_id = '{}'", resource.client.id);
    assert_eq!(resource.app.count(&grants).await, 1);
}

/// What was asked for, by the assertion and by the request, and what becomes of it.
#[tokio::test]
async fn a_scope_too_many_refuses_the_whole() {
    let issuer = Issuer::start().await;
    let resource = issuer.resource().await;
    let narrow = json!({"scope": "salaries:read", "grant_types": [JWT_BEARER]});
    let narrow = redeemer(&resource.app, narrow).await;
    resource.trust(&issuer.name(), &json!({"client_id": narrow.id})).await;
    let none: Form<'_> = &[];
    let wide = "salaries:read salaries:write";
    let cases: &[(Value, Form<'_>, &str)] = &[
        (json!({"scope": wide}), none, wide),
        (json!({"scope": wide}), &[("scope", "salaries:write")], "salaries:write"),
        (json!({"scope": wide, "resource": null}), none, wide),
        (json!({"scope": null}), &[("scope", "salaries:read")], "salaries:read"),
        (json!({"scope": "salaries:read"}), &[("scope", wide)], "invalid_scope"),
        (json!({"scope": "salaries:read salaries:burn"}), none, "invalid_scope"),
        (json!({"scope": "salaries:read openid"}), none, "invalid_scope"),
        (json!({"scope": "invoices:read", "resource": null}), none, "invalid_scope"),
        (json!({"scope": "platform.accounts:read", "resource": null}), none, "invalid_scope"),
        (json!({"scope": ""}), none, "invalid_scope"),
        (json!({"resource": "https://elsewhere.example"}), none, "invalid_target"),
        (json!({}), &[("resource", "https://ledger.example.test")], "invalid_target"),
    ];
    for (more, form, expected) in cases {
        let answer = resource.redeem(&issuer.assertion(&resource, more), form).await;
        let told = answer.json();
        let told = if answer.status == 200 { &told["scope"] } else { &told["error"] };
        assert_eq!(told, expected, "{more} {form:?} {}", answer.text());
    }
    // Beyond the client's registration.
    let more = json!({"client_id": narrow.id, "scope": wide});
    let answer = redeem(&resource.app, &narrow, &issuer.assertion(&resource, &more), &[]).await;
    assert_eq!(answer.json()["error"], "invalid_scope", "{}", answer.text());
    // Beyond the member's roles, as they are now.
    role(&resource.app, resource.there, "accountant", &["reports:read"]).await;
    let answer = resource.redeem(&issuer.assertion(&resource, &json!({})), &[]).await;
    assert_eq!(answer.json()["error"], "invalid_scope", "{}", answer.text());
}

#[tokio::test]
async fn tokens_end_with_what_they_rest_on() {
    for what in
        ["trust", "link", "member", "organization", "client policy", "frozen", "role", "client", "account"]
    {
        let issuer = Issuer::start().await;
        let resource = issuer.resource().await;
        let answer = resource.redeem(&issuer.assertion(&resource, &json!({})), &[]).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let token = answer.json()["access_token"].as_str().unwrap().to_owned();
        assert!(resource.counts(&token).await, "{what}");
        let app = &resource.app;
        let powers = ["members:*", "client-policies:*", "salaries:*", "reports:read"];
        let key = organization_key(app, resource.there, &powers).await;
        let platform = platform_key(app, &["platform.accounts:*", "platform.clients:*"]).await;
        let (body, why) = (json!({"reason": "a test"}), [("porteiro-reason", "a test")]);
        let mut answer = None;
        match what {
            "trust" => resource.remove("assertion-issuers").await,
            "link" => resource.remove("external-identities").await,
            "member" => {
                let path = resource.path(&format!("members/{}/disable", resource.membership));
                answer = Some(call(app, Method::POST, &path, &key, Some(&body), &[]).await);
            }
            "organization" => set_status(app, resource.there, "suspended").await,
            "client policy" => {
                let path = resource.path(&format!("client-policies/{}", resource.client.id));
                let body = json!({"decision": "block"});
                let none = [("if-none-match", "*")];
                answer = Some(call(app, Method::PUT, &path, &key, Some(&body), &none).await);
            }
            "frozen" => {
                app.sql("UPDATE organization SET policy = policy || '{\"agents\": \"frozen\"}'").await;
            }
            "role" => role(app, resource.there, "accountant", &["reports:read"]).await,
            "client" => {
                let path = format!("/v1/platform/clients/{}/disable", resource.client.id);
                answer = Some(call(app, Method::POST, &path, &platform, Some(&json!({})), &why).await);
            }
            _ => {
                let path = format!("/v1/platform/accounts/{}/disable", resource.account);
                answer = Some(call(app, Method::POST, &path, &platform, Some(&body), &why).await);
            }
        }
        assert!(answer.is_none_or(|answer| answer.status.is_success()), "{what}");
        if what == "client" {
            // It cannot ask any more.
            let grant = "SELECT count(*) FROM oauth_grant g JOIN client c USING (client_id)
                WHERE g.created_at >= c.grants_from AND c.disabled_at IS NULL";
            assert_eq!(app.count(grant).await, 0);
            continue;
        }
        assert!(!resource.counts(&token).await, "{what}");
        let answer = resource.redeem(&issuer.assertion(&resource, &json!({})), &[]).await;
        assert_eq!(answer.status, 400, "{what}: {}", answer.text());
    }
}

#[tokio::test]
async fn an_account_that_is_being_deleted_gets_no_token() {
    let issuer = Issuer::start().await;
    let resource = issuer.resource().await;
    resource.app.sql("UPDATE account SET deletion_at = now() + interval '14 days'").await;
    let answer = resource.redeem(&issuer.assertion(&resource, &json!({})), &[]).await;
    assert_eq!(answer.json()["error"], "invalid_grant", "{}", answer.text());
    resource.app.sql("UPDATE account SET deletion_at = NULL").await;
    let answer = resource.redeem(&issuer.assertion(&resource, &json!({})), &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// The same person by the same address, and nobody said so.
#[tokio::test]
async fn an_equal_address_is_not_enough() {
    let issuer = Issuer::start().await;
    let resource = issuer.resource().await;
    for claims in [
        json!({"sub": "somebody-else", "email": "ana@example.test", "email_verified": true}),
        json!({"sub": "ana@example.test"}),
        json!({"sub": resource.membership.to_string()}),
        json!({"sub": resource.account, "aud_sub": resource.membership.to_string()}),
    ] {
        let answer = resource.redeem(&issuer.assertion(&resource, &claims), &[]).await;
        let told = answer.json();
        assert_eq!(told["error"], "invalid_grant", "{claims} {}", answer.text());
        assert!(told["error_description"].as_str().unwrap().contains("No member is linked"), "{told}");
    }
    let refused = "SELECT count(*) FROM refusal WHERE rule = 'subject_not_linked'";
    assert_eq!(resource.app.count(refused).await, 4);
}

#[tokio::test]
async fn a_client_that_cannot_authenticate_or_was_not_verified_redeems_nothing() {
    let issuer = Issuer::start().await;
    let resource = issuer.resource().await;
    let app = &resource.app;
    let grants = json!({"grant_types": [JWT_BEARER]});
    let mut public = grants.clone();
    public["token_endpoint_auth_method"] = json!("none");
    let others = [
        Relying::web(app).await,
        Relying::with(app, porteiro_service::oauth::clients::Trust::Unverified, grants).await,
        redeemer(app, public).await,
    ];
    for other in others {
        let assertion = issuer.assertion(&resource, &json!({"client_id": other.id}));
        let answer = redeem(app, &other, &assertion, &[]).await;
        assert_eq!(answer.json()["error"], "unauthorized_client", "{}", answer.text());
    }
}

/// Two organizations trust the same issuer: the client says for which one it acts, and acts for no other.
#[tokio::test]
async fn an_assertion_counts_in_one_organization() {
    let issuer = Issuer::start().await;
    let resource = issuer.resource().await;
    let app = &resource.app;
    let other = organization(app, "other").await;
    let key = organization_key(app, other, &["trusts:*"]).await;
    let body = json!({"issuer": issuer.name(), "client_id": resource.client.id, "algorithms": ["ES256"]});
    let path = format!("/v1/organizations/{other}/assertion-issuers");
    assert_eq!(call(app, Method::POST, &path, &key, Some(&body), &[]).await.status, 201);
    let assertion = issuer.assertion(&resource, &json!({}));
    let answer = resource.redeem(&assertion, &[]).await;
    assert_eq!(answer.json()["error"], "invalid_request", "{}", answer.text());
    let answer = resource.redeem(&assertion, &[("organization", "other")]).await;
    assert_eq!(answer.json()["error"], "invalid_grant", "nobody is linked there: {}", answer.text());
    let wrong = issuer.assertion(&resource, &json!({"aud_tenant": other.to_string()}));
    let answer = resource.redeem(&wrong, &[("organization", "there")]).await;
    assert_eq!(answer.json()["error"], "invalid_grant", "{}", answer.text());
    let answer = resource.redeem(&assertion, &[("organization", "there")]).await;
    assert_eq!(answer.status, 200, "a refusal used nothing up: {}", answer.text());
    let named = issuer.assertion(&resource, &json!({"aud_tenant": resource.there.to_string()}));
    let answer = resource.redeem(&named, &[]).await;
    assert_eq!(claims(answer.json()["access_token"].as_str().unwrap())["org"], resource.there.to_string());
}

/// What the organization demands of a sign-in, it demands of a sign-in elsewhere.
#[tokio::test]
async fn a_policy_counts_what_the_issuer_says_only_if_it_is_believed() {
    let issuer = Issuer::start().await;
    let resource = Resource::new(&issuer.site).await;
    resource.link(&issuer.name(), "U019", &json!({})).await;
    resource.app.sql("UPDATE organization SET policy = policy || '{\"min_level\": \"aal1\"}'").await;
    let acr = porteiro_protocol::assurance::ACR_AAL1;
    for (believes, status) in [(false, 400), (true, 200)] {
        resource.trust(&issuer.name(), &json!({"believes_authentication": believes})).await;
        let now = porteiro_protocol::time::Clock::now(&*resource.app.clock).unix_timestamp();
        let assertion = issuer.assertion(&resource, &json!({"acr": acr, "auth_time": now - 5}));
        let answer = resource.redeem(&assertion, &[]).await;
        assert_eq!(answer.status, status, "{believes} {}", answer.text());
        if believes {
            let said = claims(answer.json()["access_token"].as_str().unwrap());
            assert_eq!((&said["acr"], &said["auth_time"]), (&json!(acr), &json!(now - 5)));
        } else {
            assert_eq!(answer.json()["error"], "insufficient_user_authentication", "{}", answer.text());
        }
        resource.remove("assertion-issuers").await;
    }
}
