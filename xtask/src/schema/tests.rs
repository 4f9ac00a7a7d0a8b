//! Tests with real schemas, each in its own database.

use super::{Schema, catalogue, document, of_migrations, rules, scratch};
use crate::files::planted::tree;

fn read(sql: &str) -> Schema {
    let work = scratch::with_database(async |_, client| {
        client.batch_execute(sql).await?;
        Ok(catalogue::read(client).await?)
    });
    tokio::runtime::Runtime::new().unwrap().block_on(work).unwrap()
}

const HOUSE: &str = "
    CREATE TABLE account (account_id uuid PRIMARY KEY, seen_at timestamptz, generation integer);
    COMMENT ON TABLE account IS 'shard: account_id. People.';
    CREATE TABLE organization (org_id uuid PRIMARY KEY, slug text, UNIQUE (org_id, slug));
    COMMENT ON TABLE organization IS 'shard: org_id. Groups.';
    CREATE TABLE client (client_id text PRIMARY KEY, name text UNIQUE);
    COMMENT ON TABLE client IS 'shard: replicated. Programs.';
    CREATE TABLE session (account_id uuid, session_id uuid, client_id text REFERENCES client,
        PRIMARY KEY (account_id, session_id), FOREIGN KEY (account_id) REFERENCES account);
    COMMENT ON TABLE session IS 'shard: account_id. Sign-ins.';
    CREATE TABLE event (event_id uuid PRIMARY KEY) PARTITION BY RANGE (event_id);
    CREATE TABLE event_all PARTITION OF event DEFAULT;
    COMMENT ON TABLE event IS 'shard: event_id. What happened.';";

#[track_caller]
fn finds(change: &str, expected: &[(&str, &str)]) {
    let found = rules::violations(&read(&format!("{HOUSE}{change}")), &[], &[]);
    assert_eq!(found.len(), expected.len(), "{change}: {found:?}");
    for ((table, what), (expected_table, part)) in found.iter().zip(expected) {
        assert!(table == expected_table && what.contains(part), "{change}: {found:?}");
    }
}

#[test]
fn a_portable_schema_passes() {
    finds("", &[]);
}

#[test]
fn every_table_says_how_it_is_sharded() {
    finds(
        "COMMENT ON TABLE account IS NULL",
        &[("account", "how it is sharded"), ("session", "another node")],
    );
    finds(
        "COMMENT ON TABLE client IS 'shard: replicated.'",
        &[("client", "how"), ("session", "another node")],
    );
    finds("COMMENT ON TABLE event IS 'shard: account_id. X.'", &[("event", "no column of it")]);
    finds(
        "CREATE TABLE a (b text); COMMENT ON TABLE a IS 'shard: replicated. X.'",
        &[("a", "no primary key")],
    );
}

#[test]
fn the_shard_key_is_in_every_unique_index() {
    finds("ALTER TABLE organization ADD UNIQUE (slug)", &[("organization", "organization_slug_key")]);
    finds(
        "CREATE UNIQUE INDEX u ON organization (lower(slug)) INCLUDE (org_id)",
        &[("organization", "index u")],
    );
    finds(
        "CREATE TABLE a (b text, c uuid PRIMARY KEY); COMMENT ON TABLE a IS 'shard: b. X.'",
        &[("a", "may be null"), ("a", "index a_pkey")],
    );
}

#[test]
fn foreign_keys_stay_on_one_node() {
    let link = "ALTER TABLE organization ADD COLUMN account_id uuid REFERENCES account";
    finds(link, &[("organization", "another node")]);
    let not_through_the_key = "ALTER TABLE account ADD COLUMN friend uuid REFERENCES account";
    finds(not_through_the_key, &[("account", "account_friend_fkey")]);
    finds("ALTER TABLE client ADD COLUMN a uuid REFERENCES account", &[("client", "another node")]);
}

#[test]
fn nothing_counts_or_fires_by_itself() {
    finds("CREATE SEQUENCE s", &[("s", "is a sequence")]);
    finds("ALTER TABLE account ADD n bigserial", &[("account_n_seq", "is a sequence")]);
    finds(
        "ALTER TABLE account ADD n bigint GENERATED ALWAYS AS IDENTITY",
        &[("account", "identity column n"), ("account_n_seq", "is a sequence")],
    );
    let trigger =
        "CREATE TRIGGER t BEFORE UPDATE ON account EXECUTE FUNCTION suppress_redundant_updates_trigger()"
            .replace("EXECUTE", "FOR EACH ROW EXECUTE");
    finds(&trigger, &[("account", "the trigger t")]);
    let schema = read(&format!("{HOUSE}{trigger}"));
    assert_eq!(rules::violations(&schema, &[], &[("account", "a reason")]), []);
}

#[test]
fn types_are_few() {
    for (kind, instead) in [
        ("timestamp", "use timestamptz"),
        ("json", "use jsonb"),
        ("char(3)", "use text"),
        ("varchar", "use text"),
        ("numeric", "use one of uuid"),
        ("timestamptz(3)", "use timestamptz"),
    ] {
        finds(&format!("ALTER TABLE account ADD odd {kind}"), &[("account", instead)]);
    }
}

#[test]
fn what_changes_often_has_no_index() {
    let hot = &[("account", "seen_at")];
    assert_eq!(rules::violations(&read(HOUSE), hot, &[]), []);
    for index in [
        "(seen_at)",
        "(generation) INCLUDE (seen_at)",
        "(generation) WHERE seen_at IS NULL",
        "((seen_at IS NULL))",
    ] {
        let found = rules::violations(&read(&format!("{HOUSE}CREATE INDEX i ON account {index}")), hot, &[]);
        assert_eq!(found.len(), 1, "{index}: {found:?}");
        assert!(found[0].1.contains("has the index i on seen_at"), "{found:?}");
    }
    let gone = rules::violations(&read(HOUSE), &[("account", "gone")], &[]);
    assert!(gone[0].1.contains("has no column gone"), "{gone:?}");
}

#[test]
fn a_finding_points_at_the_line_that_makes_the_table() {
    let root = tree(&[("migrations/0001_one.sql", "--\nCREATE TABLE account (\n")]);
    let schema = read(&format!("{HOUSE}COMMENT ON TABLE account IS NULL"));
    let found = super::check(root.path(), &schema, &[]).unwrap();
    assert!(found[0].to_string().starts_with("migrations/0001_one.sql:2: account does not say"), "{found:?}");
}

#[test]
fn the_document_shows_every_table() {
    let text = document(&read(HOUSE));
    assert!(text.contains(
        "## session\n\nSign-ins.\n\n- Shard key: `account_id`\n- Primary key: `account_id`, `session_id`\n"
    ));
    assert!(text.contains("- Partitioned by: `RANGE (event_id)`\n"));
    assert!(text.contains("\n| seen_at | timestamptz | yes |\n"));
    assert!(!text.contains("event_all"));
}

#[test]
fn the_migrations_make_a_schema() {
    assert!(of_migrations().unwrap().tables.iter().any(|table| table.name == "schema_migration"));
}
