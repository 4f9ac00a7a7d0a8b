//! Authorization details (RFC 9396) whose types are registered by the APIs that enforce them.
//!
//! 1. A registration says what a detail of its type looks like, how a person reads it, and when one is
//!    narrower than another; [`DetailType::check`] refuses what would be broken, open or too costly.
//! 2. A request's details are bounded in number and size by [`read`], and each is held against its schema, compiled once:
//!    [`DetailValidator::validate`] (§5, unknown members included).
//! 3. The person sees [`DetailType::render`].
//! 4. What is handed on is never wider than what was granted: [`list_narrows`].

mod decimal;
mod display;
mod narrowing;
mod request;
mod schema;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use display::{Display, TemplateError};
pub use narrowing::{MAX_DETAILS, Rule, list_narrows};
pub use request::{DetailsError, MAX_TEXT, MAX_VALUES, read};
pub use schema::{DetailValidator, MAX_SCHEMA, SchemaError};

pub const MAX_NAME: usize = 256;

/// Why a registration is refused. The texts go to the API's developer.
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
    /// JSON Schema 2020-12 of an object that takes no other members than it names. `type` need not be named.
    pub schema: Value,
    pub display: Display,
    /// For members of the detail; those not named must stay equal.
    #[serde(default)]
    pub narrowing: BTreeMap<String, Rule>,
}

impl DetailType {
    /// # Errors
    /// When the registration could not be used, or would not mean what it seems to.
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

    fn check_narrowing(&self, properties: &Map<String, Value>) -> Result<(), DetailTypeError> {
        if self.narrowing.contains_key("type") {
            return Err(DetailTypeError::NarrowingType);
        }
        match self.narrowing.keys().find(|member| !properties.contains_key(*member)) {
            Some(member) => Err(DetailTypeError::Narrowing(member.clone())),
            None => Ok(()),
        }
    }

    /// Its schema, ready for use. Compiling takes far longer than applying: whoever validates keeps what this returns.
    ///
    /// # Errors
    /// When the schema is not one that [`Self::check`] accepts.
    pub fn validator(&self) -> Result<DetailValidator, SchemaError> {
        DetailValidator::compile(&self.name, &self.schema)
    }

    /// Whether `child` grants no more than `parent`. Both are to be valid; so where a type reads an empty list
    /// as everything, its schema has to ask for `minItems`.
    #[must_use]
    pub fn narrows(&self, parent: &Value, child: &Value) -> bool {
        narrowing::narrows(self, parent, child)
    }

    /// The detail in the words of its API, in Portuguese for `pt` and its regions, otherwise in English. Plain
    /// text: whoever puts it into a page escapes it.
    #[must_use]
    pub fn render(&self, detail: &Value, locale: &str) -> String {
        self.display.render(detail, locale)
    }
}

#[cfg(test)]
mod tests;
