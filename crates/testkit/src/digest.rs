//! Digests that only tests need.

/// SHA-1, as the public collection of breached passwords uses it.
pub fn sha1(bytes: &[u8]) -> Vec<u8> {
    aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, bytes).as_ref().to_vec()
}
