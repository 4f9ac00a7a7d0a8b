//! Compact JWS (RFC 7515 §7.1). The holder of the key adds the signature.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;

use super::Algorithm;

/// The protected header. `typ` is always set, so that one kind of token is never accepted as another (RFC 8725
/// §3.11).
#[derive(Debug, Clone, Serialize)]
pub struct Header<'a> {
    pub typ: &'a str,
    pub alg: Algorithm,
    pub kid: &'a str,
}

/// `base64url(header).base64url(payload)`: the signing input.
///
/// # Errors
/// When the claims cannot be serialized as JSON.
pub fn signing_input<C: Serialize>(header: &Header<'_>, claims: &C) -> Result<String, serde_json::Error> {
    let mut input = String::with_capacity(512);
    URL_SAFE_NO_PAD.encode_string(serde_json::to_vec(header)?, &mut input);
    input.push('.');
    URL_SAFE_NO_PAD.encode_string(serde_json::to_vec(claims)?, &mut input);
    Ok(input)
}
