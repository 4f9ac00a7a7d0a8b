//! Hosted screens from outside.
