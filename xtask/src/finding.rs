//! A finding: where, what is wrong, and what to do about it.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Relative to the root of the repository.
    pub path: String,
    pub line: usize,
    pub what: String,
}

impl Finding {
    pub fn new(path: impl Into<String>, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.into(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// The first line that contains `text`, otherwise line 1.
pub fn line_of(whole: &str, text: &str) -> usize {
    whole.lines().position(|line| line.contains(text)).map_or(1, |index| index + 1)
}
