//! Keys by value (RFC 7591 §2, RFC 7517). Only public ones: a private key that was sent here is compromised.

use serde_json::Value;

use super::{Member, MetadataError};
use crate::{
    jose::{MAX_RSA_BYTES, has_private_member},
    plain_text::is_plain_json,
};

const MAX_KEYS: usize = 20;

pub(super) fn jwks(member: Member<'_>) -> Result<Option<Value>, MetadataError> {
    let Some(value) = member.value else { return Ok(None) };
    let keys = value
        .get("keys")
        .and_then(Value::as_array)
        .filter(|keys| (1..=MAX_KEYS).contains(&keys.len()))
        .ok_or_else(|| member.refused("must be a JWK set of 1 to 20 keys"))?;
    for key in keys {
        if !key.is_object() {
            return Err(member.refused("has a key that is not an object"));
        }
        if has_private_member(key) {
            return Err(member.refused(
                "contains private or symmetric key material: replace that key, it is no longer secret",
            ));
        }
        match key.get("kty").and_then(Value::as_str) {
            None => return Err(member.refused("has a key without kty")),
            Some("oct") => return Err(member.refused("has a symmetric key")),
            Some(_) => {}
        }
        for name in ["kid", "alg", "use", "crv"] {
            if key.get(name).is_some_and(|text| !text.is_string()) {
                return Err(member.refused("has a key whose kid, alg, use or crv is not a string"));
            }
        }
    }
    if keys.iter().any(is_oversized) {
        return Err(member.refused("has an RSA key of more than 4096 bits"));
    }
    if !is_plain_json(value) {
        return Err(member.refused("must not contain control characters"));
    }
    Ok(Some(value.clone()))
}

/// Judged by the length of its base64url text: such a key is never used for verification.
fn is_oversized(key: &Value) -> bool {
    let modulus = key.get("n").and_then(Value::as_str).unwrap_or_default();
    modulus.len() > (MAX_RSA_BYTES * 4).div_ceil(3)
}
