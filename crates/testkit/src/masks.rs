//! Names for values that differ between runs: the same value has the same name throughout a section.

use std::collections::{BTreeMap, BTreeSet};

use http::header;
use serde_json::{Map, Value, json};

#[derive(Debug, Default)]
pub struct Masks {
    names: BTreeMap<String, String>,
    counts: BTreeMap<&'static str, u32>,
    /// Actions whose fields were shown in this section.
    shown: BTreeSet<String>,
}

impl Masks {
    fn name(&mut self, value: &str, kind: &'static str) -> String {
        if let Some(name) = self.names.get(value) {
            return name.clone();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let name = format!("<{kind}-{count}>");
        self.names.insert(value.to_owned(), name.clone());
        name
    }

    /// Replaces every UUID; `path` tells what a new id belongs to.
    pub fn text(&mut self, path: &str, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(id) = rest.get(..36).filter(|part| is_uuid(part)) {
                let kind = if text.starts_with("urn:uuid:") { "request" } else { owner(path) };
                out.push_str(&self.name(id, kind));
                rest = &rest[36..];
            } else {
                let next = rest.chars().next().map_or(rest.len(), char::len_utf8);
                out.push_str(&rest[..next]);
                rest = &rest[next..];
            }
        }
        out
    }

    pub fn header(&mut self, name: &header::HeaderName, line: &str) -> String {
        match name.as_str() {
            "cookie" => {
                let cookies: Vec<String> = line.split("; ").map(|pair| self.cookie(pair)).collect();
                format!("Cookie: {}", cookies.join("; "))
            }
            "set-cookie" => {
                let (pair, attributes) = line.split_once(';').unwrap_or((line, ""));
                format!("Set-Cookie: {};{attributes}", self.cookie(pair))
            }
            "authorization" => {
                let (scheme, token) = line.split_once(' ').unwrap_or((line, ""));
                format!("Authorization: {scheme} {}", self.name(token, "token"))
            }
            // The remaining time depends on how long the machine took.
            "retry-after" => "Retry-After: <seconds>".to_owned(),
            _ => format!("{}: {line}", capitalised(name.as_str())),
        }
    }

    fn cookie(&mut self, pair: &str) -> String {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let kind = match name {
            "__Host-session" => "session",
            "__Host-directory" => "directory",
            "__Host-device" => "device",
            "__Host-door" => "door",
            _ => "bind",
        };
        let value = if value.is_empty() { String::new() } else { self.name(value, kind) };
        format!("{name}={value}")
    }

    pub fn json(&mut self, path: &str, value: &Value) -> Value {
        self.member(path, "", value, false)
    }

    /// `binary`: inside WebAuthn data, where every long word is base64url.
    fn member(&mut self, path: &str, key: &str, value: &Value, binary: bool) -> Value {
        match value {
            Value::Object(members) => {
                let binary = binary || matches!(key, "public_key" | "credential");
                if key == "actions"
                    && !self.shown.insert(value["name"].to_string())
                    && value["fields"] != json!([])
                {
                    return json!({"name": value["name"], "fields": ["…"]});
                }
                let masked = members.iter().map(|(name, value)| {
                    let value = self.member(path, name, value, binary);
                    (name.clone(), value)
                });
                Value::Object(masked.collect::<Map<_, _>>())
            }
            Value::Array(items) if key == "codes" => {
                json!(["<recovery-code-1>", format!("… {} more", items.len() - 1)])
            }
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.member(path, key, item, binary)).collect())
            }
            Value::String(text) => Value::String(self.word(path, key, text, binary)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn word(&mut self, path: &str, key: &str, text: &str, binary: bool) -> String {
        match key {
            "expires_at" | "created_at" | "seen_at" | "last_used_at" | "at" | "recovery_hold_until" => {
                "<time>".into()
            }
            "phrase" => "<two words>".into(),
            "code" if path.ends_with("recovery_code/check") && text.len() > 8 => "<recovery-code-1>".into(),
            "code" if text.bytes().all(|byte| byte.is_ascii_digit()) => "<code>".into(),
            "token" => "<token of the link>".into(),
            "auth_session" | "session_token" => self.name(text, "token"),
            "secret" => "<base32>".into(),
            "uri" => "otpauth://totp/…".into(),
            "bootstrap_key" => "<bootstrap key>".into(),
            _ if (binary || key.ends_with("credential_id") || key.ends_with("_ids") || key == "user_id")
                && is_binary(text) =>
            {
                "<base64url>".into()
            }
            _ => self.text(path, text),
        }
    }
}

fn owner(path: &str) -> &'static str {
    if path.starts_with("/v1/flows") {
        "flow"
    } else if path.starts_with("/v1/account/sessions") {
        "session-id"
    } else if path.starts_with("/v1/account/credentials") {
        "credential"
    } else {
        "account"
    }
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

fn is_binary(text: &str) -> bool {
    text.len() >= 20
        && !is_uuid(text)
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_=".contains(&byte))
}

fn capitalised(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
            .unwrap_or_default()
    });
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_has_the_same_name_and_nothing_random_is_left() {
        let mut masks = Masks::default();
        let id = "0190aaaa-0000-7000-8000-000000000001";
        let path = format!("/v1/flows/{id}/email_code/check");
        assert_eq!(masks.text(&path, &path), "/v1/flows/<flow-1>/email_code/check");
        let body = json!({"id": id, "code": "123456", "phrase": "a b", "instance": "urn:uuid:0190aaaa-0000-7000-8000-000000000002",
                          "challenge": {"public_key": {"challenge": "A".repeat(43), "userVerification": "required"}}});
        let expected = json!({"id": "<flow-1>", "code": "<code>", "phrase": "<two words>", "instance": "urn:uuid:<request-1>",
                              "challenge": {"public_key": {"challenge": "<base64url>", "userVerification": "required"}}});
        assert_eq!(masks.json(&path, &body), expected);
        assert_eq!(masks.json(&path, &json!({"code": "refused"})), json!({"code": "refused"}));
        let cookie = masks.header(&header::SET_COOKIE, "__Host-bind=abc; Path=/; Secure");
        assert_eq!(cookie, "Set-Cookie: __Host-bind=<bind-1>; Path=/; Secure");
        assert_eq!(
            masks.header(&header::COOKIE, "__Host-bind=abc; __Host-session=x"),
            "Cookie: __Host-bind=<bind-1>; __Host-session=<session-1>"
        );
        assert_eq!(masks.header(&header::RETRY_AFTER, "60"), "Retry-After: <seconds>");
    }
}
