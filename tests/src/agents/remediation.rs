//! An API that answers `insufficient_authorization` leads an agent to the right request
//! (draft-ietf-oauth-rar-metadata-remediation).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_service::oauth::apis;
use porteiro_testkit::{TestApp, verify};
use serde_json::{Value, json};

use super::driver::{CIBA, Scene, asked, ledger_with_payments, noticed};
use crate::oauth::{LEDGER, driver::Relying};

/// As an API would: it pays if the token says exactly this, and else says what the token would have to say.
async fn pay(app: &TestApp, server: &Relying, token: &str, wanted: &Value) -> Result<(), String> {
    let form = [("token", token), ("consume", "true")];
    let told = server.call(app, "/connect/introspect", &form).await.json();
    if told["consumed"] == true && told["authorization_details"] == json!([wanted]) {
        return Ok(());
    }
    let remediation = json!({"authorization_details": [wanted]}).to_string();
    let remediation = URL_SAFE_NO_PAD.encode(remediation);
    Err(format!("Bearer error=\"insufficient_authorization\", authorization_remediation=\"{remediation}\""))
}

/// As an agent would: what the challenge asks for.
fn remedy(challenge: &str) -> String {
    let text = challenge.split("authorization_remediation=\"").nth(1).and_then(|rest| rest.split('"').next());
    let decoded = URL_SAFE_NO_PAD.decode(text.unwrap()).unwrap();
    let remediation: Value = serde_json::from_slice(&decoded).unwrap();
    remediation["authorization_details"].to_string()
}

#[tokio::test]
async fn the_challenge_of_an_api_leads_an_agent_to_the_approval_that_it_needs() {
    let mut scene = Scene::asking().await;
    let server = Relying::web(&scene.app).await;
    let mut api = ledger_with_payments();
    api.introspected_by = vec![server.id.clone()];
    apis::register(&scene.app.app.store, &api).await.unwrap();
    noticed().await;
    let subject = scene.token("invoices:read", None).await;
    let reads = super::driver::exchanged(&scene.app, &scene.agent, &subject, &[]).await;
    let wanted = json!({"type": "payment", "amount": "42.00", "to": "Bea"});
    let challenge = pay(&scene.app, &server, &reads, &wanted).await.unwrap_err();
    let details = remedy(&challenge);
    // The agent never saw this type: the server describes it.
    let found = scene.app.get("/.well-known/oauth-authorization-server").await.json();
    let endpoint = found["authorization_details_types_metadata_endpoint"].as_str().unwrap();
    let path = endpoint.strip_prefix(scene.app.app.issuer()).unwrap();
    let types = scene.app.get(path).await.json();
    let payment = &types["payment"];
    assert_eq!((&payment["irreversible"], &types["transfer"]["irreversible"]), (&json!(false), &json!(true)));
    assert_eq!(payment["resources"], json!([LEDGER]));
    assert_eq!(payment["display"]["en"], "Pay {amount} to {to}");
    assert_eq!(payment["schema"]["properties"]["type"], json!({"const": "payment"}));
    assert_eq!(payment["schema"]["required"], json!(["type", "amount", "to"]));
    let resource = payment["resources"][0].as_str().unwrap();
    let more = [("authorization_details", details.as_str()), ("resource", resource)];
    let request = asked(&scene.ask(&scene.agent, &more).await);
    scene.approve(&request).await;
    let tokens = scene.agent.token(&scene.app, CIBA, &[("auth_req_id", &request.handle)]).await.json();
    let token = tokens["access_token"].as_str().unwrap();
    let jwks = scene.app.get("/.well-known/jwks.json").await.json();
    assert_eq!(verify(token, &jwks).unwrap()["authorization_details"], json!([wanted]));
    assert_eq!(pay(&scene.app, &server, token, &wanted).await, Ok(()));
    assert!(pay(&scene.app, &server, token, &wanted).await.is_err(), "once");
}

#[tokio::test]
async fn a_type_of_two_apis_is_described_once_and_accepts_what_either_does() {
    let scene = Scene::asking().await;
    let mut other = serde_json::to_value(ledger_with_payments()).unwrap();
    other["identifier"] = json!("https://other.example.test");
    other["scopes"] = json!([]);
    other["details"][0]["schema"]["properties"]["to"]["maxLength"] = json!(80);
    apis::register(&scene.app.app.store, &serde_json::from_value(other).unwrap()).await.unwrap();
    noticed().await;
    let types = scene.app.get("/connect/authorization-details-types").await.json();
    assert_eq!(types["payment"]["schema"]["anyOf"].as_array().unwrap().len(), 2, "{types}");
    assert!(types["transfer"]["schema"].get("anyOf").is_none(), "both define it the same way");
    assert_eq!(types["transfer"]["resources"].as_array().unwrap().len(), 2);
}
