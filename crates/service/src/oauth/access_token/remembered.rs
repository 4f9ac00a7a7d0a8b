//! A cache of our own tokens whose signatures were verified recently, so that repeated requests with one token cost
//! no signature check.
//!
//! Only the fact that a signature is valid under a set of keys is cached. Claims and database are checked every time,
//! and a change of keys clears the cache.

use std::{
    collections::HashMap,
    mem,
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

/// Two halves, so that making room costs the same however many tokens are alive: when the newer half is full, the
/// older one is dropped whole. A token in use moves to the newer half.
#[derive(Debug, Default)]
struct Known {
    /// The keys that the entries were verified with.
    keys: Vec<Value>,
    newer: Half,
    older: Half,
}

/// By the hash of the whole token, signature included.
type Half = HashMap<[u8; 32], Arc<VerifiedJws>>;

impl Signatures {
    /// The token, if its signature is valid under these keys: cached, or as `verify` finds.
    pub fn verified(
        &self,
        keys: &[Value],
        token: &str,
        verify: impl FnOnce() -> Option<VerifiedJws>,
    ) -> Option<Arc<VerifiedJws>> {
        let hash = sha256(token.as_bytes());
        if let Some(found) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(keys, &hash) {
            return Some(found);
        }
        let found = Arc::new(verify()?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remember(keys, hash, &found);
        Some(found)
    }
}

impl Known {
    fn get(&mut self, keys: &[Value], hash: &[u8; 32]) -> Option<Arc<VerifiedJws>> {
        if self.keys != keys {
            return None;
        }
        if let Some(found) = self.newer.get(hash) {
            return Some(Arc::clone(found));
        }
        let found = self.older.remove(hash)?;
        self.keep(*hash, &found);
        Some(found)
    }

    fn remember(&mut self, keys: &[Value], hash: [u8; 32], token: &Arc<VerifiedJws>) {
        if self.keys != keys {
            *self = Self { keys: keys.to_vec(), ..Self::default() };
        }
        self.keep(hash, token);
    }

    fn keep(&mut self, hash: [u8; 32], token: &Arc<VerifiedJws>) {
        if self.newer.len() >= MOST / 2 {
            self.older = mem::take(&mut self.newer);
        }
        self.newer.insert(hash, Arc::clone(token));
    }
}

#[cfg(test)]
mod tests {
    use porteiro_protocol::jose::Algorithm;
    use serde_json::json;

    use super::*;

    fn token() -> VerifiedJws {
        VerifiedJws { header: json!({}), payload: json!({}), algorithm: Algorithm::Es256 }
    }

    #[test]
    fn what_was_verified_is_not_verified_again_until_the_keys_change() {
        let (signatures, keys) = (Signatures::default(), [json!({"kid": "1"})]);
        assert!(signatures.verified(&keys, "a", || Some(token())).is_some());
        assert!(signatures.verified(&keys, "a", || None).is_some(), "known");
        assert!(signatures.verified(&keys, "b", || None).is_none(), "a refusal is not remembered");
        assert!(signatures.verified(&[json!({"kid": "2"})], "a", || None).is_none(), "other keys");
    }

    #[test]
    fn memory_is_bounded_and_what_is_in_use_stays() {
        let (signatures, keys) = (Signatures::default(), [json!({"kid": "1"})]);
        assert!(signatures.verified(&keys, "in use", || Some(token())).is_some());
        for number in 0..3 * MOST {
            assert!(signatures.verified(&keys, &number.to_string(), || Some(token())).is_some());
            assert!(signatures.verified(&keys, "in use", || None).is_some(), "{number}");
        }
        let known = signatures.known.lock().unwrap();
        assert!(known.newer.len() + known.older.len() <= MOST);
    }
}
