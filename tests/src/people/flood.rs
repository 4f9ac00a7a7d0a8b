//! Passwords come in four times faster than the cores can hash them. What needs no hash stays fast, and what
//! does not fit into the queue is turned away at once.

use std::{
    net::Ipv4Addr,
    sync::Arc,
    time::{Duration, Instant},
};

use porteiro_service::credentials::hashing::Typed;
use porteiro_testkit::{Browser, TestApp};
use serde_json::json;
use tokio::task::JoinSet;

use super::{long, single_connection};

const PATHS: [&str; 2] = ["/.well-known/jwks.json", "/healthz"];

fn quantile(times: &mut [Duration], of_hundred: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * of_hundred / 100).min(times.len() - 1)]
}

/// Asks for both in turn, a millisecond apart, for as long as said.
async fn watch(app: &TestApp, seconds: u64) -> [Vec<Duration>; 2] {
    let (mut times, started) = ([Vec::new(), Vec::new()], Instant::now());
    while started.elapsed() < Duration::from_secs(seconds) {
        for (path, times) in PATHS.iter().zip(&mut times) {
            let begun = Instant::now();
            assert_eq!(app.get(path).await.status, 200, "{path}");
            times.push(begun.elapsed());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    times
}

/// How long one password takes with nobody else there.
async fn one_hash(app: &TestApp) -> Duration {
    let mut times = Vec::new();
    for _ in 0..10 {
        let begun = Instant::now();
        app.app.hasher.verify(Typed::Anywhere, None, b"a password".to_vec()).await.unwrap();
        times.push(begun.elapsed());
    }
    quantile(&mut times, 50)
}

/// Every guess from an address of its own and for a person of its own: no limit is in the way.
async fn flood(app: Arc<TestApp>, apart: Duration, seconds: u64) -> Vec<(u16, Duration)> {
    let mut openers = Vec::new();
    for _ in 0..16 {
        let mut browser = Browser::new(&app);
        let flow = browser.open(json!({"kind": "sign_in"})).await;
        openers.push((browser.cookies, flow));
    }
    let mut pace = tokio::time::interval(apart);
    let (mut guesses, started) = (JoinSet::new(), Instant::now());
    for index in 0_u32.. {
        pace.tick().await;
        if started.elapsed() > Duration::from_secs(seconds) {
            break;
        }
        let (cookies, flow) = &openers[index as usize % openers.len()];
        let (cookies, mut flow) = (cookies.clone(), flow.clone());
        let app = app.from_address(Ipv4Addr::from(0x0a00_0000 + index));
        guesses.spawn(async move {
            let mut browser = Browser::new(&app);
            browser.cookies = cookies;
            let input =
                json!({"identifier": format!("person{index}@example.test"), "password": "a wrong password"});
            let begun = Instant::now();
            let status = flow.attempt(&mut browser, "password/check", input).await.status.as_u16();
            (status, begun.elapsed())
        });
    }
    guesses.join_all().await
}

#[tokio::test(flavor = "multi_thread")]
async fn f12_a_flood_of_passwords_leaves_the_rest_of_the_service_fast() {
    if single_connection() {
        return;
    }
    let seconds = if long() { 20 } else { 3 };
    let builder = TestApp::builder().people().settings(|settings| settings.database_pool_size = 16);
    let app = Arc::new(builder.start().await);
    let cores = u32::try_from(std::thread::available_parallelism().unwrap().get()).unwrap();
    let hash = one_hash(&app).await;
    let mut idle = watch(&app, seconds).await;
    let flooding = tokio::spawn(flood(Arc::clone(&app), hash / cores / 4, seconds + 1));
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut busy = watch(&app, seconds).await;
    let answers = flooding.await.unwrap();

    let of = |wanted: u16| -> Vec<Duration> {
        answers.iter().filter(|(status, _)| *status == wanted).map(|(_, took)| *took).collect()
    };
    let (mut hashed, mut refused) = (of(422), of(429));
    println!(
        "{cores} cores, {hash:.1?} a hash, {} guesses: {} hashed, {} turned away after {:.1?} (p50), {:.1?} (p99)",
        answers.len(),
        hashed.len(),
        refused.len(),
        quantile(&mut refused, 50),
        quantile(&mut refused, 99),
    );
    println!("hashed after {:.1?} (p50), {:.1?} (p99)", quantile(&mut hashed, 50), quantile(&mut hashed, 99));
    for ((path, idle), busy) in PATHS.iter().zip(&mut idle).zip(&mut busy) {
        let (before, during) = (quantile(idle, 99), quantile(busy, 99));
        let held_to = if long() { during } else { quantile(busy, 90) };
        println!(
            "{path}: p50 {:.2?} idle, {:.2?} flooded; p99 {before:.2?} idle, {during:.2?} flooded ({:.1} times)",
            quantile(idle, 50),
            quantile(busy, 50),
            during.as_secs_f64() / before.as_secs_f64()
        );
        // Beside other tests on two cores only a starved endpoint stands out; the long form runs alone and is strict.
        let allowed =
            if long() { (before * 2).max(Duration::from_millis(50)) } else { Duration::from_secs(1) };
        assert!(held_to <= allowed, "{path}: {before:?} idle, {held_to:?}");
    }
    // Where the machine is somebody else's at the moment, a connection may not be had in time.
    let unavailable = if long() { 0 } else { of(503).len() };
    assert_eq!(hashed.len() + refused.len() + unavailable, answers.len(), "nothing else is answered");
    assert!(
        if long() { refused.len() > hashed.len() } else { !refused.is_empty() },
        "more came than could be hashed"
    );
    // Half of them: the rest of the machine may be as busy as it likes.
    let allowed = if long() { Duration::from_millis(50) } else { Duration::from_secs(5) };
    assert!(quantile(&mut refused, 50) <= allowed, "{:?}", quantile(&mut refused, 50));
}
