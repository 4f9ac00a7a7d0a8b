//! The schemas of detail types. API owners write them and every request runs them, so: nothing is fetched, patterns
//! run in linear time, and references are neither cyclic nor multiply.

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value, json};

use crate::plain_text::is_plain_json;

pub const MAX_SCHEMA: usize = 16 * 1024;
const MAX_DEPTH: usize = 32;
/// Maximum number of schema nodes with every reference expanded.
pub(super) const MAX_NODES: usize = 2_000;
pub(super) const MAX_PATTERNS: usize = 32;
pub(super) const MAX_PATTERN: usize = 256;
/// Maximum size of a compiled pattern, in bytes.
const MAX_PROGRAM: usize = 256 * 1024;
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    #[error("is longer than {MAX_SCHEMA} bytes")]
    TooLong,
    #[error("must describe an object: type object, with properties")]
    NotAnObject,
    #[error("must be closed: additionalProperties or unevaluatedProperties false")]
    Open,
    #[error("must be in the 2020-12 draft of JSON Schema")]
    Draft,
    #[error("must refer only to its own definitions, such as #/$defs/name, and must not contain identifiers")]
    Reference,
    #[error("has a recursive definition")]
    Circular,
    #[error("is nested too deeply, or too large when its references are expanded")]
    TooComplex,
    #[error(
        "has more than {MAX_PATTERNS} patterns when its references are expanded, or one of more than {MAX_PATTERN} bytes"
    )]
    Patterns,
    #[error("is not valid: {0}")]
    Invalid(String),
}

/// The compiled schema of a detail type.
#[derive(Debug)]
pub struct DetailValidator {
    name: String,
    validator: Validator,
}

impl DetailValidator {
    pub(super) fn compile(name: &str, schema: &Value) -> Result<Self, SchemaError> {
        check_shape(schema)?;
        Walk { root: schema, nodes: 0, patterns: 0, open: Vec::new() }.visit(schema, 0)?;
        let mut schema = schema.clone();
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.entry("type").or_insert(json!(true));
        }
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .with_pattern_options(PatternOptions::regex().size_limit(MAX_PROGRAM))
            // An unknown or misspelt format would be a rule that is never applied.
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false)
            .build(&schema)
            .map_err(|error| {
                SchemaError::Invalid(describe(error.instance_path().as_str(), &error.to_string()))
            })?;
        Ok(Self { name: name.to_owned(), validator })
    }

    /// # Errors
    /// When the detail does not match the schema. The text is suitable for `error_description`, and never quotes
    /// values.
    pub fn validate(&self, detail: &Value) -> Result<(), String> {
        if !detail.is_object() || detail.get("type").and_then(Value::as_str) != Some(&self.name) {
            return Err(format!("the detail is not an object of type {}", self.name));
        }
        if !is_plain_json(detail) {
            return Err("the detail contains control characters".to_owned());
        }
        self.validator.validate(detail).map_err(|error| {
            describe(error.instance_path().as_str(), &error.masked_with("the value").to_string())
        })
    }
}

pub(super) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

fn check_shape(schema: &Value) -> Result<(), SchemaError> {
    if schema.to_string().len() > MAX_SCHEMA {
        return Err(SchemaError::TooLong);
    }
    if schema.get("type") != Some(&json!("object")) || properties(schema).is_none() {
        return Err(SchemaError::NotAnObject);
    }
    let closes = |name: &str| schema.get(name) == Some(&json!(false));
    if !closes("additionalProperties") && !closes("unevaluatedProperties") {
        return Err(SchemaError::Open);
    }
    match schema.get("$schema") {
        None => Ok(()),
        Some(Value::String(draft)) if draft.trim_end_matches('#') == DRAFT => Ok(()),
        Some(_) => Err(SchemaError::Draft),
    }
}

/// Walks the schema and, at each reference, its definition: an upper bound of a validator's work.
struct Walk<'a> {
    root: &'a Value,
    nodes: usize,
    patterns: usize,
    /// The definitions that are being walked.
    open: Vec<&'a str>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, node: &'a Value, depth: usize) -> Result<(), SchemaError> {
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            return Err(SchemaError::TooComplex);
        }
        match node {
            Value::Array(items) => items.iter().try_for_each(|item| self.visit(item, depth + 1)),
            Value::Object(members) => {
                members.iter().try_for_each(|(name, value)| self.member(name, value, depth))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    /// Where a keyword's value is not text, it is a property of that name.
    fn member(&mut self, name: &str, value: &'a Value, depth: usize) -> Result<(), SchemaError> {
        match (name, value) {
            ("$ref", Value::String(target)) => self.follow(target, depth),
            ("$id" | "$anchor" | "$dynamicRef" | "$dynamicAnchor", Value::String(_)) => {
                Err(SchemaError::Reference)
            }
            ("$schema", Value::String(_)) if depth > 0 => Err(SchemaError::Draft),
            ("pattern", Value::String(pattern)) => self.pattern(pattern),
            ("patternProperties", Value::Object(members)) => {
                members.keys().try_for_each(|pattern| self.pattern(pattern))?;
                self.visit(value, depth + 1)
            }
            (_, value) => self.visit(value, depth + 1),
        }
    }

    fn pattern(&mut self, pattern: &str) -> Result<(), SchemaError> {
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS || pattern.len() > MAX_PATTERN {
            return Err(SchemaError::Patterns);
        }
        Ok(())
    }

    fn follow(&mut self, target: &'a str, depth: usize) -> Result<(), SchemaError> {
        let plain = |name: &&str| !name.contains(['/', '~', '%']);
        let name = target.strip_prefix("#/$defs/").filter(plain).ok_or(SchemaError::Reference)?;
        if self.open.contains(&name) {
            return Err(SchemaError::Circular);
        }
        let definition =
            self.root.get("$defs").and_then(|defs| defs.get(name)).ok_or(SchemaError::Reference)?;
        self.open.push(name);
        let result = self.visit(definition, depth + 1);
        self.open.pop();
        result
    }
}

/// Only the characters that RFC 6749 §5.2 allows, and truncated.
fn describe(path: &str, message: &str) -> String {
    let text = if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") };
    let allowed = |char| match char {
        '"' | '\\' => '\'',
        ' '..='~' => char,
        _ => '?',
    };
    text.chars().map(allowed).take(200).collect()
}
