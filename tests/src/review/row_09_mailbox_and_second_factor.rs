//! A mailbox proof alone does not sign in to an account with a second factor.
