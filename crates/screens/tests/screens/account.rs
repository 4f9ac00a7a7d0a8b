//! What people see of their own account, and its texts.

use std::sync::Arc;

use porteiro_screens::{Deployment, mount};
use porteiro_service::oauth::{clients::Trust, scopes::STANDARD_SCOPES};
use porteiro_testkit::TestApp;

use crate::{
    around::{asking, belongs, client},
    driver::{Person, app, title},
};

#[tokio::test]
async fn a_key_is_offered_what_the_person_holds_and_nothing_else() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    assert!(ana.get("/ui/account/keys").await.text().contains("you are not a member of one yet"));
    let account = ana.get("/v1/account").await.json()["id"].as_str().expect("an id").parse().expect("an id");
    let owned = belongs(&app, account, "owned", "owner").await;
    let joined = belongs(&app, account, "joined", "member").await;
    let page = ana.get(&format!("/ui/account/keys?in={owned}")).await.text();
    let offered = |page: &str| page.matches("type=\"checkbox\" name=\"permission\"").count();
    assert!(page.contains("value=\"audit:read\"") && page.contains("Read the audit trail"), "{page}");
    assert!(!page.contains("platform."), "{page}");
    let fewer = ana.get(&format!("/ui/account/keys?in={joined}")).await.text();
    assert!(offered(&fewer) < offered(&page), "a member holds less than an owner");

    let organization = owned.to_string();
    let fields = [
        ("action", "make"),
        ("organization", organization.as_str()),
        ("name", "Report"),
        ("permission", "audit:read"),
        ("permission", "members:read"),
        ("days", "30"),
    ];
    let path = format!("/ui/account/keys?in={owned}");
    // A password that was just set is not a recent proof: the person has to prove it, and returns.
    let asked = ana.post(&path, &fields).await;
    let flow = asked.header("location").to_owned();
    if !flow.is_empty() {
        let step = ana.get(&flow).await;
        let at = flow.split('?').next().unwrap_or_default().to_owned();
        let proof = [("password", "correct horse battery"), ("back", "keys"), ("known", "1")];
        ana.act(&step, &at, "password/check", &proof).await;
    }
    let made = ana.post(&path, &fields).await.text();
    assert!(made.contains("pt_key_"), "{made}");
    assert!(made.contains("<code>audit:read</code>") && made.contains("<code>members:read</code>"));
    let none = ana.post(&path, &fields[..3]).await;
    assert_eq!(none.status, 422, "a key without permissions is none");

    // Whatever number of keys was revoked before: a valid key is on the page, and first.
    app.sql(
        "INSERT INTO api_key (key_id, kind, organization_id, membership_id, name, secret_hash, permissions, \
         allowed_networks, created_by, created_at, expires_at, revoked_at) \
         SELECT 'old' || n, kind, organization_id, membership_id, 'Old ' || n, 'x', permissions, allowed_networks, \
         created_by, created_at - interval '1 day' + n * interval '1 second', expires_at, now() \
         FROM api_key, generate_series(1, 130) n",
    )
    .await;
    let page = ana.get("/ui/account/keys").await.text();
    let at = |name: &str| page.find(&format!("<strong>{name}</strong>"));
    assert!(at("Report").is_some() && at("Report") < at("Old 130"), "{page}");
    assert!(at("Old 130") < at("Old 1") && at("Old 1").is_some(), "{page}");
}

#[tokio::test]
async fn a_phone_can_be_added_where_codes_can_be_sent() {
    for texts in [false, true] {
        let app = TestApp::builder().people().start().await;
        let deployment = Deployment::of(&app.app.checked.settings, Arc::clone(&app.app.entropy));
        let mut deployment = deployment.expect("a deployment");
        deployment.texts = texts;
        let app = Arc::new(app.mounted(|router| mount(router, deployment)));
        let mut ana = Person::new(&app);
        ana.register("ana@example.test").await;
        let page = ana.get("/ui/account/security").await.text();
        assert_eq!(page.contains("name=\"kind\" value=\"phone\""), texts);
        let asked = ana.post("/ui/account/security", &[("action", "enrol"), ("kind", "phone")]).await;
        assert!(asked.header("location").starts_with("/ui/flow/"));
    }
}

#[tokio::test]
async fn what_is_consented_to_is_said_in_the_language_of_the_page() {
    let (app, _) = app().await;
    let client = client(&app, Trust::Verified).await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let (path, page) = ana.visit(&asking(&client, "openid%20email")).await;
    assert_eq!(title(&page), "Allow Ledger?", "{}", page.text());
    let email = STANDARD_SCOPES.iter().find(|scope| scope.name == "email").expect("a scope");
    assert!(page.text().contains(email.en));
    let page = ana.get(&format!("{path}?lang=pt")).await.text();
    assert!(page.contains(email.pt) && !page.contains(email.en), "{page}");

    // The account page shows the same.
    let page = ana.get(&path).await;
    ana.act(&page, &path, "consent/allow", &[]).await;
    app.sql("UPDATE oauth_grant SET generation = 1").await;
    let page = ana.get("/ui/account/apps?lang=en").await.text();
    assert!(page.contains(&format!("<li>{}</li>", email.en)) && !page.contains("<code>email"), "{page}");
}

#[tokio::test]
async fn leaving_an_organization_is_asked_for_with_a_proof_and_then_done() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let account = ana.get("/v1/account").await.json()["id"].as_str().expect("an id").parse().expect("an id");
    let joined = belongs(&app, account, "joined", "member").await.to_string();
    let fields = [("action", "leave"), ("id", joined.as_str())];
    // A password that was just set is not a recent proof: the person has to prove it, and returns.
    let asked = ana.post("/ui/account/organizations", &fields).await;
    let flow = asked.header("location").to_owned();
    assert!(flow.starts_with("/ui/flow/"), "{flow}");
    assert!(ana.get("/ui/account/organizations").await.text().contains("joined"), "still there");
    let step = ana.get(&flow).await;
    let at = flow.split('?').next().unwrap_or_default().to_owned();
    let proof = [("password", "correct horse battery"), ("back", "organizations"), ("known", "1")];
    let back = ana.act(&step, &at, "password/check", &proof).await;
    assert_eq!(back.header("location"), "/ui/account/organizations");
    let left = ana.post("/ui/account/organizations", &fields).await;
    assert_eq!(left.header("location"), "/ui/account/organizations?done=left");
}

#[tokio::test]
async fn attempts_of_strangers_are_one_line_and_bury_nothing() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let mut stranger = Person::new(&app);
    let (path, page) = stranger.visit("/ui/sign-in").await;
    let guess = [("identifier", "ana@example.test"), ("password", "a wild guess, and wrong")];
    stranger.act(&page, &path, "password/check", &guess).await;
    let page = ana.get("/ui/account/activity").await.text();
    assert_eq!(page.matches("<strong>Sign-in attempt refused</strong>").count(), 1, "{page}");
    // As many more as the limits allow within some weeks.
    app.sql(
        "INSERT INTO security_log (entry_id, subject_id, kind, payload, at)
         SELECT overlay(entry_id::text placing '7fff-bfff-' || lpad(n::text, 12, '0') from 15)::uuid, subject_id, kind,
                payload, at
         FROM security_log, generate_series(1, 149) n WHERE kind = 'proof.refused'",
    )
    .await;
    let page = ana.get("/ui/account/activity").await.text();
    assert_eq!(page.matches("<strong>100 sign-in attempts refused</strong>").count(), 1, "{page}");
    assert!(page.contains("<strong>Account created</strong>") && page.contains("<strong>Signed in</strong>"));
    let page = ana.get("/ui/account/activity?lang=pt").await.text();
    assert!(page.contains("<strong>100 tentativas de entrada recusadas</strong>"), "{page}");
}

/// Sends a form of the page about the person, proving the password if that is asked for.
async fn proved(ana: &mut Person, action: &str) -> porteiro_testkit::Answer {
    let fields = [("action", action)];
    let asked = ana.post("/ui/account/profile", &fields).await;
    let flow = asked.header("location").to_owned();
    if !flow.starts_with("/ui/flow/") {
        return asked;
    }
    let step = ana.get(&flow).await;
    let at = flow.split('?').next().unwrap_or_default().to_owned();
    let proof = [("password", "correct horse battery"), ("back", "profile"), ("known", "1")];
    ana.act(&step, &at, "password/check", &proof).await;
    ana.post("/ui/account/profile", &fields).await
}

#[tokio::test]
async fn a_person_is_renamed_gets_their_data_and_leaves_in_both_languages() {
    for (language, title_of, gone) in [
        ("en", "Your details", "Your account will be deleted"),
        ("pt-BR", "Seus dados", "Sua conta será excluída"),
    ] {
        let (app, _) = app().await;
        let mut ana = Person::new(&app);
        ana.language = language;
        ana.register("ana@example.test").await;
        assert_eq!(title(&ana.get("/ui/account/profile").await), title_of);
        let locale = if language == "en" { "en" } else { "pt-BR" };
        let save = |name| [("action", "save"), ("display_name", name), ("locale", locale)];
        assert_eq!(ana.post("/ui/account/profile", &save(" ")).await.status, 422);
        let saved = ana.post("/ui/account/profile", &save("Ana Souza")).await;
        assert_eq!(saved.header("location"), "/ui/account/profile?done=saved");
        assert!(ana.get("/ui/account/profile").await.text().contains("value=\"Ana Souza\""));

        let file = proved(&mut ana, "export").await;
        assert_eq!((file.status.as_u16(), file.header("content-type")), (200, "application/json"));
        assert_eq!(file.header("content-disposition"), "attachment; filename=\"account.json\"");
        assert_eq!(file.header("cache-control"), "no-store");
        assert_eq!(file.json()["data"]["account"][0]["display_name"], "Ana Souza");

        let left = proved(&mut ana, "delete").await;
        assert_eq!((left.status.as_u16(), title(&left).as_str()), (200, gone));
        assert_eq!(ana.get("/ui/account/profile").await.header("location"), "/ui/sign-in");
    }
}

#[tokio::test]
async fn the_only_owner_of_others_is_told_which_organizations_stand_in_the_way() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let account = ana.get("/v1/account").await.json()["id"].as_str().expect("an id").parse().expect("an id");
    let owned = belongs(&app, account, "owned", "owner").await;
    let mut bia = Person::new(&app);
    bia.register("bia@example.test").await;
    app.sql(&format!(
        "INSERT INTO membership (organization_id, membership_id, account_id, state, source, display_name, primary_role)
         SELECT '{owned}', gen_random_uuid(), account_id, 'active', 'admin', 'Bia', 'member' FROM account
         WHERE account_id <> '{account}'"
    ))
    .await;
    let refused = proved(&mut ana, "delete").await;
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("You are the only owner of: "), "{}", refused.text());
}
