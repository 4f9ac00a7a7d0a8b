//! How a person learns that something waits.

use porteiro_service::jobs;
use serde_json::json;

use super::{approvals::inbox, driver::Scene};

#[tokio::test]
async fn a_mail_says_that_something_waits_and_nothing_more() {
    let mut scene = Scene::asking().await;
    let before = scene.app.mails("ana@example.test").await.len();
    scene.asked(&[("binding_message", "Order 7")]).await;
    scene.asked(&[]).await;
    let mails = scene.app.mails("ana@example.test").await;
    assert_eq!(mails.len(), before + 1, "what waits is announced once");
    let mail = mails.iter().find(|mail| mail.subject == "Something waits for your decision").unwrap();
    for secret in ["Ledger agent", "Order 7", "10.00", "Bea", "http"] {
        assert!(!mail.text.contains(secret), "{secret}: {}", mail.text);
    }
    assert_eq!(inbox(&mut scene.browser, "pending").await.len(), 2);
}

#[tokio::test]
async fn a_person_gets_one_mail_in_five_minutes_and_is_told_of_everything_that_still_waits() {
    let mut scene = Scene::asking().await;
    // In the outbox, or sent by `due`.
    let sent = async |scene: &Scene| {
        let mails = scene.app.mails("ana@example.test").await;
        let waiting = mails.iter().filter(|mail| mail.subject == "Something waits for your decision").count();
        let sent = scene.app.count("SELECT count(*) FROM job_outcome WHERE kind = 'mail.send'").await;
        waiting + usize::try_from(sent).unwrap()
    };
    let due = async |scene: &Scene| {
        scene.app.forget_limits().await;
        scene.app.sql("UPDATE job SET run_at = now() + interval '1 day' WHERE kind = 'mail.send'").await;
        scene.app.sql("UPDATE job SET run_at = now() WHERE kind = 'approvals.remind'").await;
        jobs::run_due(&scene.app.app).await.unwrap();
    };
    for _ in 0..3 {
        scene.asked(&[]).await;
        scene.decide("deny", &json!({})).await;
        scene.app.sql("DELETE FROM approval_block").await;
        scene.app.sql("UPDATE approval SET decided_at = decided_at - interval '2 days'").await;
    }
    assert_eq!(sent(&scene).await, 1);
    due(&scene).await;
    assert_eq!(sent(&scene).await, 1, "nothing waits any more");
    scene.asked(&[]).await;
    assert_eq!(sent(&scene).await, 2);
    scene.decide("deny", &json!({})).await;
    scene.asked(&[]).await;
    assert_eq!(sent(&scene).await, 2, "too soon");
    due(&scene).await;
    assert_eq!(sent(&scene).await, 3, "later");
}
