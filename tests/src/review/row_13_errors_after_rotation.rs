//! An error never spends a refresh token.
