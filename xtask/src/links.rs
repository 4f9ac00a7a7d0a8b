//! Links between documents: a relative link must lead to an existing file or folder, and its anchor to a heading there.

use std::path::Path;

use crate::{Finding, files, markdown};

pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for document in files::under(root, "")?.into_iter().filter(|path| files::has_extension(path, "md")) {
        let text = files::read(root, &document)?;
        for (line, prose) in markdown::prose(&text) {
            for link in links(&prose) {
                if let Some(what) = broken(root, &document, link) {
                    findings.push(Finding::new(&document, line, what));
                }
            }
        }
    }
    Ok(findings)
}

/// The relative targets of a line: `[text](target)`, and `[name]: target` at its start.
fn links(line: &str) -> Vec<&str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let named = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "))
        .and_then(|(_, target)| target.split_whitespace().next());
    inline.chain(named).filter(|target| !target.contains(':')).collect()
}

/// What is wrong with a link, if anything.
fn broken(root: &Path, document: &str, link: &str) -> Option<String> {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let Some(target) = resolve(document, path).filter(|target| root.join(target).exists()) else {
        return Some(format!("links to {link}, which does not exist; correct the path"));
    };
    let missing = anchor.is_some_and(|anchor| {
        let text = files::read(root, &target).ok().filter(|_| files::has_extension(&target, "md"));
        !text.is_some_and(|text| markdown::anchors(&text).iter().any(|one| one == anchor))
    });
    missing.then(|| format!("links to {link}, and {target} has no such heading; correct the anchor"))
}

/// A link's path from the root of the repository; `None` if it leaves the repository.
fn resolve(document: &str, path: &str) -> Option<String> {
    if path.is_empty() {
        return Some(document.to_owned());
    }
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            ".." => {
                parts.pop()?;
            }
            "" | "." => {}
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    fn found(text: &str) -> Vec<String> {
        let root = tree(&[
            ("docs/a.md", text),
            ("docs/sub/b.md", "# B\n\n## Two words\n"),
            ("README.md", "# Top\n"),
            ("crates/a.rs", ""),
        ]);
        check(root.path()).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_resolve_are_fine() {
        let text = "# A\n[b](sub/b.md) [two](sub/b.md#two-words) [top](../README.md#top) [here](#a)\n\
                    ![code](../crates/a.rs) [folder](sub/) [web](https://example.org/x) `[no](link)`\n\
                    ```\n[no](link)\n```\n\n[named]: sub/b.md\n";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn a_broken_link_is_found() {
        for (link, part) in [
            ("[x](c.md)", "links to c.md, which does not exist"),
            ("[x](../../README.md)", "links to ../../README.md, which does not exist"),
            ("[x](sub/b.md#three)", "docs/sub/b.md has no such heading"),
            ("[x](#nowhere)", "docs/a.md has no such heading"),
            ("[x](../crates/a.rs#L1)", "crates/a.rs has no such heading"),
            ("[named]: c.md", "links to c.md, which does not exist"),
        ] {
            let found = found(&format!("# A\n\n{link}\n"));
            assert_eq!(found.len(), 1, "{link}: {found:?}");
            assert!(found[0].starts_with("docs/a.md:3: ") && found[0].contains(part), "{found:?}");
        }
    }
}
