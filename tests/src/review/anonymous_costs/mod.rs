//! What a stranger may cost: every route that answers without a person's or an administrator's credentials, what one
//! request to it may cost at most, and how much one network may add. A new route without a row in [`table::COSTS`] fails
//! here.
//!
//! 100 requests to each from one network, 40 more when its buckets are empty, and 30 from as many networks; 10,000, 1,000
//! and 1,000 with `PORTEIRO_TEST_LONG=1`.

mod hostile;
mod ledger;
mod table;

use std::{net::Ipv4Addr, time::Instant};

use porteiro_service::http::{Access, Route};
use porteiro_testkit::TestApp;

use self::{
    hostile::World,
    ledger::Ledger,
    table::{COSTS, Cost},
};

/// Whoever has no account and no administrator's word can get this far: with nothing, or with a client, a flow or a
/// registration of their own making.
const fn is_open(access: Access) -> bool {
    match access {
        Access::Public(_)
        | Access::FlowOwner
        | Access::Client
        | Access::RegistrationToken
        | Access::Token(_) => true,
        Access::Session | Access::Organization(_) | Access::Platform(_) | Access::Provisioning(_) => false,
    }
}

fn open_routes() -> Vec<Route> {
    porteiro_service::table().into_iter().filter(|route| is_open(route.access)).collect()
}

const fn times(short: u32, long: u32, is_long: bool) -> u32 {
    if is_long { long } else { short }
}

#[test]
fn every_open_route_has_a_row_and_every_row_a_route() {
    let mut routes: Vec<(String, &str)> =
        open_routes().iter().map(|route| (route.method.to_string(), route.path)).collect();
    let mut rows: Vec<(String, &str)> =
        COSTS.iter().map(|cost| (cost.method.to_owned(), cost.path)).collect();
    routes.sort();
    rows.sort();
    assert_eq!(rows, routes, "say in tests/src/review/anonymous_costs/table.rs what a route may cost");
}

#[test]
fn the_table_is_the_document() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/security/anonymous.md");
    let wanted = table::document();
    if porteiro_testkit::variable("PORTEIRO_TEST_RECORD").is_some() {
        std::fs::write(file, &wanted).unwrap();
    }
    let written = std::fs::read_to_string(file).unwrap_or_default();
    assert!(written == wanted, "run it with PORTEIRO_TEST_RECORD=1 and read the difference");
}

/// What was spent by so many requests.
#[derive(Debug, Default)]
struct Spent {
    /// By the dearest one.
    statements: u64,
    rows: i64,
    bytes: i64,
    seconds: f64,
}

async fn drive(app: &TestApp, world: &World, cost: &Cost, count: u32, spread: bool) -> Spent {
    let before = Ledger::read(app).await;
    let (started, mut statements) = (Instant::now(), 0);
    for number in 0..count {
        let request = hostile::request(world, cost, number);
        let from = if spread { Ipv4Addr::from(0x0a00_0000 + number) } else { Ipv4Addr::new(203, 0, 113, 9) };
        let there = app.from_address(from);
        let sent = app.app.store.sent();
        let answer = there.send(request).await;
        // The clock of a test stands still, which a node that is asked whether it is ready notices.
        let answered = answer.status.as_u16() < 500 || cost.path == "/readyz";
        assert!(answered, "{} {}: {}", cost.method, cost.path, answer.text());
        statements = statements.max(app.app.store.sent() - sent);
    }
    let after = Ledger::read(app).await;
    Spent {
        statements,
        rows: after.rows - before.rows,
        bytes: after.bytes - before.bytes,
        seconds: started.elapsed().as_secs_f64(),
    }
}

/// What was spent beyond the table, in words.
fn check(cost: &Cost, spent: &Spent, most: f64, what: &str) -> Vec<String> {
    // Four times a second and node somebody asks what has changed in the directory.
    let statements = spent.statements <= u64::from(cost.statements) + 1;
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    let (rows, bytes) = (spent.rows as f64, spent.bytes as f64);
    let buckets = f64::from(cost.buckets);
    let rows = rows <= most * f64::from(cost.rows) + buckets;
    let bytes = bytes <= most * f64::from(cost.bytes) + buckets * 200.0;
    [("statements", statements), ("rows", rows), ("bytes", bytes)]
        .iter()
        .filter(|(_, fits)| !fits)
        .map(|(of, _)| format!("{} {} {what}, {of}: {spent:?}", cost.method, cost.path))
        .collect()
}

#[tokio::test]
async fn no_stranger_costs_more_than_the_table_says() {
    let long = crate::people::long();
    let mut beyond = Vec::new();
    for cost in COSTS {
        let app = crate::oauth::app().await;
        let world = World::made(&app).await;
        let count = times(100, 10_000, long);
        let one = drive(&app, &world, cost, count, false).await;
        // A network writes as often as its bucket allows, and nothing beyond.
        let allowed = f64::from(cost.burst) + one.seconds / cost.interval_seconds;
        beyond.extend(check(cost, &one, allowed.min(f64::from(count)), "from one network"));
        super::empty(&app, "true").await;
        let refused = drive(&app, &world, cost, times(40, 1_000, long), false).await;
        beyond.extend(check(cost, &refused, 0.0, "with empty buckets"));
        let count = times(30, 1_000, long);
        let many = drive(&app, &world, cost, count, true).await;
        let each = Cost { buckets: cost.buckets * count, ..*cost };
        beyond.extend(check(&each, &many, f64::from(count), "from many networks"));
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

#[tokio::test]
async fn every_other_route_costs_a_stranger_nothing_that_stays() {
    let app = crate::oauth::app().await;
    let routes = porteiro_service::table();
    let closed: Vec<&Route> = routes.iter().filter(|route| !is_open(route.access)).collect();
    let before = Ledger::read(&app).await;
    let mut junk = 0;
    for route in &closed {
        for authorization in
            [None, Some("Bearer junk"), Some("Bearer pt_key_junk"), Some("Session pt_ses_junk")]
        {
            junk += 1;
            let sent = app.app.store.sent();
            let answer = app.send(hostile::unauthorized(route, authorization, junk)).await;
            assert!(
                (400..500).contains(&answer.status.as_u16()),
                "{} {}: {}",
                route.method,
                route.path,
                answer.text()
            );
            let spent = app.app.store.sent() - sent;
            assert!(spent <= 3, "{} {} {authorization:?}: {spent} statements", route.method, route.path);
        }
    }
    let after = Ledger::read(&app).await;
    assert_eq!(after.rows - before.rows, 0, "{} routes", closed.len());
}
