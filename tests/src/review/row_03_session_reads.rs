//! A session cookie reads an organization only at the level and age its policy demands.
