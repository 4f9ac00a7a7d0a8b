//! One person cannot be recognised across organizations.
