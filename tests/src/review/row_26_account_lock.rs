//! Waiting for an account's lock takes no database connection.
