//! Sign-in by text message through forms alone.

use http::StatusCode;

use crate::driver::{Person, app, app_with, title};

const NUMBER: &str = "+351912345678";
const NOTICE: &str = "Text messages can be intercepted; a passkey is safer.";

#[tokio::test]
async fn a_number_signs_in_without_script() {
    let (app, _) = app_with(|settings| settings.sms_sign_in = true).await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let asked = ana.post("/ui/account/security", &[("action", "enrol"), ("kind", "phone")]).await;
    let flow = asked.header("location").split('?').next().unwrap_or_default().to_owned();
    let page = ana.get(&flow).await;
    let page = ana.act(&page, &flow, "password/check", &[("password", "correct horse battery")]).await;
    assert!(page.text().contains("name=\"signs_in\" value=\"true\""), "{}", page.text());
    let fields = [("number", NUMBER), ("signs_in", "true")];
    let page = ana.act(&page, &flow, "phone/add", &fields).await;
    let code = app.texted_code(NUMBER).await;
    ana.act(&page, &flow, "phone/verify", &[("code", &code)]).await;
    assert!(ana.get("/ui/account/security").await.text().contains("Signs you in"));

    app.sql("DELETE FROM job WHERE kind = 'sms.send'; DELETE FROM limit_bucket").await;
    let mut ana = Person::new(&app);
    let (path, page) = ana.visit("/ui/sign-in").await;
    let address = ("identifier", "ana@example.test");
    let page = ana.act(&page, &path, "show/send-text", &[address]).await;
    assert_eq!(title(&page), "Sign in by text message");
    assert!(page.text().contains(NOTICE) && page.text().contains("value=\"ana@example.test\""));
    let wrong = ana.act(&page, &path, "sms_code/send", &[("identifier", "ana at example")]).await;
    assert_eq!((wrong.status, title(&wrong)), (StatusCode::UNPROCESSABLE_ENTITY, title(&page)));
    let page = ana.act(&page, &path, "sms_code/send", &[address]).await;
    assert_eq!(title(&page), "Check your phone");
    assert!(page.text().contains("If this address has a phone number to sign in with"), "{}", page.text());
    let code = app.texted_code(NUMBER).await;
    let done = ana.act(&page, &path, "sms_code/check", &[("code", &code), address]).await;
    assert_eq!((done.status, done.header("location")), (StatusCode::SEE_OTHER, "/ui/account"));
}

#[tokio::test]
async fn every_address_leads_to_the_same_page_and_back() {
    let (app, _) = app_with(|settings| settings.sms_sign_in = true).await;
    let mut stranger = Person::new(&app);
    stranger.language = "pt";
    let (path, page) = stranger.visit("/ui/sign-in").await;
    assert!(page.text().contains("value=\"show/send-text\""));
    let address = ("identifier", "nobody@example.test");
    let page = stranger.act(&page, &path, "sms_code/send", &[address]).await;
    assert_eq!(title(&page), "Confira seu celular");
    let page = stranger.act(&page, &path, "flow/back", &[address]).await;
    assert_eq!(title(&page), "Entrar");
    let page = stranger.act(&page, &path, "email_code/send", &[address]).await;
    let page = stranger.act(&page, &path, "show/send-text", &[address]).await;
    assert_eq!(title(&page), "Entrar por SMS", "also after a mail was sent");
}

#[tokio::test]
async fn it_is_on_no_page_where_it_is_off() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    let (path, page) = ana.visit("/ui/sign-in").await;
    assert!(!page.text().contains("send-text"));
    assert_eq!(title(&ana.get(&format!("{path}?with=send-text")).await), "Sign in");
}
