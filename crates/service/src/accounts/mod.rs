//! One global account per person. Addresses are credentials; the account itself holds none.

mod store;

pub use store::{
    Account, AccountState, IdentifierKind, NewAccount, find, find_by_identifier, in_hold, insert,
    insert_identifier, lock, remove_identifier, set_active, set_hold,
};
