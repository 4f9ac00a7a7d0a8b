//! The requests for approval that people see, and how they decide.

use porteiro_protocol::{id::AccountId, totp::TotpSecret};
use porteiro_service::oauth::scopes::STANDARD_SCOPES;

use crate::{
    around::{asks, asks_for_transfer},
    driver::{Person, app, title},
};

async fn account(ana: &mut Person) -> AccountId {
    ana.get("/v1/account").await.json()["id"].as_str().expect("an id").parse().expect("an id")
}

/// The id of the request on the page, and its three numbers.
fn picks(page: &str) -> (String, Vec<String>) {
    let id = page.split("id=\"pick-").nth(1).and_then(|rest| rest.split('"').next()).expect("a request");
    let numbers = page.split("value=\"approve-").skip(1).filter_map(|rest| rest.split('"').next());
    (id.to_owned(), numbers.map(ToOwned::to_owned).collect())
}

#[tokio::test]
async fn an_approval_is_shown_in_words_and_decided_by_the_number() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let account = account(&mut ana).await;
    assert!(ana.get("/ui/account/approvals?lang=en").await.text().contains("Nothing waits for you."));
    let email = STANDARD_SCOPES.iter().find(|scope| scope.name == "email").expect("a scope");

    let (_, number) = asks(&app, account).await;
    let page = ana.get("/ui/account/approvals").await.text();
    assert!(page.contains("Ledger agent") && page.contains(&format!("<li>{}</li>", email.en)), "{page}");
    assert!(page.contains("<q>Order 7</q>"), "{page}");
    let (id, numbers) = picks(&page);
    assert_eq!(numbers.len(), 3, "{page}");
    assert!(page.find("value=\"deny\"") < page.find("value=\"approve-"), "to deny is the default");
    let portuguese = ana.get("/ui/account/approvals?lang=pt").await.text();
    assert!(portuguese.contains("Aprovações") && portuguese.contains(email.pt), "{portuguese}");
    ana.get("/ui/account/approvals?lang=en").await;

    let pick = format!("approve-{number}");
    let fields = [("id", id.as_str()), ("action", pick.as_str())];
    let done = ana.post("/ui/account/approvals", &fields).await;
    let one = format!("/ui/account/approvals/{id}");
    assert_eq!(done.header("location"), format!("{one}?done=approved"));
    let page = ana.get(&format!("{one}?done=approved")).await;
    assert_eq!(title(&page), "Approved");
    let page = page.text();
    assert!(page.contains("The app can do exactly this, once.") && page.contains("Take it back"), "{page}");
    assert!(ana.get("/ui/account/approvals").await.text().contains("Earlier"));
    let again = ana.post("/ui/account/approvals", &fields).await;
    assert!(again.text().contains("That was decided already"), "{}", again.text());
}

#[tokio::test]
async fn a_wrong_number_and_a_report_say_what_they_did() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let account = account(&mut ana).await;
    let (_, number) = asks(&app, account).await;
    let (id, numbers) = picks(&ana.get("/ui/account/approvals").await.text());
    let wrong = numbers.iter().find(|one| **one != number.to_string()).expect("another");
    let pick = format!("approve-{wrong}");
    let done = ana.post("/ui/account/approvals", &[("id", id.as_str()), ("action", pick.as_str())]).await;
    let there = format!("/ui/account/approvals/{id}?done=wrong-number");
    assert_eq!(done.header("location"), there);
    let page = ana.get(&there).await.text();
    assert!(page.contains("<p class=\"alert\" role=\"alert\">That is not the number"), "{page}");
    assert!(!page.contains("notice good"), "{page}");

    asks(&app, account).await;
    let (id, _) = picks(&ana.get("/ui/account/approvals").await.text());
    let done = ana.post("/ui/account/approvals", &[("id", id.as_str()), ("action", "report")]).await;
    let one = format!("/ui/account/approvals/{id}");
    assert_eq!(done.header("location"), format!("{one}?done=blocked"));
    let page = ana.get(&format!("{one}?lang=en")).await;
    assert_eq!(title(&page), "Blocked");
    assert!(page.text().contains("The app cannot ask you for a day."), "{}", page.text());
    assert!(!page.text().contains("value=\"report\""), "{}", page.text());
    let page = ana.get(&format!("{one}?lang=pt")).await;
    assert_eq!(title(&page), "Bloqueado");
    assert!(page.text().contains("fica um dia sem poder pedir"), "{}", page.text());
}

/// The code that the authenticator app shows for the secret on the page.
pub fn code(page: &str) -> String {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let text = page.split("id=\"secret\">").nth(1).and_then(|rest| rest.split('<').next()).expect("a secret");
    let digits = text.chars().filter_map(|letter| LETTERS.find(letter));
    let bits: Vec<bool> =
        digits.flat_map(|digit| (0..5).rev().map(move |bit| digit >> bit & 1 == 1)).collect();
    let bytes: Vec<u8> =
        bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |all, bit| all << 1 | u8::from(*bit))).collect();
    let seconds = std::time::UNIX_EPOCH.elapsed().expect("a time").as_secs();
    TotpSecret::from_bytes(&bytes).expect("a secret").code(i64::try_from(seconds / 30).expect("a step"))
}

#[tokio::test]
async fn what_cannot_be_undone_leads_through_a_stronger_proof_and_back() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let account = account(&mut ana).await;
    let (_, number) = asks_for_transfer(&app, account).await;
    let page = ana.get("/ui/account/approvals").await.text();
    assert!(page.contains("Transfer <bdi>7</bdi>") && page.contains("Cannot be undone"), "{page}");
    let (id, _) = picks(&page);
    let pick = format!("approve-{number}");
    let fields = [("id", id.as_str()), ("action", pick.as_str())];
    let asked = ana.post("/ui/account/approvals", &fields).await;
    let flow = asked.header("location").to_owned();
    assert!(flow.starts_with("/ui/flow/") && flow.contains("back=approvals"), "{flow}");
    assert!(ana.get("/ui/account/approvals").await.text().contains("value=\"deny\""), "it still waits");
    let at = flow.split('?').next().unwrap_or_default().to_owned();
    let back = ("back", "approvals");
    let step = ana.get(&flow).await;
    let proof = [("password", "correct horse battery"), ("known", "1"), back];
    let step = ana.act(&step, &at, "password/check", &proof).await;
    assert_eq!(title(&step), "Set up a stronger sign-in", "{}", step.text());
    let step = ana.act(&step, &at, "totp/enrol_begin", &[back]).await;
    let code = code(&step.text());
    let there = ana.act(&step, &at, "totp/enrol_finish", &[("code", code.as_str()), back]).await;
    assert_eq!(there.header("location"), "/ui/account/approvals", "{}", there.text());
    let done = ana.post("/ui/account/approvals", &fields).await;
    let expected = format!("/ui/account/approvals/{id}?done=approved");
    assert_eq!(done.header("location"), expected, "{}", done.text());
}

#[tokio::test]
async fn one_request_has_a_page_of_its_own_and_an_approval_can_be_taken_back() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let account = account(&mut ana).await;
    let (_, number) = asks(&app, account).await;
    let inbox = ana.get("/ui/account/approvals?lang=en").await.text();
    let (id, _) = picks(&inbox);
    let one = format!("/ui/account/approvals/{id}");
    assert!(inbox.contains(&format!("href=\"{one}\"")), "{inbox}");
    let page = ana.get(&one).await;
    assert_eq!(title(&page), "Approve this?");
    let (same, numbers) = picks(&page.text());
    assert_eq!((same, numbers.len()), (id.clone(), 3), "{}", page.text());
    let pick = format!("approve-{number}");
    ana.post("/ui/account/approvals", &[("id", id.as_str()), ("action", pick.as_str())]).await;
    let done = ana.post("/ui/account/approvals", &[("id", id.as_str()), ("action", "deny")]).await;
    assert_eq!(done.header("location"), format!("{one}?done=denied"));
    let page = ana.get(&format!("{one}?lang=pt")).await;
    assert_eq!(title(&page), "Negado");
    assert!(page.text().contains("O aplicativo não pode fazer isto."), "{}", page.text());
    // Another person's request, and a path that names no request.
    let mut bo = Person::new(&app);
    bo.register("bo@example.test").await;
    for path in [one.as_str(), "/ui/account/approvals/..%2fsessions"] {
        assert_eq!(bo.get(path).await.status, 404, "{path}");
    }
    let nobody = Person::new(&app).get(&one).await;
    assert_eq!(nobody.header("location"), "/ui/sign-in");
}

#[tokio::test]
async fn an_approval_was_used_only_if_the_api_said_so() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let account = account(&mut ana).await;
    let (_, number) = asks(&app, account).await;
    let (id, _) = picks(&ana.get("/ui/account/approvals?lang=en").await.text());
    let pick = format!("approve-{number}");
    ana.post("/ui/account/approvals", &[("id", id.as_str()), ("action", pick.as_str())]).await;
    app.sql("UPDATE approval SET state = 'consumed', grant_id = gen_random_uuid()").await;
    let one = format!("/ui/account/approvals/{id}");
    let page = ana.get(&one).await;
    assert_eq!(title(&page), "Approved");
    assert!(page.text().contains("The app has collected its permission"), "{}", page.text());
    app.sql("UPDATE approval SET used_at = now()").await;
    let page = ana.get(&one).await;
    assert_eq!(title(&page), "Approved and used");
    assert!(page.text().contains("the app has used it"), "{}", page.text());
}

/// Each button of a page says what it is about, also to who does not see where it stands.
#[tokio::test]
async fn buttons_of_several_requests_have_different_names() {
    let (app, _) = app().await;
    let mut ana = Person::new(&app);
    ana.register("ana@example.test").await;
    let account = account(&mut ana).await;
    asks_for_transfer(&app, account).await;
    asks(&app, account).await;
    let page = ana.get("/ui/account/approvals").await.text();
    let ids: Vec<&str> = page.split("id=\"pick-").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(ids.len(), 2, "{page}");
    for id in ids {
        assert!(page.contains(&format!("id=\"what-{id}\"")), "{page}");
        for verb in ["deny", "report"] {
            let name = format!("id=\"{verb}-{id}\" aria-labelledby=\"{verb}-{id} what-{id}\"");
            assert!(page.contains(&name), "{name}: {page}");
        }
    }
}
