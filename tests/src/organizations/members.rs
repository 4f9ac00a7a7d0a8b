//! Who belongs, who changes whom, and how far.

use http::Method;
use porteiro_service::{api_keys::KeyKind, oauth::clients::Trust};
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

use super::{
    driver::{call, get, house, join, key, organization, organization_key, platform_key, role},
    staff::{MANAGES, Staff, account, change, context, members, patch, post, refusal},
};
use crate::{
    oauth::{driver::Relying, service},
    people::PASSWORD,
};

const WHY: [(&str, &str); 1] = [("porteiro-reason", "ticket 17")];

fn ids(list: &Value) -> Vec<String> {
    list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn members_are_listed_as_they_joined_page_by_page_and_by_filter() {
    let app = TestApp::new().await;
    let (here, there) = (organization(&app, "here").await, organization(&app, "there").await);
    let mut joined = Vec::new();
    for number in 0..7 {
        let person = account(&app, &format!("Person {number}")).await;
        let role = if number % 3 == 0 { "admin" } else { "member" };
        joined.push(join(&app, here, person, role).await.to_string());
        join(&app, there, person, "member").await;
    }
    let all = ["members:read", "members:write", "organization:*", "roles:*", "invitations:*"];
    let more = ["client-policies:*", "api-keys:*", "audit:*", "members:*"];
    let key = organization_key(&app, here, &[all.as_slice(), &more].concat()).await;
    let path = members(here);
    let mut found = Vec::new();
    let mut next = format!("{path}?limit=3");
    loop {
        let page = get(&app, &next, &key).await.json();
        found.extend(ids(&page));
        assert!(page["items"].as_array().unwrap().len() <= 3);
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        next = format!("{path}?limit=3&cursor={cursor}");
    }
    assert_eq!(found, joined, "each once, in order, and nobody of another organization");
    let first = get(&app, &path, &key).await.json()["items"][0].clone();
    assert!(first.get("account_id").is_none(), "organizations cannot compare whom they know: {first}");

    assert_eq!(post(&app, &format!("{path}/{}/disable", joined[1]), &key, &json!({})).await.status, 200);
    let gone = change(&app, Method::DELETE, &format!("{path}/{}", joined[2]), &key, None).await;
    assert_eq!(gone.status, 204, "{}", gone.text());
    let list = async |query: &str| ids(&get(&app, &format!("{path}?{query}"), &key).await.json());
    let pick = |which: &[usize]| which.iter().map(|at| joined[*at].clone()).collect::<Vec<_>>();
    assert_eq!(list("").await, pick(&[0, 1, 3, 4, 5, 6]));
    assert_eq!(list("state=active").await, pick(&[0, 3, 4, 5, 6]));
    assert_eq!(list("state=disabled").await, pick(&[1]));
    assert_eq!(list("state=removed").await, pick(&[2]));
    assert_eq!(list("role=admin").await, pick(&[0, 3, 6]));
    assert_eq!(list("role=member").await, pick(&[1, 4, 5]), "whoever was removed wears nothing");
    assert_eq!(list("role=member&state=active&limit=1").await, pick(&[4]));
    assert_eq!(list("role=nothing").await, Vec::<String>::new());
    let fourth = get(&app, &format!("{path}/{}", joined[4]), &key).await.json();
    let after = fourth["created_at"].as_str().unwrap();
    assert_eq!(list(&format!("created_after={after}")).await, pick(&[5, 6]));
    assert_eq!(list(&format!("created_after={after}&role=admin")).await, pick(&[6]));
    let wrong = get(&app, &format!("{path}?state=asleep"), &key).await;
    assert_eq!(refusal(&wrong), (400, "malformed".into()));
}

#[tokio::test]
async fn an_organization_adds_machine_clients_and_only_the_platform_adds_people() {
    let app = house().await;
    let here = organization(&app, "here").await;
    role(&app, here, "reader", &["salaries:read"]).await;
    let path = members(here);
    let person = account(&app, "Bo").await;
    let key = organization_key(&app, here, &["members:*", "salaries:read"]).await;
    let refused = post(&app, &path, &key, &json!({"account_id": person, "role": "reader"})).await;
    assert_eq!(refusal(&refused), (403, "forbidden".into()), "people are invited");
    let platform = platform_key(&app, &["organizations:administer"]).await;
    let body = json!({"account_id": person, "role": "owner", "display_name": "Bo of here"});
    let made = call(&app, Method::POST, &path, &platform, Some(&body), &WHY).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made_body = made.json();
    assert_eq!((&made_body["account_id"], &made_body["roles"]), (&json!(person), &json!(["owner"])));
    assert_eq!(made.header("location"), format!("{path}/{}", made_body["id"].as_str().unwrap()));
    let again = call(&app, Method::POST, &path, &platform, Some(&body), &WHY).await;
    assert_eq!(refusal(&again), (409, "conflict".into()));
    let nobody = json!({"account_id": "00000000-0000-4000-8000-000000000000", "role": "member"});
    let refused = call(&app, Method::POST, &path, &platform, Some(&nobody), &WHY).await;
    assert_eq!(refusal(&refused), (422, "field_invalid".into()));

    let robot = service(&app, "client_secret_post", json!({})).await;
    let robot = robot["client_id"].as_str().unwrap();
    let made = post(&app, &path, &key, &json!({"client_id": robot, "role": "reader"})).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!((&made.json()["client_id"], &made.json()["display_name"]), (&json!(robot), &json!("Robot")));
    let above = post(&app, &path, &key, &json!({"client_id": robot, "role": "admin"})).await;
    assert_eq!(refusal(&above), (403, "authority_exceeded".into()));
    assert!(above.json()["missing"].as_array().unwrap().contains(&json!("roles:*")), "{}", above.text());
    let web = Relying::web(&app).await;
    let refused = post(&app, &path, &key, &json!({"client_id": web.id, "role": "reader"})).await;
    assert_eq!(refusal(&refused), (422, "field_invalid".into()), "it acts for people, not for itself");
    let refused = post(&app, &path, &key, &json!({"client_id": robot, "role": "nothing"})).await;
    assert_eq!(refusal(&refused), (422, "field_invalid".into()));
    for both in
        [json!({"role": "reader"}), json!({"role": "reader", "client_id": robot, "account_id": person})]
    {
        assert_eq!(refusal(&post(&app, &path, &key, &both).await), (422, "field_invalid".into()));
    }
    let trail = "SELECT count(*) FROM trail WHERE kind = 'member.joined'";
    assert_eq!(app.count(trail).await, 2);
    assert_eq!(app.count("SELECT count(*) FROM security_log WHERE kind = 'membership.joined'").await, 1);
}

#[tokio::test]
async fn nobody_gives_what_they_do_not_hold_nor_touches_whoever_holds_more() {
    let app = house().await;
    let here = organization(&app, "here").await;
    role(&app, here, "accountant", &["salaries:read"]).await;
    let mut owner = Staff::new(&app, "owner@example.test", here, "owner").await;
    let mut admin = Staff::new(&app, "admin@example.test", here, "admin").await;
    let member = Staff::new(&app, "member@example.test", here, "member").await;
    let client = Relying::console(&app).await;
    let by_owner = owner.token(&app, &client, here, MANAGES).await;
    let by_admin = admin.token(&app, &client, here, MANAGES).await;
    let path = |one: &Staff| format!("{}/{}", members(here), one.member);
    let exceeded = (403, "authority_exceeded".to_owned());

    for roles in [json!(["owner"]), json!(["member", "owner"]), json!(["accountant"])] {
        let refused = patch(&app, &path(&member), &by_admin, &json!({"roles": roles})).await;
        assert_eq!(refusal(&refused), exceeded, "{roles}");
        let refused = patch(&app, &path(&admin), &by_admin, &json!({"roles": roles})).await;
        assert_eq!(refusal(&refused), exceeded, "to themselves: {roles}");
    }
    for change in [json!({"roles": ["member"]}), json!({"display_name": "Nobody"})] {
        assert_eq!(refusal(&patch(&app, &path(&owner), &by_admin, &change).await), exceeded);
    }
    let disable = format!("{}/disable", path(&owner));
    assert_eq!(refusal(&post(&app, &disable, &by_admin, &json!({})).await), exceeded);
    assert_eq!(refusal(&change(&app, Method::DELETE, &path(&owner), &by_admin, None).await), exceeded);
    let grants = format!("{}/grants", path(&owner));
    assert_eq!(refusal(&call(&app, Method::DELETE, &grants, &by_admin, None, &[]).await), exceeded);

    // A key is worth what it says, whoever made it.
    let narrow = organization_key(&app, here, &["members:*"]).await;
    let refused = post(&app, &format!("{}/disable", path(&admin)), &narrow, &json!({})).await;
    assert_eq!(refusal(&refused), exceeded);

    let up = patch(&app, &path(&member), &by_owner, &json!({"roles": ["member", "accountant"]})).await;
    assert_eq!(up.status, 200, "{}", up.text());
    assert_eq!(up.json()["roles"], json!(["accountant", "member"]));
    assert_eq!(up.json()["primary_role"], "member", "it stays while it is one of them");
    let refused = patch(&app, &path(&member), &by_admin, &json!({"display_name": "Bo"})).await;
    assert_eq!(refusal(&refused), exceeded, "now they hold more than the administrator");
    let moved = patch(&app, &path(&member), &by_owner, &json!({"roles": ["accountant"]})).await.json();
    assert_eq!(moved["primary_role"], "accountant", "else it is the first");
    let wrong = patch(&app, &path(&member), &by_owner, &json!({"primary_role": "admin"})).await;
    assert_eq!(refusal(&wrong), (422, "field_invalid".into()));

    // Enabling gives the roles back: it takes as much.
    let off = post(&app, &format!("{}/disable", path(&member)), &by_owner, &json!({"reason": "left"})).await;
    assert_eq!((&off.json()["state"], &off.json()["ended"]["reason"]), (&json!("disabled"), &json!("left")));
    let enable = format!("{}/enable", path(&member));
    assert_eq!(refusal(&post(&app, &enable, &by_admin, &json!({})).await), exceeded);
    assert_eq!(post(&app, &enable, &by_owner, &json!({})).await.json()["state"], "active");
}

#[tokio::test]
async fn an_organization_keeps_an_owner_who_can_act() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let mut owner = Staff::new(&app, "owner@example.test", here, "owner").await;
    let client = Relying::console(&app).await;
    let token = owner.token(&app, &client, here, MANAGES).await;
    let path = format!("{}/{}", members(here), owner.member);
    let platform = platform_key(&app, &["organizations:administer"]).await;
    let robot = service(&app, "client_secret_post", json!({})).await;
    let robot = json!({"client_id": robot["client_id"], "role": "owner"});
    assert_eq!(post(&app, &members(here), &token, &robot).await.status, 201, "a machine is no owner to keep");
    let last = async |why: &str| {
        let expected = (409, "last_owner".to_owned());
        let demoted = patch(&app, &path, &token, &json!({"roles": ["member"]})).await;
        assert_eq!(refusal(&demoted), expected, "{why}");
        let disabled = post(&app, &format!("{path}/disable"), &token, &json!({})).await;
        assert_eq!(refusal(&disabled), expected, "{why}");
        let removed = change(&app, Method::DELETE, &path, &token, None).await;
        assert_eq!(refusal(&removed), expected, "{why}");
        let by_platform =
            call(&app, Method::POST, &format!("{path}/disable"), &platform, Some(&json!({})), &WHY).await;
        assert_eq!(refusal(&by_platform), expected, "{why}, for the platform too");
        let left =
            porteiro_service::management::members::leave(&app.app, &context(), owner.account, here).await;
        assert_eq!(left.unwrap_err().code, porteiro_service::http::ProblemCode::LastOwner, "{why}");
    };
    last("alone").await;
    let second = account(&app, "Second").await;
    let member = join(&app, here, second, "owner").await;
    app.sql(&format!("UPDATE account SET state = 'disabled' WHERE account_id = '{second}'")).await;
    last("the other's account is disabled").await;
    app.sql("UPDATE account SET state = 'active'").await;
    app.sql(&format!("UPDATE membership SET state = 'disabled' WHERE membership_id = '{member}'")).await;
    last("the other is disabled here").await;
    app.sql("UPDATE membership SET state = 'active'").await;
    let demoted = patch(&app, &path, &token, &json!({"roles": ["member"]})).await;
    assert_eq!(demoted.status, 200, "there is another: {}", demoted.text());
    let refused = patch(&app, &path, &token, &json!({"roles": ["owner"]})).await;
    assert_eq!(refused.status, 401, "and what they held is gone at once");
}

#[tokio::test]
async fn a_change_is_made_to_what_was_seen() {
    let app = TestApp::new().await;
    let here = organization(&app, "here").await;
    let member = join(&app, here, account(&app, "Ana").await, "member").await;
    let key = organization_key(&app, here, &["members:*", "organization:read"]).await;
    let path = format!("{}/{member}", members(here));
    let body = json!({"display_name": "Ana of here"});
    let blind = call(&app, Method::PATCH, &path, &key, Some(&body), &[]).await;
    assert_eq!(refusal(&blind), (428, "version_required".into()));
    assert_eq!(patch(&app, &path, &key, &body).await.json()["display_name"], "Ana of here");
    let stale = [("if-match", "\"1\"")];
    let late = call(&app, Method::PATCH, &path, &key, Some(&body), &stale).await;
    assert_eq!(refusal(&late), (412, "version_mismatch".into()));
    let late = call(&app, Method::DELETE, &path, &key, None, &stale).await;
    assert_eq!(refusal(&late), (412, "version_mismatch".into()));
    for wrong in [json!({"display_name": ""}), json!({"roles": []}), json!({"roles": ["member", "member"]})] {
        assert_eq!(
            refusal(&patch(&app, &path, &key, &wrong).await),
            (422, "field_invalid".into()),
            "{wrong}"
        );
    }
    for wrong in [json!({"state": "removed"}), json!({"roles": null}), json!({"display_name": 7})] {
        assert_eq!(refusal(&patch(&app, &path, &key, &wrong).await), (400, "malformed".into()), "{wrong}");
    }
    let unknown = format!("{}/00000000-0000-4000-8000-000000000000", members(here));
    assert_eq!(get(&app, &unknown, &key).await.status, 404);
    assert_eq!(get(&app, &format!("{}/nobody", members(here)), &key).await.status, 404);
}

#[tokio::test]
async fn whoever_comes_back_is_the_same_and_has_nothing_of_before() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let mut ana = Staff::new(&app, "ana@example.test", here, "admin").await;
    let client = Relying::with(&app, Trust::Verified, json!({})).await;
    let asked = [("scope", "openid members:read"), ("organization", "here")];
    let tokens = client.tokens(&mut ana.browser, &app, &asked).await;
    let platform = platform_key(&app, &["organizations:administer"]).await;
    let path = format!("{}/{}", members(here), ana.member);
    let seen = call(&app, Method::GET, &path, &platform, None, &WHY).await;
    let headers = [WHY[0], ("if-match", seen.header("etag"))];
    assert_eq!(call(&app, Method::DELETE, &path, &platform, None, &headers).await.status, 204);
    let again = call(&app, Method::POST, &format!("{path}/enable"), &platform, Some(&json!({})), &WHY).await;
    assert_eq!(refusal(&again), (409, "conflict".into()), "removed is not disabled");
    let body = json!({"account_id": ana.account, "role": "member"});
    let back = call(&app, Method::POST, &members(here), &platform, Some(&body), &WHY).await;
    assert_eq!(back.status, 201, "{}", back.text());
    assert_eq!(back.json()["id"], ana.member.to_string(), "the same subject");
    assert_eq!(back.json()["roles"], json!(["member"]), "none of the roles of before");
    let dead = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(dead.json()["error"], "invalid_grant");
    let answer = client
        .ask(
            &mut ana.browser,
            &crate::oauth::driver::verifier(),
            &[("scope", "openid"), ("organization", "here")],
        )
        .await;
    assert_eq!(answer.json()["stage"], "consent", "what they allowed before is forgotten too");
}

#[tokio::test]
async fn whoever_leaves_is_gone_at_once_and_asks_nobody() {
    let app = house().await;
    let here = organization(&app, "here").await;
    let mut ana = Staff::new(&app, "ana@example.test", here, "admin").await;
    let client = Relying::web(&app).await;
    let token = ana.token(&app, &client, here, MANAGES).await;
    let personal = key(&app, KeyKind::Personal, Some(here), Some(ana.member), &["members:read"]).await;
    let path = format!("/v1/account/organizations/{here}");
    // It cannot be undone: whoever finds an open browser must not do it for them.
    assert_eq!(refusal(&ana.browser.delete(&path).await), (403, "step_up_required".into()));
    let mut flow = ana.browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut ana.browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(ana.browser.delete(&path).await.status, 204);
    for bearer in [&token, &personal] {
        assert_eq!(get(&app, &members(here), bearer).await.status, 401);
    }
    assert_eq!(ana.browser.get("/v1/account/organizations").await.json()["items"], json!([]));
    for gone in [path.as_str(), "/v1/account/organizations/nowhere"] {
        assert_eq!(ana.browser.delete(gone).await.status, 404, "{gone}");
    }
    let trail = "SELECT count(*) FROM trail WHERE kind = 'member.removed' AND actor->>'kind' = 'member'";
    assert_eq!(app.count(trail).await, 1);
}
