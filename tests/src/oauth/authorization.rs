//! From a client's request to its code, by JSON alone.

use serde_json::json;

use super::{
    app,
    driver::{CALLBACK, Relying, agree, parameter, person, userinfo, verifier},
};
use porteiro_testkit::verify;

#[tokio::test]
async fn a_person_signs_in_allows_it_and_the_client_gets_tokens() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let verifier = verifier();
    let answer = client.ask(&mut browser, &verifier, &[("scope", "openid profile email")]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let flow = answer.json();
    assert_eq!(flow["stage"], "consent");
    assert_eq!(flow["request"]["client"]["name"], "Example");
    assert_eq!(flow["request"]["redirect_host"], "app.example.test");
    let done = agree(&mut browser, flow).await;
    assert_eq!(
        (done["stage"].as_str(), done["continue"]["type"].as_str()),
        (Some("complete"), Some("redirect"))
    );
    assert!(done["continue"]["uri"].as_str().unwrap().starts_with(&format!("{CALLBACK}?code=")));
    assert_eq!(parameter(&done, "state").as_deref(), Some("s-1"));
    assert_eq!(parameter(&done, "iss").as_deref(), Some("https://id.example.test"));

    let code = parameter(&done, "code").unwrap();
    let tokens = client.redeem(&app, &code, &verifier).await;
    assert_eq!(tokens.status, 200, "{}", tokens.text());
    assert_eq!(tokens.header("cache-control"), "no-store");
    let tokens = tokens.json();
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let id = verify(tokens["id_token"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!(id["aud"], client.id.as_str());
    assert_eq!(id["nonce"], "n-1");
    // Only a mailbox was proved so far, which has no level.
    assert_eq!(id["acr"], "0");
    let access = verify(tokens["access_token"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!(access["aud"], "https://id.example.test");
    assert_eq!(access["sub"], id["sub"]);
    assert_eq!(access["scope"], "openid profile email");
    let me = userinfo(&app, tokens["access_token"].as_str().unwrap()).await;
    assert_eq!(me.status, 200, "{}", me.text());
    let me = me.json();
    assert_eq!(
        (&me["sub"], &me["name"], &me["email"]),
        (&id["sub"], &json!("Ana"), &json!("ana@example.test"))
    );

    let next = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(next.status, 200, "{}", next.text());
    assert_ne!(next.json()["refresh_token"], tokens["refresh_token"]);
}
