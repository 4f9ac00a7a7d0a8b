//! `/o/{organization}`: the address that an organization hands to its people.

use crate::{
    around::belongs,
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
