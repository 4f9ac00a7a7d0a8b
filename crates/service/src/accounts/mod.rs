//! One account per person for all organizations. Addresses are credentials; the account row contains none.

mod store;

pub use store::{
    Account, AccountState, IdentifierKind, NewAccount, find, find_by_identifier, in_hold, insert,
    insert_identifier, lock, remove_identifier, set_active, set_hold, set_profile, start_recovery,
};
