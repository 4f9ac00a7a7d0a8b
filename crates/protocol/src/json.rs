//! Untrusted JSON: bounded depth, no duplicate member names (RFC 8259 §4 leaves those undefined, and two readers that
//! disagree about them let checks be bypassed), no U+0000, which PostgreSQL cannot store in text.

use std::{cell::Cell, fmt};

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses a whole document; refuses depth beyond `max_depth`, duplicate names and U+0000.
///
/// # Errors
/// When the text is not JSON, nests deeper, repeats a name, or contains U+0000. The message never quotes the input.
pub fn parse_strict(text: &[u8], max_depth: usize) -> Result<Value, serde_json::Error> {
    let depth = Cell::new(0);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Strict { depth: &depth, max: max_depth }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

fn without_nul<E: de::Error>(text: &str) -> Result<(), E> {
    if text.contains('\0') { Err(E::custom("a string contains U+0000")) } else { Ok(()) }
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    depth: &'a Cell<usize>,
    max: usize,
}

impl Strict<'_> {
    fn enter<E: de::Error>(self) -> Result<(), E> {
        let depth = self.depth.get() + 1;
        if depth > self.max {
            return Err(E::custom(format_args!("nested deeper than {} levels", self.max)));
        }
        self.depth.set(depth);
        Ok(())
    }

    fn leave(self) {
        self.depth.set(self.depth.get() - 1);
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;
    fn deserialize<D: de::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        without_nul(value)?;
        Ok(value.into())
    }
    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        without_nul(&value)?;
        Ok(value.into())
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        self.leave();
        Ok(items.into())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            without_nul(&name)?;
            let value = members.next_value_seed(self)?;
            if object.insert(name, value).is_some() {
                return Err(de::Error::custom("a member name is repeated"));
            }
        }
        self.leave();
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_documents_pass_unchanged() {
        let text = r#"{"a":[1,-2,3.5,null,true,"x"],"b":{"c":{}}}"#;
        assert_eq!(parse_strict(text.as_bytes(), 8).unwrap().to_string(), text);
    }

    #[test]
    fn hostile_documents_are_refused() {
        let deep = "[".repeat(100_000);
        for (text, why) in [
            (r#"{"a":1,"a":2}"#, "duplicate"),
            (r#"{"a":{"b":1,"b":1}}"#, "nested duplicate"),
            (r#"{"\u0061":1,"a":2}"#, "duplicate after unescaping"),
            (deep.as_str(), "depth"),
            (r#"{"a":"\ud800"}"#, "lone surrogate"),
            (r#"{"a":1e999}"#, "huge number"),
            (r#"{"a":["x\u0000"]}"#, "U+0000"),
            (r#"{"\u0000":1}"#, "U+0000 in a name"),
            (r"{} {}", "trailing document"),
            ("", "empty"),
        ] {
            assert!(parse_strict(text.as_bytes(), 16).is_err(), "{why}");
        }
        assert!(parse_strict(b"[[[]]]", 3).is_ok());
        assert!(parse_strict(b"[[[]]]", 2).is_err());
    }
}
