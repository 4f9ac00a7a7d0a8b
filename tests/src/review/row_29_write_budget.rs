//! A member's keys cannot use up the organization's write budget.

use std::{sync::Arc, time::Instant};

use http::Method;
use porteiro_protocol::id::{MembershipId, OrganizationId};
use porteiro_service::api_keys::KeyKind;
use porteiro_testkit::{Answer, TestApp};
use serde_json::json;

use crate::{
    oauth::driver::Relying,
    organizations::{
        driver::{call, join, key, organization, organization_key},
        staff::{MANAGES, Staff, account},
    },
};

const WRITES: u32 = 6;

async fn app() -> Arc<TestApp> {
    let builder = TestApp::builder().people().settings(|settings| settings.api_writes_per_minute = WRITES);
    Arc::new(builder.start().await)
}

/// A change that is asked for and finds nothing to change.
async fn write(app: &TestApp, place: OrganizationId, bearer: &str) -> u16 {
    let nothing = "00000000-0000-4000-8000-000000000001";
    let path = format!("/v1/organizations/{place}/invitations/{nothing}");
    call(app, Method::DELETE, &path, bearer, None, &[]).await.status.as_u16()
}

async fn personal_keys(
    app: &TestApp,
    place: OrganizationId,
    member: MembershipId,
    count: usize,
) -> Vec<String> {
    let mut keys = Vec::new();
    for _ in 0..count {
        keys.push(key(app, KeyKind::Personal, Some(place), Some(member), &["invitations:write"]).await);
    }
    keys
}

/// Every key asks more than it may.
async fn spend(app: &TestApp, place: OrganizationId, keys: &[String]) -> usize {
    let mut let_in = 0;
    for key in keys {
        for _ in 0..WRITES * 2 {
            let_in += usize::from(write(app, place, key).await != 429);
        }
    }
    let_in
}

async fn disable(app: &TestApp, place: OrganizationId, member: MembershipId, bearer: &str) -> Answer {
    let path = format!("/v1/organizations/{place}/members/{member}/disable");
    call(app, Method::POST, &path, bearer, Some(&json!({})), &[]).await
}

/// Empties a bucket for an hour, whatever this machine's pace is.
async fn empty(app: &TestApp, rule: &str, whom: &[u8]) {
    let key = app.app.secrets.limit_key(rule, whom);
    let sql = "INSERT INTO limit_bucket (bucket_key, full_at) VALUES ($1, now() + interval '1 hour')
               ON CONFLICT (bucket_key) DO UPDATE SET full_at = excluded.full_at";
    app.database.client().await.execute(sql, &[&key.as_slice()]).await.unwrap();
}

#[tokio::test]
async fn a_member_with_many_keys_has_one_persons_share_and_the_owner_disables_them() {
    let app = app().await;
    let here = organization(&app, "here").await;
    let console = Relying::console(&app).await;
    let mut owner = Staff::new(&app, "owner@example.test", here, "owner").await;
    let token = owner.token(&app, &console, here, MANAGES).await;
    let member = join(&app, here, account(&app, "Many Keys").await, "admin").await;
    let keys = personal_keys(&app, here, member, 12).await;
    app.forget_limits().await;

    let since = Instant::now();
    let let_in = spend(&app, here, &keys).await;
    // Two callers' worth at once; one more comes back every five seconds.
    let most = usize::try_from(u64::from(WRITES) * 2 + since.elapsed().as_secs() / 5).unwrap() + 1;
    assert!((1..=most).contains(&let_in), "{let_in} calls of one person were let in");
    let other = organization_key(&app, here, &["invitations:write"]).await;
    assert_eq!(write(&app, here, &other).await, 404, "what is refused uses up nothing of the organization's");
    let disabled = disable(&app, here, member, &token).await;
    assert_eq!(disabled.status, 200, "{}", disabled.text());
    assert_eq!(write(&app, here, &keys[0]).await, 401);
}

#[tokio::test]
async fn an_owner_gets_through_when_the_organization_has_nothing_left() {
    let app = app().await;
    let here = organization(&app, "here").await;
    let console = Relying::console(&app).await;
    let mut owner = Staff::new(&app, "owner@example.test", here, "owner").await;
    let token = owner.token(&app, &console, here, MANAGES).await;
    let mut clerk = Staff::new(&app, "clerk@example.test", here, "admin").await;
    let clerks = clerk.token(&app, &console, here, MANAGES).await;
    let member = join(&app, here, account(&app, "Many Keys").await, "admin").await;
    let keys = personal_keys(&app, here, owner.member, 1).await;
    app.forget_limits().await;
    empty(&app, "api_writes.organization", here.uuid().as_bytes()).await;
    // Used up by the owner's own keys and clients.
    empty(&app, "api_writes.person", owner.member.uuid().as_bytes()).await;

    let another = organization_key(&app, here, &["invitations:write"]).await;
    assert_eq!(write(&app, here, &another).await, 429, "the organization has nothing left");
    assert_eq!(disable(&app, here, member, &clerks).await.status, 429);
    assert_eq!(write(&app, here, &keys[0]).await, 429, "the owner's keys have the owner's share");
    let disabled = disable(&app, here, member, &token).await;
    assert_eq!(disabled.status, 200, "{}", disabled.text());
    // What is theirs alone stops an owner, too.
    empty(&app, "api_writes.caller", format!("member:{}", owner.member).as_bytes()).await;
    assert_eq!(disable(&app, here, member, &token).await.status, 429);
}
