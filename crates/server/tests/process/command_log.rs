//! Row 12 of the review: the security log contains every command that changes something, and no command that only
//! reads.

use porteiro_testkit::Database;
use serde_json::{Value, json};

use crate::installation::{Installation, run_bare};

/// The entries since `after`, oldest first, as (kind, payload).
async fn logged(database: &Database, after: &mut Vec<String>) -> Vec<(String, Value)> {
    let client = database.client().await;
    let sql = "SELECT log.entry_id::text, kind, payload, personal->>'user_agent'
               FROM security_log log JOIN security_log_personal USING (entry_id, subject_id)
               WHERE NOT log.entry_id::text = ANY ($1) ORDER BY entry_id";
    let rows = client.query(sql, &[after]).await.unwrap();
    rows.iter()
        .map(|row| {
            after.push(row.get(0));
            assert_eq!(row.get::<_, String>(3), "command line");
            (row.get(1), row.get(2))
        })
        .collect()
}

fn command(name: &str, target: Option<&str>) -> (String, Value) {
    let mut payload = json!({"command": name});
    if let Some(target) = target {
        payload["target"] = json!(target);
    }
    ("console.command".into(), payload)
}

/// The commands of one level, as listed by the help. Continuation lines are indented further.
fn listed(path: &[&str]) -> Vec<String> {
    let (_, help, _) = run_bare(&[path, &["-h"]].concat());
    let Some((_, rest)) = help.split_once("Commands:\n") else { return Vec::new() };
    let lines = rest.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

const CHANGING: &[&str] = &[
    "api-keys create",
    "api-keys revoke",
    "apis register",
    "apis remove",
    "bootstrap",
    "clients create",
    "clients disable",
    "clients edit",
    "clients rotate-secret",
    "clients trust",
    "jobs retry",
    "keys generate",
    "keys retire",
    "keys rotate",
    "platform grant",
    "platform revoke",
];
/// Commands that only read; the service itself, its callers and the steps of the schema have their own records.
const OTHERS: &[&str] = &[
    "admin",
    "api-keys list",
    "apis list",
    "clients show",
    "completions",
    "config check",
    "config schema",
    "doctor",
    "jobs list",
    "keys list",
    "migrate",
    "platform list",
    "serve",
];

#[test]
fn every_command_is_known_to_this_test() {
    let mut all = Vec::new();
    for outer in listed(&[]) {
        let inner = listed(&[&outer]);
        if inner.is_empty() {
            all.push(outer);
        } else {
            all.extend(inner.iter().map(|inner| format!("{outer} {inner}")));
        }
    }
    all.sort_unstable();
    let mut known: Vec<&str> = [CHANGING, OTHERS].concat();
    known.sort_unstable();
    assert_eq!(all, known, "say of a new command whether it changes something");
}

#[tokio::test]
async fn what_commands_change_is_in_the_security_log_with_what_they_did() {
    let installation = Installation::ready().await;
    let (database, seen) = (&installation.database, &mut Vec::new());
    assert_eq!(logged(database, seen).await, [command("keys generate", None)]);

    let file = installation.file("api.json");
    let scope = r#"{"name": "things:read", "description": {"en": "x", "pt": "x"}}"#;
    let api = "https://api.example.test";
    std::fs::write(&file, format!(r#"{{"identifier": "{api}", "name": "Things", "scopes": [{scope}]}}"#))
        .unwrap();
    installation.succeed(&["apis", "register", file.to_str().unwrap()]);
    let said = json!({"identifier": api, "by": "console"});
    let changed = ("api.changed".to_owned(), said.clone());
    assert_eq!(logged(database, seen).await, [command("apis register", None), changed]);
    installation.succeed(&["apis", "remove", api]);
    let removed = ("api.removed".to_owned(), said);
    assert_eq!(logged(database, seen).await, [command("apis remove", Some(api)), removed]);

    let file = installation.file("client.json");
    let metadata = json!({"client_name": "Robot", "grant_types": ["client_credentials"]});
    std::fs::write(&file, metadata.to_string()).unwrap();
    let made = installation.succeed(&["clients", "create", file.to_str().unwrap()]);
    let id = made.split_whitespace().nth(1).unwrap();
    let created = ("client.created".to_owned(), json!({"client_id": id, "by": "console"}));
    assert_eq!(logged(database, seen).await, [command("clients create", None), created]);
    installation.succeed(&["clients", "trust", id, "first_party"]);
    let administered = |before: Value, after: Value| {
        let payload = json!({"client_id": id, "by": "console", "before": before, "after": after});
        ("client.administered".to_owned(), payload)
    };
    let trusted = administered(json!({"trust": "verified"}), json!({"trust": "first_party"}));
    assert_eq!(logged(database, seen).await, [command("clients trust", Some(id)), trusted]);
    let patch = installation.file("patch.json");
    std::fs::write(&patch, r#"{"client_name": "Robot 2", "kind": "agent", "scope": null}"#).unwrap();
    installation.succeed(&["clients", "edit", id, patch.to_str().unwrap()]);
    let members = json!({"client_id": id, "by": "console", "members": ["client_name", "kind"]});
    let edited = ("client.administered".to_owned(), members);
    assert_eq!(logged(database, seen).await, [command("clients edit", Some(id)), edited]);
    std::fs::write(&patch, r#"{"client_nam": "Robot 3"}"#).unwrap();
    assert_eq!(installation.run(&["clients", "edit", id, patch.to_str().unwrap()]).0, 1);
    assert_eq!(logged(database, seen).await, [command("clients edit", Some(id))]);
    installation.succeed(&["clients", "rotate-secret", id]);
    let rotated = ("client.secret_rotated".to_owned(), json!({"client_id": id, "by": "console"}));
    assert_eq!(logged(database, seen).await, [command("clients rotate-secret", Some(id)), rotated]);
    installation.succeed(&["clients", "disable", id]);
    let disabled = administered(json!({"enabled": true}), json!({"enabled": false}));
    assert_eq!(logged(database, seen).await, [command("clients disable", Some(id)), disabled]);
}

#[tokio::test]
async fn commands_about_keys_jobs_and_the_first_administrator_are_in_the_security_log_too() {
    let installation = Installation::ready().await;
    let (database, seen) = (&installation.database, &mut Vec::new());
    logged(database, seen).await;
    installation.succeed(&["bootstrap"]);
    assert_eq!(logged(database, seen).await, [command("bootstrap", None)]);
    let listed = installation.succeed(&["keys", "rotate", "--algorithm", "ES256", "--now"]);
    assert_eq!(logged(database, seen).await, [command("keys rotate --now", Some("ES256"))]);
    let retiring = listed.lines().find(|line| line.contains("retiring")).unwrap();
    let kid = retiring.split_whitespace().nth(3).unwrap();
    installation.succeed(&["keys", "retire", kid, "--now"]);
    assert_eq!(logged(database, seen).await, [command("keys retire --now", Some(kid))]);
    installation.succeed(&["jobs", "retry"]);
    assert_eq!(logged(database, seen).await, [command("jobs retry", None)]);
    // A failed attempt is recorded too.
    let nobody = "00000000-0000-4000-8000-000000000000";
    for verb in ["grant", "revoke"] {
        assert_eq!(installation.run(&["platform", verb, nobody, "platform.accounts:read"]).0, 1);
        let name = format!("platform {verb}");
        assert_eq!(logged(database, seen).await, [command(&name, Some(nobody))]);
    }
    installation.succeed(&["api-keys", "create", "--permissions", "platform.log:read"]);
    let entries = logged(database, seen).await;
    assert_eq!(
        (entries.len(), &entries[0], entries[1].0.as_str()),
        (2, &command("api-keys create", None), "api_key.created")
    );
    for looks in [
        &["keys", "list"][..],
        &["apis", "list"],
        &["api-keys", "list"],
        &["platform", "list"],
        &["jobs", "list"],
        &["config", "check"],
    ] {
        installation.run(looks);
        assert_eq!(logged(database, seen).await, [], "{looks:?}");
    }
}
