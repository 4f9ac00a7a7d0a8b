//! Organizations: who belongs, what they may do there, and what becomes of it.

mod callers;
pub mod driver;
mod tokens;
