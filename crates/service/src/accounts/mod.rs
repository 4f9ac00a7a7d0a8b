//! One account per person for all organizations. Addresses are credentials; the account row contains none.

mod store;

use porteiro_protocol::id::AccountId;

pub use store::{
    Account, AccountState, IdentifierKind, NewAccount, find, find_by_identifier, in_hold, insert,
    insert_identifier, is_leaving, lock, remove_identifier, set_active, set_hold, set_profile,
    start_recovery,
};

use crate::{
    http::{Problem, ProblemCode, TxProblem},
    store::Tx,
};

/// Before something lasting is given to an account: one whose deletion was requested gains nothing
/// (docs/decisions/0135).
///
/// # Errors
/// When its deletion was requested.
pub async fn may_gain(tx: &Tx, account: AccountId) -> Result<(), TxProblem> {
    if is_leaving(tx, account).await? { Err(being_deleted().into()) } else { Ok(()) }
}

/// What the person is told.
pub fn being_deleted() -> Problem {
    Problem::new(ProblemCode::Conflict, "the account is being deleted: keep it first")
}
