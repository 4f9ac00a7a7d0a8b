//! Which crates may depend on which packages, checked in every `Cargo.toml`.

use std::path::Path;

use crate::{Finding, files, finding::line_of};

const POSTGRES: &[&str] = &["tokio-postgres", "deadpool-postgres", "tokio-postgres-rustls"];
const MAY_USE_POSTGRES: &[&str] =
    &["crates/base", "crates/service", "crates/testkit", "tests", "xtask", "bench"];
const FEATURES: &[&str] = &["porteiro-service", "porteiro-screens"];
const IMPURE: &[&str] = &["tokio", "axum", "reqwest", "hyper", "tokio-postgres"];

pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in files::under(root, "")? {
        let Some(member) = path.strip_suffix("/Cargo.toml") else { continue };
        let text = files::read(root, &path)?;
        let manifest: toml::Table = text.parse().map_err(|error| anyhow::anyhow!("{path}: {error}"))?;
        for name in dependencies(&manifest) {
            if let Some(what) = refusal(member, &name) {
                findings.push(Finding::new(&path, line_of(&text, &name), what));
            }
        }
    }
    Ok(findings)
}

fn refusal(member: &str, dependency: &str) -> Option<String> {
    if member == "crates/protocol" && IMPURE.contains(&dependency) {
        Some(format!(
            "depends on {dependency}; protocol is pure: move what needs it to crates/base or crates/service"
        ))
    } else if member == "crates/base" && FEATURES.contains(&dependency) {
        Some(format!("depends on {dependency}; base knows no feature"))
    } else if member == "crates/service" && dependency == "porteiro-screens" {
        Some("depends on porteiro-screens; screens depend on the service, never the reverse".to_owned())
    } else if POSTGRES.contains(&dependency) && !MAY_USE_POSTGRES.contains(&member) {
        Some(format!("depends on {dependency}; only {} may", MAY_USE_POSTGRES.join(", ")))
    } else {
        None
    }
}

/// The names of packages in all dependency tables, for all targets.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let mut names = Vec::new();
    for (key, value) in manifest {
        let Some(table) = value.as_table() else { continue };
        if key.ends_with("dependencies") {
            names.extend(table.iter().map(|(name, wanted)| {
                wanted.get("package").and_then(toml::Value::as_str).unwrap_or(name).to_owned()
            }));
        } else if key == "target" {
            names.extend(table.values().filter_map(toml::Value::as_table).flat_map(dependencies));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    fn found(path: &str, text: &str) -> Vec<String> {
        let root = tree(&[(path, text)]);
        check(root.path()).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_crate_is_held_to_its_place() {
        for (path, text, part) in [
            ("crates/protocol/Cargo.toml", "[dependencies]\ntokio.workspace = true", ":2: depends on tokio;"),
            (
                "crates/protocol/Cargo.toml",
                "[dev-dependencies.axum]\nversion = \"1\"",
                ":1: depends on axum;",
            ),
            (
                "crates/protocol/Cargo.toml",
                "[target.'cfg(unix)'.dependencies]\nreqwest = \"1\"",
                ":2: depends on reqwest;",
            ),
            (
                "crates/service/Cargo.toml",
                "[dependencies]\nporteiro-screens.workspace = true",
                "porteiro-screens",
            ),
            (
                "crates/base/Cargo.toml",
                "[dependencies]\nporteiro-service.workspace = true",
                "base knows no feature",
            ),
            ("crates/server/Cargo.toml", "[dependencies]\ntokio-postgres = \"1\"", "only crates/base"),
            (
                "crates/server/Cargo.toml",
                "[dependencies]\npg = { version = \"1\", package = \"tokio-postgres\" }",
                "only crates/base",
            ),
        ] {
            let found = found(path, text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].contains(part), "{found:?}");
        }
    }

    #[test]
    fn who_may_is_left_alone() {
        for member in MAY_USE_POSTGRES {
            let path = format!("{member}/Cargo.toml");
            assert_eq!(found(&path, "[dependencies]\ntokio-postgres = \"1\""), [""; 0]);
        }
        assert_eq!(found("crates/server/Cargo.toml", "[dependencies]\ntokio = \"1\""), [""; 0]);
    }
}
