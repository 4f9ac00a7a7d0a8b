//! The real binary, as an operator uses it: exit codes, messages, signals, `kill -9`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong by stopping there")]

mod admin;
mod canaries;
mod command_log;
mod commands;
mod drain;
mod installation;
mod killed;
mod refusals;
mod telemetry;

const BINARY: &str = env!("CARGO_BIN_EXE_porteiro");
