//! Words for a person at a terminal. Everything else goes to the log.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the one place that prints")]

pub fn out(text: &str) {
    println!("{text}");
}

pub fn err(text: &str) {
    eprintln!("{text}");
}
