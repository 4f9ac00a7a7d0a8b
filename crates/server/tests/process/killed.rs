//! `kill -9`, thirty times, at random moments: during migration and during key rotation.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use porteiro_service::store::migrations::{self, SchemaState};
use porteiro_testkit::{Database, Node, SeededEntropy, command, get, verify};

use crate::{BINARY, installation::Installation};

const ROUNDS: u32 = 30;

#[tokio::test]
async fn during_migration_the_schema_is_right_in_the_end() {
    let entropy = SeededEntropy::new(11);
    for _ in 0..ROUNDS {
        let database = Database::empty().await;
        let url = database.url();
        let migrate = || command(BINARY, &["migrate", "--database-url", &url]).spawn().unwrap();
        let mut nodes = [migrate(), migrate(), migrate()];
        tokio::time::sleep(Duration::from_millis(entropy.next() % 60)).await;
        nodes[0].kill().unwrap();
        for node in &mut nodes[1..] {
            assert!(node.wait().unwrap().success(), "a survivor failed");
        }
        nodes[0].wait().unwrap();
        assert_eq!(migrations::state(&database.store()).await.unwrap(), SchemaState::Expected);
    }
}

/// Three nodes rotate keys as fast as they may, one after the other is killed and restarted, and every document signed
/// at any time must verify against the keys that every running node publishes at that moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn during_key_rotation_every_token_verifies_on_every_node() {
    let installation = Installation::ready().await;
    let fast = [
        "--key-rotation-seconds=2",
        "--key-publish-lead-seconds=4",
        "--key-refresh-seconds=1",
        "--key-verify-seconds=20",
        "--log-filter=warn,porteiro=info",
        "--database-pool-size=4",
    ];
    let mut nodes = [installation.start(&fast), installation.start(&fast), installation.start(&fast)];
    let addresses =
        Arc::new(std::sync::Mutex::new(nodes.iter().map(|node| node.address).collect::<Vec<_>>()));
    let done = Arc::new(AtomicBool::new(false));
    let observer = {
        let (addresses, done) = (addresses.clone(), done.clone());
        std::thread::spawn(move || observe(&addresses, &done))
    };
    let entropy = SeededEntropy::new(23);
    for round in 0..ROUNDS {
        tokio::time::sleep(Duration::from_millis(100 + entropy.next() % 500)).await;
        let victim = usize::try_from(entropy.next() % 3).unwrap();
        nodes[victim].kill();
        nodes[victim] = restart(&installation, &fast, round);
        addresses.lock().unwrap()[victim] = nodes[victim].address;
    }
    done.store(true, Ordering::Relaxed);
    let (verified, rotations) = observer.join().unwrap();
    assert!(verified > 500, "only {verified} verifications");
    assert!(rotations >= 3, "only {rotations} keys signed");
}

fn restart(installation: &Installation, settings: &[&str], _round: u32) -> Node {
    installation.start(settings)
}

/// Fetches from every node, verifies on every node, and keeps all tokens of the last seconds: they must still verify.
fn observe(addresses: &std::sync::Mutex<Vec<std::net::SocketAddr>>, done: &AtomicBool) -> (u32, usize) {
    let mut tokens: std::collections::VecDeque<(std::time::Instant, String)> =
        std::collections::VecDeque::new();
    let mut signers = std::collections::BTreeSet::new();
    let mut verified = 0;
    while !done.load(Ordering::Relaxed) {
        let now: Vec<_> = addresses.lock().unwrap().clone();
        for address in &now {
            // A killed node does not answer; no other failure is accepted.
            let Ok(document) = get(*address, "/.well-known/openid-configuration") else { continue };
            assert_eq!(document.status, 200, "{}", document.body);
            let token = document.json()["signed_metadata"].as_str().unwrap().to_owned();
            signers.insert(token.split('.').next().unwrap().to_owned());
            tokens.push_back((std::time::Instant::now(), token));
        }
        // Five seconds: much less than key_verify_seconds, like the lifetime of a token.
        while tokens.front().is_some_and(|(signed, _)| signed.elapsed() > Duration::from_secs(5)) {
            tokens.pop_front();
        }
        for address in &now {
            let Ok(jwks) = get(*address, "/.well-known/jwks.json") else { continue };
            let jwks = jwks.json();
            let recent: std::collections::BTreeSet<&String> = tokens.iter().map(|(_, token)| token).collect();
            for token in recent {
                verify(token, &jwks).unwrap_or_else(|error| panic!("{address}: {error}"));
                verified += 1;
            }
        }
    }
    (verified, signers.len())
}
