//! References in comments and documents: every document, path below `docs/` and decision record that is named must
//! exist, and so must every path of the code that a document names. A reader with only this repository can follow all
//! of them.

use std::path::Path;

use crate::{Finding, decisions, files, source::Source};

/// Files that people write. A script has no extension.
const EXTENSIONS: &[&str] = &["", "rs", "md", "mjs", "js", "py", "sh", "sql", "toml", "css", "html", "ftl"];
const CODE: &[&str] = &[
    "crates/",
    "tests/",
    "xtask/",
    "scripts/",
    "migrations/",
    "interop/",
    "browser/",
    "bench/",
    "certification/",
];
const BREAKS: &str = "()[]<>\"',;|`";

pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let reader = Reader { root, records: decisions::numbers(root)? };
    let mut findings = Vec::new();
    for path in files::under(root, "")?.into_iter().filter(|path| EXTENSIONS.contains(&extension(path))) {
        let Ok(text) = files::read(root, &path) else { continue };
        for (line, text) in prose(&path, &text) {
            findings
                .extend(reader.faults(&path, &text).into_iter().map(|what| Finding::new(&path, line, what)));
        }
    }
    Ok(findings)
}

/// Lines that may contain a reference: comments and path strings of Rust files; every line of other files. The tests of
/// these checks name paths that do not exist.
fn prose(path: &str, text: &str) -> Vec<(usize, String)> {
    if !files::is_rust(path) {
        return text.lines().enumerate().map(|(index, line)| (index + 1, line.to_owned())).collect();
    }
    let source = Source::parse(text);
    let comments = source.comments.into_iter().enumerate().map(|(index, line)| (index + 1, line));
    let is_path = |text: &str| text.starts_with("docs/") && !path.starts_with("xtask/");
    comments.chain(source.strings.into_iter().filter(|(_, text)| is_path(text))).collect()
}

struct Reader<'a> {
    root: &'a Path,
    records: Vec<String>,
}

impl Reader<'_> {
    fn faults(&self, file: &str, line: &str) -> Vec<String> {
        let words = words(line);
        let mut faults: Vec<String> = words.iter().filter_map(|word| self.document(file, word)).collect();
        if files::has_extension(file, "md") {
            faults.extend(words.iter().filter_map(|word| self.code(word)));
        }
        for pair in words.windows(2) {
            faults.extend(section(pair[0], pair[1]));
            faults.extend(self.record(pair[0], pair[1]));
        }
        if file.starts_with("docs/decisions/0") {
            faults.extend(words.iter().filter_map(|word| self.number(word)));
        }
        faults
    }

    /// `docs/…` and `….md`, from the root, beside the file or in `docs`.
    fn document(&self, file: &str, word: &str) -> Option<String> {
        let path = word.split('#').next()?.trim_end_matches(['.', ':', '/']);
        if is_placeholder(path) || !(path.starts_with("docs/") || files::has_extension(path, "md")) {
            return None;
        }
        if let Some(number) = path.strip_prefix("docs/decisions/").filter(|rest| !rest.contains('-')) {
            let known = number == "README.md" || self.records.iter().any(|record| record == number);
            return (!known).then(|| format!("names docs/decisions/{number}, which does not exist"));
        }
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let places =
            [self.root.join(path), self.root.join(folder).join(path), self.root.join("docs").join(path)];
        let found = places.iter().any(|place| place.exists());
        (!found).then(|| format!("names {path}, which does not exist; cite a document of this repository"))
    }

    /// `crates/service/src/lib.rs`, `tests/src/a.rs::test_name`.
    fn code(&self, word: &str) -> Option<String> {
        let path = word.split("::").next()?.trim_end_matches(['.', ':', '/']);
        let named = CODE.iter().any(|folder| word.starts_with(folder)) && !is_placeholder(path);
        let found = files::has_extension(path, "md") || self.root.join(path).exists();
        (named && !found).then(|| format!("names {path}, which does not exist; correct the path"))
    }

    /// Records cite each other by number alone: `(0019)`.
    fn number(&self, word: &str) -> Option<String> {
        let number = word.trim_end_matches(['.', ':']);
        let named = number.starts_with("00") && decisions::number_at_start(number).as_deref() == Some(number);
        (named && !self.records.iter().any(|record| record == number))
            .then(|| format!("names {number}, which is not in docs/decisions"))
    }

    /// `decision record 0044`, `record 0044`, `decision 0044`: four digits, and the record exists.
    fn record(&self, before: &str, word: &str) -> Option<String> {
        let decision = matches!(before.to_lowercase().as_str(), "decision" | "decisions");
        let record = matches!(before.to_lowercase().as_str(), "record" | "records");
        let number: String = word.chars().take_while(char::is_ascii_digit).collect();
        let named = decision && !number.is_empty() || record && number.len() == 4;
        (named && !self.records.contains(&number))
            .then(|| format!("names {before} {number}, which is not in docs/decisions; cite one that is"))
    }
}

fn is_placeholder(path: &str) -> bool {
    path.contains(['*', '{', '$', '…']) || path.contains("NNNN") || path.contains("://")
}

/// Documents here have no numbered sections: a section number after a document's name refers to another or an older
/// document.
fn section(document: &str, word: &str) -> Option<String> {
    let number = word.trim_start_matches('§').trim_end_matches(['.', ':']);
    let numbered = number.contains('.') && number.split('.').all(is_section_part);
    (files::has_extension(document, "md") && numbered)
        .then(|| format!("names section {number} of {document}, which has no numbers; link the heading"))
}

fn is_section_part(part: &str) -> bool {
    part.len() == 1 && part.chars().all(|c| c.is_ascii_uppercase())
        || !part.is_empty() && part.chars().all(|c| c.is_ascii_digit())
}

fn words(line: &str) -> Vec<&str> {
    let is_break = |c: char| c.is_whitespace() || BREAKS.contains(c);
    line.split(is_break).filter(|word| !word.is_empty()).collect()
}

fn extension(path: &str) -> &str {
    Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::planted::tree;

    fn found(path: &str, text: &str) -> Vec<String> {
        let root = tree(&[
            (path, text),
            ("docs/flows.md", ""),
            ("docs/decisions/0001-paper.md", ""),
            ("docs/decisions/README.md", ""),
        ]);
        check(root.path()).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn references_that_resolve_are_fine() {
        let text = "// `docs/flows.md`, flows.md: docs/decisions/0001 (decision record 0001), record 0001.\n\
                    // docs/decisions/NNNN-*.md, docs/decisions/README.md and https://example.org/a.md\n\
                    // WAL records 119 bytes; this decision 's own; RFC 9700 4.1\n\
                    const A: &str = \"gone.md, decision 14\";\n";
        assert_eq!(found("crates/a/src/lib.rs", text), [""; 0]);
        assert_eq!(
            found("bench/run", "# See README.md\n"),
            ["bench/run:1: names README.md, which does not \
            exist; cite a document of this repository"]
        );
    }

    #[test]
    fn a_dangling_reference_is_found() {
        for (text, part) in [
            ("`security.md` says so", "names security.md, which does not exist"),
            ("docs/gone.md", "names docs/gone.md, which does not exist"),
            ("docs/gone/", "names docs/gone, which does not exist"),
            ("(docs/decisions/0009)", "names docs/decisions/0009, which does not exist"),
            ("docs/decisions/0001-rock.md", "names docs/decisions/0001-rock.md, which does not exist"),
            ("(decision record 0009)", "names record 0009, which is not in docs/decisions"),
            ("(decision 14)", "names decision 14, which is not in docs/decisions"),
            ("`flows.md` 4.3", "names section 4.3 of flows.md"),
            ("flows.md D.3:", "names section D.3 of flows.md"),
        ] {
            for path in ["crates/a.rs", "scripts/a", "docs/a.md"] {
                let found = found(path, &format!("\n// Why: {text}\n"));
                assert_eq!(found.len(), 1, "{path}, {text}: {found:?}");
                assert!(found[0].starts_with(&format!("{path}:2: {part}")), "{found:?}");
            }
        }
    }

    #[test]
    fn a_record_cites_others_by_number_and_a_string_by_path() {
        let found_in = |path: &str, text: &str| found(path, text).join("");
        assert_eq!(found("docs/decisions/0002-x.md", "As in 0001 (mode 0440)."), [""; 0]);
        assert!(found_in("docs/decisions/0002-x.md", "As before (0009).").contains("names 0009"));
        assert!(found_in("tests/a.rs", "f(\"docs/gone.md\")").contains("names docs/gone.md"));
        assert_eq!(found("xtask/src/a.rs", "f(\"docs/gone.md\")"), [""; 0]);
    }

    #[test]
    fn a_document_names_code_that_exists() {
        assert_eq!(found("docs/a.md", "`tests/a.rs::works`, `migrations/NNNN_name.sql`").len(), 1);
        assert!(found("docs/a.md", "`crates/a/src/gone.rs`")[0].contains("names crates/a/src/gone.rs"));
        assert_eq!(found("crates/a.rs", "// as in tests/screens/main.rs"), [""; 0]);
    }
}
