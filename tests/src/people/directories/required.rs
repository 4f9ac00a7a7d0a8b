//! An organization requires its connection (docs/decisions/0132): whoever came another way gets no further.

use http::Method;
use porteiro_protocol::id::MembershipId;
use porteiro_testkit::{Answer, Browser, VirtualAuthenticator, nothing};
use serde_json::{Value, json};

use super::{Asked, World, connect, definition, world};
use crate::{
    oauth::driver::{parameter, verifier},
    organizations::driver::{account_of, call, get, join, organization, organization_key, platform_key},
    people::{PASSWORD, enrol, register_with_passkey},
};

const ADMINISTRATOR: &[&str] = &["organization:*", "members:*", "connections:*"];

/// The platform sets the policy: it may give every role.
async fn set_policy(world: &World, policy: &Value) -> Answer {
    let key = platform_key(&world.app, &["organizations:administer"]).await;
    put_policy(world, &key, policy).await
}

async fn put_policy(world: &World, key: &str, policy: &Value) -> Answer {
    let path = format!("/v1/organizations/{}/policy", world.place);
    let why = ("porteiro-reason", "the test");
    let seen = call(&world.app, Method::GET, &path, key, None, &[why]).await;
    let headers = [why, ("if-match", seen.header("etag"))];
    call(&world.app, Method::PUT, &path, key, Some(policy), &headers).await
}

pub async fn require(world: &World, more: Value) {
    let mut policy = json!({"require_connection": world.connection});
    for (name, value) in more.as_object().into_iter().flatten() {
        policy[name] = value.clone();
    }
    let answer = set_policy(world, &policy).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["require_connection"], json!(world.connection));
}

/// Ana, an owner, has signed in by the directory.
pub async fn owned() -> (World, Browser) {
    let world = world().await;
    let (browser, _, member) = world.member("ana@example.test").await;
    world.link("ana-there", "ana@example.test").await;
    make_owner(&world, member).await;
    (world, browser)
}

async fn make_owner(world: &World, member: MembershipId) {
    let roles = format!("UPDATE membership_role SET role_key = 'owner' WHERE membership_id = '{member}'");
    world.app.sql(&roles).await;
    let primary = format!("UPDATE membership SET primary_role = 'owner' WHERE membership_id = '{member}'");
    world.app.sql(&primary).await;
}

async fn silently(world: &World, browser: &mut Browser) -> Value {
    world.app.forget_limits().await;
    let here = [("organization", "acme"), ("prompt", "none")];
    world.client.ask(browser, &verifier(), &here).await.json()
}

#[tokio::test]
async fn a_flow_for_the_organization_offers_its_connection_and_nothing_else() {
    let (world, _) = owned().await;
    require(&world, json!({})).await;
    let asked = world.ask(Browser::new(&world.app), &[]).await;
    assert_eq!(asked.flow.stage(), "authenticate");
    assert_eq!(asked.flow.offers(), ["federated/begin", "federated/finish"], "{}", asked.flow.now);
    let mut asked = world.vouched("ana-there", &[]).await;
    let tokens = world.tokens(&mut asked).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    assert_eq!(world.client.refresh(&world.app, refresh, &[]).await.status, 200);
    let again = silently(&world, &mut asked.browser).await;
    assert!(parameter(&again, "code").is_some(), "{again}");
    // Elsewhere everything is as before.
    let mut browser = Browser::new(&world.app);
    let elsewhere = world.client.ask(&mut browser, &verifier(), &[]).await.json();
    assert!(elsewhere["actions"].to_string().contains("password/check"), "{elsewhere}");
}

#[tokio::test]
async fn a_person_who_is_signed_in_to_their_account_is_led_to_the_connection() {
    let (world, mut browser) = owned().await;
    require(&world, json!({})).await;
    let answer = silently(&world, &mut browser).await;
    assert_eq!(parameter(&answer, "error").as_deref(), Some("login_required"), "{answer}");
    let reading = format!("/v1/organizations/{}", world.place);
    let refused = browser.get(&reading).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["code"]), (403, &json!("step_up_required")));

    let mut asked = world.ask(browser, &[]).await;
    let offers = ["federated/begin", "federated/finish", "account/switch"];
    assert_eq!((asked.flow.stage(), asked.flow.offers()), ("raise", offers.to_vec()), "{}", asked.flow.now);
    let before = asked.browser.session().unwrap().to_owned();
    let answer = world.go(&mut asked, "ana-there").await;
    asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
    world.tokens(&mut asked).await;
    assert_ne!(*asked.browser.session().unwrap(), before, "a new token for a new proof");
    let mut browser = asked.browser;
    let answer = silently(&world, &mut browser).await;
    assert!(parameter(&answer, "code").is_some(), "the session remembers: {answer}");
    let read = browser.get(&reading).await;
    assert_eq!(read.status, 200, "{}", read.text());
}

#[tokio::test]
async fn a_member_whom_the_connection_does_not_know_yet_links_the_identity_on_the_way() {
    let (world, _) = owned().await;
    let (ben, ..) = world.member("ben@example.test").await;
    require(&world, json!({})).await;
    let mut asked = world.ask(ben, &[]).await;
    let answer = world.go(&mut asked, "ben-there").await;
    let Asked { browser, flow, .. } = &mut asked;
    flow.act(browser, "federated/finish", answer).await;
    assert_eq!(
        (flow.stage(), flow.offers()),
        ("raise", vec!["password/check"]),
        "a recent proof, as to bind"
    );
    flow.act(browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(flow.stage(), "claim", "{}", flow.now);
    flow.act(browser, "claim/attach", nothing()).await;
    world.tokens(&mut asked).await;

    // The same without a session: the claim asks for any credential of the account.
    world.member("eva@example.test").await;
    let mut asked = world.link("eva-there", "eva@example.test").await;
    world.tokens(&mut asked).await;
}

/// Ana's identity does not let Ben in, whose account the flow knows.
#[tokio::test]
async fn the_connection_must_vouch_for_the_account_that_is_signed_in() {
    let (world, _) = owned().await;
    let (ben, ..) = world.member("ben@example.test").await;
    require(&world, json!({})).await;
    let mut asked = world.ask(ben, &[]).await;
    let answer = world.go(&mut asked, "ana-there").await;
    asked.flow.act(&mut asked.browser, "federated/finish", answer).await;
    assert_eq!(asked.flow.stage(), "raise", "{}", asked.flow.now);
    assert!(parameter(&asked.flow.now, "code").is_none());
}

/// As when the organization raises its level: refused at the next use, and kept for when the policy is changed again.
#[tokio::test]
async fn what_was_granted_before_waits() {
    let (world, mut browser) = owned().await;
    let here = [("organization", "acme")];
    let tokens = world.client.tokens(&mut browser, &world.app, &here).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    require(&world, json!({})).await;
    let refused = world.client.refresh(&world.app, refresh, &[]).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("its own connection"), "{}", refused.text());
    assert_eq!(set_policy(&world, &json!({})).await.status, 200);
    let refreshed = world.client.refresh(&world.app, refresh, &[]).await;
    assert_eq!(refreshed.status, 200, "{}", refreshed.text());
}

#[tokio::test]
async fn another_connection_of_the_organization_is_not_the_required_one() {
    let (world, _) = owned().await;
    let other = definition(&world.provider, &json!({"name": "Other"}));
    let other = connect(&world.app, world.place, &world.key, &other).await;
    let mut asked = world.vouched("ana-there", &[]).await;
    world.tokens(&mut asked).await;
    // The owner has not signed in by the other one.
    let refused = set_policy(&world, &json!({"require_connection": other})).await;
    assert_eq!(refused.status, 409, "{}", refused.text());
    let moved = format!(
        "INSERT INTO directory_identity (organization_id, identity_id, connection_id, subject, membership_id)
         SELECT organization_id, gen_random_uuid(), '{other}', subject, membership_id FROM directory_identity"
    );
    world.app.sql(&moved).await;
    let set = set_policy(&world, &json!({"require_connection": other})).await;
    assert_eq!(set.status, 200, "{}", set.text());
    let answer = silently(&world, &mut asked.browser).await;
    assert_eq!(parameter(&answer, "error").as_deref(), Some("login_required"), "{answer}");
    let asked = world.ask(asked.browser, &[]).await;
    assert_eq!(asked.flow.now["connections"].as_array().map(Vec::len), Some(1), "{}", asked.flow.now);
    assert_eq!(asked.flow.now["connections"][0]["id"], json!(other));
}

async fn passkey(asked: &mut Asked, authenticator: &mut VirtualAuthenticator) {
    let Asked { browser, flow, .. } = asked;
    flow.act(browser, "passkey/begin", nothing()).await;
    let response = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(browser, "passkey/finish", json!({"credential": response})).await;
}

async fn broken(world: &World) -> i64 {
    let path = format!("/v1/organizations/{}/audit-events?type=break_glass.used", world.place);
    let trailed = get(&world.app, &path, &world.key).await.json()["items"].as_array().map_or(0, Vec::len);
    let logged = "SELECT count(*) FROM security_log WHERE kind = 'break_glass.used'";
    assert_eq!(world.app.count(logged).await, i64::try_from(trailed).unwrap());
    world.app.count(logged).await
}

#[tokio::test]
async fn one_owner_may_break_the_glass_with_a_passkey_and_each_use_is_recorded() {
    let (world, _) = owned().await;
    let (mut eva, mut key) = register_with_passkey(&world.app, "eva@example.test").await;
    let account = account_of(&mut eva).await;
    let member = join(&world.app, world.place, account, "owner").await;
    world.app.forget_limits().await;
    let (mut ben, mut other_key) = register_with_passkey(&world.app, "ben@example.test").await;
    let account = account_of(&mut ben).await;
    join(&world.app, world.place, account, "owner").await;
    require(&world, json!({"break_glass": member})).await;

    let mut asked = world.ask(Browser::new(&world.app), &[]).await;
    assert!(asked.flow.offers().contains(&"passkey/finish"), "{}", asked.flow.now);
    assert!(!asked.flow.offers().contains(&"password/check"));
    passkey(&mut asked, &mut key).await;
    let tokens = world.tokens(&mut asked).await;
    assert_eq!(broken(&world).await, 1);
    let refresh = tokens["refresh_token"].as_str().unwrap();
    assert_eq!(world.client.refresh(&world.app, refresh, &[]).await.status, 200);

    // Another owner's passkey opens nothing.
    let mut asked = world.ask(Browser::new(&world.app), &[]).await;
    passkey(&mut asked, &mut other_key).await;
    assert_eq!(asked.flow.stage(), "raise", "{}", asked.flow.now);
    assert!(!asked.flow.offers().contains(&"passkey/finish"), "{}", asked.flow.now);
    assert_eq!(broken(&world).await, 1);

    // Nor does theirs, once they are no owner.
    let roles = format!("UPDATE membership_role SET role_key = 'member' WHERE membership_id = '{member}'");
    world.app.sql(&roles).await;
    let mut asked = world.ask(Browser::new(&world.app), &[]).await;
    passkey(&mut asked, &mut key).await;
    assert_eq!(asked.flow.stage(), "raise", "{}", asked.flow.now);
    assert_eq!(broken(&world).await, 1);
}

#[tokio::test]
async fn nobody_can_be_locked_out_by_a_policy_that_nobody_can_meet() {
    let world = world().await;
    let (mut ana, _, member) = world.member("ana@example.test").await;
    let other = organization(&world.app, "other").await;
    let key = organization_key(&world.app, other, &["connections:*"]).await;
    let theirs = connect(&world.app, other, &key, &definition(&world.provider, &json!({}))).await;
    let ours = &world.connection;
    let glass = |member: MembershipId| json!({"require_connection": ours, "break_glass": member});
    let refused = [
        (json!({"require_connection": theirs}), 422, "not an enabled connection"),
        (json!({"require_connection": ours}), 409, "no owner with a credential of their own has signed in"),
        (json!({"break_glass": member}), 422, "needs require_connection"),
        (glass(member), 422, "not an owner"),
    ];
    for (policy, status, why) in refused {
        let answer = set_policy(&world, &policy).await;
        assert_eq!(answer.status.as_u16(), status, "{policy}: {}", answer.text());
        assert!(answer.text().contains(why), "{}", answer.text());
    }
    make_owner(&world, member).await;
    let answer = set_policy(&world, &glass(member)).await;
    assert!(answer.text().contains("has no passkey"), "{}", answer.text());
    let mut flow = enrol(&mut ana, "passkey").await;
    if flow.stage() == "raise" {
        flow.act(&mut ana, "password/check", json!({"password": PASSWORD})).await;
    }
    let mut authenticator = VirtualAuthenticator::new(porteiro_testkit::ORIGIN, "id.example.test");
    flow.act(&mut ana, "passkey/enrol_begin", nothing()).await;
    let response = authenticator.register(&flow.now["challenge"]["public_key"]);
    flow.act(&mut ana, "passkey/enrol_finish", json!({"credential": response})).await;
    assert_eq!(world.change(json!({"enabled": false})).await.status, 200);
    let answer = set_policy(&world, &glass(member)).await;
    assert!(answer.text().contains("not an enabled connection"), "{}", answer.text());
    assert_eq!(world.change(json!({"enabled": true})).await.status, 200);
    let set = set_policy(&world, &glass(member)).await;
    assert_eq!(set.status, 200, "{}", set.text());
    assert_eq!(set.json()["break_glass"], json!(member));

    let disabled = world.change(json!({"enabled": false})).await;
    assert_eq!(disabled.status, 409, "{}", disabled.text());
    assert!(disabled.text().contains("change require_connection"), "{}", disabled.text());
    assert_eq!(world.change(json!({"name": "Renamed"})).await.status, 200);
    let path = format!("/v1/organizations/{}/connections/{ours}", world.place);
    let deleted = call(&world.app, Method::DELETE, &path, &world.key, None, &[]).await;
    assert_eq!(deleted.status, 409, "{}", deleted.text());
}

#[tokio::test]
async fn a_dry_run_says_who_would_be_kept_out_and_what_they_lack() {
    let (world, _) = owned().await;
    let (mut ben, _, member) = world.member("ben@example.test").await;
    let mut flow = ben.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut ben, "password/check", json!({"password": PASSWORD})).await;
    let wanted = json!({"name": "Laptop", "organization": "acme", "permissions": ["organization:read"]});
    assert_eq!(ben.post("/v1/account/api-keys", &wanted).await.status, 201);
    let key = platform_key(&world.app, &["organizations:administer"]).await;
    let look = async |policy: Value| {
        let path = format!("/v1/organizations/{}/policy", world.place);
        let why = ("porteiro-reason", "the test");
        let seen = call(&world.app, Method::GET, &path, &key, None, &[why]).await;
        let headers = [why, ("if-match", seen.header("etag"))];
        call(&world.app, Method::PUT, &format!("{path}?dry_run=true"), &key, Some(&policy), &headers).await
    };
    let would =
        look(json!({"require_connection": world.connection})).await.json()["would_lose_access"].clone();
    let bens = json!([{"id": member, "display_name": "A member", "lacks": ["require_connection"]}]);
    assert_eq!((&would["count"], &would["members"], &would["personal_keys"]), (&json!(1), &bens, &json!(1)));
    let both = json!({"require_connection": world.connection, "min_level": "aal2"});
    let would = look(both).await.json()["would_lose_access"].clone();
    assert_eq!(would["count"], 2, "nobody has two factors: {would}");
    let of_ben = would["members"].as_array().unwrap().iter().find(|one| one["id"] == json!(member)).unwrap();
    assert_eq!(of_ben["lacks"], json!(["min_level", "require_connection"]));
    // It is refused where the change would be, and changes nothing.
    world.app.sql("UPDATE membership_role SET role_key = 'member'").await;
    assert_eq!(look(json!({"require_connection": world.connection})).await.status, 409);
    assert_eq!(
        world.app.count("SELECT count(*) FROM organization WHERE policy ? 'require_connection'").await,
        0
    );
}

/// Who decides how owners sign in can become one.
#[tokio::test]
async fn only_whoever_may_make_owners_sets_or_lifts_it() {
    let (world, _) = owned().await;
    let key = organization_key(&world.app, world.place, ADMINISTRATOR).await;
    let wanted = json!({"require_connection": world.connection});
    assert_eq!(put_policy(&world, &key, &wanted).await.status, 403);
    require(&world, json!({})).await;
    assert_eq!(put_policy(&world, &key, &json!({})).await.status, 403);
    let kept = json!({"require_connection": world.connection, "max_age": 3600});
    let answer = put_policy(&world, &key, &kept).await;
    assert_eq!(answer.status, 200, "the rest is not about it: {}", answer.text());
}

#[tokio::test]
async fn a_personal_key_is_neither_made_nor_accepted() {
    let (world, mut browser) = owned().await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    let wanted = json!({"name": "Laptop", "organization": "acme", "permissions": ["members:read"]});
    let made = browser.post("/v1/account/api-keys", &wanted).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let secret = made.json()["secret"].as_str().unwrap().to_owned();
    let path = format!("/v1/organizations/{}/members", world.place);
    assert_eq!(get(&world.app, &path, &secret).await.status, 200);
    require(&world, json!({})).await;
    let again = browser.post("/v1/account/api-keys", &wanted).await;
    assert_eq!(again.status, 409, "{}", again.text());
    let used = get(&world.app, &path, &secret).await;
    assert_eq!(used.status, 403, "{}", used.text());
    assert!(used.text().contains("personal keys are not accepted"), "{}", used.text());
}
