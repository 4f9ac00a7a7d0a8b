//! One global account per person. Addresses are credentials; the account itself holds none.

mod ending;
mod store;

pub use ending::{disable, enable};
pub use store::{
    Account, AccountState, IdentifierKind, NewAccount, find, find_by_identifier, in_hold, insert,
    insert_identifier, lock, remove_identifier, set_hold,
};
