//! A client that is not of the house passes on no more than its token carries (decision 0045).

use http::Method;
use porteiro_service::oauth::clients::Trust;
use serde_json::{Value, json};

use super::{
    driver::{call, get, organization_key, role},
    tokens::{accountant, text},
};
use crate::oauth::driver::Relying;

/// `api-keys:write` is not worth everything its owner holds.
#[tokio::test]
async fn a_client_puts_into_a_key_no_more_than_its_token_carries() {
    let (app, mut browser, client, here) = accountant().await;
    role(&app, here, "accountant", &["api-keys:write", "members:read", "salaries:*"]).await;
    let scope = [("scope", "api-keys:write members:read"), ("organization", "here")];
    let path = format!("/v1/organizations/{here}/api-keys");
    let own = Relying::with(&app, Trust::FirstParty, json!({})).await;
    for (who, wider) in [(&client, 403), (&own, 201)] {
        let tokens = who.tokens(&mut browser, &app, &scope).await;
        let make = async |permissions: &[&str]| {
            let body = json!({"name": "made", "permissions": permissions});
            call(&app, Method::POST, &path, text(&tokens, "access_token"), Some(&body), &[]).await
        };
        let within = make(&["members:read"]).await;
        assert_eq!(within.status, 201, "{}", within.text());
        let beyond = make(&["members:read", "salaries:read"]).await;
        assert_eq!(beyond.status.as_u16(), wider, "{}", beyond.text());
        if wider == 403 {
            let reader = organization_key(&app, here, &["audit:read"]).await;
            let reference = beyond.json()["reference"].as_str().expect("a reference").to_owned();
            let told =
                get(&app, &format!("/v1/organizations/{here}/refusals/{reference}"), &reader).await.json();
            assert_eq!(
                (&told["rule"], &told["asked"]),
                (&json!("credential_lacks_permission"), &json!(["salaries:read"]))
            );
        }
    }
}

/// Nor does `members:write` let a client make itself, or anybody, more than its token carries: not as a member of its own,
/// not by a role, not by a letter.
#[tokio::test]
async fn a_client_gives_no_more_than_its_token_carries() {
    let (app, mut browser, client, here) = accountant().await;
    let all = ["members:write", "members:read", "roles:write", "invitations:write", "salaries:*"];
    role(&app, here, "accountant", &all).await;
    role(&app, here, "reader", &["members:read"]).await;
    role(&app, here, "payroll", &["members:read", "salaries:read"]).await;
    let wanted = "members:write members:read roles:write invitations:write";
    let scope = [("scope", wanted), ("organization", "here")];
    let own = Relying::with(&app, Trust::FirstParty, json!({})).await;
    for (who, wider) in [(&client, 403), (&own, 201)] {
        let tokens = who.tokens(&mut browser, &app, &scope).await;
        let send = async |method: Method, path: &str, body: Value, headers: &[(&str, &str)]| {
            let path = format!("/v1/organizations/{here}/{path}");
            call(&app, method, &path, text(&tokens, "access_token"), Some(&body), headers).await
        };
        let machine = Relying::with(
            &app,
            Trust::Unverified,
            json!({"grant_types": ["client_credentials"], "redirect_uris": [], "response_types": []}),
        )
        .await;
        let joins = |role: &str| json!({"client_id": machine.id, "role": role});
        let beyond = send(Method::POST, "members", joins("payroll"), &[]).await;
        assert_eq!(beyond.status.as_u16(), wider, "{}", beyond.text());
        if wider == 403 {
            assert_eq!(beyond.json()["missing"], json!(["salaries:read"]));
            let within = send(Method::POST, "members", joins("reader"), &[]).await;
            assert_eq!(within.status, 201, "{}", within.text());
            let (id, version) = (within.json()["id"].clone(), within.header("etag").to_owned());
            let member = format!("members/{}", id.as_str().expect("an id"));
            let more = json!({"roles": ["reader", "payroll"]});
            let raised = send(Method::PATCH, &member, more, &[("if-match", &version)]).await;
            assert_eq!(raised.status, 403, "{}", raised.text());
        }
        let invites = |role: &str| json!({"email": format!("{role}{wider}@example.test"), "role": role});
        let beyond = send(Method::POST, "invitations", invites("payroll"), &[]).await;
        assert_eq!(beyond.status.as_u16(), wider, "{}", beyond.text());
        let within = send(Method::POST, "invitations", invites("reader"), &[]).await;
        assert_eq!(within.status, 201, "{}", within.text());
        let shapes = |permission: &str| json!({"key": format!("made{wider}"), "name": "Made", "permissions": [permission]});
        let beyond = send(Method::POST, "roles", shapes("salaries:read"), &[]).await;
        assert_eq!(beyond.status.as_u16(), wider, "{}", beyond.text());
    }
}
