//! The audit trail: complete, in order, unchangeable, and checked by its readers from an export alone.

use std::{
    io::Write,
    process::{Command, Stdio},
    sync::Arc,
};

use http::{Method, header};
use porteiro_protocol::id::OrganizationId;
use porteiro_service::audit_trail::TrailKind;
use porteiro_testkit::{Answer, TestApp};
use serde_json::Value;

use super::driver::{account_of, call, get, join, organization, organization_key, platform_key, set_status};

const LINES: (&str, &str) = ("accept", "application/x-ndjson");

fn path(organization: OrganizationId) -> String {
    format!("/v1/organizations/{organization}/audit-events")
}

/// Somebody of the platform looks at the trail, which is an entry each time.
async fn look(app: &TestApp, here: OrganizationId, key: &str, reason: &str) -> Answer {
    call(app, Method::GET, &format!("{}?limit=1", path(here)), key, None, &[("porteiro-reason", reason)])
        .await
}

async fn export(app: &TestApp, here: OrganizationId, key: &str, query: &str) -> Vec<Value> {
    let answer = call(app, Method::GET, &format!("{}{query}", path(here)), key, None, &[LINES]).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, LINES.1), "{}", answer.text());
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The program of `docs/audit-trail.md`, as it is printed there.
fn check(entries: &[Value]) -> Result<String, String> {
    let document = include_str!("../../../docs/audit-trail.md");
    let program = document.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let mut python = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python3, which the recipe of docs/audit-trail.md needs");
    let mut input = python.stdin.take().unwrap();
    for entry in entries {
        // It stops reading where it finds something wrong.
        if writeln!(input, "{entry}").is_err() {
            break;
        }
    }
    drop(input);
    let output = python.wait_with_output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(said(&output.stdout)) } else { Err(said(&output.stderr)) }
}

/// An organization whose trail has so many entries, and a key that reads it.
async fn with_entries(app: &TestApp, count: usize) -> (OrganizationId, String, String) {
    let here = organization(app, "here").await;
    let platform = platform_key(app, &["organizations:administer"]).await;
    let key = organization_key(app, here, &["audit:read"]).await;
    // That a key is used for the first time may be an entry too.
    assert_eq!(get(app, &path(here), &key).await.status, 200);
    let there = usize::try_from(app.count("SELECT count(*) FROM trail").await).unwrap();
    for number in there..count {
        assert_eq!(look(app, here, &platform, &format!("ticket {number}, \"x\"\\/")).await.status, 200);
    }
    (here, platform, key)
}

#[tokio::test]
async fn pages_are_newest_first_and_filters_narrow_them() {
    let app = TestApp::new().await;
    let (here, platform, key) = with_entries(&app, 5).await;
    let mut seen = Vec::new();
    let mut next = format!("{}?limit=2", path(here));
    loop {
        let page = get(&app, &next, &key).await;
        assert_eq!(page.status, 200, "{}", page.text());
        let page = page.json();
        seen.extend(page["items"].as_array().unwrap().iter().map(|it| it["sequence"].as_i64().unwrap()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        next = format!("{}?limit=2&cursor={cursor}", path(here));
    }
    assert_eq!(seen, [5, 4, 3, 2, 1]);
    let entry = get(&app, &format!("{}?limit=1", path(here)), &key).await.json()["items"][0].clone();
    let members: Vec<&str> = entry.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = vec![
        "id",
        "sequence",
        "at",
        "type",
        "actor",
        "target",
        "organization",
        "address",
        "user_agent",
        "request_id",
        "outcome",
        "reason",
        "changes",
        "previous_hash",
        "hash",
    ];
    let mut sorted = members.clone();
    sorted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!((&entry["address"], &entry["type"]), (&"203.0.113.7".into(), &"platform.administered".into()));

    let id = platform.split('_').nth(2).unwrap();
    let (third, fourth) = (&export(&app, here, &key, "").await[2], &export(&app, here, &key, "").await[3]);
    let count = async |query: &str| export(&app, here, &key, query).await.len();
    let looks =
        usize::try_from(app.count("SELECT count(*) FROM trail WHERE reason LIKE 'ticket %'").await).unwrap();
    assert!((4..=5).contains(&looks));
    assert_eq!(count(&format!("?actor={id}")).await, looks);
    assert_eq!(count("?actor=nobody").await, 0);
    assert_eq!(count("?type=platform.administered").await, looks);
    assert_eq!(count("?type=member.joined").await, 0);
    let at = |entry: &Value| entry["at"].as_str().unwrap().to_owned();
    // The granularity is a millisecond, so an entry of the same one comes along.
    assert!((2..=4).contains(&count(&format!("?from={}", at(fourth))).await));
    assert!(
        (2..=3).contains(&count(&format!("?to={}", at(third))).await) || at(third)[..23] == at(fourth)[..23]
    );
    for wrong in ["?type=nothing", "?from=yesterday", "?since=2026-01-01T00:00:00Z"] {
        assert_eq!(get(&app, &format!("{}{wrong}", path(here)), &key).await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn an_export_is_checked_by_the_printed_program_and_every_forgery_is_found() {
    let app = TestApp::new().await;
    let (here, _, key) = with_entries(&app, 6).await;
    let entries = export(&app, here, &key, "").await;
    assert_eq!(entries.len(), 6);
    let last = entries[5]["hash"].as_str().unwrap();
    assert_eq!(check(&entries).unwrap(), format!("holds up to entry 6, {last}"));
    assert!(check(&entries[2..]).is_ok(), "from where an older part was dropped");
    for (name, value) in [
        ("reason", Value::from("another")),
        ("type", "member.joined".into()),
        ("at", "2026-01-01T00:00:00.000000Z".into()),
        ("actor", serde_json::json!({"kind": "member", "id": "x"})),
        ("sequence", 7.into()),
        ("request_id", "00000000-0000-0000-0000-000000000000".into()),
        ("outcome", "refused".into()),
        ("changes", serde_json::json!({"before": null, "after": 1})),
        ("previous_hash", "".into()),
    ] {
        let mut forged = entries.clone();
        forged[3][name] = value;
        assert!(check(&forged).unwrap_err().contains("is not what was written"), "{name}");
    }
    let without = [&entries[..2], &entries[3..]].concat();
    assert_eq!(check(&without).unwrap_err(), "before entry 4 something is missing");
    let mut swapped = entries.clone();
    swapped.swap(2, 3);
    assert!(check(&swapped).is_err());
    assert!(check(&[]).is_err());
    let mut erased = entries;
    erased[1]["address"] = Value::Null;
    assert!(check(&erased).is_ok(), "what can be erased is not in the chain");
}

#[tokio::test]
async fn more_than_one_page_is_exported_whole_and_ten_exports_a_minute() {
    let app = TestApp::new().await;
    let (here, _, key) = with_entries(&app, 2).await;
    // As if 1200 more had happened: the chain is made by the service, so by its own function.
    for _ in 0..12 {
        let store = &app.app.store;
        let (service, context) = (&app.app, &context());
        store
            .run_tx("test.many", |tx| async move {
                for number in 0..100 {
                    let target = porteiro_service::audit_trail::Target::new("number", number);
                    let actor = porteiro_service::audit_trail::Actor::system();
                    let event =
                        porteiro_service::audit_trail::Event::done(TrailKind::RoleChanged, actor, target)
                            .changing(serde_json::json!({"z": [1, {"b": "é", "a": null}]}), Value::Null);
                    porteiro_service::audit_trail::record(service, &tx, context, here, &event).await?;
                }
                Ok(())
            })
            .await
            .unwrap();
    }
    let entries = export(&app, here, &key, "").await;
    let numbers: Vec<i64> = entries.iter().map(|entry| entry["sequence"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..=1_202).collect::<Vec<_>>());
    assert!(check(&entries).is_ok());
    let answer = call(&app, Method::GET, &format!("{}?limit=5", path(here)), &key, None, &[LINES]).await;
    assert_eq!(answer.status, 400);
    app.forget_limits().await;
    for _ in 0..10 {
        export(&app, here, &key, "?type=member.joined").await;
    }
    let refused = call(&app, Method::GET, &path(here), &key, None, &[LINES]).await;
    assert_eq!((refused.status.as_u16(), refused.json()["code"].as_str()), (429, Some("slow_down")));
    assert_eq!(get(&app, &path(here), &key).await.status, 200, "pages go on");
}

fn context() -> porteiro_service::http::RequestContext {
    porteiro_service::http::RequestContext {
        request_id: uuid_of(7),
        address: [203, 0, 113, 9].into(),
        user_agent: "Test".into(),
        origin: None,
        fetch_site: None,
        accept_language: String::new(),
        locale: None,
        bind: None,
        session: None,
        directory: None,
        device: None,
        door: None,
        authorization: None,
        dpop: Vec::new(),
        has_cookies: false,
        certificate: None,
        acting: None,
    }
}

fn uuid_of(number: u128) -> porteiro_protocol::id::RequestId {
    format!("{number:032x}").parse().unwrap()
}

#[tokio::test]
async fn sixty_four_writers_on_three_nodes_leave_one_chain_without_a_gap() {
    let builder = TestApp::builder().settings(|settings| settings.database_pool_size = 12);
    let nodes = builder.start_nodes(3).await;
    let here = organization(&nodes[0], "here").await;
    let key = Arc::new(platform_key(&nodes[0], &["organizations:administer"]).await);
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..64_usize {
        let (node, key) = (Arc::clone(&nodes[number % 3]), Arc::clone(&key));
        writers.spawn(async move {
            // A node that is short of connections says so, and nothing was written.
            loop {
                match look(&node, here, &key, &format!("writer {number}")).await.status.as_u16() {
                    200 => return,
                    503 => tokio::task::yield_now().await,
                    other => panic!("{other}"),
                }
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    let key = organization_key(&nodes[1], here, &["audit:read"]).await;
    let entries = export(&nodes[1], here, &key, "").await;
    let numbers: Vec<i64> = entries.iter().map(|entry| entry["sequence"].as_i64().unwrap()).collect();
    // Theirs, and perhaps that the key that reads them is used for the first time.
    assert_eq!(numbers, (1..).take(entries.len()).collect::<Vec<i64>>());
    let mut reasons: Vec<&str> = entries.iter().filter_map(|entry| entry["reason"].as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    assert_eq!(reasons.len(), 64, "each wrote once");
    assert!(entries.windows(2).all(|two| two[0]["at"].as_str() <= two[1]["at"].as_str()), "time goes on");
    check(&entries).unwrap();
}

#[tokio::test]
async fn nobody_changes_an_entry_and_erasing_a_person_leaves_the_chain() {
    let app = TestApp::new().await;
    let (here, _, key) = with_entries(&app, 3).await;
    let client = app.database.client().await;
    for statement in [
        "UPDATE trail SET reason = 'other'",
        "DELETE FROM trail",
        "TRUNCATE trail",
        "DELETE FROM trail WHERE sequence = 1",
    ] {
        let error = client.batch_execute(statement).await.unwrap_err();
        let message = error.as_db_error().unwrap().message();
        assert!(
            message.contains("append-only") || message.contains("permission denied"),
            "{statement}: {message}"
        );
    }
    let before = export(&app, here, &key, "").await;
    assert_eq!(client.execute("DELETE FROM trail_personal", &[]).await.unwrap(), 3);
    let after = export(&app, here, &key, "").await;
    assert_eq!((&before[0]["address"], &after[0]["address"]), (&"203.0.113.7".into(), &Value::Null));
    assert_eq!(before[2]["hash"], after[2]["hash"]);
    check(&after).unwrap();
}

#[tokio::test]
async fn members_read_it_with_a_session_while_the_organization_is_suspended() {
    let app = crate::people::app().await;
    let here = organization(&app, "here").await;
    let mut admin = crate::people::register_with_password(&app, "ana@example.test").await;
    let mut member = crate::people::register_with_password(&app, "bia@example.test").await;
    let mut stranger = crate::people::register_with_password(&app, "caio@example.test").await;
    join(&app, here, account_of(&mut admin).await, "admin").await;
    join(&app, here, account_of(&mut member).await, "member").await;
    let key = organization_key(&app, here, &["audit:read"]).await;
    for status in ["enabled", "suspended"] {
        set_status(&app, here, status).await;
        assert_eq!(admin.get(&path(here)).await.status, 200, "{status}");
        assert_eq!(member.get(&path(here)).await.status, 403, "{status}");
        assert_eq!(stranger.get(&path(here)).await.status, 404, "{status}");
    }
    assert_eq!(get(&app, &path(here), &key).await.status, 409, "its keys are worth nothing meanwhile");
    admin.headers.push(("accept", LINES.1.into()));
    let lines = admin.get(&path(here)).await;
    assert_eq!(lines.header(header::CONTENT_TYPE.as_str()), LINES.1);
}
