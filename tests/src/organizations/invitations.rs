//! Invitations: asked by mail, accepted by whoever reads it, once, for one organization.

use std::sync::Arc;

use http::Method;
use porteiro_protocol::id::OrganizationId;
use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};

use super::{
    driver::{call, get, join, organization, organization_key},
    staff::change,
};
use crate::people;

pub fn path(place: OrganizationId) -> String {
    format!("/v1/organizations/{place}/invitations")
}

pub async fn invite(app: &TestApp, place: OrganizationId, key: &str, email: &str, role: &str) -> Answer {
    call(app, Method::POST, &path(place), key, Some(&json!({"email": email, "role": role})), &[]).await
}

/// The secret in the newest mail.
pub async fn mailed(app: &TestApp, to: &str) -> String {
    let (_, text) = app.mail(to).await;
    let word = text.split_whitespace().find(|word| word.starts_with("pt_inv_"));
    word.unwrap_or_else(|| panic!("no invitation in {text}")).to_owned()
}

async fn accept(browser: &mut Browser, token: &str) -> Answer {
    browser.post("/v1/account/invitations/accept", &json!({"token": token})).await
}

async fn register(app: &Arc<TestApp>, address: &str) -> Browser {
    let browser = people::register(app, address).await;
    app.forget_limits().await;
    browser
}

pub fn code(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.json()["code"].as_str().unwrap_or_default().to_owned())
}

const ADMIN: &[&str] = &["organization:*", "members:*", "invitations:*"];

pub async fn installation() -> (Arc<TestApp>, OrganizationId, String) {
    let app = people::app().await;
    let here = organization(&app, "here").await;
    let key = organization_key(&app, here, ADMIN).await;
    (app, here, key)
}

#[tokio::test]
async fn an_invitation_is_accepted_with_what_only_the_mail_says() {
    let (app, here, key) = installation().await;
    let answer = invite(&app, here, &key, "Ana@Work.example.test", "member").await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let made = answer.json();
    assert_eq!((&made["state"], &made["role"]), (&json!("pending"), &json!("member")));
    let token = mailed(&app, "ana@work.example.test").await;
    let one = format!("{}/{}", path(here), made["id"].as_str().unwrap());
    for told in [answer.text(), get(&app, &path(here), &key).await.text(), get(&app, &one, &key).await.text()]
    {
        assert!(!told.contains("pt_inv_") && !told.contains(&token[10..40]), "{told}");
    }
    // Another address than the invited one: whoever has the mail is who was meant.
    let mut ana = register(&app, "ana@home.example.test").await;
    let joined = accept(&mut ana, &token).await;
    assert_eq!(joined.status, 200, "{}", joined.text());
    assert_eq!(joined.json()["organization"]["slug"], "here");
    let listed = ana.get("/v1/account/organizations").await.json();
    assert_eq!(listed["items"][0]["membership"], joined.json()["membership"]);
    assert_eq!(listed["items"][0]["roles"], json!(["member"]));
    let credentials = ana.get("/v1/account/credentials").await.json();
    assert_eq!(credentials["items"].as_array().unwrap().len(), 1, "the address is not added");
    let shown = get(&app, &one, &key).await.json();
    assert_eq!((&shown["state"], &shown["membership"]), (&json!("accepted"), &joined.json()["membership"]));
    assert_eq!(code(&accept(&mut ana, &token).await), (409, "conflict".into()), "a member already");
    let mut ben = register(&app, "ben@example.test").await;
    assert_eq!(code(&accept(&mut ben, &token).await), (422, "refused".into()), "spent");
    let kinds = "SELECT count(*) FROM trail WHERE kind IN ('member.invited', 'member.joined')";
    assert_eq!(app.count(kinds).await, 2);
    let leaks = "SELECT count(*) FROM trail WHERE to_jsonb(trail)::text LIKE '%example.test%'";
    assert_eq!(app.count(leaks).await, 0, "no address in the trail");
}

#[tokio::test]
async fn the_answer_is_the_same_whether_or_not_anybody_has_the_address() {
    let (app, here, key) = installation().await;
    register(&app, "known@example.test").await;
    let mask = |answer: &Answer, address: &str| {
        let mut body = answer.json();
        for name in ["id", "created_at", "expires_at"] {
            body[name] = Value::Null;
        }
        (answer.status, body.to_string().replace(address, "address"))
    };
    let known = invite(&app, here, &key, "known@example.test", "member").await;
    let unknown = invite(&app, here, &key, "unknown@example.test", "member").await;
    assert_eq!(mask(&known, "known@example.test"), mask(&unknown, "unknown@example.test"));
    let (first, second) = (app.mail("known@example.test").await, app.mail("unknown@example.test").await);
    assert_eq!(first.0, second.0);
    assert_eq!(first.1.lines().count(), second.1.lines().count());
}

#[tokio::test]
async fn inviting_again_replaces_the_secret_and_the_time() {
    let (app, here, key) = installation().await;
    let first = invite(&app, here, &key, "ana@example.test", "member").await;
    let old = mailed(&app, "ana@example.test").await;
    app.sql("UPDATE invitation SET expires_at = now() - interval '1 day'").await;
    let again = invite(&app, here, &key, "ANA@example.test", "admin-of-nothing").await;
    assert_eq!(code(&again), (422, "field_invalid".into()), "no such role");
    let again = invite(&app, here, &key, "ANA@example.test", "member").await;
    assert_eq!((again.status.as_u16(), &again.json()["id"]), (201, &first.json()["id"]));
    let new = mailed(&app, "ana@example.test").await;
    assert_eq!(app.count("SELECT count(*) FROM invitation").await, 1);
    let mut ana = register(&app, "ana@home.example.test").await;
    assert_eq!(code(&accept(&mut ana, &old).await), (422, "refused".into()));
    assert_eq!(accept(&mut ana, &new).await.status, 200);
}

#[tokio::test]
async fn an_invitation_ends_with_its_time_its_inviters_word_and_its_organization() {
    let (app, here, key) = installation().await;
    let mut ana = register(&app, "ana@example.test").await;
    let made = invite(&app, here, &key, "ana@example.test", "member").await.json();
    let days = "SELECT round(extract(epoch FROM expires_at - now()) / 86400)::bigint FROM invitation";
    assert_eq!(app.count(days).await, 7);
    let token = mailed(&app, "ana@example.test").await;
    app.sql("UPDATE organization SET status = 'suspended'").await;
    assert_eq!(code(&accept(&mut ana, &token).await), (409, "organization_suspended".into()));
    assert_eq!(ana.get("/v1/account/invitations").await.json()["items"], json!([]));
    assert_eq!(invite(&app, here, &key, "ben@example.test", "member").await.status, 409);
    app.sql("UPDATE organization SET status = 'enabled'").await;
    app.sql("UPDATE invitation SET expires_at = now()").await;
    assert_eq!(accept(&mut ana, &token).await.status, 422);
    let one = format!("{}/{}", path(here), made["id"].as_str().unwrap());
    assert_eq!(get(&app, &one, &key).await.json()["state"], "expired");
    app.sql("UPDATE invitation SET expires_at = now() + interval '1 day'").await;
    assert_eq!(call(&app, Method::DELETE, &one, &key, None, &[]).await.status, 204);
    assert_eq!(call(&app, Method::DELETE, &one, &key, None, &[]).await.status, 404);
    assert_eq!(accept(&mut ana, &token).await.status, 422);
    assert_eq!(app.count("SELECT count(*) FROM membership").await, 0);
    for junk in ["", "pt_inv_", "pt_ses_x", &token[..60]] {
        assert_eq!(accept(&mut ana, junk).await.status, 422, "{junk}");
    }
}

#[tokio::test]
async fn nobody_invites_into_a_role_that_permits_more_than_they_hold() {
    let (app, here, key) = installation().await;
    app.sql(&format!(
        "INSERT INTO role (organization_id, role_key, name, permissions) VALUES
             ('{here}', 'greeter', 'Greeter', '{{members:read}}'), ('{here}', 'auditor', 'Auditor', '{{audit:read}}')"
    ))
    .await;
    for (role, expected) in [
        ("greeter", (201, "")),
        ("auditor", (403, "authority_exceeded")),
        ("admin", (403, "authority_exceeded")),
        ("owner", (403, "authority_exceeded")),
        ("nobody", (422, "field_invalid")),
    ] {
        let answer = invite(&app, here, &key, "ana@example.test", role).await;
        assert_eq!(code(&answer), (expected.0, expected.1.into()), "{role}");
    }
    let token = mailed(&app, "ana@example.test").await;
    app.sql("DELETE FROM role").await;
    let mut ana = register(&app, "ana@home.example.test").await;
    assert_eq!(accept(&mut ana, &token).await.status, 422, "the role is gone");
    let reader = organization_key(&app, here, &["invitations:read"]).await;
    assert_eq!(invite(&app, here, &reader, "ben@example.test", "member").await.status, 403);
}

#[tokio::test]
async fn what_waits_for_ones_own_address_needs_no_mail() {
    let (app, here, key) = installation().await;
    let mut ana = register(&app, "ana@example.test").await;
    let mut ben = register(&app, "ben@example.test").await;
    let made = invite(&app, here, &key, "ANA@example.test", "member").await.json();
    assert_eq!(ben.get("/v1/account/invitations").await.json()["items"], json!([]));
    let waiting = ana.get("/v1/account/invitations").await.json();
    assert_eq!(waiting["items"][0]["organization"]["name"], "The here company");
    let by_id = json!({"id": made["id"]});
    let stolen = ben.post("/v1/account/invitations/accept", &by_id).await;
    assert_eq!(code(&stolen), (422, "refused".into()));
    assert_eq!(ana.post("/v1/account/invitations/accept", &by_id).await.status, 200);
    assert_eq!(ana.get("/v1/account/invitations").await.json()["items"], json!([]));
    for wrong in [json!({}), json!({"id": made["id"], "token": "x"})] {
        assert_eq!(code(&ana.post("/v1/account/invitations/accept", &wrong).await).1, "field_invalid");
    }
}

#[tokio::test]
async fn whoever_was_removed_comes_back_as_the_same_member_and_whoever_was_disabled_does_not() {
    let (app, here, key) = installation().await;
    let mut ana = register(&app, "ana@example.test").await;
    let account = ana.get("/v1/account").await.json()["id"].as_str().unwrap().parse().unwrap();
    let before = join(&app, here, account, "admin").await;
    invite(&app, here, &key, "ana@example.test", "member").await;
    let token = mailed(&app, "ana@example.test").await;
    app.sql("UPDATE membership SET state = 'disabled'").await;
    assert_eq!(code(&accept(&mut ana, &token).await), (409, "conflict".into()));
    app.sql("UPDATE membership SET state = 'removed'").await;
    let joined = accept(&mut ana, &token).await;
    assert_eq!(joined.json()["membership"], json!(before), "{}", joined.text());
    let listed = ana.get("/v1/account/organizations").await.json();
    assert_eq!(listed["items"][0]["roles"], json!(["member"]), "as what they were invited now");
}

/// Otherwise whoever is disabled would leave, and come back by an invitation from before.
#[tokio::test]
async fn whoever_is_disabled_neither_leaves_nor_keeps_an_invitation() {
    let (app, here, key) = installation().await;
    let mut ana = register(&app, "ana@example.test").await;
    let account = ana.get("/v1/account").await.json()["id"].as_str().unwrap().parse().unwrap();
    let member = join(&app, here, account, "member").await;
    let waiting = async || get(&app, &path(here), &key).await.json()["items"].clone();
    for end in ["disable", "remove"] {
        invite(&app, here, &key, "ana@example.test", "member").await;
        invite(&app, here, &key, "ben@example.test", "member").await;
        let token = mailed(&app, "ana@example.test").await;
        let one = format!("/v1/organizations/{here}/members/{member}");
        let answer = if end == "disable" {
            call(&app, Method::POST, &format!("{one}/disable"), &key, Some(&json!({})), &[]).await
        } else {
            change(&app, Method::DELETE, &one, &key, None).await
        };
        assert!(answer.status.is_success(), "{end}: {}", answer.text());
        let left = ana.delete(&format!("/v1/account/organizations/{here}")).await;
        let expected = if end == "disable" { (409, "conflict".into()) } else { (404, "not_found".into()) };
        assert_eq!(code(&left), expected);
        assert!(!accept(&mut ana, &token).await.status.is_success(), "{end}");
        assert_eq!(ana.get("/v1/account/invitations").await.json()["items"], json!([]), "{end}");
        let states: Vec<Value> =
            waiting().await.as_array().unwrap().iter().map(|one| one["state"].clone()).collect();
        assert_eq!(states.iter().filter(|state| **state == "pending").count(), 1, "{end}: {states:?}");
        let state =
            format!("SELECT count(*) FROM membership WHERE account_id = '{account}' AND state = 'active'");
        assert_eq!(app.count(&state).await, 0, "{end}");
    }
    let revoked = "SELECT count(*) FROM trail WHERE kind = 'invitation.revoked'";
    assert_eq!(app.count(revoked).await, 2);
}

#[tokio::test]
async fn of_many_who_accept_at_once_one_joins_and_no_other_organization_is_touched() {
    let (app, here, key) = installation().await;
    let there = organization(&app, "there").await;
    let foreign = organization_key(&app, there, ADMIN).await;
    invite(&app, there, &foreign, "team@example.test", "member").await;
    let kept = mailed(&app, "team@example.test").await;
    invite(&app, here, &key, "team@example.test", "member").await;
    let token = mailed(&app, "team@example.test").await;
    let mut racing = tokio::task::JoinSet::new();
    for name in ["ana", "ben", "eva"] {
        let first = register(&app, &format!("{name}@example.test")).await;
        for _ in 0..4 {
            let (mut browser, token) = (Browser::new(&app), token.clone());
            browser.cookies.clone_from(&first.cookies);
            racing.spawn(async move { accept(&mut browser, &token).await.status.as_u16() });
        }
    }
    let statuses = racing.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 409, 422].contains(status)), "{statuses:?}");
    assert_eq!(app.count("SELECT count(*) FROM membership").await, 1);
    let elsewhere = format!(
        "SELECT count(*) FROM invitation WHERE organization_id = '{there}' AND state = 'pending'
             AND membership_id IS NULL"
    );
    assert_eq!(app.count(&elsewhere).await, 1);
    assert_eq!(
        app.count(&format!("SELECT count(*) FROM membership WHERE organization_id = '{there}'")).await,
        0
    );
    let mut ana = register(&app, "late@example.test").await;
    assert_eq!(accept(&mut ana, &kept).await.json()["organization"]["slug"], "there");
}

#[tokio::test]
async fn invitations_do_not_fill_mailboxes() {
    let (app, here, key) = installation().await;
    let there = organization(&app, "there").await;
    let foreign = organization_key(&app, there, ADMIN).await;
    for _ in 0..3 {
        assert!(invite(&app, here, &key, "ana@example.test", "member").await.status.is_success());
    }
    assert_eq!(
        code(&invite(&app, here, &key, "ana@example.test", "member").await),
        (429, "slow_down".into())
    );
    assert_eq!(
        invite(&app, there, &foreign, "ana@example.test", "member").await.status,
        201,
        "their own share"
    );
    assert_eq!(app.mails("ana@example.test").await.len(), 4);
    app.forget_limits().await;
    for index in 0..100 {
        let answer = invite(&app, here, &key, &format!("p{index}@example.test"), "member").await;
        assert_eq!(answer.status, 201, "{index}: {}", answer.text());
    }
    assert_eq!(invite(&app, here, &key, "more@example.test", "member").await.status, 429);
    assert_eq!(invite(&app, there, &foreign, "more@example.test", "member").await.status, 201);
}

/// `registration = invited`: the invited mailbox registers, and no other by that invitation.
#[tokio::test]
async fn an_invitation_opens_registration_to_the_mailbox_it_went_to() {
    let registration = porteiro_service::settings::Registration::Invited;
    let app = TestApp::builder().people().settings(move |settings| settings.registration = registration);
    let app = Arc::new(app.start().await);
    let here = organization(&app, "here").await;
    let key = organization_key(&app, here, ADMIN).await;
    invite(&app, here, &key, "ana@example.test", "member").await;
    let token = mailed(&app, "ana@example.test").await;
    let mut browser = Browser::new(&app);
    let refused = browser.post("/v1/flows", &json!({"kind": "register"})).await;
    assert_eq!(refused.status, 403, "without one");
    let wrong = browser.post("/v1/flows", &json!({"kind": "register", "invitation": "pt_inv_x"})).await;
    assert_eq!(wrong.status, 422);
    let request = json!({"kind": "register", "invitation": token});
    let mut flow = browser.open(request.clone()).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "other@example.test"})).await;
    let (subject, _) = app.mail("other@example.test").await;
    assert!(!subject.starts_with(|c: char| c.is_ascii_digit()), "no code for another mailbox: {subject}");
    let mut flow = browser.open(request.clone()).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": "Ana@example.test"})).await;
    let code = app.mailed_code("ana@example.test").await;
    flow.act(&mut browser, "email_code/check", json!({"code": code})).await;
    flow.act(&mut browser, "profile/set", json!({"display_name": "Ana"})).await;
    flow.act(&mut browser, "enrol/skip", json!({})).await;
    assert_eq!(flow.stage(), "complete");
    assert_eq!(accept(&mut browser, &token).await.status, 200);
    assert_eq!(
        Browser::new(&app).post("/v1/flows", &request).await.status,
        422,
        "accepted: it opens nothing"
    );
    assert_eq!(app.count("SELECT count(*) FROM account").await, 1);
}

#[tokio::test]
async fn the_mail_leads_to_the_page_that_takes_it_where_there_is_one() {
    let app = TestApp::builder()
        .people()
        .settings(|settings| settings.invitation_link_path = Some("/ui/invitation".into()));
    let app = Arc::new(app.start().await);
    let here = organization(&app, "here").await;
    app.sql("UPDATE organization SET locale = 'pt', name = 'https://evil.example/login'").await;
    let key = organization_key(&app, here, ADMIN).await;
    invite(&app, here, &key, "ana@example.test", "member").await;
    let (subject, text) = app.mail("ana@example.test").await;
    assert_eq!(subject, "Você recebeu um convite para uma organização");
    assert!(text.contains("https://id.example.test/ui/invitation#pt_inv_"), "{text}");
    assert!(!text.contains("evil.example"), "{text}");
    let token = text.split("invitation#").nth(1).unwrap().split_whitespace().next().unwrap();
    let mut ana = register(&app, "ana@home.example.test").await;
    assert_eq!(accept(&mut ana, token).await.status, 200);
}

#[tokio::test]
async fn a_person_sees_where_they_belong_and_leaves_unless_they_are_the_last_owner() {
    let (app, here, _) = installation().await;
    let there = organization(&app, "there").await;
    let mut ana = register(&app, "ana@example.test").await;
    let mut ben = register(&app, "ben@example.test").await;
    let id = async |browser: &mut Browser| {
        browser.get("/v1/account").await.json()["id"].as_str().unwrap().parse().unwrap()
    };
    let (first, second) = (id(&mut ana).await, id(&mut ben).await);
    join(&app, here, first, "owner").await;
    let elsewhere = join(&app, there, first, "member").await;
    app.sql(&format!("UPDATE organization SET status = 'suspended' WHERE organization_id = '{there}'")).await;
    let seen = ana.get("/v1/account/organizations").await.json();
    let told: Vec<_> =
        seen["items"].as_array().unwrap().iter().map(|it| &it["organization"]["status"]).collect();
    assert_eq!(told, ["enabled", "suspended"]);
    assert_eq!(seen["items"][1]["membership"], json!(elsewhere));
    let path = format!("/v1/account/organizations/{here}");
    assert_eq!(code(&ana.delete(&path).await), (409, "last_owner".into()));
    assert_eq!(ben.delete(&path).await.status, 404, "not theirs");
    join(&app, here, second, "owner").await;
    let key = organization_key(&app, here, ADMIN).await;
    assert_eq!(ana.delete(&path).await.status, 204);
    assert_eq!(ana.delete(&path).await.status, 404, "gone");
    assert_eq!(ana.get("/v1/account/organizations").await.json()["items"].as_array().unwrap().len(), 1);
    assert_eq!(code(&ben.delete(&path).await), (409, "last_owner".into()));
    let removed = "SELECT count(*) FROM trail WHERE kind = 'member.removed'";
    assert_eq!(app.count(removed).await, 1);
    // Whoever left comes back by invitation, as the same member.
    invite(&app, here, &key, "ana@example.test", "member").await;
    let token = mailed(&app, "ana@example.test").await;
    assert_eq!(accept(&mut ana, &token).await.status, 200);
}
