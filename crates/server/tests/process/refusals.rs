//! Production refuses to start: exit code 78 and one line with advice.

use crate::installation::{Installation, run_bare};

fn assert_refused(outcome: &(i32, String, String), expected: &str) {
    let (code, out, err) = outcome;
    assert_eq!(*code, 78, "{out}{err}");
    assert!(err.starts_with("porteiro: ") && err.trim_end().lines().count() == 1, "one line: {err}");
    assert!(err.contains(expected), "expected «{expected}» in: {err}");
}

#[tokio::test]
async fn without_settings() {
    assert_refused(&run_bare(&["serve"]), "database_url: is not set");
}

#[tokio::test]
async fn when_the_base_address_is_not_https() {
    let installation = Installation::ready().await;
    let url = installation.database.url();
    let refused = run_bare(&["serve", "--database-url", &url, "--base-url", "http://id.example.test"]);
    assert_refused(&refused, "base_url: must begin with https:// in production");
}

#[tokio::test]
async fn when_the_schema_is_not_the_expected_one() {
    let installation = Installation::empty().await;
    std::fs::write(installation.master_key_file(), MASTER_KEY).unwrap();
    restrict(&installation);
    assert_refused(&installation.run(&["serve"]), "run: porteiro migrate");

    installation.succeed(&["migrate"]);
    let database = installation.database.client().await;
    database
        .batch_execute("INSERT INTO schema_migration (version, name, compatible_from, checksum) VALUES (9999, 'x', 9999, '')")
        .await
        .unwrap();
    assert_refused(&installation.run(&["serve"]), "install a newer porteiro");
    database
        .batch_execute(
            "DELETE FROM schema_migration WHERE version = 9999; UPDATE schema_migration SET checksum = ''",
        )
        .await
        .unwrap();
    assert_refused(&installation.run(&["serve"]), "differs from this binary's");
}

#[tokio::test]
async fn when_there_are_no_real_signing_keys() {
    let installation = Installation::empty().await;
    std::fs::write(installation.master_key_file(), MASTER_KEY).unwrap();
    restrict(&installation);
    installation.succeed(&["migrate"]);
    assert_refused(
        &installation.run(&["serve"]),
        "there is no production ES256 signing key; run: porteiro keys generate",
    );
}

#[tokio::test]
async fn when_a_key_was_made_by_dev() {
    let installation = Installation::ready().await;
    let database = installation.database.client().await;
    database
        .batch_execute("UPDATE signing_key SET origin = 'dev' WHERE algorithm = 'ES256' AND state = 'next'")
        .await
        .unwrap();
    assert_refused(
        &installation.run(&["serve"]),
        "was created by --dev; run: porteiro keys generate --replace-dev-keys",
    );
    installation.succeed(&["keys", "generate", "--replace-dev-keys"]);
    installation.start(&[]);
}

/// Row 4 of the review: tokens for the issuer are accepted by the management API.
#[tokio::test]
async fn when_an_api_has_the_identifier_of_the_issuer_and_the_command_line_registers_none() {
    let installation = Installation::ready().await;
    let scope = r#"{"name": "things:read", "description": {"en": "x", "pt": "x"}}"#;
    let file = installation.file("api.json");
    for (identifier, scope) in [
        ("https://ID.example.test:443/", scope.to_owned()),
        ("https://api.example.test", scope.replace("things:read", "platform.apis:write")),
    ] {
        let text = format!(r#"{{"identifier": "{identifier}", "name": "Ours", "scopes": [{scope}]}}"#);
        std::fs::write(&file, text).unwrap();
        let (code, _, err) = installation.run(&["apis", "register", file.to_str().unwrap()]);
        assert_eq!(code, 1, "{err}");
        assert!(err.contains("management API"), "{err}");
    }
    assert_eq!(installation.succeed(&["apis", "list"]), "");
    let database = installation.database.client().await;
    let stored = format!(
        "INSERT INTO api (identifier, name, scopes, token_seconds, algorithm, details, introspected_by, organizational)
         VALUES ('https://id.example.test', 'Ours', '[{scope}]', 300, 'ES256', '[]', '{{}}', false)"
    );
    database.batch_execute(&stored).await.unwrap();
    assert_refused(&installation.run(&["serve"]), "porteiro apis remove 'https://id.example.test'");
    let (_, found, _) = installation.run(&["doctor"]);
    assert!(found.contains("wrong  apis: the API https://id.example.test is invalid"), "{found}");
    installation.succeed(&["apis", "remove", "https://id.example.test"]);
    installation.start(&[]);
}

#[tokio::test]
async fn when_the_master_key_is_missing_or_a_placeholder() {
    let installation = Installation::ready().await;
    let url = installation.database.url();
    let without = run_bare(&["serve", "--database-url", &url, "--base-url", "https://id.example.test"]);
    assert_refused(&without, "master_key_file: is not set");

    let file = installation.master_key_file();
    let good = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_refused(&installation.run(&["serve"]), "cannot be read");
    for placeholder in
        ["0".repeat(64), "f".repeat(64), "changeme".into(), "0123456789abcdef".repeat(4), dev_master_key()]
    {
        std::fs::write(&file, &placeholder).unwrap();
        restrict(&installation);
        assert_refused(&installation.run(&["serve"]), "is a known placeholder");
    }
    std::fs::write(&file, "abc").unwrap();
    assert_refused(&installation.run(&["serve"]), "does not contain 64 hexadecimal digits");
    std::fs::write(&file, MASTER_KEY).unwrap();
    assert_refused(&installation.run(&["serve"]), "encrypted with another master key");
    // A key that the nodes could not decrypt is not created either.
    for command in [&["keys", "rotate", "--algorithm", "ES256", "--now"][..], &["keys", "generate"]] {
        assert_refused(
            &installation.run(command),
            "nothing was changed: use the master key of the running nodes",
        );
    }
    std::fs::write(&file, good).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    assert_refused(&installation.run(&["serve"]), "can be read by others (mode 644); run: chmod 600");
}

#[tokio::test]
async fn when_an_rsa_key_is_under_2048_bits() {
    let installation = Installation::ready().await;
    let short = "A".repeat(170) + "E";
    installation
        .database
        .client()
        .await
        .execute(
            "INSERT INTO signing_key (kid, algorithm, state, origin, public_jwk, sealed)
             VALUES ('short', 'RS256', 'retiring', 'production',
                     jsonb_build_object('kty', 'RSA', 'n', $1::text, 'e', 'AQAB', 'kid', 'short', 'alg', 'RS256', 'use', 'sig'),
                     '\\x01')",
            &[&short],
        )
        .await
        .unwrap();
    assert_refused(&installation.run(&["serve"]), "signing key short is an RSA key under 2048 bits");
}

#[tokio::test]
async fn dev_will_not_touch_real_keys() {
    let installation = Installation::ready().await;
    let url = installation.database.url();
    let refused = run_bare(&["serve", "--dev", "--listen", "127.0.0.1:0", "--database-url", &url]);
    assert_refused(&refused, "this database contains production signing keys");
}

#[tokio::test]
async fn unknown_settings() {
    assert_refused(&run_bare(&["serve", "--config", "/nonexistent.toml"]), "/nonexistent.toml");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("porteiro.toml");
    std::fs::write(&file, "base_ulr = \"https://id.example.test\"\n").unwrap();
    let refused = run_bare(&["serve", "--config", file.to_str().unwrap()]);
    assert_refused(&refused, "unknown setting 'base_ulr'; did you mean 'base_url'?");
}

const MASTER_KEY: &str = "3f1c9a52e07bd4468f2a91c35d6e80b7f4a2c8136950de7b14f86a3c0e9d72b5";

fn dev_master_key() -> String {
    let digits: Vec<String> =
        "porteiro --dev: not a secret key".bytes().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

fn restrict(installation: &Installation) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(installation.master_key_file(), mode).unwrap();
}
