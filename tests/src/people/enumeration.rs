//! Whether somebody has an account cannot be told from any answer where an identifier is typed: not from its bytes, and
//! not from when it comes.
//!
//! 2 × 200 requests per endpoint in CI, 2 × 2,000 with `PORTEIRO_TEST_LONG=1` (`just prove`), which also measures the
//! times, with the floors of a deployment and without any.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use porteiro_testkit::{Answer, Browser, TestApp};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{lift_limits, long, single_connection, text_sign_in::with_password_and_number};

/// Every endpoint that takes an identifier: the kind of flow and the action.
const ENDPOINTS: [(&str, &str); 5] = [
    ("sign_in", "password/check"),
    ("sign_in", "email_code/send"),
    ("sign_in", "sms_code/send"),
    ("register", "email_code/send"),
    ("recover", "email_code/send"),
];
const KNOWN: &str = "alma@example.test";
const UNKNOWN: &str = "aldo@example.test";
/// Requests under way at once; more would wait for each other's hashes.
const AT_ONCE: usize = 8;

/// What a stranger sees, with what differs from flow to flow whoever it is about masked.
type Seen = (u16, Vec<(String, String)>, Value);

fn seen(answer: &Answer) -> Seen {
    let masked = |name: &str| matches!(name, "x-request-id" | "content-length" | "date");
    let mut headers: Vec<(String, String)> = answer
        .headers
        .iter()
        .map(|(name, value)| {
            let value = if masked(name.as_str()) { "masked" } else { value.to_str().unwrap() };
            (name.to_string(), value.to_owned())
        })
        .collect();
    headers.sort();
    let mut body = answer.json();
    for flow in ["", "/flow"] {
        for field in ["instance", "id", "expires_at", "phrase"] {
            if let Some(value) = body.pointer_mut(&format!("{flow}/{field}")) {
                *value = json!("masked");
            }
        }
    }
    (answer.status.as_u16(), headers, body)
}

/// One request of its own browser, and how long the answer took.
async fn ask(app: Arc<TestApp>, kind: &str, action: &str, identifier: &str) -> (Seen, Duration) {
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": kind})).await;
    let input = json!({"identifier": identifier, "password": "not the right one"});
    let begun = Instant::now();
    let answer = flow.attempt(&mut browser, action, input).await;
    (seen(&answer), begun.elapsed())
}

/// Interleaved requests for both: everything seen must be the same. Gives the times, known and unknown.
async fn compare(
    app: &Arc<TestApp>,
    (kind, action): (&'static str, &'static str),
    each: usize,
    at_once: usize,
) -> [Vec<Duration>; 2] {
    lift_limits(app).await;
    let mut times = [Vec::new(), Vec::new()];
    let mut first: Option<Seen> = None;
    let mut asked = 0;
    let mut asking = JoinSet::new();
    while times[0].len() + times[1].len() < 2 * each {
        while asked < 2 * each && asking.len() < at_once {
            let (app, who) = (Arc::clone(app), asked % 2);
            asking.spawn(async move {
                let (seen, took) = ask(app, kind, action, [KNOWN, UNKNOWN][who]).await;
                (who, seen, took)
            });
            asked += 1;
        }
        let (who, seen, took) = asking.join_next().await.unwrap().unwrap();
        assert_eq!(first.get_or_insert_with(|| seen.clone()), &seen, "{kind} {action} {who}");
        times[who].push(took);
        if asked % 32 == 0 {
            // Fifty failures in a row would wear the password out.
            app.sql("UPDATE credential SET failures = 0").await;
        }
    }
    let expected = if action == "password/check" { 422 } else { 200 };
    assert_eq!(first.unwrap().0, expected, "{kind} {action}");
    times
}

async fn app(floors: Option<(u32, u32)>) -> Arc<TestApp> {
    let builder = TestApp::builder().people().settings(|settings| {
        settings.sms_sign_in = true;
        settings.database_pool_size =
            settings.database_pool_size.max(if single_connection() { 1 } else { 8 });
        if let Some((password, send)) = floors {
            settings.password_floor_ms = password;
            settings.send_floor_ms = send;
        }
    });
    let app = Arc::new(builder.start().await);
    with_password_and_number(&app, KNOWN).await;
    app
}

fn default_floors() -> (u32, u32) {
    let settings = porteiro_service::settings::Settings::default();
    (settings.password_floor_ms, settings.send_floor_ms)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn known_and_unknown_people_get_the_same_bytes() {
    if single_connection() {
        return;
    }
    let app = app(None).await;
    for endpoint in ENDPOINTS {
        compare(&app, endpoint, if long() { 2_000 } else { 200 }, AT_ONCE).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_comes_before_the_floor() {
    if single_connection() {
        return;
    }
    let (password, send) = default_floors();
    let app = app(Some((password, send))).await;
    for endpoint in ENDPOINTS {
        let floor = if endpoint.1 == "password/check" { password } else { send };
        let times = compare(&app, endpoint, AT_ONCE, AT_ONCE).await;
        let early = times.iter().flatten().filter(|took| took.as_millis() < floor.into()).count();
        assert_eq!(early, 0, "{endpoint:?}");
    }
}

/// Prints the figures of docs/performance.md; asserts nothing about time, which a busy machine would break.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_of_known_and_unknown_people() {
    if !long() {
        return;
    }
    for (name, floors, at_once) in
        [("no floor", Some((0, 0)), 1), ("default floors", Some(default_floors()), AT_ONCE)]
    {
        let app = app(floors).await;
        for endpoint in ENDPOINTS {
            let [mut known, mut unknown] = compare(&app, endpoint, 2_000, at_once).await;
            let p = mann_whitney(&known, &unknown);
            known.sort();
            unknown.sort();
            let median = |times: &[Duration]| times[times.len() / 2].as_secs_f64() * 1_000.0;
            let (one, two) = (median(&known), median(&unknown));
            println!(
                "{name}, {} {}: median {one:.2} ms known, {two:.2} ms unknown, difference {:+.3} ms, p = {p:.4}",
                endpoint.0,
                endpoint.1,
                one - two
            );
        }
    }
}

/// The two-sided Mann–Whitney U test by its normal approximation, ties taken into account: how likely a difference in
/// rank at least this great is when both come from the same distribution.
fn mann_whitney(one: &[Duration], two: &[Duration]) -> f64 {
    let mut all: Vec<(u128, bool)> = one.iter().map(|took| (took.as_nanos(), true)).collect();
    all.extend(two.iter().map(|took| (took.as_nanos(), false)));
    all.sort_unstable();
    let (n, m) = (float(one.len()), float(two.len()));
    let (mut ranks, mut ties, mut index) = (0.0, 0.0, 0);
    while index < all.len() {
        let same = all[index..].iter().take_while(|(took, _)| *took == all[index].0).count();
        let rank = float(index) + f64::midpoint(float(same), 1.0);
        ranks += rank * float(all[index..index + same].iter().filter(|(_, first)| *first).count());
        ties += float(same).powi(3) - float(same);
        index += same;
    }
    let u = ranks - n * (n + 1.0) / 2.0;
    let total = n + m;
    let spread = (n * m / 12.0 * ((total + 1.0) - ties / (total * (total - 1.0)))).sqrt();
    let z = ((u - n * m / 2.0).abs() - 0.5).max(0.0) / spread;
    2.0 * upper_tail(z)
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

/// Of the standard normal distribution (Abramowitz and Stegun 26.2.17; the error is below 10⁻⁷).
fn upper_tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let poly = t
        * (0.319_381_530
            + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    poly * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[test]
fn the_test_of_times_knows_a_difference() {
    let from = |start: u64, step: u64| -> Vec<Duration> {
        (0..200).map(|index| Duration::from_micros(start + index * step)).collect()
    };
    assert!(mann_whitney(&from(0, 10), &from(5, 10)) > 0.9, "interleaved: the same");
    assert!(mann_whitney(&from(0, 10), &from(0, 10)) > 0.99, "ties: the same");
    assert!(mann_whitney(&from(0, 10), &from(600, 10)) < 0.001, "shifted");
    assert!((upper_tail(1.96) - 0.025).abs() < 0.000_1);
}
