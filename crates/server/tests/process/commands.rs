//! The commands, in the order in which an operator uses them.

use porteiro_testkit::{Database, Node, variable, verify};

use crate::{
    BINARY,
    installation::{Installation, run_bare},
};

#[tokio::test]
async fn from_nothing_to_a_signed_discovery_document() {
    let installation = Installation::empty().await;
    assert!(installation.succeed(&["migrate"]).contains("the schema is up to date"));
    assert!(installation.succeed(&["migrate"]).contains("already"));
    installation.succeed(&["keys", "generate", "--create-master-key"]);
    let listed = installation.succeed(&["keys", "list"]);
    assert_eq!(listed.lines().count(), 8, "{listed}");

    let node = installation.start(&[]);
    let document = node.get("/.well-known/openid-configuration").json();
    let jwks = node.get("/.well-known/jwks.json").json();
    let claims = verify(document["signed_metadata"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!(claims["iss"], "https://id.example.test");
}

/// Row 32 of the review: a binary reports what it was built from.
#[test]
fn the_version_names_the_commit_or_says_that_nobody_named_one() {
    let (code, out, _) = run_bare(&["--version"]);
    assert_eq!(code, 0);
    let said = out.trim().strip_prefix(concat!("porteiro ", env!("CARGO_PKG_VERSION"), " (")).unwrap();
    let commit = option_env!("BUILD_COMMIT").filter(|commit| !commit.is_empty()).unwrap_or("unknown");
    assert_eq!(said, format!("{commit})"));
}

#[tokio::test]
async fn dev_needs_only_a_database() {
    let database = Database::empty().await;
    let node = Node::start(BINARY, &["--dev", "--database-url", &database.url()]);
    assert_eq!(node.get("/readyz").status, 200);
    let document = node.get("/.well-known/openid-configuration").json();
    assert_eq!(document["issuer"], "http://127.0.0.1:0", "the base address follows listen unless it is set");
    drop(node);
    let again = Node::start(BINARY, &["--dev", "--database-url", &database.url()]);
    assert_eq!(again.get("/readyz").status, 200, "a restart finds its own throw-away keys");
}

#[tokio::test]
async fn a_leaked_key_can_be_replaced_at_once() {
    let installation = Installation::ready().await;
    let (code, _, err) = installation.run(&["keys", "rotate", "--algorithm", "ES256"]);
    assert_eq!(code, 1);
    assert!(err.contains("use --now if the active key leaked"), "{err}");

    let listed = installation.succeed(&["keys", "rotate", "--algorithm", "ES256", "--now"]);
    let retiring = listed.lines().find(|line| line.contains("retiring")).unwrap();
    let kid = retiring.split_whitespace().nth(3).unwrap();
    let (code, _, err) = installation.run(&["keys", "retire", kid]);
    assert_eq!(code, 1, "{err}");
    installation.succeed(&["keys", "retire", kid, "--now"]);
    let node = installation.start(&[]);
    assert!(!node.get("/.well-known/jwks.json").body.contains(kid));
}

#[tokio::test]
async fn an_existing_master_key_is_never_overwritten() {
    let installation = Installation::ready().await;
    let before = std::fs::read(installation.master_key_file()).unwrap();
    let mode = std::fs::metadata(installation.master_key_file()).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777, 0o600);
    installation.succeed(&["keys", "generate", "--create-master-key"]);
    assert_eq!(std::fs::read(installation.master_key_file()).unwrap(), before);
}

#[tokio::test]
async fn bootstrap_shows_a_key_once() {
    let installation = Installation::ready().await;
    let key = installation.succeed(&["bootstrap"]);
    assert!(key.starts_with("porteiro_bootstrap_") && key.trim_end().lines().count() == 1);
    let (code, out, err) = installation.run(&["bootstrap"]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("already created"), "{err}");
}

#[tokio::test]
async fn a_platform_key_is_made_on_the_machine_shown_once_and_revoked() {
    let installation = Installation::ready().await;
    let made = installation.succeed(&[
        "api-keys",
        "create",
        "--permissions=platform.api-keys:read,organizations:administer",
        "--networks=127.0.0.0/8",
    ]);
    let key = made.trim_end();
    assert!(key.starts_with("pt_key_") && key.lines().count() == 1, "{made}");
    let listed = installation.succeed(&["api-keys", "list"]);
    assert!(listed.contains(&key[7..19]) && listed.contains("organizations:administer"), "{listed}");
    assert!(!listed.contains(&key[20..63]), "{listed}");
    installation.succeed(&["api-keys", "revoke", &key[7..19]]);
    assert!(installation.succeed(&["api-keys", "list"]).contains("revoked"));
    let logged = "SELECT count(*) FROM security_log WHERE kind IN ('api_key.created', 'api_key.revoked')";
    let client = installation.database.client().await;
    assert_eq!(client.query_one(logged, &[]).await.unwrap().get::<_, i64>(0), 2);
    for (wrong, says) in [
        (["api-keys", "create", "--permissions=members:read"].as_slice(), "is not a platform permission"),
        (&["api-keys", "create", "--permissions=platform.log:read", "--days=400"], "between 1 and 365"),
        (&["api-keys", "revoke", "aaaaaaaaaaaa"], "unknown platform API key"),
    ] {
        let (code, _, err) = installation.run(wrong);
        assert_eq!(code, 1, "{wrong:?}");
        assert!(err.contains(says), "{wrong:?}: {err}");
    }
}

#[tokio::test]
async fn who_may_do_what_to_the_installation_is_said_on_the_machine() {
    let installation = Installation::ready().await;
    let account = "6f1e0d0c-1111-4222-8333-444455556666";
    let client = installation.database.client().await;
    let person = "INSERT INTO account (account_id, state, display_name, locale, user_handle)
                  VALUES ('6f1e0d0c-1111-4222-8333-444455556666', 'active', 'Ana', 'en', 'x')";
    client.execute(person, &[]).await.unwrap();
    installation.succeed(&["platform", "grant", account, "platform.clients:*", "members:impersonate"]);
    let listed = installation.succeed(&["platform", "list"]);
    assert!(listed.contains("Ana  members:impersonate platform.clients:*"), "{listed}");
    installation.succeed(&["platform", "revoke", account, "members:impersonate"]);
    assert!(installation.succeed(&["platform", "list"]).contains("Ana  platform.clients:*"));
    installation.succeed(&["platform", "revoke", account, "platform.clients:*"]);
    assert_eq!(installation.succeed(&["platform", "list"]), "");
    for (wrong, says) in [
        (["platform", "grant", account, "members:read"], "not a platform permission"),
        (["platform", "grant", account, "organizations:*"], "not a platform permission"),
        (
            ["platform", "grant", "00000000-0000-4000-8000-000000000000", "platform.log:read"],
            "there is no active account",
        ),
    ] {
        let (code, _, err) = installation.run(&wrong);
        assert_eq!(code, 1, "{wrong:?}");
        assert!(err.contains(says), "{wrong:?}: {err}");
    }
}

#[tokio::test]
async fn doctor_finds_what_is_wrong() {
    let installation = Installation::ready().await;
    let (code, out, _) = installation.run(&["doctor"]);
    assert_eq!(code, 1);
    for line in
        ["ok     settings", "ok     database", "ok     clock", "ok     schema", "ok     keys", "ok     jobs"]
    {
        assert!(out.contains(line), "no «{line}» in:\n{out}");
    }
    assert!(out.contains("wrong  mail: smtp_url is not set"), "{out}");

    if let (Some(url), Some(authority)) =
        (variable("PORTEIRO_TEST_SMTP_URL"), variable("PORTEIRO_TEST_SMTP_CA"))
    {
        let (code, out, _) = installation.run(&["doctor", "--smtp-url", &url, "--smtp-ca-file", &authority]);
        assert_eq!(code, 0, "{out}");
    }
    let unreachable =
        ["doctor", "--base-url=https://id.example.test", "--database-url=postgres://x@127.0.0.1:1/x"];
    let (code, out, _) = run_bare(&unreachable);
    assert_eq!(code, 1);
    assert!(out.contains("wrong  database: PostgreSQL refused the connection"), "{out}");
}

#[tokio::test]
async fn doctor_recognises_a_pooler_that_is_too_old() {
    let Some(old) = variable("PORTEIRO_TEST_PGBOUNCER_OLD_URL") else {
        assert!(variable("CI").is_none(), "the old PgBouncer is missing");
        return;
    };
    let installation = Installation::ready().await;
    let through = installation.database.url_through(&old);
    let (_, out, _) = run_bare(&["doctor", "--base-url=https://id.example.test", "--database-url", &through]);
    assert!(out.contains("PgBouncer 1.21 or later"), "{out}");
    if let Some(new) = variable("PORTEIRO_TEST_PGBOUNCER_URL") {
        let through = installation.database.url_through(&new);
        let (_, out, _) =
            run_bare(&["doctor", "--base-url=https://id.example.test", "--database-url", &through]);
        assert!(!out.contains("connection pooler") && out.contains("ok     schema"), "{out}");
    }
}

#[tokio::test]
async fn config_check_names_every_source_and_finding() {
    let (code, out, err) = run_bare(&["config", "check", "--listen", "127.0.0.1:9000"]);
    assert_eq!(code, 78);
    assert!(out.contains("from --listen"), "{out}");
    assert!(err.contains("database_url: is not set") && err.contains("base_url: is not set"), "{err}");
    let (code, out, _) = run_bare(&["config", "check", "--dev", "--database-url", "postgres://localhost/x"]);
    assert_eq!(code, 0);
    assert!(out.contains("the issuer is http://127.0.0.1:8080"), "{out}");

    let (code, out, _) = run_bare(&["config", "schema"]);
    assert_eq!(code, 0);
    let schema: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    assert!(schema["properties"]["database_url"]["description"].is_string());
}

#[tokio::test]
async fn completions_come_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let (code, out, _) = run_bare(&["completions", shell]);
        assert_eq!(code, 0);
        assert!(out.contains("bootstrap"), "{shell}");
    }
}
