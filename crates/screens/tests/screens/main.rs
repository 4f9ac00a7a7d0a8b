//! Tests of the hosted screens from outside, on PostgreSQL.

#![expect(clippy::expect_used, clippy::panic, reason = "a test says what went wrong by stopping there")]

mod account;
mod approvals;
mod around;
mod asvs;
mod branding;
mod doors;
mod driver;
mod flows;
mod headers;
mod invitation;
mod organization;
mod reach;
mod review;
mod surroundings;
mod text_sign_in;
