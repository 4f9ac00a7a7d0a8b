//! A narrowed client policy or trust reaches living tokens and ends grants.
