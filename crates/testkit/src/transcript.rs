//! Transcripts for the documentation: requests and responses as sent, with every value that differs between runs
//! replaced by a stable name.

use std::{
    fmt::Write,
    sync::{Arc, Mutex},
};

use http::{HeaderMap, header};
use serde_json::Value;

use super::{Answer, masks::Masks};

/// One request and its response.
#[derive(Debug)]
struct Exchange {
    request: Vec<String>,
    asked: Option<Value>,
    answer: Vec<String>,
    answered: Option<Value>,
}

#[derive(Debug, Default)]
struct Inner {
    text: String,
    masks: Masks,
}

/// Every recording client writes to it; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Transcript(Arc<Mutex<Inner>>);

/// The width at which a line of an example is broken.
const WIDTH: usize = 112;

impl Transcript {
    /// A heading; the names of ids and tokens start anew.
    pub fn section(&self, title: &str) {
        let mut inner = self.0.lock().expect("the transcript");
        inner.masks = Masks::default();
        let _ = writeln!(inner.text, "\n### {title}");
    }

    /// A sentence between two calls.
    pub fn say(&self, sentence: &str) {
        let _ = writeln!(self.0.lock().expect("the transcript").text, "\n{sentence}");
    }

    pub fn text(&self) -> String {
        self.0.lock().expect("the transcript").text.clone()
    }

    /// `headers`: those to show, cookies and authorization.
    pub fn record(
        &self,
        method: &str,
        path: &str,
        headers: &HeaderMap,
        body: Option<&Value>,
        answer: &Answer,
    ) {
        let mut inner = self.0.lock().expect("the transcript");
        let masks = &mut inner.masks;
        let mut request = vec![format!("{method} {}", masks.text(path, path))];
        for name in [header::COOKIE, header::AUTHORIZATION] {
            request.extend(lines(headers, &name).map(|line| masks.header(&name, line)));
        }
        let asked = body.map(|body| masks.json(path, body));
        let mut lines_back = vec![format!("{}", answer.status)];
        for name in [header::SET_COOKIE, header::RETRY_AFTER] {
            lines_back.extend(lines(&answer.headers, &name).map(|line| masks.header(&name, line)));
        }
        let answered = (!answer.body.is_empty()).then(|| masks.json(path, &answer.json()));
        let exchange = Exchange { request, asked, answer: lines_back, answered };
        let _ = write!(inner.text, "{exchange}");
    }
}

fn lines<'h>(headers: &'h HeaderMap, name: &header::HeaderName) -> impl Iterator<Item = &'h str> {
    headers.get_all(name).iter().map(|value| value.to_str().expect("a readable header"))
}

impl std::fmt::Display for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let block = |head: &[String], body: Option<&Value>| {
            let body = body.map(|body| format!("\n\n{}", pretty(body, 0))).unwrap_or_default();
            format!("\n```http\n{}{body}\n```\n", head.join("\n"))
        };
        f.write_str(&block(&self.request, self.asked.as_ref()))?;
        f.write_str(&block(&self.answer, self.answered.as_ref()))
    }
}

/// JSON on one line if it fits, otherwise one member per line.
fn pretty(value: &Value, depth: usize) -> String {
    let flat = flat(value);
    if depth * 2 + flat.chars().count() <= WIDTH {
        return flat;
    }
    let (inside, outside) = ("  ".repeat(depth + 1), "  ".repeat(depth));
    match value {
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{inside}\"{name}\": {}", pretty(value, depth + 1)))
                .collect();
            format!("{{\n{}\n{outside}}}", members.join(",\n"))
        }
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| format!("{inside}{}", pretty(item, depth + 1))).collect();
            format!("[\n{}\n{outside}]", items.join(",\n"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => flat,
    }
}

fn flat(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(name, value)| format!("\"{name}\": {}", flat(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flat).collect::<Vec<_>>().join(", ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}
