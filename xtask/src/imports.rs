//! The modules of its own crate that a file imports: `crate::…`, `self::…` and `super::…`, in `use` and elsewhere.

use crate::source::Source;

/// A path from the root of the crate, and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    pub line: usize,
    pub path: Vec<String>,
}

/// The module of a file: `["oauth", "device"]` for `oauth/device/mod.rs`, relative to the crate's `src`.
pub fn module_of(file: &str) -> Vec<String> {
    let mut parts: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

pub fn of(module: &[String], source: &Source) -> Vec<Import> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let begins = ["crate", "self", "super"].contains(&tokens[at].1.as_str())
            && (at == 0 || tokens[at - 1].1 != "::")
            && tokens.get(at + 1).is_some_and(|next| next.1 == "::");
        if begins {
            let start = if tokens[at].1 == "crate" { Vec::new() } else { module.to_vec() };
            at = tree(&tokens, at, &start, &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads one path, or one `{…}` of paths, and returns the position of the next token.
fn tree(tokens: &[(usize, String)], mut at: usize, start: &[String], found: &mut Vec<Import>) -> usize {
    let mut path = start.to_vec();
    let mut line = 0;
    while let Some((here, token)) = tokens.get(at) {
        match token.as_str() {
            "{" => {
                at += 1;
                while let Some((_, token)) = tokens.get(at).filter(|token| token.1 != "}") {
                    at = match token.as_str() {
                        "," => at + 1,
                        // The alias does not matter.
                        "as" => at + 2,
                        _ => tree(tokens, at, &path, found).max(at + 1),
                    };
                }
                return at + 1;
            }
            "crate" | "self" => {}
            "super" => {
                path.pop();
            }
            name if is_name(name) => path.push(name.to_owned()),
            _ => break,
        }
        line = *here;
        at += 1;
        if tokens.get(at).is_none_or(|token| token.1 != "::") {
            break;
        }
        at += 1;
    }
    found.push(Import { line, path });
    at
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn tokens(source: &Source) -> Vec<(usize, String)> {
    let mut tokens: Vec<(usize, String)> = Vec::new();
    for (index, line) in source.code.iter().enumerate() {
        let mut rest = line.as_str();
        while let Some(first) = rest.chars().next() {
            let length = if first.is_alphanumeric() || first == '_' {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (token, after) = rest.split_at(length);
            if !first.is_whitespace() {
                tokens.push((index + 1, token.to_owned()));
            }
            rest = after;
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(file: &str, text: &str) -> Vec<(usize, String)> {
        let found = of(&module_of(file), &Source::parse(text));
        found.into_iter().map(|import| (import.line, import.path.join("::"))).collect()
    }

    #[test]
    fn trees_inline_paths_and_parents_are_followed() {
        let text = "use crate::{\n    App,\n    store::{Store, row::{self, Row as R}},\n};\n\
                    use super::super::{clients::Client, keys};\n\
                    fn a() { crate::flow::open(self::b::c, super::d); x.self_::crate_::y; }\n";
        let found = named("oauth/device/look.rs", text);
        let expected = [
            (2, "App"),
            (3, "store::Store"),
            (3, "store::row"),
            (3, "store::row::Row"),
            (5, "oauth::clients::Client"),
            (5, "oauth::keys"),
            (6, "flow::open"),
            (6, "oauth::device::look::b::c"),
            (6, "oauth::device::d"),
        ];
        assert_eq!(found, expected.map(|(line, path)| (line, path.to_owned())));
        assert_eq!(named("oauth/device/mod.rs", "use super::keys;"), [(1, "oauth::keys".to_owned())]);
        assert_eq!(named("lib.rs", "mod a; pub use self::a::B;"), [(1, "a::B".to_owned())]);
    }
}
