//! One person cannot be recognised across organizations.

use std::{collections::BTreeSet, sync::Arc};

use porteiro_protocol::id::MembershipId;
use porteiro_service::oauth::{
    clients::{self, Trust},
    logout,
};
use porteiro_testkit::{Browser, Flow, TestApp, nothing};
use serde_json::{Value, json};

use crate::{
    oauth::{
        driver::{Relying, get_json, parameter, person, verifier},
        encode,
    },
    organizations::driver::{account_of, claims, house, join, organization, role},
    people::PASSWORD,
};

const NOBODY: &str = "0190a5a0-0000-7000-8000-000000000000";

/// Ana, who works for two organizations.
struct Scene {
    app: Arc<TestApp>,
    browser: Browser,
    here: MembershipId,
    there: MembershipId,
}

impl Scene {
    async fn new() -> Self {
        let app = house().await;
        let mut browser = person(&app).await;
        let account = account_of(&mut browser).await;
        let mut members = Vec::new();
        for name in ["here", "there"] {
            let organization = organization(&app, name).await;
            role(&app, organization, "accountant", &["salaries:*"]).await;
            members.push(join(&app, organization, account, "accountant").await);
        }
        Self { app, browser, here: members[0], there: members[1] }
    }

    async fn tokens(&mut self, client: &Relying, organization: &str) -> Value {
        let more = [("scope", "openid salaries:read"), ("organization", organization)];
        let more = if organization.is_empty() { &[][..] } else { &more };
        client.tokens(&mut self.browser, &self.app, more).await
    }

    /// What a client hears that asks for this subject, without and with the person's help.
    async fn told(
        &mut self,
        client: &Relying,
        subject: &str,
        more: &[(&str, &str)],
    ) -> (Option<String>, Option<String>, String) {
        let claims = json!({"id_token": {"sub": {"value": subject}}}).to_string();
        let named = [more, &[("claims", claims.as_str())]].concat();
        let silent = [named.as_slice(), &[("prompt", "none")]].concat();
        let silent = client.ask(&mut self.browser, &verifier(), &silent).await.json();
        let asked = client.ask(&mut self.browser, &verifier(), &named).await.json();
        let stage = asked["stage"].as_str().unwrap_or_default().to_owned();
        (parameter(&silent, "error"), parameter(&silent, "error_description"), stage)
    }
}

#[tokio::test]
async fn a_membership_of_another_organization_is_as_unknown_as_none() {
    let mut scene = Scene::new().await;
    let client = Relying::web(&scene.app).await;
    for organization in ["here", "there", ""] {
        scene.tokens(&client, organization).await;
    }
    let account = account_of(&mut scene.browser).await.to_string();
    let (here, there) = (scene.here.to_string(), scene.there.to_string());
    let at_here = [("scope", "openid salaries:read"), ("organization", "here")];
    for (more, own, foreign) in [(&at_here[..], &here, [&there, &account]), (&[], &account, [&there, &here])]
    {
        let unknown = scene.told(&client, NOBODY, more).await;
        assert_eq!((unknown.0.as_deref(), unknown.2.as_str()), (Some("login_required"), "authenticate"));
        for foreign in foreign {
            assert_eq!(scene.told(&client, foreign, more).await, unknown, "{more:?}");
        }
        let known = scene.told(&client, own, more).await;
        assert_ne!((known.0, known.2), (unknown.0, unknown.2), "{more:?}");
    }
}

#[tokio::test]
async fn signing_in_does_not_tell_either() {
    let mut scene = Scene::new().await;
    let client = Relying::web(&scene.app).await;
    for subject in [NOBODY.to_owned(), scene.there.to_string()] {
        let claims = json!({"id_token": {"sub": {"value": subject}}}).to_string();
        let more = [("scope", "openid salaries:read"), ("organization", "here"), ("claims", claims.as_str())];
        let asked = client.ask(&mut scene.browser, &verifier(), &more).await.json();
        let mut flow = Flow::new(asked);
        let input = json!({"identifier": "ana@example.test", "password": PASSWORD});
        flow.act(&mut scene.browser, "password/check", input).await;
        assert_eq!(flow.stage(), "denied", "{}", flow.now);
        assert_eq!(parameter(&flow.now, "error").as_deref(), Some("login_required"), "{}", flow.now);
    }
}

#[tokio::test]
async fn a_hint_from_one_organization_names_nobody_in_another() {
    let mut scene = Scene::new().await;
    let client = Relying::web(&scene.app).await;
    let hint = scene.tokens(&client, "there").await["id_token"].as_str().unwrap().to_owned();
    scene.tokens(&client, "here").await;
    for (organization, error) in [("here", Some("login_required")), ("there", None)] {
        let more = [
            ("scope", "openid salaries:read"),
            ("organization", organization),
            ("id_token_hint", hint.as_str()),
            ("prompt", "none"),
        ];
        let answer = client.ask(&mut scene.browser, &verifier(), &more).await.json();
        assert_eq!(parameter(&answer, "error").as_deref(), error, "{organization}: {answer}");
    }
}

#[tokio::test]
async fn a_session_has_another_name_for_each_client_and_organization() {
    let mut scene = Scene::new().await;
    let other = Relying::web(&scene.app).await;
    let client = Relying::web(&scene.app).await;
    let session = scene.browser.get("/v1/account/sessions").await.json()["items"][0]["id"].clone();
    let mut names = BTreeSet::from([session.to_string()]);
    for (asking, organization) in [(&client, "here"), (&client, "there"), (&client, ""), (&other, "here")] {
        let (first, again) =
            (scene.tokens(asking, organization).await, scene.tokens(asking, organization).await);
        let name = |tokens: &Value| claims(tokens["id_token"].as_str().unwrap())["sid"].to_string();
        assert_eq!(name(&first), name(&again), "the same session is the same to the same client");
        assert!(names.insert(name(&first)), "{names:?}");
    }
}

#[tokio::test]
async fn that_name_signs_out_and_stands_in_logout_tokens() {
    let mut scene = Scene::new().await;
    let metadata = json!({"backchannel_logout_uri": "https://app.example.test/logout"});
    let client = Relying::with(&scene.app, Trust::Verified, metadata).await;
    let session = scene.browser.get("/v1/account/sessions").await.json()["items"][0]["id"].clone();
    let session = session.as_str().unwrap().parse().unwrap();
    let known = clients::find(&scene.app.app.store, &client.id).await.unwrap().unwrap();
    let mut hint = String::new();
    for organization in ["here", "there", ""] {
        let tokens = scene.tokens(&client, organization).await;
        tokens["id_token"].as_str().unwrap().clone_into(&mut hint);
        let id = claims(&hint);
        let subject = id["sub"].as_str().unwrap().parse().unwrap();
        let token = logout::token(&scene.app.app, &known, subject, session).await.unwrap();
        assert_eq!((&claims(&token)["sub"], &claims(&token)["sid"]), (&id["sub"], &id["sid"]));
    }
    // Another session of the same person is not this one.
    let mut second = Browser::new(&scene.app);
    let mut flow = second.open(json!({"kind": "sign_in"})).await;
    let input = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(&mut second, "password/check", input).await;
    if flow.stage() == "enrol" {
        flow.act(&mut second, "enrol/skip", nothing()).await;
    }
    let path = format!("/connect/logout?{}", encode(&[("id_token_hint", &hint)]));
    assert_eq!(get_json(&mut second, &path).await.json()["stage"], "confirm");
    assert_eq!(get_json(&mut scene.browser, &path).await.json()["stage"], "complete");
    assert!(scene.browser.session().is_none());
    let told = scene.app.count("SELECT count(*) FROM job WHERE kind = 'logout.tell'").await;
    assert_eq!(told, 3, "each of whom the client knows");
}
