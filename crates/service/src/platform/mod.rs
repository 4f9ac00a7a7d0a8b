//! The installation itself: who may do what to it. Given by name, on the command line first; nobody gives what they do
//! not hold.

mod store;

pub use store::{held, set};
