//! The form of an entry: the same for the hash, the row and the response. Pure.

use porteiro_protocol::{
    id::{Id, OrganizationId, RequestId},
    time::OffsetDateTime,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use time::{format_description::BorrowedFormatItem, macros::format_description};
use uuid::Uuid;

use super::{Actor, Entry, Outcome, Target};
use crate::secrets::sha256;

/// A complete entry.
#[derive(Debug, Clone)]
pub struct Written {
    pub id: Id<Entry>,
    pub organization: OrganizationId,
    pub sequence: i64,
    pub at: OffsetDateTime,
    pub kind: String,
    pub actor: Value,
    pub target: Value,
    pub outcome: Outcome,
    pub reason: Option<String>,
    pub changes: Option<Value>,
    pub request_id: Uuid,
    /// Empty for the first entry.
    pub previous_hash: Vec<u8>,
}

/// The part outside the hash chain, which can be erased.
#[derive(Debug, Clone, Default)]
pub struct Personal {
    pub address: Option<String>,
    pub user_agent: Option<String>,
    /// Whom a directory named that did not let them in.
    pub directory_subject: Option<String>,
}

/// An entry of the audit trail.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AuditEvent {
    pub id: Id<Entry>,
    /// The number of the entry in the organization's trail, from 1, without gaps.
    pub sequence: i64,
    /// RFC 3339, in UTC, to the microsecond.
    pub at: String,
    pub r#type: String,
    #[schemars(with = "Actor")]
    pub actor: Value,
    #[schemars(with = "Target")]
    pub target: Value,
    pub organization: OrganizationId,
    pub request_id: RequestId,
    pub outcome: Outcome,
    pub reason: Option<String>,
    /// What changed: `{"before", "after"}`.
    pub changes: Option<Value>,
    /// `hash` of the previous entry, in hexadecimal; empty in the first entry.
    pub previous_hash: String,
    /// SHA-256, in hexadecimal, of the canonical JSON of all members but `hash`, `address`, `user_agent` and
    /// `directory_subject`.
    pub hash: String,
    pub address: Option<String>,
    pub user_agent: Option<String>,
    /// The subject at the organization's directory whose sign-in was rejected; only in `sso.rejected`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory_subject: Option<String>,
}

/// What the hash does not cover: itself, and the part that can be erased.
const UNCHAINED: [&str; 4] = ["hash", "address", "user_agent", "directory_subject"];

impl Written {
    /// # Errors
    /// When it contains a number that is not an integer: programs would write it in different ways.
    pub fn hash(&self) -> Result<[u8; 32], String> {
        let shown = self.shown(&[], Personal::default());
        let mut said = serde_json::to_value(shown).map_err(|error| error.to_string())?;
        if let Some(members) = said.as_object_mut() {
            members.retain(|name, _| !UNCHAINED.contains(&name.as_str()));
        }
        let mut text = String::new();
        canonical(&said, &mut text)?;
        Ok(sha256(text.as_bytes()))
    }

    pub fn shown(&self, hash: &[u8], personal: Personal) -> AuditEvent {
        AuditEvent {
            id: self.id,
            sequence: self.sequence,
            at: at(self.at),
            r#type: self.kind.clone(),
            actor: self.actor.clone(),
            target: self.target.clone(),
            organization: self.organization,
            request_id: self.request_id.into(),
            outcome: self.outcome,
            reason: self.reason.clone(),
            changes: self.changes.clone(),
            previous_hash: hex(&self.previous_hash),
            hash: hex(hash),
            address: personal.address,
            user_agent: personal.user_agent,
            directory_subject: personal.directory_subject,
        }
    }
}

/// UUIDv7 (RFC 9562 §6.2, method 1) whose counter is the entry's number: ids sort in the order of the trail.
pub fn entry_id(at: OffsetDateTime, sequence: i64, random: [u8; 4]) -> Id<Entry> {
    let millis = u64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or(0);
    let [_, _, c0, c1, c2, c3, c4, c5] = (sequence & 0x03FF_FFFF_FFFF).to_be_bytes();
    // 42 bits of counter around the version (four bits) and the variant (two).
    let [r0, r1, r2, r3] = random;
    let bytes = [(c0 << 2) | (c1 >> 6), (c1 << 2) | (c2 >> 6), c2 & 0x3F, c3, c4, c5, r0, r1, r2, r3];
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid().into()
}

const AT: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");

/// RFC 3339, in UTC, always to the microsecond: the precision of PostgreSQL, in one spelling.
pub fn at(when: OffsetDateTime) -> String {
    when.to_offset(time::UtcOffset::UTC).format(AT).unwrap_or_default()
}

pub fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// Canonical JSON (RFC 8785): no whitespace, members sorted by name, integers only.
pub fn canonical(value: &Value, text: &mut String) -> Result<(), String> {
    match value {
        Value::Number(number) if number.is_f64() => return Err(format!("{number} is not a whole number")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                canonical(item, text)?;
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            text.push('{');
            for (index, name) in names.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                canonical(&members[name], text)?;
            }
            text.push('}');
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn written() -> Written {
        Written {
            id: Uuid::nil().into(),
            organization: Uuid::nil().into(),
            sequence: 1,
            at: OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap(),
            kind: "role.changed".into(),
            actor: json!({"kind": "member", "id": "m"}),
            target: json!({"kind": "role", "id": "r"}),
            outcome: Outcome::Done,
            reason: None,
            changes: Some(json!({"before": {"b": 1, "a": "é\u{1f}\"\\/\n"}, "after": [null, true]})),
            request_id: Uuid::nil(),
            previous_hash: Vec::new(),
        }
    }

    #[test]
    fn one_spelling_whatever_the_order() {
        let mut text = String::new();
        canonical(&json!({"b": [1, {"z": null, "a": "é\u{1f}"}], "a": "\"/"}), &mut text).unwrap();
        assert_eq!(text, "{\"a\":\"\\\"/\",\"b\":[1,{\"a\":\"é\\u001f\",\"z\":null}]}");
        assert!(canonical(&json!([1.5]), &mut String::new()).is_err());
    }

    #[test]
    fn every_member_counts_and_what_can_be_erased_does_not() {
        let entry = written();
        let hash = entry.hash().unwrap();
        let mut others = Vec::new();
        for change in [
            |it: &mut Written| it.id = Uuid::max().into(),
            |it: &mut Written| it.organization = Uuid::max().into(),
            |it: &mut Written| it.sequence = 2,
            |it: &mut Written| it.at += porteiro_protocol::time::Duration::MICROSECOND,
            |it: &mut Written| it.kind = "role.created".into(),
            |it: &mut Written| it.actor = json!({"kind": "member", "id": "m", "act": "x"}),
            |it: &mut Written| it.target = json!({"kind": "role", "id": "s"}),
            |it: &mut Written| it.outcome = Outcome::Refused,
            |it: &mut Written| it.reason = Some(String::new()),
            |it: &mut Written| it.changes = None,
            |it: &mut Written| it.request_id = Uuid::max(),
            |it: &mut Written| it.previous_hash = vec![0],
        ] {
            let mut other = written();
            change(&mut other);
            others.push(other.hash().unwrap());
        }
        assert!(others.iter().all(|other| *other != hash));
        assert_eq!(entry.shown(&hash, Personal::default()).at, "2027-01-15T08:00:00.000000Z");
    }

    proptest! {
        #[test]
        fn ids_sort_as_the_trail_does(
            millis in 0..1_000i64, later in 0..3i64, sequence in 1..0x03FF_FFFF_0000i64, more in 1..1_000i64,
            one in any::<[u8; 4]>(), two in any::<[u8; 4]>(),
        ) {
            let at = |millis: i64| OffsetDateTime::from_unix_timestamp_nanos(
                1_800_000_000_000_000_000 + i128::from(millis) * 1_000_000).unwrap();
            let first = entry_id(at(millis), sequence, one);
            let second = entry_id(at(millis + later), sequence + more, two);
            prop_assert!(first < second);
            prop_assert_eq!(first.uuid().get_version_num(), 7);
            prop_assert_eq!(first.uuid().get_variant(), uuid::Variant::RFC4122);
        }
    }
}
