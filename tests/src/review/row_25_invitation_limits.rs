//! One organization cannot use up another's invitations.

use http::Method;
use porteiro_protocol::id::OrganizationId;
use porteiro_testkit::{Answer, TestApp};
use serde_json::json;

use crate::{
    organizations::driver::{call, organization, organization_key},
    people,
};

const MAY: &[&str] = &["organization:*", "members:*", "invitations:*"];
const ANA: &str = "ana@example.test";

async fn invite(app: &TestApp, place: OrganizationId, key: &str, email: &str, role: &str) -> Answer {
    let path = format!("/v1/organizations/{place}/invitations");
    call(app, Method::POST, &path, key, Some(&json!({"email": email, "role": role})), &[]).await
}

async fn inviting(app: &TestApp, slug: &str) -> (OrganizationId, String) {
    let place = organization(app, slug).await;
    (place, organization_key(app, place, MAY).await)
}

#[tokio::test]
async fn refused_invitations_count_for_nobody() {
    let app = people::app().await;
    let (here, narrow) = inviting(&app, "here").await;
    let (there, theirs) = inviting(&app, "there").await;
    for _ in 0..12 {
        // More than the key holds, and a role there is not.
        assert_eq!(invite(&app, here, &narrow, ANA, "owner").await.status, 403);
        assert_eq!(invite(&app, here, &narrow, ANA, "nobody").await.status, 422);
    }
    assert_eq!(invite(&app, there, &theirs, ANA, "member").await.status, 201, "another organization");
    assert_eq!(invite(&app, here, &narrow, ANA, "member").await.status, 201, "nor for itself");
    assert_eq!(app.mails(ANA).await.len(), 2);
}

#[tokio::test]
async fn an_organization_that_uses_up_its_share_of_a_mailbox_leaves_the_others_theirs() {
    let app = people::app().await;
    let (here, ours) = inviting(&app, "here").await;
    for index in 0..3 {
        // Another spelling of the same mailbox is the same mailbox.
        let spelt = ["ana@example.test", "ana+1@example.test", "ANA+2@example.test"][index];
        assert_eq!(invite(&app, here, &ours, spelt, "member").await.status, 201, "{spelt}");
    }
    for index in 0..20 {
        let refused = invite(&app, here, &ours, &format!("ana+{index}@example.test"), "member").await;
        assert_eq!(refused.status, 429);
        // One more fits after eight hours, less what has passed.
        let wait: u32 = refused.header("retry-after").parse().unwrap();
        assert!((28_700..=28_800).contains(&wait), "{wait}");
    }
    for slug in ["second", "third"] {
        let (there, theirs) = inviting(&app, slug).await;
        for _ in 0..3 {
            assert_eq!(invite(&app, there, &theirs, ANA, "member").await.status, 201, "{slug}");
        }
    }
    // The mailbox itself takes ten, whoever sends them; then one every two hours.
    let (fourth, theirs) = inviting(&app, "fourth").await;
    assert_eq!(invite(&app, fourth, &theirs, ANA, "member").await.status, 201);
    let full = invite(&app, fourth, &theirs, ANA, "member").await;
    assert_eq!(full.status, 429);
    let wait: u32 = full.header("retry-after").parse().unwrap();
    assert!((7_100..=7_200).contains(&wait), "{wait}");
    assert_eq!(invite(&app, here, &ours, "ben@example.test", "member").await.status, 201, "another mailbox");
}

/// Found by the fourth review: a mailbox that gets no more mail cost the organization its own share at each try.
#[tokio::test]
async fn an_invitation_that_finds_the_mailbox_full_takes_nothing_from_its_organization() {
    let app = people::app().await;
    let (here, ours) = inviting(&app, "here").await;
    for slug in ["second", "third", "fourth", "fifth"] {
        let (there, theirs) = inviting(&app, slug).await;
        for _ in 0..3 {
            invite(&app, there, &theirs, ANA, "member").await;
        }
    }
    let waits: Vec<u32> = {
        let mut waits = Vec::new();
        for _ in 0..6 {
            let refused = invite(&app, here, &ours, ANA, "member").await;
            assert_eq!(refused.status, 429);
            waits.push(refused.header("retry-after").parse().unwrap());
        }
        waits
    };
    assert!(waits.iter().all(|wait| *wait <= 7_200), "two hours, the mailbox's own interval: {waits:?}");
}
