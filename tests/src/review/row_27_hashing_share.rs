//! Known devices keep a share of the hashing queue.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use porteiro_service::credentials::hashing::Typed;
use porteiro_testkit::{Browser, TestApp};
use serde_json::json;
use tokio::task::JoinSet;

use crate::people::{PASSWORD, register_with_password};

const ANA: &str = "ana@example.test";
const DEVICE: &str = "__Host-device";

/// The status of one sign-in with the right password, from a browser that keeps the device cookie or none.
async fn sign_in(app: &Arc<TestApp>, device: Option<&String>) -> u16 {
    let mut browser = Browser::new(app);
    browser.cookies.extend(device.map(|device| (DEVICE.to_owned(), device.clone())));
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let input = json!({"identifier": ANA, "password": PASSWORD});
    flow.attempt(&mut browser, "password/check", input).await.status.as_u16()
}

/// Keeps the queue of strangers full, past every limit by address and person.
fn flood(app: &Arc<TestApp>, stop: &Arc<AtomicBool>) -> JoinSet<()> {
    let mut guesses = JoinSet::new();
    for _ in 0..200 {
        let (app, stop) = (Arc::clone(app), Arc::clone(stop));
        guesses.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let guess = app.app.hasher.verify(Typed::Anywhere, None, b"a wrong password".to_vec()).await;
                if guess.is_err() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        });
    }
    guesses
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_device_signs_in_while_strangers_fill_the_hashing_queue() {
    let app = crate::people::app().await;
    let device = register_with_password(&app, ANA).await.cookies.remove(DEVICE);
    assert!(device.is_some(), "a browser that registered is known");
    let stop = Arc::new(AtomicBool::new(false));
    let guesses = flood(&app, &stop);
    tokio::time::sleep(Duration::from_millis(300)).await;

    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        known.push(sign_in(&app, device.as_ref()).await);
        unknown.push(sign_in(&app, None).await);
    }
    stop.store(true, Ordering::Relaxed);
    guesses.join_all().await;
    assert_eq!(known, [200; 9], "known devices; others: {unknown:?}");
    assert!(unknown.contains(&429), "the queue was full: {unknown:?}");
}

/// Who knows a password may repeat it without end: they must not fill the reserve with it.
#[tokio::test(flavor = "multi_thread")]
async fn one_account_cannot_fill_the_reserve_for_the_others() {
    let app = crate::people::app().await;
    let device = register_with_password(&app, ANA).await.cookies.remove(DEVICE);
    let stop = Arc::new(AtomicBool::new(false));
    let mut guesses = flood(&app, &stop);
    let attacker = Typed::OnKnownDevice("00000000-0000-4000-8000-000000000007".parse().unwrap());
    for _ in 0..100 {
        let (app, stop) = (Arc::clone(&app), Arc::clone(&stop));
        guesses.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                if app.app.hasher.verify(attacker, None, b"their own".to_vec()).await.is_err() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        });
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut known = Vec::new();
    for _ in 0..5 {
        known.push(sign_in(&app, device.as_ref()).await);
    }
    stop.store(true, Ordering::Relaxed);
    guesses.join_all().await;
    assert_eq!(known, [200; 5]);
}
