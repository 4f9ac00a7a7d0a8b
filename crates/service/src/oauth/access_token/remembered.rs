//! A cache of our own tokens whose signatures were verified recently, so that repeated requests with one token cost
//! no signature check.
//!
//! Only the fact that a signature is valid under a set of keys is cached. Claims and database are checked every time,
//! and a change of keys clears the cache.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use porteiro_protocol::jose::VerifiedJws;
use serde_json::Value;

use crate::secrets::sha256;

/// An entry has about two kilobytes.
const MOST: usize = 4_096;

#[derive(Debug, Default)]
pub struct Signatures {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The keys that the entries were verified with.
    keys: Vec<Value>,
    /// By the hash of the whole token, signature included.
    tokens: HashMap<[u8; 32], Arc<VerifiedJws>>,
}

impl Signatures {
    /// The token, if its signature is valid under these keys: cached, or as `verify` finds.
    pub fn verified(
        &self,
        keys: &[Value],
        token: &str,
        now: i64,
        verify: impl FnOnce() -> Option<VerifiedJws>,
    ) -> Option<Arc<VerifiedJws>> {
        let hash = sha256(token.as_bytes());
        if let Some(found) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(keys, &hash) {
            return Some(found);
        }
        let found = Arc::new(verify()?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remember(keys, hash, &found, now);
        Some(found)
    }
}

impl Known {
    fn get(&self, keys: &[Value], hash: &[u8; 32]) -> Option<Arc<VerifiedJws>> {
        self.tokens.get(hash).filter(|_| self.keys == keys).cloned()
    }

    fn remember(&mut self, keys: &[Value], hash: [u8; 32], token: &Arc<VerifiedJws>, now: i64) {
        if self.keys != keys {
            self.tokens.clear();
            self.keys = keys.to_vec();
        }
        if self.tokens.len() >= MOST {
            self.tokens.retain(|_, known| known.payload["exp"].as_i64().is_some_and(|exp| exp > now));
        }
        if self.tokens.len() < MOST {
            self.tokens.insert(hash, Arc::clone(token));
        }
    }
}

#[cfg(test)]
mod tests {
    use porteiro_protocol::jose::Algorithm;
    use serde_json::json;

    use super::*;

    fn token(exp: i64) -> VerifiedJws {
        VerifiedJws { header: json!({}), payload: json!({"exp": exp}), algorithm: Algorithm::Es256 }
    }

    #[test]
    fn what_was_verified_is_not_verified_again_until_the_keys_change() {
        let (signatures, keys) = (Signatures::default(), [json!({"kid": "1"})]);
        assert!(signatures.verified(&keys, "a", 0, || Some(token(9))).is_some());
        assert!(signatures.verified(&keys, "a", 0, || None).is_some(), "known");
        assert!(signatures.verified(&keys, "b", 0, || None).is_none(), "a refusal is not remembered");
        assert!(signatures.verified(&[json!({"kid": "2"})], "a", 0, || None).is_none(), "other keys");
    }

    #[test]
    fn memory_is_bounded_and_the_dead_make_room() {
        let (signatures, keys) = (Signatures::default(), [json!({"kid": "1"})]);
        for number in 0..MOST + 10 {
            assert!(signatures.verified(&keys, &number.to_string(), 0, || Some(token(5))).is_some());
        }
        assert_eq!(signatures.known.lock().unwrap().tokens.len(), MOST);
        assert!(signatures.verified(&keys, "late", 6, || Some(token(9))).is_some());
        assert_eq!(signatures.known.lock().unwrap().tokens.len(), 1);
    }
}
