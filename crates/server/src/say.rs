//! Output for a person at a terminal. Everything else goes to the log.

use std::io::Write;

/// A closed pipe (`| head`) is not an error.
pub fn out(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

pub fn err(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
