//! What a device hears while it waits (RFC 8628 §3.5).

use std::sync::Arc;

use porteiro_service::oauth::{
    clients::{self, Trust},
    device,
};

use super::{super::app, allows, asks, error, person, polls, polls_in_time, television, typed};

#[tokio::test]
async fn whoever_asks_too_often_waits_longer_from_then_on() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let code = asks(&app, &device, &[("scope", "openid")]).await.device_code;
    let since = async |seconds: u32| {
        app.sql(&format!("UPDATE device_request SET polled_at = now() - interval '{seconds} seconds'")).await;
        error(&polls(&app, &device, &code).await)
    };
    assert_eq!(error(&polls(&app, &device, &code).await), "authorization_pending");
    assert_eq!(error(&polls(&app, &device, &code).await), "slow_down");
    assert_eq!(since(6).await, "slow_down", "ten seconds now");
    assert_eq!(since(11).await, "slow_down", "fifteen now");
    assert_eq!(since(21).await, "authorization_pending");
    for _ in 0..20 {
        assert_eq!(since(0).await, "slow_down");
    }
    let longest = app.count("SELECT interval_seconds::int8 FROM device_request").await;
    assert_eq!(longest, 60, "nobody waits longer than an answer is kept");
}

/// RFC 8628 §3.5: after each answer a device may wait five seconds and ask; what it hears meanwhile changes nothing.
#[tokio::test]
async fn slowing_down_loses_nothing() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    assert_eq!(error(&polls(&app, &device, &asked.device_code).await), "authorization_pending");
    allows(&mut ana, &asked.user_code).await;
    assert_eq!(error(&polls(&app, &device, &asked.device_code).await), "slow_down");
    assert_eq!(polls_in_time(&app, &device, &asked.device_code).await.status, 200);
}

#[tokio::test]
async fn time_runs_out_for_both() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    let mut flow = typed(&mut ana, &asked.user_code).await;
    app.sql("UPDATE device_request SET expires_at = now()").await;
    assert_eq!(error(&polls(&app, &device, &asked.device_code).await), "expired_token");
    flow.act(&mut ana, "consent/allow", porteiro_testkit::nothing()).await;
    assert_eq!(flow.now["continue"]["error"], "expired_token", "{}", flow.now);
    assert_eq!(app.count("SELECT count(*) FROM oauth_grant").await, 0);
    assert_eq!(error(&polls_in_time(&app, &device, &asked.device_code).await), "expired_token");

    // A yes in the last second is still found by a device that comes a little later, but not much later.
    for (seconds, status) in [(100, 200), (130, 400)] {
        let asked = asks(&app, &device, &[("scope", "openid")]).await;
        allows(&mut ana, &asked.user_code).await;
        app.sql(&format!(
            "UPDATE device_request SET expires_at = now();
             UPDATE oauth_grant SET expires_at = expires_at - interval '{seconds} seconds' WHERE generation = 0"
        ))
        .await;
        let answer = polls(&app, &device, &asked.device_code).await;
        assert_eq!(answer.status, status, "{seconds} s: {}", answer.text());
    }
}

/// I1: whatever polls at once, on however many nodes, one gets tokens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_device_code_is_one_grant() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    for _ in 0..5 {
        let asked = Arc::new(asks(&app, &device, &[("scope", "openid")]).await);
        allows(&mut ana, &asked.user_code).await;
        let mut racing = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (app, device, asked) = (Arc::clone(&app), device.clone(), Arc::clone(&asked));
            racing.spawn(async move { polls(&app, &device, &asked.device_code).await });
        }
        let answers = racing.join_all().await;
        let good = answers.iter().filter(|answer| answer.status == 200).count();
        let slow = answers.iter().filter(|answer| answer.text().contains("slow_down")).count();
        assert_eq!((good, slow), (1, 7), "the others came too soon, and ended nothing");
        let alive = "SELECT count(*) FROM oauth_grant WHERE revoked_at IS NOT NULL";
        assert_eq!(app.count(alive).await, 0);
    }
}

/// As with any code: who presents it again has it from somebody, or is somebody else.
#[tokio::test]
async fn a_device_code_that_comes_again_ends_what_it_led_to() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let asked = asks(&app, &device, &[("scope", "openid offline_access")]).await;
    allows(&mut person(&app).await, &asked.user_code).await;
    let tokens = polls(&app, &device, &asked.device_code).await.json();
    assert_eq!(error(&polls_in_time(&app, &device, &asked.device_code).await), "invalid_grant");
    let refreshed = device.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(error(&refreshed), "invalid_grant");
}

#[tokio::test]
async fn what_is_over_is_forgotten() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    for _ in 0..3 {
        asks(&app, &device, &[("scope", "openid")]).await;
    }
    app.sql("UPDATE device_request SET expires_at = now() - interval '9 minutes'").await;
    assert_eq!(device::sweep(&app.app.store).await.unwrap(), 0);
    app.sql("UPDATE device_request SET expires_at = now() - interval '11 minutes'").await;
    assert_eq!(device::sweep(&app.app.store).await.unwrap(), 3);
}

/// What a client may do is what it may do now: the yes waits, it does not count more than the operator's word.
#[tokio::test]
async fn a_client_that_lost_its_trust_redeems_no_yes() {
    let app = app().await;
    let device = television(&app, Trust::Verified).await;
    let mut ana = person(&app).await;
    let asked = asks(&app, &device, &[("scope", "openid")]).await;
    allows(&mut ana, &asked.user_code).await;
    // What it was given ended with its trust, and does not come back with it (decision record 0074).
    for trust in [Trust::Unverified, Trust::Verified] {
        clients::set_trust(&app.app.store, &device.id, trust).await.unwrap();
        // Nodes notice within a second (decision record 0030).
        tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
        let answer = polls_in_time(&app, &device, &asked.device_code).await;
        assert_eq!(answer.status, 400, "{trust:?}: {}", answer.text());
        assert!(
            ["unauthorized_client", "invalid_grant"].contains(&error(&answer).as_str()),
            "{}",
            answer.text()
        );
    }
}
