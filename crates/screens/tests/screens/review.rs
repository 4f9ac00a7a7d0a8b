//! Small faults that a hostile review found, as far as pages show them: row 20 of `docs/security/review.md`, and rows 9
//! and 18.

use std::sync::Arc;

use porteiro_testkit::TestApp;

use crate::{
    around::belongs,
    driver::{Person, app, title},
};

const ANA: &str = "ana@example.test";

async fn proves(ana: &mut Person, flow: &str) {
    let page = ana.get(flow).await;
    let path = flow.split('?').next().unwrap_or_default().to_owned();
    ana.act(&page, &path, "password/check", &[("password", "correct horse battery"), ("known", "1")]).await;
}

fn token(page: &str) -> String {
    let rest = page.split("name=\"token\" value=\"").nth(1).expect("a token");
    rest.split('"').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn row_20_loading_the_page_of_a_new_key_again_makes_no_other_key() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register(ANA).await;
    let account = ana.get("/v1/account").await.json()["id"].as_str().expect("an id").parse().expect("an id");
    let organization = belongs(&app, account, "owned", "owner").await.to_string();
    let token = token(&ana.get("/ui/account/keys").await.text());
    let fields = [
        ("action", "make"),
        ("token", token.as_str()),
        ("organization", organization.as_str()),
        ("name", "Report"),
        ("permission", "audit:read"),
        ("days", "30"),
    ];
    let path = format!("/ui/account/keys?in={organization}");
    let asked = ana.post(&path, &fields).await;
    proves(&mut ana, asked.header("location")).await;
    let made = ana.post(&path, &fields).await;
    assert!(made.text().contains("pt_key_"), "{}", made.text());
    let again = ana.post(&path, &fields).await;
    assert_eq!(again.status, 422);
    assert!(
        again.text().contains("already created") && !again.text().contains("pt_key_"),
        "{}",
        again.text()
    );
    assert_eq!(app.count("SELECT count(*) FROM api_key").await, 1);
}

#[tokio::test]
async fn row_20_a_page_speaks_the_language_of_the_account() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register(ANA).await;
    app.sql("UPDATE account SET locale = 'pt'").await;
    let page = ana.get("/ui/account/security").await.text();
    assert!(page.contains("<html lang=\"pt-BR\""), "{page}");
    let chosen = ana.get("/ui/account/security?lang=en").await.text();
    assert!(chosen.contains("<html lang=\"en\""), "what was chosen comes first");
    assert!(ana.get("/ui/account/security").await.text().contains("<html lang=\"en\""), "and is remembered");

    // An unknown person sees the browser's language until the account is known.
    let mut other = Person::new(&app);
    let (path, page) = other.visit("/ui/sign-in").await;
    assert!(page.text().contains("<html lang=\"en\""));
    let fields = [("identifier", ANA), ("password", "correct horse battery")];
    let page = other.act(&page, &path, "password/check", &fields).await;
    assert!(page.text().contains("<html lang=\"pt-BR\""), "{}", page.text());
}

/// The buttons of a page in order, with their classes.
fn buttons(page: &str) -> Vec<(String, String)> {
    let attribute = |tag: &str, name: &str| {
        let rest = tag.split(&format!("{name}=\"")).nth(1).unwrap_or_default();
        rest.split('"').next().unwrap_or_default().to_owned()
    };
    let tags = page.split("<button").skip(1).map(|rest| rest.split('>').next().unwrap_or_default());
    tags.map(|tag| (attribute(tag, "value") + &attribute(tag, "data-passkey"), attribute(tag, "class")))
        .collect()
}

#[tokio::test]
async fn row_20_the_sign_in_page_puts_the_passkey_first() {
    let (app, _) = app().await;
    let (_, page) = Person::new(&app).visit("/ui/sign-in").await;
    let buttons = buttons(&page.text());
    let named = |name: &str| buttons.iter().position(|(known, _)| known == name);
    assert_eq!(named("get"), Some(0), "{buttons:?}");
    assert!(named("email_code/send") > named("get"), "{buttons:?}");
    assert_eq!(buttons[0].1, "primary script", "the style hides it where no script runs");
    let (_, fallback) = &buttons[named("email_code/send").expect("a code by mail")];
    assert_eq!(fallback, "primary fallback", "the first way where there is no passkey, else the second");
}

#[tokio::test]
async fn row_20_signing_out_on_a_page_without_a_session_forgets_the_flows() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.visit("/ui/sign-in").await;
    assert!(ana.cookies.contains_key("__Host-bind"));
    let left = ana.post("/ui/account/sign-out", &[]).await;
    ana.visit(left.header("location")).await;
    assert!(!ana.cookies.contains_key("__Host-bind"));
}

/// Signs in with a mailed code, as far as that leads.
async fn by_mail(app: &Arc<TestApp>, ana: &mut Person) -> (String, porteiro_testkit::Answer) {
    app.forget_limits().await;
    let (path, page) = ana.visit("/ui/sign-in").await;
    let page = ana.act(&page, &path, "email_code/send", &[("identifier", ANA)]).await;
    let code = ana.code(ANA).await;
    let page = ana.act(&page, &path, "email_code/check", &[("code", &code)]).await;
    (path, page)
}

#[tokio::test]
async fn row_09_the_second_step_is_a_page_and_recovery_is_within_reach() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register(ANA).await;
    app.sql(
        "INSERT INTO credential (account_id, credential_id, kind, label, body) \
         SELECT account_id, gen_random_uuid(), 'totp', 'Authenticator app', '{}' FROM account",
    )
    .await;
    let (_, page) = by_mail(&app, &mut Person::new(&app)).await;
    let text = page.text();
    assert_eq!(title(&page), "Enter the code from your app");
    assert!(text.contains("value=\"totp/check\"") && text.contains("href=\"/ui/recover\""), "{text}");
    assert!(text.contains("Your account has a second step"), "{text}");
}

/// Everything but a passkey works without script: here a password, then an authenticator app.
#[tokio::test]
async fn row_18_what_a_level_asks_for_is_set_up_on_the_way() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    let opened = ana.post_json("/v1/flows", r#"{"kind":"register","level":"aal2"}"#).await.json();
    let path = format!("/ui/flow/{}", opened["id"].as_str().expect("an id"));
    let page = ana.get(&path).await;
    let page = ana.act(&page, &path, "email_code/send", &[("identifier", ANA)]).await;
    let code = ana.code(ANA).await;
    let page = ana.act(&page, &path, "email_code/check", &[("code", &code)]).await;
    let page = ana.act(&page, &path, "profile/set", &[("display_name", "Ana")]).await;
    assert_eq!(title(&page), "Set up a stronger sign-in");
    assert!(!page.text().contains("enrol/skip"), "{}", page.text());
    let page = ana.act(&page, &path, "password/set", &[("new_password", "correct horse battery")]).await;
    assert_eq!(title(&page), "Set up a stronger sign-in");
    assert!(!page.text().contains("password/set"), "{}", page.text());
    let page = ana.act(&page, &path, "totp/enrol_begin", &[]).await;
    assert_eq!(title(&page), "Set up an authenticator app");
    let wrong = ana.act(&page, &path, "totp/enrol_finish", &[("code", "000000")]).await;
    assert_eq!((wrong.status.as_u16(), title(&wrong).as_str()), (422, "Set up an authenticator app"));
}
