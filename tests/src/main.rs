//! Behaviour from outside: HTTP in, rows and tokens out.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what went wrong by stopping there"
)]

mod agents;
mod authorization_table;
mod bootstrap;
mod conformance;
mod discovery;
mod faults;
mod fetch;

mod jobs;
mod keys;
mod mail;
mod oauth;
mod organizations;
mod people;
mod pgbouncer;
mod readiness;
mod review;
mod scim;
mod sms;
mod store;
mod surroundings;
