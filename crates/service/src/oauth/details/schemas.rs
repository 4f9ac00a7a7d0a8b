//! Compiled schemas, keyed by their source. A changed type is a new entry, so no entry is outdated; when there are
//! too many, arbitrary ones are removed.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use porteiro_protocol::authorization_details::{DetailType, DetailValidator};
use serde_json::Value;

use crate::secrets::sha256;

/// An installation has a handful of types.
const MOST: usize = 256;

/// The first user compiles; others wait for that schema only.
type Slot = Arc<OnceLock<Result<DetailValidator, String>>>;

#[derive(Debug, Default)]
pub(super) struct Schemas {
    known: Mutex<HashMap<[u8; 32], Slot>>,
    compiled: AtomicU64,
}

impl Schemas {
    pub fn compiled(&self) -> u64 {
        self.compiled.load(Ordering::Relaxed)
    }

    /// Validates each detail against the schema of its type.
    ///
    /// # Errors
    /// About the first detail that does not match, for the client.
    pub fn validate(&self, types: &[DetailType], details: &[Value]) -> Result<(), String> {
        let mut ready: Vec<(&str, Slot)> = Vec::new();
        for detail in details {
            let name = detail["type"].as_str().unwrap_or_default();
            let known = ready.iter().find(|(one, _)| *one == name).map(|(_, slot)| Arc::clone(slot));
            let slot = if let Some(slot) = known {
                slot
            } else {
                let kind = types.iter().find(|one| one.name == name);
                let slot = self.ready(kind.ok_or("this API does not define this type")?);
                ready.push((name, Arc::clone(&slot)));
                slot
            };
            match slot.get() {
                Some(Ok(validator)) => validator.validate(detail)?,
                Some(Err(error)) => return Err(error.clone()),
                None => return Err("the type's schema could not be compiled".to_owned()),
            }
        }
        Ok(())
    }

    fn ready(&self, kind: &DetailType) -> Slot {
        let slot = self.slot(fingerprint(kind));
        slot.get_or_init(|| {
            self.compiled.fetch_add(1, Ordering::Relaxed);
            kind.validator().map_err(|error| format!("the type's schema {error}"))
        });
        slot
    }

    fn slot(&self, key: [u8; 32]) -> Slot {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST
            && !known.contains_key(&key)
            && let Some(any) = known.keys().next().copied()
        {
            known.remove(&any);
        }
        Arc::clone(known.entry(key).or_default())
    }
}

fn fingerprint(kind: &DetailType) -> [u8; 32] {
    sha256(format!("{}\n{}", kind.name, kind.schema).as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind(name: &str, most: usize) -> DetailType {
        serde_json::from_value(json!({
            "name": name,
            "schema": {"type": "object", "properties": {"to": {"type": "string", "maxLength": most}},
                       "additionalProperties": false},
            "display": {"en": "{to}", "pt": "{to}"},
        }))
        .unwrap()
    }

    #[test]
    fn a_schema_is_compiled_once_for_each_version() {
        let schemas = Schemas::default();
        let detail = json!({"type": "payment", "to": "Bea"});
        let many = vec![detail; 32];
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| schemas.validate(&[kind("payment", 3)], &many).unwrap());
            }
        });
        assert_eq!(schemas.compiled(), 1);
        assert!(schemas.validate(&[kind("payment", 2)], &many).is_err(), "the newer version counts at once");
        assert_eq!(schemas.compiled(), 2);
        assert!(schemas.validate(&[kind("loan", 3)], &many).is_err());
    }

    #[test]
    fn memory_is_bounded() {
        let schemas = Schemas::default();
        for most in 0..MOST + 10 {
            let _ = schemas.validate(&[kind("payment", most)], &[json!({"type": "payment"})]);
        }
        assert_eq!(schemas.known.lock().unwrap().len(), MOST);
    }
}
