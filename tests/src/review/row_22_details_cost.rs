//! authorization_details cost little before a token is used.
