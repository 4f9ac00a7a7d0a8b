//! The rows.

pub mod servers;
