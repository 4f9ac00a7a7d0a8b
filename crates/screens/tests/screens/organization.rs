//! `/o/{organization}`: the address that an organization hands to its people.

use porteiro_protocol::id::OrganizationId;
use porteiro_service::oauth::clients::Trust;
use porteiro_testkit::TestApp;

use crate::{
    around::{asking, belongs, client, payroll},
    driver::{Person, app, title},
};

const PASSWORD: &[(&str, &str)] =
    &[("identifier", "ana@example.test"), ("password", "correct horse battery")];

#[tokio::test]
async fn a_member_signs_in_and_lands_on_their_organizations() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let account = ana.get("/v1/account").await.json()["id"].as_str().expect("an id").parse().expect("an id");
    belongs(&app, account, "acme", "member").await;
    // Who is signed in is asked nothing.
    assert_eq!(ana.get("/o/acme").await.header("location"), "/ui/account/organizations");
    let mut elsewhere = Person::new(&app);
    let (path, page) = elsewhere.visit("/o/acme").await;
    assert_eq!(title(&page), "Sign in", "{}", page.text());
    let done = elsewhere.act(&page, &path, "password/check", PASSWORD).await;
    let done = if done.status == 303 { done } else { elsewhere.act(&done, &path, "enrol/skip", &[]).await };
    assert_eq!(done.header("location"), "/ui/account/organizations", "{}", done.text());
    assert!(elsewhere.get("/ui/account/organizations").await.text().contains("acme"));
}

#[tokio::test]
async fn whoever_is_no_member_reads_so_after_signing_in_in_both_languages() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    for (language, words) in
        [("en", "We can’t open this organization"), ("pt-BR", "Não podemos abrir esta organização")]
    {
        ana.language = language;
        ana.cookies.remove("language");
        let page = ana.get(&format!("/o/nowhere?lang={}", &language[..2])).await;
        assert_eq!(title(&page), words, "{}", page.text());
        assert!(page.text().contains("href=\"/ui/sign-in\""), "{}", page.text());
    }
    let mut nobody = Person::new(&app);
    let (path, page) = nobody.visit("/o/nowhere").await;
    assert_eq!(title(&page), "Sign in");
    let page = nobody.act(&page, &path, "password/check", PASSWORD).await;
    assert_eq!(title(&page), "We can’t open this organization", "{}", page.text());
}

#[tokio::test]
async fn a_name_that_none_can_have_is_a_page_that_does_not_exist() {
    let (app, _) = app().await;
    let page = Person::new(&app).get(&format!("/o/{}", "a".repeat(101))).await;
    assert_eq!(title(&page), "Page not found", "{}", page.text());
}

/// A directory, and the domain of its people.
async fn connected(app: &TestApp, organization: OrganizationId) {
    app.sql(&format!(
        "INSERT INTO organization_connection (organization_id, connection_id, name, issuer, client_id,
             client_authentication, algorithm, enabled, subject_claim, authoritative)
         VALUES ('{organization}', gen_random_uuid(), 'Acme directory', 'https://login.example.test', 'x',
             'private_key_jwt', 'ES256', true, 'sub', false);
         INSERT INTO organization_domain (organization_id, domain_id, name, value, state)
         VALUES ('{organization}', gen_random_uuid(), 'example.test', 'x', 'verified')"
    ))
    .await;
}

#[tokio::test]
async fn its_connections_are_on_the_page_and_behind_the_mailed_link_for_this_browser_alone() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let account = ana.get("/v1/account").await.json()["id"].as_str().expect("an id").parse().expect("an id");
    connected(&app, belongs(&app, account, "acme", "member").await).await;
    let mut somebody = Person::new(&app);
    let (_, page) = somebody.visit("/o/acme").await;
    assert!(page.text().contains("Sign in with Acme directory"), "{}", page.text());

    payroll(&app).await;
    let client = client(&app, Trust::Verified).await;
    app.catch_up().await;
    let (path, page) = somebody.visit(&asking(&client, "openid%20salaries%3Aread")).await;
    assert!(!page.text().contains("Acme"), "{}", page.text());
    let page = somebody.act(&page, &path, "email_code/send", &[("identifier", "new@example.test")]).await;
    assert!(!page.text().contains("Acme"), "{}", page.text());
    let (_, mail) = app.mail("new@example.test").await;
    let link = mail.lines().rfind(|line| line.contains("/ui/link#")).expect("a link");
    let token = link.rsplit('.').next().expect("a token");
    let mut elsewhere = Person::new(&app);
    let other = elsewhere.act(&page, &path, "email_link/redeem", &[("token", token)]).await;
    assert_eq!(other.status, 404, "{}", other.text());
    let page = somebody.act(&page, &path, "email_link/redeem", &[("token", token)]).await;
    assert_eq!(title(&page), "Sign in with your organization", "{}", page.text());
    assert!(page.text().contains("Sign in with Acme directory"), "{}", page.text());
}
