//! A production installation on its own database, set up with the commands an operator uses.

use std::path::PathBuf;

use porteiro_testkit::{Database, Node, run};

use crate::BINARY;

pub struct Installation {
    pub database: Database,
    folder: tempfile::TempDir,
}

impl Installation {
    /// An empty database and a folder, without a schema.
    pub async fn empty() -> Self {
        Self { database: Database::empty().await, folder: tempfile::tempdir().unwrap() }
    }

    /// Migrated and with real keys.
    pub async fn ready() -> Self {
        let installation = Self::empty().await;
        installation.succeed(&["migrate"]);
        installation.succeed(&["keys", "generate", "--create-master-key"]);
        installation
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn master_key_file(&self) -> PathBuf {
        self.file("master.key")
    }

    pub fn settings(&self) -> Vec<String> {
        vec![
            format!("--database-url={}", self.database.url()),
            format!("--master-key-file={}", self.master_key_file().display()),
            "--base-url=https://id.example.test".into(),
        ]
    }

    /// Runs a command with these settings; returns exit code, standard output and standard error.
    pub fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let settings = self.settings();
        let all: Vec<&str> = arguments.iter().copied().chain(settings.iter().map(String::as_str)).collect();
        run_bare(&all)
    }

    pub fn succeed(&self, arguments: &[&str]) -> String {
        let (code, out, err) = self.run(arguments);
        assert_eq!(code, 0, "{arguments:?}: {out}{err}");
        out
    }

    pub fn start(&self, more: &[&str]) -> Node {
        let settings = self.settings();
        let all: Vec<&str> = settings.iter().map(String::as_str).chain(more.iter().copied()).collect();
        Node::start(BINARY, &all)
    }
}

pub fn run_bare(arguments: &[&str]) -> (i32, String, String) {
    let output = run(BINARY, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}
