//! `default_acr_values` is enforced.
