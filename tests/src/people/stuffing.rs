//! Credential stuffing: many pairs from many addresses over three nodes. What is looked at stays within the bucket of
//! each person, whoever attacks; the person still gets in.
//!
//! 1,000 pairs from 50 addresses in CI; 10,000 from 500 with `PORTEIRO_TEST_LONG=1` (`just prove`).

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use porteiro_testkit::{Browser, Flow, TestApp, VirtualAuthenticator, nothing};
use serde_json::json;
use tokio::task::JoinSet;

use super::{PASSWORD, enrol, long, register_with_password};

const VICTIMS: usize = 20;
/// `password.subject`: ten at once, then one in five minutes.
const AT_ONCE: usize = 10;
const EVERY: Duration = Duration::from_mins(5);
/// Attackers at work at the same time.
const WORKERS: usize = 12;

fn victim(index: usize) -> String {
    format!("victim{index}@example.test")
}

fn attacker(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, u8::try_from(index / 250).unwrap(), u8::try_from(index % 250).unwrap())
}

/// How many guesses may have been looked at since the attack began.
fn bound(started: Instant) -> usize {
    AT_ONCE + usize::try_from(started.elapsed().as_secs() / EVERY.as_secs()).unwrap()
}

/// What came of the attack, by victim.
#[derive(Default)]
struct Tally {
    looked_at: [AtomicUsize; VICTIMS],
    succeeded: AtomicUsize,
    limited: AtomicUsize,
    /// Microseconds of the answers that were limited.
    limited_for: AtomicUsize,
    other: AtomicUsize,
}

/// One pair: whom it is for, what is tried, where it comes from.
type Pair = (usize, String, usize);

/// Every victim in turn, every address in turn, the right password when four fifths are through.
fn pairs(count: usize, addresses: usize) -> Vec<Pair> {
    let right = count / VICTIMS * 4 / 5;
    let password = |guess: usize| {
        if guess == right { PASSWORD.to_owned() } else { format!("leaked password no. {guess}") }
    };
    // Seven addresses on: so that one address does not keep to a few victims.
    (0..count).map(|pair| (pair % VICTIMS, password(pair / VICTIMS), pair * 7 % addresses)).collect()
}

/// Guesses from the front of the queue, each from its own address; a new flow after every fifth guess from there.
async fn attack(nodes: Vec<Arc<TestApp>>, queue: Arc<Vec<Pair>>, next: Arc<AtomicUsize>, tally: Arc<Tally>) {
    let mut callers: BTreeMap<usize, (Browser, Flow, usize)> = BTreeMap::new();
    while let Some((whom, password, address)) = queue.get(next.fetch_add(1, Ordering::Relaxed)) {
        let node = &nodes[address % nodes.len()];
        let (mut browser, mut flow, used) = match callers.remove(address) {
            Some(caller) if caller.2 < 5 => caller,
            Some(_) | None => {
                let mut browser = Browser::new(&node.from_address(attacker(*address)));
                let flow = browser.open(json!({"kind": "sign_in"})).await;
                (browser, flow, 0)
            }
        };
        let input = json!({"identifier": victim(*whom), "password": password});
        let begun = Instant::now();
        let answer = flow.attempt(&mut browser, "password/check", input).await;
        match answer.status.as_u16() {
            200 => {
                tally.succeeded.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            422 => {
                tally.looked_at[*whom].fetch_add(1, Ordering::Relaxed);
            }
            429 => {
                tally.limited.fetch_add(1, Ordering::Relaxed);
                let took = usize::try_from(begun.elapsed().as_micros()).unwrap();
                tally.limited_for.fetch_add(took, Ordering::Relaxed);
            }
            _other => {
                tally.other.fetch_add(1, Ordering::Relaxed);
            }
        }
        callers.insert(*address, (browser, flow, used + 1));
    }
}

/// The bucket is empty and the attack under way: the passkey opens, and so does the known device.
async fn meanwhile(nodes: &[Arc<TestApp>], authenticator: &mut VirtualAuthenticator, known: &Browser) {
    let mut elsewhere = Browser::new(&nodes[1].from_address([192, 0, 2, 1]));
    let mut flow = elsewhere.open(json!({"kind": "sign_in"})).await;
    let response = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut elsewhere, "passkey/finish", json!({"credential": response})).await;
    assert_eq!(flow.stage(), "complete");

    let mut device = Browser::new(&nodes[2].from_address([192, 0, 2, 2]));
    device.cookies.clone_from(&known.cookies);
    device.cookies.remove("__Host-session");
    let input = json!({"identifier": victim(1), "password": PASSWORD});
    let mut flow = device.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut device, "password/check", input.clone()).await;

    let mut stranger = Browser::new(&nodes[2].from_address([192, 0, 2, 3]));
    let mut flow = stranger.open(json!({"kind": "sign_in"})).await;
    let answer = flow.attempt(&mut stranger, "password/check", input).await;
    assert_eq!(answer.status, 429, "even the right password: nobody learns it was right");
}

/// A passkey beside the password.
async fn add_passkey(browser: &mut Browser) -> VirtualAuthenticator {
    let mut authenticator = VirtualAuthenticator::new(porteiro_testkit::ORIGIN, "id.example.test");
    let mut flow = enrol(browser, "passkey").await;
    flow.act(browser, "password/check", json!({"password": PASSWORD})).await;
    flow.act(browser, "passkey/enrol_begin", nothing()).await;
    let response = authenticator.register(&flow.now["challenge"]["public_key"]);
    flow.act(browser, "passkey/enrol_finish", json!({"credential": response})).await;
    assert_eq!(flow.stage(), "complete");
    authenticator
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stuffing_never_looks_at_more_than_the_bucket_and_the_owner_still_gets_in() {
    if super::single_connection() {
        return;
    }
    let (count, addresses) = if long() { (10_000, 500) } else { (1_000, 50) };
    let nodes = TestApp::builder().people().connections(4).start_nodes(3).await;
    let mut known = Vec::new();
    for index in 0..VICTIMS {
        nodes[0].forget_limits().await;
        known.push(register_with_password(&nodes[index % 3], &victim(index)).await);
    }
    let mut authenticator = add_passkey(&mut known[0]).await;
    nodes[0].forget_limits().await;

    let (tally, started) = (Arc::new(Tally::default()), Instant::now());
    let (queue, next) = (Arc::new(pairs(count, addresses)), Arc::new(AtomicUsize::new(0)));
    let mut attacking = JoinSet::new();
    for _ in 0..WORKERS {
        attacking.spawn(attack(nodes.clone(), Arc::clone(&queue), Arc::clone(&next), Arc::clone(&tally)));
    }
    while next.load(Ordering::Relaxed) < count / 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    meanwhile(&nodes, &mut authenticator, &known[1]).await;
    let in_time = next.load(Ordering::Relaxed) < count;
    attacking.join_all().await;
    let took = started.elapsed();
    let looked_at: Vec<usize> = tally.looked_at.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let limited = tally.limited.load(Ordering::Relaxed);
    println!(
        "{count} pairs from {addresses} addresses in {:.1} s: {} looked at (most for one person {}), {} succeeded, \
         {limited} limited, {:.1} ms each",
        took.as_secs_f64(),
        looked_at.iter().sum::<usize>(),
        looked_at.iter().max().unwrap(),
        tally.succeeded.load(Ordering::Relaxed),
        f64::from(u32::try_from(tally.limited_for.load(Ordering::Relaxed) / limited.max(1)).unwrap())
            / 1_000.0,
    );
    assert!(in_time, "the attack was over before its victims came");
    assert_eq!(tally.other.load(Ordering::Relaxed), 0, "answers of another kind");
    assert!(looked_at.iter().all(|count| *count <= bound(started)), "{looked_at:?}");
    assert_eq!(tally.succeeded.load(Ordering::Relaxed), 0, "the right password came after the bound");
    let refused = nodes[0]
        .count("SELECT count(*) FROM security_log WHERE kind = 'proof.refused' AND payload->>'method' = 'password/check'")
        .await;
    assert_eq!(
        usize::try_from(refused).unwrap(),
        looked_at.iter().sum::<usize>(),
        "each is in the log, and only those"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_brute_guesses_at_the_same_moment_on_three_nodes_never_exceed_the_bucket() {
    let nodes = TestApp::builder().people().start_nodes(3).await;
    register_with_password(&nodes[0], &victim(0)).await;
    nodes[0].forget_limits().await;
    let start = Arc::new(tokio::sync::Barrier::new(64));
    let mut guessing = JoinSet::new();
    for index in 0..64 {
        let mut browser = Browser::new(&nodes[index % 3].from_address(attacker(index)));
        let mut flow = browser.open(json!({"kind": "sign_in"})).await;
        let start = Arc::clone(&start);
        guessing.spawn(async move {
            start.wait().await;
            let input = json!({"identifier": victim(0), "password": format!("leaked password no. {index}")});
            flow.attempt(&mut browser, "password/check", input).await.status.as_u16()
        });
    }
    let answers = guessing.join_all().await;
    let looked_at = answers.iter().filter(|status| **status == 422).count();
    assert!((1..=AT_ONCE).contains(&looked_at), "{looked_at} were looked at: {answers:?}");
    assert!(answers.iter().all(|status| matches!(status, 422 | 429 | 503)), "{answers:?}");
}
