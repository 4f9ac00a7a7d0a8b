//! Mistakes left behind: unfinished code, disabled tests, addresses of registries, files that are too long.

use std::path::Path;

use crate::{
    Finding,
    files::{self, is_rust},
    source::Source,
};

const UNFINISHED: &[&str] = &["todo!(", "unimplemented!("];
const REMINDERS: &[&str] = &["FIXME", "XXX"];
const MAX_LINES: usize = 400;
/// Files that may be longer, with the reason.
const LONGER: &[(&str, &str)] = &[];
/// Each machine decides where packages come from: a mirror or a proxy must be able to replace the registry.
const REGISTRIES: &[&str] =
    &["crates.io", "npmjs.org", "npmjs.com", "pypi.org", "maven.org", "maven.apache.org", "debian.org"];

pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in files::under(root, "")? {
        // Not text.
        let Ok(text) = files::read(root, &path) else { continue };
        for (index, line) in text.lines().enumerate() {
            findings.extend(hosts(line).filter(|host| is_registry(host)).map(|host| {
                let what =
                    format!("names the registry {host}; leave the address to the machine's own settings");
                Finding::new(&path, index + 1, what)
            }));
        }
        if is_rust(&path) {
            findings.extend(rust(&path, &text));
        }
    }
    Ok(findings)
}

fn rust(path: &str, text: &str) -> Vec<Finding> {
    let source = Source::parse(text);
    let mut findings = Vec::new();
    for (index, (code, comment)) in source.code.iter().zip(&source.comments).enumerate() {
        let mut find = |what: String| findings.push(Finding::new(path, index + 1, what));
        for word in UNFINISHED.iter().filter(|word| code.contains(*word)) {
            find(format!("{word}) is left; finish it or take it out"));
        }
        if code.contains("#[ignore") {
            find("a test is switched off; make it pass or take it out".to_owned());
        }
        for word in REMINDERS.iter().filter(|word| words(code).chain(words(comment)).any(|one| one == **word))
        {
            find(format!("{word} is left; do it, or write it down where work is planned"));
        }
    }
    let lines = text.lines().count();
    if lines > MAX_LINES && !LONGER.iter().any(|(longer, _reason)| *longer == path) {
        let what = format!("has {lines} lines, over {MAX_LINES}; it is usually two operations: split it");
        findings.push(Finding::new(path, MAX_LINES + 1, what));
    }
    findings
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
}

/// The host of every URL in a line.
fn hosts(line: &str) -> impl Iterator<Item = &str> {
    line.split("://").skip(1).map(|rest| {
        let end =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-._@".contains(c)).unwrap_or(rest.len());
        let authority = &rest[..end];
        authority.rsplit('@').next().unwrap_or(authority)
    })
}

fn is_registry(host: &str) -> bool {
    REGISTRIES.iter().any(|registry| {
        host.strip_suffix(registry).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(tree(&[(path, text)]).path()).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_unfinished_is_found() {
        for (text, part) in [
            ("fn a() {\n    todo!()\n}", "a.rs:2: todo!() is left"),
            ("fn a() { unimplemented!(\"later\") }", "a.rs:1: unimplemented!() is left"),
            ("#[ignore = \"slow\"]\nfn a() {}", "a.rs:1: a test is switched off"),
            ("\n\n// FIXME: later", "a.rs:3: FIXME is left"),
            ("/* XXX */", "a.rs:1: XXX is left"),
        ] {
            let found = found("crates/a.rs", text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].contains(part), "{found:?}");
        }
        assert_eq!(found("crates/a.rs", "const A: &str = \"todo!( FIXME #[ignore\"; // XXXL"), [""; 0]);
    }

    #[test]
    fn addresses_of_registries_are_found() {
        for host in
            ["static.crates.io", "registry.npmjs.org", "pypi.org", "repo.maven.apache.org", "deb.debian.org"]
        {
            let found = found("scripts/up", &format!("#!/bin/sh\ncurl https://{host}/x"));
            assert_eq!(found.len(), 1, "{host}");
            assert!(found[0].starts_with(&format!("scripts/up:2: names the registry {host};")));
        }
        let index = "source = \"registry+https://github.com/rust-lang/crates.io-index\" # crates.io";
        assert_eq!(found("Cargo.lock", index), [""; 0]);
        assert_eq!(found("a.md", &format!("https://{}", "notpypi.org")), [""; 0]);
    }

    #[test]
    fn a_file_that_grew_is_found() {
        assert_eq!(found("crates/a.rs", &"//\n".repeat(MAX_LINES)), [""; 0]);
        assert!(found("crates/a.rs", &"//\n".repeat(MAX_LINES + 1))[0].contains("has 401 lines, over 400"));
    }
}
