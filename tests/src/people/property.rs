//! Random walks over the decision: whatever is tried in whatever order, nothing completes with a requirement unmet.
//!
//! 10,000 walks in CI; a million with `PORTEIRO_TEST_LONG=1` (`just prove`).

mod person;
mod random;
mod restated;
mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use porteiro_service::flow::{
    State,
    actions::{self, Action},
    decide::{self, Next},
    state::Stage,
};
use porteiro_service::{credentials::KINDS, registers::REGISTERS};
use porteiro_testkit::{Browser, SeededEntropy};
use serde_json::json;

use self::{random::Random, world::World};

const GOLDEN: &str = include_str!("stage_action_table.txt");

/// What was offered, by kind and stage.
type Table = BTreeMap<(String, &'static str), BTreeSet<&'static str>>;

#[test]
fn no_walk_completes_with_a_requirement_unmet() {
    let walks = if super::long() { 1_000_000 } else { 10_000 };
    let started = std::time::Instant::now();
    let (mut table, mut ends) = (Table::new(), BTreeMap::<&str, u64>::new());
    let mut steps = 0;
    for seed in 0..walks {
        let (taken, end) = walk(seed, &mut table);
        steps += taken;
        *ends.entry(end).or_default() += 1;
    }
    println!("{walks} walks, {steps} steps, {:.1} s, ends {ends:?}", started.elapsed().as_secs_f64());
    assert!(ends["complete"] > walks / 20, "walks that get somewhere: {ends:?}");
    let table = print(&table);
    assert!(table == GOLDEN, "stage_action_table.txt says otherwise; the walks saw:\n{table}");
}

/// One flow from its opening to its end, or until the walker tires.
fn walk(seed: u64, table: &mut Table) -> (u64, &'static str) {
    let random = Random(SeededEntropy::new(seed));
    let mut world = World::any(&random);
    let mut state = world.open(&random);
    for step in 0..24 {
        let facts = world.facts(&mut state);
        let next = decide::next(&state, &facts);
        look(seed, &world, &state, &next);
        let stage = next.stage();
        let Next::Ask { actions, .. } = next else { return (step, stage.as_str()) };
        let offered = table.entry((state.kind.as_str().to_owned(), stage.as_str())).or_default();
        offered.extend(actions.iter().map(|action| action.path()));
        let before = state.clone();
        let stray = actions.is_empty() || random.percent(15);
        let action =
            if stray { random.pick(&actions::all(REGISTERS.purposes)) } else { random.pick(&actions) };
        if random.percent(2) {
            state.cancelled = true;
        } else if actions.contains(&action) {
            world.act(&mut state, action, random.percent(75), &random);
        }
        keeps(seed, &world, &before, &state);
        world.meanwhile(&random);
    }
    (24, "tired")
}

fn look(seed: u64, world: &World, state: &State, next: &Next) {
    let about = || format!("walk {seed}, {} flow, {next:?}", state.kind.as_str());
    match next {
        Next::Complete => {
            let unmet = restated::unmet(world, state);
            assert!(unmet.is_empty(), "{}: completed without {unmet:?}", about());
        }
        Next::Ask { stage, actions } => {
            assert!(!matches!(stage, Stage::Complete | Stage::Denied | Stage::Cancelled), "{}", about());
            let binds = actions.iter().any(|action| binding(*action));
            assert_eq!(binds, *stage == Stage::Enrol, "{}", about());
            assert!(!binds || restated::may_bind(world, state), "{}: nobody may bind here", about());
            assert!(!state.cancelled && state.refusal.is_none(), "{}", about());
        }
        Next::Refuse(_) | Next::Cancelled => {}
    }
    let terminal = !matches!(next, Next::Ask { .. });
    assert!(
        !terminal || actions::all(REGISTERS.purposes).iter().all(|action| !next.offers(*action)),
        "{}",
        about()
    );
}

fn binding(action: Action) -> bool {
    KINDS.iter().any(|info| info.enrol.contains(&action))
}

/// What no step may undo.
fn keeps(seed: u64, world: &World, before: &State, after: &State) {
    let mut lost = before.proofs.iter().filter(|proof| !after.proofs.contains(proof));
    assert!(lost.all(|proof| world.is_gone(proof)), "walk {seed} lost a proof");
    assert!(after.enrolled.starts_with(&before.enrolled), "walk {seed} forgot what it bound");
    assert!(before.account().is_none_or(|id| after.account() == Some(id)), "walk {seed} changed its subject");
    assert!(restated::is_a_way_in(world, before, after), "walk {seed} began with a second factor");
    assert_eq!(before.need, after.need, "walk {seed} changed what it needs");
    assert!(!before.cancelled || after.cancelled, "walk {seed} came back");
}

/// One line per kind and stage; stages that end a flow offer nothing and have none.
fn print(table: &Table) -> String {
    let mut text = String::new();
    for ((kind, stage), actions) in table {
        writeln!(text, "{kind} {stage}").unwrap();
        for action in actions {
            writeln!(text, "    {action}").unwrap();
        }
    }
    text
}

/// Over HTTP: what is offered is in the table, what is not offered is refused, and the step only ever grows.
#[tokio::test]
async fn over_http_what_is_not_offered_is_refused_and_the_step_only_grows() {
    let app = super::app().await;
    super::register_with_password(&app, "ana@example.test").await;
    let random = Random(SeededEntropy::new(7));
    for round in 0..if super::long() { 400 } else { 16 } {
        app.forget_limits().await;
        // A walk may change the password and end every session: whoever is signed in is somebody new.
        let address = if round % 2 == 0 {
            format!("person{round}@example.test")
        } else {
            "ana@example.test".to_owned()
        };
        let mut browser = match round % 2 {
            0 => super::register_with_password(&app, &address).await,
            _odd => Browser::new(&app),
        };
        let kind = random.pick(if round % 2 == 0 {
            &["enrol", "reauthenticate"]
        } else {
            &["sign_in", "register", "recover"]
        });
        let enrol = (kind == "enrol").then_some("password");
        let mut flow = browser.open(json!({"kind": kind, "enrol": enrol})).await;
        for _ in 0..12 {
            if flow.now["step"].is_null() {
                break;
            }
            let step = flow.now["step"].as_i64();
            let offered: Vec<String> = flow.offers().into_iter().map(str::to_owned).collect();
            let heading = format!("{} {}\n", flow.now["kind"].as_str().unwrap(), flow.stage());
            let listed: Vec<&str> = GOLDEN
                .split_once(&heading)
                .map(|(_, rest)| {
                    rest.lines().take_while(|line| line.starts_with(' ')).map(str::trim).collect()
                })
                .unwrap_or_default();
            assert!(offered.iter().all(|name| listed.contains(&name.as_str())), "{heading}{offered:?}");
            let action = random.pick(&actions::all(REGISTERS.purposes));
            let guess = random.percent(50) || !offered.iter().any(|name| name == "email_code/check");
            let code = if guess { "000000".into() } else { app.mailed_code(&address).await };
            let input = json!({"identifier": address, "password": super::PASSWORD, "code": code,
                               "display_name": "Ana", "new_password": "another long password"});
            let answer = flow.attempt(&mut browser, action.path(), input).await;
            let now = flow.now["step"].as_i64();
            let about = format!("{heading}{}: {}", action.path(), answer.text());
            if !offered.iter().any(|name| name == action.path()) {
                assert!(matches!(answer.status.as_u16(), 400 | 410), "{about}");
                assert_eq!(now, step, "{about}");
            } else if answer.status == 200 {
                assert!(now.is_none() || now > step, "{about}");
            } else {
                assert!(now >= step, "{about}");
            }
        }
    }
}
