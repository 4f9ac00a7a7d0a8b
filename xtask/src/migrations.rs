//! Migrations are append-only: each file is listed, each listed step has its file, and a released one never changes.

use std::{path::Path, process::Command};

use porteiro_service::store::migrations::Migration;

use crate::{
    Finding,
    files::{self, stem},
};

/// The last step that was released outside this repository. Raise it with each release.
pub const RELEASED: i32 = 0;

const LIST: &str = "crates/base/src/store/migrations.rs";

pub fn check(root: &Path, listed: &[Migration], released: i32) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut paths = files::under(root, "migrations")?;
    paths.retain(|path| files::has_extension(path, "sql"));
    for path in &paths {
        if !listed.iter().any(|migration| migration.name == stem(path)) {
            findings.push(Finding::new(path, 1, format!("is not in MIGRATIONS; add its line to {LIST}")));
        }
    }
    let tags = git(root, &["tag", "--list", "v*"]);
    if tags.is_none() && root.join(".git").exists() {
        findings.push(Finding::new("migrations", 1, "git does not say what was released; run: git tag"));
    }
    let tags: Vec<&str> = tags.as_deref().unwrap_or_default().lines().collect();
    for migration in listed {
        let path = format!("migrations/{}.sql", migration.name);
        if !paths.contains(&path) {
            findings.push(Finding::new(
                LIST,
                1,
                format!("lists {path}, which is not there; restore the file"),
            ));
            continue;
        }
        // A step in a release tag is released, whatever the number above.
        let head = (migration.version <= released).then_some("HEAD");
        let now = files::read(root, &path)?;
        for revision in tags.iter().copied().chain(head) {
            let then = git(root, &["show", &format!("{revision}:{path}")]);
            if then.is_some_and(|then| then != now) {
                let what =
                    format!("differs from the released one ({revision}); restore it and add a new step");
                findings.push(Finding::new(&path, 1, what));
            }
        }
    }
    Ok(findings)
}

/// The output of git; `None` if it fails, as for a file that the revision does not have.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::{plant, tree};

    const ONE: Migration = Migration { version: 1, name: "0001_one", compatible_from: 1, sql: "" };
    const FILE: &str = "migrations/0001_one.sql";

    fn found(root: &Path, listed: &[Migration], released: i32) -> Vec<String> {
        check(root, listed, released).unwrap().iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn git_must(root: &Path, arguments: &[&str]) {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
        assert!(git(root, &[&identity, arguments].concat()).is_some(), "git {arguments:?}");
    }

    #[test]
    fn files_and_list_agree() {
        let root = tree(&[("migrations/0002_two.sql", ""), ("migrations/README.md", "")]);
        let found = found(root.path(), &[ONE], 0);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("migrations/0002_two.sql:1: is not in MIGRATIONS"));
        assert!(found[1].contains("lists migrations/0001_one.sql, which is not there"));
    }

    #[test]
    fn a_repository_that_git_cannot_read_is_no_proof() {
        let root = tree(&[(FILE, ""), (".git", "broken")]);
        assert!(found(root.path(), &[ONE], 0)[0].contains("git does not say what was released"));
    }

    #[test]
    fn a_released_step_never_changes() {
        let root = tree(&[(FILE, "SELECT 1;\n")]);
        let root = root.path();
        git_must(root, &["init", "-q"]);
        git_must(root, &["add", "."]);
        git_must(root, &["commit", "-q", "-m", "one"]);
        assert_eq!(found(root, &[ONE], 1), [""; 0]);
        plant(root, FILE, "SELECT 2;\n");
        assert_eq!(found(root, &[ONE], 0), [""; 0], "not released yet");
        assert!(found(root, &[ONE], 1)[0].contains("differs from the released one (HEAD)"));
        // Committing the change does not help once a tag contains the old one.
        git_must(root, &["tag", "v1.0.0"]);
        git_must(root, &["commit", "-q", "-a", "-m", "two"]);
        assert!(found(root, &[ONE], 0)[0].contains("differs from the released one (v1.0.0)"));
    }
}
