//! Authorization details (RFC 9396) whose types are registered by the APIs that enforce them.
//!
//! 1. A registration defines the schema of a type, its display templates and its narrowing rules;
//!    [`DetailType::check`] refuses registrations that are malformed, allow undeclared members or cost too much.
//! 2. [`read`] bounds the number and size of a request's details, and [`DetailValidator::validate`] validates each
//!    against its schema, which is compiled once (§5, unknown members included).
//! 3. [`DetailType::render`] shows a detail to the person.
//! 4. [`list_narrows`] ensures that requested details are never wider than granted ones.

mod decimal;
mod display;
mod narrowing;
mod request;
mod schema;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use display::{Display, ISOLATE, ISOLATE_END, TemplateError, has_unseen, unregistered};
pub use narrowing::{MAX_DETAILS, Rule, list_narrows};
pub use request::{DetailsError, MAX_TEXT, MAX_VALUES, read};
pub use schema::{DetailValidator, MAX_SCHEMA, SchemaError};

pub const MAX_NAME: usize = 256;

/// Why a registration is refused. The texts are for the developer of the API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DetailTypeError {
    #[error("name must have 1 to {MAX_NAME} visible ASCII characters, without quotes and backslashes")]
    Name,
    #[error("schema {0}")]
    Schema(#[from] SchemaError),
    #[error("display.{language} {error}")]
    Template { language: &'static str, error: TemplateError },
    #[error("narrowing names {0}, which is not among the schema's properties")]
    Narrowing(String),
    #[error("narrowing must not include type, which never changes")]
    NarrowingType,
}

/// A type of authorization detail, as an API registers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetailType {
    /// The value of `type` (RFC 9396 §2).
    pub name: String,
    /// JSON Schema 2020-12 of an object without undeclared members. `type` need not be declared.
    pub schema: Value,
    pub display: Display,
    /// Rules by member; members without a rule must stay equal.
    #[serde(default)]
    pub narrowing: BTreeMap<String, Rule>,
    /// What it allows cannot be undone: to approve it, a person proves again who they are (decision record 0093).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub irreversible: bool,
}

impl DetailType {
    /// # Errors
    /// When the registration cannot be used, or its meaning would differ from what it appears to be.
    pub fn check(&self) -> Result<(), DetailTypeError> {
        let visible = |byte: u8| byte.is_ascii_graphic() && !b"\"'\\".contains(&byte);
        if !(1..=MAX_NAME).contains(&self.name.len()) || !self.name.bytes().all(visible) {
            return Err(DetailTypeError::Name);
        }
        self.validator()?;
        let properties = schema::properties(&self.schema).ok_or(SchemaError::NotAnObject)?;
        self.display.check(properties)?;
        self.check_narrowing(properties)
    }

    /// The schema for clients. Unlike the registered one it says what `type` is (draft-ietf-oauth-rar-metadata-remediation).
    pub fn published_schema(&self) -> Value {
        let mut schema = self.schema.clone();
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert("type".into(), json!({"const": self.name}));
        }
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let others = required.into_iter().filter(|name| name != "type");
        let required: Vec<Value> = std::iter::once(Value::from("type")).chain(others).collect();
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("required".into(), Value::Array(required));
        }
        schema
    }

    fn check_narrowing(&self, properties: &Map<String, Value>) -> Result<(), DetailTypeError> {
        if self.narrowing.contains_key("type") {
            return Err(DetailTypeError::NarrowingType);
        }
        match self.narrowing.keys().find(|member| !properties.contains_key(*member)) {
            Some(member) => Err(DetailTypeError::Narrowing(member.clone())),
            None => Ok(()),
        }
    }

    /// Compiles the schema. Compiling takes far longer than validating: keep the result.
    ///
    /// # Errors
    /// When [`Self::check`] would refuse the schema.
    pub fn validator(&self) -> Result<DetailValidator, SchemaError> {
        DetailValidator::compile(&self.name, &self.schema)
    }

    /// Whether `child` grants no more than `parent`. Both must be valid; so where a type interprets an empty list as
    /// everything, its schema must require `minItems`.
    #[must_use]
    pub fn narrows(&self, parent: &Value, child: &Value) -> bool {
        narrowing::narrows(self, parent, child)
    }

    /// The detail in the words of its API, in Portuguese for `pt` and its regions, otherwise in English. Plain text:
    /// a page must escape it. Each value stands between [`ISOLATE`] and [`ISOLATE_END`].
    #[must_use]
    pub fn render(&self, detail: &Value, locale: &str) -> String {
        self.display.render(detail, locale)
    }
}

#[cfg(test)]
mod tests;
