//! A session cookie reads an organization only at the level and age its policy demands.

use std::sync::Arc;

use http::Method;
use porteiro_protocol::id::OrganizationId;
use porteiro_service::http::Access;
use porteiro_testkit::{Browser, TestApp, nothing};
use serde_json::json;

use crate::{
    oauth::driver::Relying,
    organizations::{
        api_keys::person,
        driver::{account_of, call, get, house, join, organization, organization_key},
        staff::Staff,
    },
    people,
};

/// Every proof of every session was made so many seconds earlier.
async fn age_proofs(app: &TestApp, seconds: u32) {
    let sql = format!(
        "UPDATE session SET proofs = (SELECT jsonb_agg(jsonb_set(p, '{{at}}', to_jsonb((p->>'at')::bigint - {seconds})))
         FROM jsonb_array_elements(proofs) p)"
    );
    app.sql(&sql).await;
}

async fn set_policy(app: &TestApp, policy: &str) {
    app.sql(&format!("UPDATE organization SET policy = '{policy}'")).await;
}

/// Every route that reads an organization, with a place put into its path.
fn doors(place: OrganizationId) -> Vec<String> {
    let nobody = "00000000-0000-4000-8000-000000000000";
    let fill = |path: &str| {
        let path = path.replace("{organization}", &place.to_string());
        path.split('/')
            .map(|part| if part.starts_with('{') { nobody } else { part })
            .collect::<Vec<_>>()
            .join("/")
    };
    porteiro_service::table()
        .iter()
        .filter(|route| route.method == Method::GET && matches!(route.access, Access::Organization(_)))
        .map(|route| fill(route.path))
        .collect()
}

async fn knock(browser: &mut Browser, place: OrganizationId) -> Vec<(String, u16, String)> {
    let mut answers = Vec::new();
    for door in doors(place) {
        let answer = browser.get(&door).await;
        let code = answer.json()["code"].as_str().unwrap_or_default().to_owned();
        answers.push((door, answer.status.as_u16(), code));
    }
    answers
}

#[tokio::test]
async fn a_session_below_the_level_reads_nothing_of_an_organization_at_any_route() {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let mut ana = people::register(&app, "ana@example.test").await;
    join(&app, here, account_of(&mut ana).await, "owner").await;
    let (mut bea, mut authenticator) = people::register_with_passkey(&app, "bea@example.test").await;
    join(&app, here, account_of(&mut bea).await, "owner").await;
    assert!(doors(here).len() > 10, "{:?}", doors(here));
    for (door, status, code) in knock(&mut ana, here).await {
        assert!(status == 200 || status == 404, "without a policy, {door}: {status} {code}");
    }
    set_policy(&app, r#"{"min_level": "aal2"}"#).await;
    for (door, status, code) in knock(&mut ana, here).await {
        assert_eq!((status, code.as_str()), (403, "step_up_required"), "{door}");
    }
    let told = ana.get(&format!("/v1/organizations/{here}/members")).await.json();
    assert_eq!(told["flow"]["body"], json!({"kind": "reauthenticate", "level": "aal2"}));
    // What the answer says leads there.
    let told = bea.get(&format!("/v1/organizations/{here}/members")).await.json();
    let mut flow = bea.open(told["flow"]["body"].clone()).await;
    flow.act(&mut bea, "passkey/begin", nothing()).await;
    let response = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut bea, "passkey/finish", json!({"credential": response})).await;
    assert_eq!(flow.stage(), "complete");
    for (door, status, code) in knock(&mut bea, here).await {
        assert!(status == 200 || status == 404, "proved enough, {door}: {status} {code}");
    }
    // Where they belong is theirs to see: how else would they know whose level to reach.
    assert_eq!(ana.get("/v1/organizations").await.json()["items"][0]["slug"], "here");
}

#[tokio::test]
async fn a_session_proved_too_long_ago_reads_nothing_of_an_organization() {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let (mut ana, _) = people::register_with_passkey(&app, "ana@example.test").await;
    join(&app, here, account_of(&mut ana).await, "owner").await;
    set_policy(&app, r#"{"max_age": 300}"#).await;
    assert_eq!(ana.get(&format!("/v1/organizations/{here}/members")).await.status, 200);
    age_proofs(&app, 301).await;
    for (door, status, code) in knock(&mut ana, here).await {
        assert_eq!((status, code.as_str()), (403, "step_up_required"), "{door}");
    }
    let key = json!({"name": "Laptop", "organization": "here", "permissions": ["members:read"]});
    let refused = ana.post("/v1/account/api-keys", &key).await;
    assert_eq!(refused.json()["code"], "step_up_required", "a key is no way around it: {}", refused.text());
}

async fn manager(app: &Arc<TestApp>, here: OrganizationId) -> String {
    let mut ana = Staff::new(app, "ana@example.test", here, "owner").await;
    let client = Relying::web(app).await;
    ana.token(app, &client, here, "members:read members:write").await
}

#[tokio::test]
async fn a_token_below_the_level_or_too_old_is_asked_to_step_up() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let token = manager(&app, here).await;
    let path = format!("/v1/organizations/{here}/members");
    assert_eq!(get(&app, &path, &token).await.status, 200);
    for (policy, wanted) in [
        (r#"{"min_level": "aal2"}"#, "acr_values=\"http://idmanagement.gov/ns/assurance/aal/2\""),
        (r#"{"max_age": 60}"#, "max_age=\"60\""),
    ] {
        set_policy(&app, policy).await;
        if policy.contains("max_age") {
            app.clock.advance(porteiro_protocol::time::Duration::seconds(120));
        }
        let invite = json!({"client_id": "nobody", "role": "member"});
        for answer in [
            get(&app, &path, &token).await,
            call(&app, Method::POST, &path, &token, Some(&invite), &[]).await,
        ] {
            let challenge = answer.header("www-authenticate").to_owned();
            assert_eq!(answer.status, 401, "{policy}: {}", answer.text());
            assert!(challenge.contains("insufficient_user_authentication"), "{challenge}");
            assert!(challenge.contains(wanted), "{challenge}");
        }
    }
}

#[tokio::test]
async fn a_personal_key_made_below_the_level_opens_nothing_until_a_new_one_is_made() {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let mut ana = person(&app, "ana@example.test", here, "owner").await;
    let key = ana.key("here", &["members:read"]).await["secret"].as_str().unwrap().to_owned();
    let path = format!("/v1/organizations/{here}/members");
    assert_eq!(get(&app, &path, &key).await.status, 200);
    set_policy(&app, r#"{"min_level": "aal2"}"#).await;
    let refused = get(&app, &path, &key).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["code"]), (403, &json!("step_up_required")));
    let elsewhere = organization(&app, "elsewhere").await;
    let other = get(&app, &format!("/v1/organizations/{elsewhere}/members"), &key).await;
    assert_eq!(other.status, 404, "another organization does not exist for it, whatever its level");
    // An organization's own key is nobody's proof: those who may make one proved enough to get there.
    let shared = organization_key(&app, here, &["members:read"]).await;
    assert_eq!(get(&app, &path, &shared).await.status, 200);
    set_policy(&app, r#"{"min_level": "aal1"}"#).await;
    assert_eq!(get(&app, &path, &key).await.status, 200, "a password was enough for that");
}
