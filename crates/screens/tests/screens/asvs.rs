//! What OWASP ASVS 5.0 requires of pages (docs/asvs.md).

use crate::driver::{Person, app};

#[tokio::test]
async fn asvs_6_2_6_and_6_2_7_password_fields_hide_and_leave_managers_alone() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    let (path, page) = ana.visit("/ui/sign-in").await;
    let page = ana.act(&page, &path, "show/password", &[("identifier", "ana@example.test")]).await;
    let text = page.text();
    assert!(text.contains("type=\"password\" autocomplete=\"current-password\""), "{text}");
    assert!(text.contains("autocomplete=\"username\" value=\"ana@example.test\""));
    assert!(text.contains("data-reveal=\"password\" aria-pressed=\"false\""), "it can be shown");
    ana.register("ana@example.test").await;
    let asked = ana.post("/ui/account/security", &[("action", "enrol"), ("kind", "password")]).await;
    let flow = asked.header("location").split('?').next().unwrap_or_default().to_owned();
    let page = ana.get(&flow).await;
    let fields = [("password", "correct horse battery"), ("known", "1")];
    let page = ana.act(&page, &flow, "password/check", &fields).await;
    let text = page.text();
    assert!(text.contains("type=\"password\" autocomplete=\"new-password\" passwordrules="), "{text}");
    for text in [text, ana.visit("/ui/sign-in").await.1.text()] {
        for blocked in ["onpaste", "autocomplete=\"off\"", "oncopy"] {
            assert!(!text.contains(blocked), "{blocked}");
        }
    }
}

#[tokio::test]
async fn asvs_7_4_4_every_page_of_the_account_has_a_way_out() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    for page in ["security", "sessions", "apps", "approvals", "keys", "organizations", "activity"] {
        let text = ana.get(&format!("/ui/account/{page}")).await.text();
        assert!(
            text.contains("action=\"/ui/account/sign-out\"><button class=\"link\">Sign out</button>"),
            "{page}"
        );
    }
    let out = ana.post("/ui/account/sign-out", &[]).await;
    assert_eq!(out.header("location"), "/connect/logout");
    assert_eq!(ana.get("/ui/account/security").await.header("location"), "/ui/sign-in");
}

#[tokio::test]
async fn asvs_6_6_1_whoever_adds_a_number_is_told_what_it_is_worth() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let asked = ana.post("/ui/account/security", &[("action", "enrol"), ("kind", "phone")]).await;
    let flow = asked.header("location").split('?').next().unwrap_or_default().to_owned();
    let page = ana.get(&flow).await;
    let page = ana.act(&page, &flow, "password/check", &[("password", "correct horse battery")]).await;
    assert!(page.text().contains("Text messages can be intercepted; a passkey is safer."), "{}", page.text());
}
