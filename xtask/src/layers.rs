//! `endpoint.rs -> mod.rs -> decide.rs and store.rs`, never back: the words that each layer may not use.
//!
//! Every file has a layer: endpoint, decision or store by its name, and use case otherwise.

use std::path::Path;

use crate::{
    Finding,
    files::{self, folders_under, is_rust, stem},
    source::Source,
};

/// A layer, the words it may not use, and what to do instead.
struct Layer {
    folder: &'static str,
    files: Files,
    banned: &'static [&'static str],
    instead: &'static str,
}

/// The files of the folder that belong to a layer.
enum Files {
    All,
    /// By their name without `.rs`, or all files of a folder of that name.
    Named(&'static str),
    /// Files with none of these names.
    Others(&'static [&'static str]),
}

const LAYERS: &[Layer] = &[
    Layer {
        folder: "crates/service/src",
        files: Files::Named("endpoint"),
        banned: &["tokio_postgres", "deadpool", "deadpool_postgres", "Tx"],
        instead: "an endpoint is HTTP only; move it behind a use case in mod.rs",
    },
    Layer {
        folder: "crates/service/src",
        files: Files::Named("decide"),
        banned: &["tokio_postgres", "deadpool_postgres", "axum", "tokio", "async", "await", "Store", "Tx"],
        instead: "a decision is pure; let mod.rs load the facts and hand them in",
    },
    Layer {
        folder: "crates/service/src",
        files: Files::Named("store"),
        banned: &["axum", "http"],
        instead: "a store is SQL only; return facts and let endpoint.rs present them",
    },
    Layer {
        folder: "crates/service/src",
        files: Files::Others(&["endpoint", "decide", "store"]),
        banned: &["axum", "tokio_postgres", "deadpool_postgres"],
        instead: "a use case speaks neither HTTP nor SQL; move it to endpoint.rs or store.rs",
    },
    Layer {
        folder: "crates/service/src",
        files: Files::All,
        banned: &["porteiro_screens"],
        instead: "the service cannot name a screen; screens depend on the service",
    },
    // `Surroundings` does not expose the application it contains.
    Layer {
        folder: "crates/screens/src",
        files: Files::All,
        banned: &["App", "Store", "Tx", "store", "run_tx", "tokio_postgres", "deadpool_postgres"],
        instead: "a screen holds no database handle; ask the service by the call anybody may make (call/)",
    },
    Layer {
        folder: "crates/protocol/src",
        files: Files::All,
        banned: &["tokio", "axum", "tokio_postgres", "reqwest", "hyper"],
        instead: "protocol is pure; this belongs in crates/service",
    },
];

/// SQL is in `store.rs` files and `store/` folders. The exceptions, each with its reason.
const SQL_ELSEWHERE: &[(&str, &str)] = &[
    ("crates/base/src/jobs/schedule.rs", "the schedule is one read and one guarded statement"),
    ("crates/server/src/commands/doctor.rs", "probes the connection itself and names no table"),
];

/// Files that belong to two layers, with the reason.
const BETWEEN: &[(&str, &str)] = &[
    ("crates/service/src/lib.rs", "puts the routes together"),
    ("crates/service/src/management/guard/", "the layers that find out who calls"),
];

const SQL_VERBS: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"];

pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in files::under(root, "crates")?.into_iter().filter(|path| is_production(path)) {
        let source = Source::parse(&files::read(root, &path)?).without_tests();
        for layer in LAYERS.iter().filter(|layer| layer.holds(&path)) {
            let violations = layer.violations(&path, &source);
            findings.extend(violations.into_iter().filter(|_| !is_excepted(&path)));
        }
        if !may_hold_sql(&path) {
            findings.extend(source.strings.iter().filter(|(_, text)| is_sql(text)).map(|(line, _)| {
                Finding::new(&path, *line, "holds SQL; move the statement to the folder's store.rs")
            }));
        }
    }
    findings.extend(feature_folders(root)?);
    Ok(findings)
}

impl Layer {
    fn holds(&self, path: &str) -> bool {
        let inside = path.strip_prefix(self.folder).and_then(|rest| rest.strip_prefix('/'));
        inside.is_some_and(|file| match self.files {
            Files::All => true,
            Files::Named(name) => is_named(file, name),
            Files::Others(names) => !names.iter().any(|name| is_named(file, name)),
        })
    }

    fn violations(&self, path: &str, source: &Source) -> Vec<Finding> {
        let used = source.identifiers().filter(|(_, word)| self.banned.contains(word));
        used.map(|(line, word)| Finding::new(path, line, format!("names {word}; {}", self.instead))).collect()
    }
}

fn is_excepted(path: &str) -> bool {
    BETWEEN.iter().any(|(prefix, _reason)| path.starts_with(prefix))
}

fn is_named(file: &str, name: &str) -> bool {
    stem(file) == name || file.split('/').rev().skip(1).any(|folder| folder == name)
}

/// Tests may reach across layers, and the testkit is all test.
fn is_production(path: &str) -> bool {
    is_rust(path)
        && stem(path) != "tests"
        && !path.contains("/tests/")
        && !path.starts_with("crates/testkit/")
}

fn may_hold_sql(path: &str) -> bool {
    stem(path) == "store"
        || path.contains("/store/")
        || SQL_ELSEWHERE.iter().any(|(allowed, _reason)| *allowed == path)
}

/// Begins with a verb in capitals and continues; `"DELETE"` alone is a method.
fn is_sql(text: &str) -> bool {
    let text = text.trim_start();
    SQL_VERBS
        .iter()
        .any(|verb| text.strip_prefix(verb).is_some_and(|rest| rest.starts_with(char::is_whitespace)))
}

/// The first lines of a folder's `mod.rs` must describe the feature.
fn feature_folders(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let folders = [folders_under(root, "crates/base/src")?, folders_under(root, "crates/service/src")?];
    for folder in folders.concat() {
        let path = format!("{folder}/mod.rs");
        if !root.join(&path).is_file() {
            findings.push(Finding::new(folder, 1, "has no mod.rs; every feature folder has one"));
        } else if !files::read(root, &path)?.starts_with("//!") {
            findings.push(Finding::new(path, 1, "does not begin with //!; say what the folder is for"));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    fn found(path: &str, text: &str) -> Vec<String> {
        let folder = path.rsplit_once('/').unwrap().0;
        let root = tree(&[(&format!("{folder}/mod.rs"), "//! A feature.\n"), (path, text)]);
        check(root.path()).unwrap().iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn one(path: &str, text: &str, part: &str) {
        let found = found(path, text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(part), "{found:?}");
    }

    #[test]
    fn each_layer_is_held_to_its_words() {
        let feature = |file: &str| format!("crates/service/src/device/{file}.rs");
        one(
            &feature("endpoint"),
            "fn a() {}\nuse tokio_postgres::Row;",
            "endpoint.rs:2: names tokio_postgres",
        );
        one(&feature("endpoint"), "use crate::{store::{Tx}};", "names Tx");
        one(&feature("endpoint"), "const A: &str = \"SELECT 1\";", "holds SQL");
        one(&feature("decide"), "pub async fn decide() {}", "names async");
        one(&feature("decide"), "use crate::store::Store;", "names Store");
        one(&feature("decide"), "use axum::Json;", "names axum");
        one(&feature("store"), "use crate::http::Route;", "names http");
        one(&feature("polling"), "use axum::Json;", "names axum; a use case speaks neither");
        one(&feature("mod"), "//! Device.\nuse porteiro_screens::x;", "names porteiro_screens");
        one(
            "crates/screens/src/visit.rs",
            "use porteiro_service::App;",
            "names App; a screen holds no database",
        );
        one("crates/screens/src/flow/mod.rs", "fn a(it: &porteiro_service::store::X) {}", "names store");
        one("crates/screens/src/flow/draw.rs", "async fn a(tx: Tx) {}", "names Tx");
        one("crates/protocol/src/pkce.rs", "use tokio::time;", "names tokio");
    }

    #[test]
    fn sql_stays_in_stores() {
        let sql = "const A: &str = \"\n  UPDATE a SET b = 1\";";
        one("crates/service/src/device/mod.rs", &format!("//! D.\n{sql}"), "mod.rs:2: holds SQL");
        one("crates/server/src/boot.rs", sql, "holds SQL");
        for path in ["crates/service/src/device/store.rs", "crates/service/src/device/store/codes.rs"] {
            assert!(!found(path, sql).iter().any(|finding| finding.contains("SQL")));
        }
        assert_eq!(found("crates/base/src/http/layers.rs", "const A: &str = \"DELETE\";"), [""; 0]);
        let test = format!("#[cfg(test)]\nmod tests {{\n{sql}\n}}");
        assert_eq!(found("crates/service/src/device/decide.rs", &test), [""; 0]);
    }

    #[test]
    fn a_folder_says_what_it_is_for() {
        let root = tree(&[
            ("crates/service/src/silent/mod.rs", "mod store;\n"),
            ("crates/service/src/without/store.rs", ""),
        ]);
        let found = check(root.path()).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].to_string().starts_with("crates/service/src/silent/mod.rs:1: does not begin"));
        assert!(found[1].to_string().starts_with("crates/service/src/without:1: has no mod.rs"));
    }
}
