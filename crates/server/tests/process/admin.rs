//! `porteiro admin` against a running node.

use porteiro_protocol::api_key::ApiKey;
use porteiro_testkit::{SeededEntropy, command};
use serde_json::Value;

use crate::{BINARY, installation::Installation};

async fn platform_key(installation: &Installation, permissions: &[&str]) -> String {
    let key = ApiKey::generate(&SeededEntropy::new(7));
    let sql = "INSERT INTO api_key (key_id, kind, name, secret_hash, permissions, allowed_networks, created_by, expires_at)
               VALUES ($1, 'platform', 'test', $2, $3, '{}', 'test', now() + interval '1 hour')";
    let client = installation.database.client().await;
    client.execute(sql, &[&key.id(), &key.hash().as_slice(), &permissions]).await.unwrap();
    key.reveal().to_string()
}

#[tokio::test]
async fn every_operation_is_a_command_that_speaks_the_api() {
    let installation = Installation::ready().await;
    let node = installation.start(&[]);
    let key = platform_key(&installation, &["platform.organizations:*", "organizations:administer"]).await;
    let file = installation.file("key");
    std::fs::write(&file, format!("{key}\n")).unwrap();
    let admin = |words: &[&str], by_file: bool| {
        let url = format!("--url=http://{}", node.address);
        let named = format!("--key-file={}", file.display());
        let mut command = command(BINARY, &[&["admin", &url], words].concat());
        if by_file {
            command.arg(named);
        } else {
            command.env("PORTEIRO_API_KEY", &key);
        }
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        (output.status.code().unwrap(), told, text(&output.stdout) + &text(&output.stderr))
    };
    let (code, _, listed) = admin(&[], false);
    assert_eq!(code, 0, "{listed}");
    for operation in porteiro_service::table().iter().filter_map(|route| route.operation.clone()) {
        assert!(listed.contains(operation.id), "{} is not listed", operation.id);
    }
    let (code, made, said) =
        admin(&["platform_organizations.create", "name=Acme", "slug=acme", "--idempotency-key=once"], false);
    assert_eq!((code, &made["slug"]), (0, &Value::from("acme")), "{said}");
    let (_, again, _) =
        admin(&["platform_organizations.create", "name=Acme", "slug=acme", "--idempotency-key=once"], true);
    assert_eq!(again, made, "made once");
    let (code, found, said) = admin(&["platform_organizations.list", "q=ac", "limit=1"], true);
    assert_eq!((code, &found["items"][0]["id"]), (0, &made["id"]), "{said}");
    let id = made["id"].as_str().unwrap();
    let why = ["--reason=a test", "--if-match=\"1\""];
    let (code, changed, said) = admin(&[&["organizations.update", id, "name=17"], &why[..]].concat(), false);
    assert_eq!((code, &changed["name"]), (0, &Value::from("17")), "{said}");
    assert!(said.contains("ETag: \"2\""), "{said}");
    let (code, problem, said) = admin(&[&["organizations.update", id, "name=18"], &why[..]].concat(), false);
    assert_eq!((code, &problem["code"]), (1, &Value::from("version_mismatch")), "{said}");
    assert!(said.contains("porteiro: 412 version_mismatch"), "{said}");
    let (code, _, said) = admin(&["organizations.lsit"], false);
    assert!(code == 1 && said.contains("unknown operation organizations.lsit"), "{said}");
    assert!(!said.contains(&key), "the key is never shown");
}
