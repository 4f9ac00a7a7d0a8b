//! Flows through forms alone.

use http::StatusCode;

use porteiro_protocol::assurance::Level;

use crate::{
    approvals::code,
    driver::{Person, app, app_with, title},
};

#[tokio::test]
async fn registration_ends_at_the_account() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    let done = ana.register("ana@example.test").await;
    assert_eq!(done.status, StatusCode::SEE_OTHER);
    assert_eq!(done.header("location"), "/ui/account");
    let (path, page) = ana.visit("/ui/account").await;
    assert_eq!((path.as_str(), title(&page).as_str()), ("/ui/account/security", "Security"));
    assert!(page.text().contains("How you sign in, Ana."));
}

#[tokio::test]
async fn what_is_wrong_is_said_beside_the_field_and_typed_again_by_nobody() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    let (path, page) = ana.visit("/ui/sign-in").await;
    let wrong = ana.act(&page, &path, "email_code/send", &[("identifier", "ana at example")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    let text = wrong.text();
    assert!(text.contains("<title>Error: Sign in"), "{text}");
    assert!(text.contains("href=\"#identifier\">Enter an e-mail address"));
    assert!(text.contains("value=\"ana at example\" aria-invalid=\"true\" aria-describedby=\"problem\""));
}

#[tokio::test]
async fn whether_somebody_has_an_account_is_not_said() {
    let (app, _) = app().await;
    Person::new(&app).register("ana@example.test").await;
    let mut pages = Vec::new();
    for address in ["ana@example.test", "nobody@example.test"] {
        let mut stranger = Person::new(&app);
        let (path, page) = stranger.visit("/ui/sign-in").await;
        let fields = [("identifier", address), ("password", "not the right password")];
        let page = stranger.act(&page, &path, "password/check", &fields).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
        let id = path.rsplit('/').next().unwrap_or_default();
        let nonce = page.text().split("nonce=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        pages.push(page.text().replace(id, "ID").replace(&nonce, "NONCE").replace(address, "ADDRESS"));
    }
    assert_eq!(pages[0], pages[1]);
}

#[tokio::test]
async fn the_language_is_the_persons_and_goes_into_the_mail() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.language = "pt-PT,pt;q=0.9,en;q=0.5";
    let (path, page) = ana.visit("/ui/register").await;
    assert_eq!(title(&page), "Crie sua conta");
    assert!(page.text().contains("<html lang=\"pt-BR\""));
    let page = ana.act(&page, &path, "email_code/send", &[("identifier", "ana@example.test")]).await;
    assert_eq!(title(&page), "Confira seu e-mail");
    let (_, page) = ana.visit("/ui/sign-in?lang=en").await;
    assert_eq!(title(&page), "Sign in");
    assert_eq!(ana.cookies.get("__Host-lang").map(String::as_str), Some("en"));
}

#[tokio::test]
async fn another_sites_form_changes_nothing() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    let (path, page) = ana.visit("/ui/sign-in").await;
    for origin in ["https://evil.example", "null"] {
        ana.origin = origin;
        let refused = ana.act(&page, &path, "email_code/send", &[("identifier", "ana@example.test")]).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{origin}");
    }
    let signed_out = ana.post("/ui/account/sign-out", &[]).await;
    assert_eq!(signed_out.header("location"), "/ui/sign-in");
    ana.origin = crate::driver::ORIGIN;
    ana.register("ana@example.test").await;
    ana.origin = "https://evil.example";
    let refused = ana.post("/ui/account/sign-out", &[]).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let (path, _) = ana.visit("/ui/account").await;
    assert_eq!(path, "/ui/account/security", "still signed in");
}

#[tokio::test]
async fn a_flow_of_another_browser_does_not_exist() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    let (path, _) = ana.visit("/ui/sign-in").await;
    let page = Person::new(&app).get(&path).await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert_eq!(title(&page), "This page is not for this browser");
}

#[tokio::test]
async fn what_is_typed_stays_text() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    let (path, page) = ana.visit("/ui/sign-in").await;
    let hostile = "\"><script>alert(1)</script>@x";
    let page = ana.act(&page, &path, "email_code/send", &[("identifier", hostile), ("back", hostile)]).await;
    assert!(!page.text().contains("<script>alert"));
    // The page to return to is one of ours, by name.
    let page = ana.get(&format!("{path}?back=https://evil.example&with=password")).await;
    assert!(!page.text().contains("evil"));
}

#[tokio::test]
async fn sessions_are_ended_after_a_fresh_proof() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let other = app.from_address([203, 0, 113, 9]);
    let mut elsewhere = Person::new(&other);
    let (path, page) = elsewhere.visit("/ui/sign-in").await;
    let fields = [("identifier", "ana@example.test"), ("password", "correct horse battery")];
    let page = elsewhere.act(&page, &path, "password/check", &fields).await;
    elsewhere.act(&page, &path, "enrol/skip", &[]).await;
    // The mailbox and a password set at registration no longer reach the account's best level.
    let asked = ana.post("/ui/account/sessions", &[("action", "end-others")]).await;
    let flow = asked.header("location").to_owned();
    assert!(flow.starts_with("/ui/flow/") && flow.ends_with("?back=sessions"), "{flow}");
    let page = ana.get(&flow).await;
    let path = flow.split('?').next().unwrap_or_default();
    let fields = [("password", "correct horse battery"), ("back", "sessions"), ("known", "1")];
    let done = ana.act(&page, path, "password/check", &fields).await;
    assert_eq!(done.header("location"), "/ui/account/sessions");
    let done = ana.post("/ui/account/sessions", &[("action", "end-others")]).await;
    assert_eq!(done.header("location"), "/ui/account/sessions?done=ended-others");
    assert!(
        ana.get("/ui/account/sessions?done=ended-others")
            .await
            .text()
            .contains("Signed out everywhere else.")
    );
    assert_eq!(elsewhere.get("/ui/account/security").await.header("location"), "/ui/sign-in");
}

#[tokio::test]
async fn a_connection_is_a_button_for_whoever_signs_in_and_can_be_linked_on_the_page_about_security() {
    let (app, _) = app().await;
    let id = "11111111-1111-4111-8111-111111111111";
    app.sql(&format!(
        "INSERT INTO connection (connection_id, name, issuer, client_id, client_authentication, algorithm, enabled)
         VALUES ('{id}', 'Example', 'https://login.invalid', 'porteiro', 'private_key_jwt', 'ES256', true)"
    ))
    .await;
    let mut ana = Person::new(&app);
    let (path, page) = ana.visit("/ui/sign-in").await;
    assert!(page.text().contains("Sign in with Example") && page.text().contains(id));
    let form = [("action", "federated/begin"), ("step", "1"), ("connection", id)];
    let answer = ana.post(&path, &form).await;
    assert!(answer.status == 422 && answer.text().contains("cannot be reached now"), "{}", answer.text());
    ana.register("ana@example.test").await;
    let page = ana.visit("/ui/account/security").await.1.text();
    assert!(page.contains("Link a service"));
}

/// Where the deployment requires two factors, a registration sets them up and says so, and a session whose level has decayed
/// is raised before the account is shown.
#[tokio::test]
async fn a_minimum_level_is_set_up_at_registration_and_renewed_at_the_account() {
    for (language, demanded, why, confirm) in [
        (
            "en",
            "Set up a stronger sign-in",
            "This needs a stronger sign-in",
            ">Please confirm that it’s you.",
        ),
        (
            "pt-BR",
            "Configure um acesso mais forte",
            "Isso pede um acesso mais forte",
            ">Confirme que é você.",
        ),
    ] {
        let (app, _) = app_with(|settings| settings.minimum_level = Level::Aal2).await;
        let mut ana = Person::new(&app);
        ana.language = language;
        let page = ana.register("ana@example.test").await;
        assert_eq!(title(&page), demanded);
        assert!(page.text().contains(why) && !page.text().contains("enrol/skip"), "{}", page.text());
        let path = ana.been.last().expect("the flow").clone();
        let page = ana.act(&page, &path, "totp/enrol_begin", &[]).await;
        let code = code(&page.text());
        let done = ana.act(&page, &path, "totp/enrol_finish", &[("code", &code)]).await;
        assert_eq!(done.header("location"), "/ui/account", "{}", done.text());
        assert_eq!(ana.visit("/ui/account").await.0, "/ui/account/security");
        app.sql("UPDATE session SET proofs = (SELECT jsonb_agg(jsonb_set(p, '{at}', to_jsonb((p->>'at')::bigint - 172800))) FROM jsonb_array_elements(proofs) p)").await;
        let (path, page) = ana.visit("/ui/account/keys").await;
        assert!(path.starts_with("/ui/flow/") && path.ends_with("back=keys"), "{path}");
        assert!(page.text().contains("totp/check") && page.text().contains(confirm), "{}", page.text());
        assert_eq!(ana.visit("/ui/step-up").await.0.split('/').nth(2), Some("flow"));
        let mut nobody = Person::new(&app);
        nobody.visit("/ui/step-up").await;
        assert!(nobody.been.iter().any(|path| path == "/ui/sign-in"), "{:?}", nobody.been);
    }
}
