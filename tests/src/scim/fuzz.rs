//! Filters, paths and bodies that nobody sends: never a 500, and never a list of everybody.
//!
//! `PORTEIRO_TEST_LONG=1` gives 500,000 of them to the parsers and the decisions; a few hundred are sent to the server, or as
//! many as `PORTEIRO_TEST_SCIM_FUZZ` says.

use porteiro_protocol::scim::{
    Filter, Path, matching,
    patch::operations,
    resource::{Resource, normal},
    schema::{GROUPS, USERS},
};
use porteiro_service::scim::decide::{GroupForm, UserForm, Wanted, WholeGroup, member_ids, patch_group};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::Value;

use super::{
    driver::{Directory, directory, user},
    inputs::{Input, input, request},
};
use crate::people::long;

const SHORT: u32 = 400;

fn runner() -> TestRunner {
    TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn is_normal(resource: &Resource) {
    assert_eq!(normal(&USERS, resource).as_ref(), Ok(resource));
}

/// Gives it to everything that reads it, as the endpoints do.
fn digest(input: &Input, ana: &UserForm, sales: &GroupForm) {
    match input {
        Input::Filter(text) => {
            let Ok(filter) = Filter::parse(text) else { return };
            for (schema, resource) in [(USERS, ana.resource()), (GROUPS, sales.resource())] {
                if matching::check(&schema, &filter).is_ok() {
                    matching::matches(&schema, &filter, &resource);
                }
            }
        }
        Input::Path(text) => drop(Path::parse(text)),
        Input::Patch(body) => {
            let user = operations(&USERS, body).and_then(|list| Wanted::Patch(&list).user(ana));
            if let Ok(user) = user {
                is_normal(&user.resource());
                assert!(!user.display_name().is_empty());
            }
            drop(operations(&GROUPS, body).and_then(|list| patch_group(sales, &list)));
        }
        Input::Whole(body) => {
            let Value::Object(sent) = body else { return };
            if let Ok(resource) = normal(&USERS, sent) {
                is_normal(&resource);
                drop(Wanted::Whole(&resource).user(ana));
            }
            if let Ok(group) = WholeGroup::read(sent) {
                drop(group.members.map(member_ids));
            }
        }
    }
}

#[test]
fn nothing_stops_the_parsers_and_what_they_accept_is_normal() {
    let (cases, mut runner, strategy) = (if long() { 500_000 } else { 20_000 }, runner(), input());
    let Value::Object(ana) = user("ana") else { panic!("no object") };
    let ana = UserForm::read(normal(&USERS, &ana).unwrap()).unwrap();
    let sales = GroupForm { display_name: "Sales".into(), external_id: None };
    for _ in 0..cases {
        digest(&strategy.new_tree(&mut runner).unwrap().current(), &ana, &sales);
    }
}

async fn round(directory: &Directory, runner: &mut TestRunner, requests: u32) {
    let (user, group) = (directory.user("ana").await, directory.group("Sales", &[]).await);
    let strategy = request();
    for number in 0..requests {
        let (method, path, body) = strategy.new_tree(runner).unwrap().current();
        let id = if path.starts_with("Users") { &user } else { &group };
        let path = path.replace("ID", id);
        if number % 50 == 0 {
            directory.app.forget_limits().await;
        }
        let answer = directory.send(method.clone(), &path, body.as_ref(), &[]).await;
        assert!(!answer.status.is_server_error(), "{method} {path} {body:?}: {}", answer.text());
        let told = answer.text();
        assert!(!told.contains("secret") && !told.contains("SELECT"), "{told}");
    }
}

fn asked() -> Option<u32> {
    porteiro_testkit::variable("PORTEIRO_TEST_SCIM_FUZZ")?.parse().ok()
}

#[tokio::test]
async fn nothing_a_directory_sends_is_an_internal_error() {
    let requests = asked().unwrap_or(SHORT);
    let directory = directory().await;
    round(&directory, &mut runner(), requests).await;
    // Everybody who was made has a name, and nobody is left without one.
    let nameless = "SELECT count(*) FROM membership WHERE user_name IS NULL";
    assert_eq!(directory.app.count(nameless).await, 0);
}
