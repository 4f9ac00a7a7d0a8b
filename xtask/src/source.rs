//! Splits Rust source into code, comments and string literals, each with its line, so that a word in a comment does not
//! count as code, nor a word in a string as a comment.

#[derive(Debug, Default)]
pub struct Source {
    /// The code, line by line, without comments and the contents of strings.
    pub code: Vec<String>,
    /// The comments, line by line.
    pub comments: Vec<String>,
    /// All string literals and the lines on which they begin.
    pub strings: Vec<(usize, String)>,
}

impl Source {
    pub fn parse(text: &str) -> Self {
        let mut reader = Reader { rest: text, source: Self::default() };
        reader.source.code.push(String::new());
        reader.source.comments.push(String::new());
        while reader.step() {}
        reader.source
    }

    /// The same without its `#[cfg(test)]` modules: tests may reach across layers.
    pub fn without_tests(mut self) -> Self {
        let mut open: Option<i64> = None;
        for index in 0..self.code.len() {
            let begins = self.code[index].trim() == "#[cfg(test)]"
                && self.code.get(index + 1).is_some_and(|next| next.contains("mod ") && next.contains('{'));
            if open.is_none() && !begins {
                continue;
            }
            let line = std::mem::take(&mut self.code[index]);
            self.strings.retain(|(at, _)| *at != index + 1);
            let depth = open.unwrap_or(0) + braces(&line);
            let ends = depth == 0 && line.contains('}');
            open = (!ends).then_some(depth);
        }
        self
    }

    /// All identifiers and their lines.
    pub fn identifiers(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.iter().enumerate().flat_map(|(index, line)| {
            line.split(|c: char| !c.is_alphanumeric() && c != '_')
                .filter(|word| !word.is_empty())
                .map(move |word| (index + 1, word))
        })
    }
}

fn braces(line: &str) -> i64 {
    line.chars().map(|c| i64::from(c == '{') - i64::from(c == '}')).sum()
}

struct Reader<'a> {
    rest: &'a str,
    source: Source,
}

impl<'a> Reader<'a> {
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            let comment = self.take(end);
            self.comment(comment);
        } else if self.rest.starts_with("/*") {
            let end = block_end(self.rest);
            let comment = self.take(end);
            self.comment(comment);
        } else if let Some((begin, inside, whole)) = string_literal(self.rest, self.follows_word()) {
            let line = self.source.code.len();
            let literal = self.take(whole);
            self.source.strings.push((line, literal[begin..begin + inside].to_owned()));
            self.code("\"");
            (0..literal.matches('\n').count()).for_each(|_| self.new_line());
            self.code("\"");
        } else if let Some(length) = character_literal(self.rest) {
            self.take(length);
            self.code("' '");
        } else {
            self.take(first.len_utf8());
            if first == '\n' { self.new_line() } else { self.code(first.encode_utf8(&mut [0; 4])) }
        }
        true
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn code(&mut self, text: &str) {
        if let Some(line) = self.source.code.last_mut() {
            line.push_str(text);
        }
    }

    fn comment(&mut self, text: &str) {
        for (index, part) in text.split('\n').enumerate() {
            if index > 0 {
                self.new_line();
            }
            if let Some(line) = self.source.comments.last_mut() {
                line.push_str(part);
            }
        }
    }

    fn new_line(&mut self) {
        self.source.code.push(String::new());
        self.source.comments.push(String::new());
    }

    /// Whether an `r` or `b` here is the end of a name and not the beginning of a literal.
    fn follows_word(&self) -> bool {
        let last = self.source.code.last().and_then(|line| line.chars().last());
        last.is_some_and(|c| c.is_alphanumeric() || c == '_')
    }
}

/// Block comments nest.
fn block_end(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The start and length of the contents, and the length of the whole literal.
fn string_literal(text: &str, follows_word: bool) -> Option<(usize, usize, usize)> {
    let unprefixed = if follows_word { text } else { text.trim_start_matches(['b', 'c']) };
    // At most one letter, otherwise it is a name.
    let prefix = text.len() - unprefixed.len();
    if prefix > 1 {
        return None;
    }
    if let Some(raw) = unprefixed.strip_prefix('r').filter(|_| !follows_word) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let inside = raw[hashes..].strip_prefix('"')?;
        let closing = format!("\"{}", "#".repeat(hashes));
        let length = inside.find(&closing).unwrap_or(inside.len());
        let begin = prefix + 1 + hashes + 1;
        return Some((begin, length, (begin + length + closing.len()).min(text.len())));
    }
    let inside = unprefixed.strip_prefix('"')?;
    let mut escaped = false;
    let length = inside
        .find(|c| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        })
        .unwrap_or(inside.len());
    Some((prefix + 1, length, (prefix + 1 + length + 1).min(text.len())))
}

/// `'a'` or `'\n'`, and not the lifetime `'a`.
fn character_literal(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    let first = inside.chars().next()?;
    if first == '\\' {
        let second = inside.chars().nth(1)?.len_utf8();
        return Some(1 + 1 + second + inside[1 + second..].find('\'')? + 1);
    }
    inside[first.len_utf8()..].starts_with('\'').then(|| first.len_utf8() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comments_and_strings_are_told_apart() {
        let source = Source::parse(concat!(
            "use axum::Router; // not tokio\n",
            "/* a /* nested\n comment */ still */ let x = \"SELECT \\\" // 1\n two\";\n",
            "let y = r#\"raw \" // text\"#; let q = '\"'; let e = '\\''; fn f<'a>(b: &'a str) {}\n",
            "let var\u{62} = b\"bytes\"; for_r\n",
        ));
        assert_eq!(source.comments[0], "// not tokio");
        assert!(source.comments[1].contains("nested") && source.comments[2].contains("still"));
        let strings: Vec<_> = source.strings.iter().map(|(line, text)| (*line, text.as_str())).collect();
        assert_eq!(strings, [(3, "SELECT \\\" // 1\n two"), (5, "raw \" // text"), (6, "bytes")]);
        let words: Vec<_> = source.identifiers().collect();
        assert!(words.contains(&(1, "axum")) && words.contains(&(6, "for_r")) && words.contains(&(5, "str")));
        assert!(!words.iter().any(|(_, word)| ["tokio", "SELECT", "raw", "nested"].contains(word)));
    }

    #[test]
    fn test_modules_end_where_their_braces_close() {
        let source = Source::parse(
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn hidden() { \"SELECT 1\" }\n}\nfn after() { \"x\" }\n",
        )
        .without_tests();
        let words: Vec<_> = source.identifiers().map(|(_, word)| word).collect();
        assert_eq!(words, ["fn", "a", "fn", "after"]);
        assert_eq!(source.strings, [(6, "x".to_owned())]);
    }
}
