//! The description of a route of the product's own APIs: its name, its input and its answers. The layer in
//! `api/contract.rs` checks requests against it, and the OpenAPI document, `porteiro admin` and the tests read it: there is no
//! second list.

use axum::http::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use super::ProblemCode;

/// The header with the reason why the platform acts in an organization.
pub const REASON: &str = "porteiro-reason";

/// The schema of a type, generated with the document.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Text,
    /// RFC 3339.
    Time,
    Flag,
    Choice(&'static [&'static str]),
}

/// A query parameter. Others are refused.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub name: &'static str,
    pub shape: Shape,
    pub meaning: &'static str,
}

impl Parameter {
    pub const fn text(name: &'static str, meaning: &'static str) -> Self {
        Self { name, shape: Shape::Text, meaning }
    }

    pub const fn time(name: &'static str, meaning: &'static str) -> Self {
        Self { name, shape: Shape::Time, meaning }
    }

    pub const fn flag(name: &'static str, meaning: &'static str) -> Self {
        Self { name, shape: Shape::Flag, meaning }
    }

    pub const fn choice(name: &'static str, values: &'static [&'static str], meaning: &'static str) -> Self {
        Self { name, shape: Shape::Choice(values), meaning }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Taken {
    Nothing,
    /// `application/json`.
    Json(SchemaOf),
    /// RFC 7396: any of its members; the others stay unchanged.
    MergePatch(SchemaOf),
    /// Bytes of one of these media types.
    Media(&'static [&'static str]),
}

#[derive(Debug, Clone, Copy)]
pub enum Given {
    Nothing,
    Json(SchemaOf),
    /// `{"items": […], "next_cursor"}`.
    List(SchemaOf),
    /// Bytes of one of these media types.
    Media(&'static [&'static str]),
}

/// One route of the management API.
#[derive(Debug, Clone)]
pub struct Operation {
    /// `members.list`: what `porteiro admin` calls it.
    pub id: &'static str,
    pub summary: &'static str,
    pub query: Vec<Parameter>,
    pub takes: Taken,
    /// A valid body.
    pub example: Option<Value>,
    pub status: StatusCode,
    pub gives: Given,
    /// A single resource with an `ETag`; changing it requires `If-Match`.
    pub versioned: bool,
    /// Creates something, once per `Idempotency-Key`.
    pub creates: bool,
    /// Problems of its own, in addition to those that follow from the route.
    pub refusals: Vec<ProblemCode>,
    /// Further media types of the same response.
    pub also_as: Vec<&'static str>,
}

impl Operation {
    pub const fn new(id: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            summary,
            query: Vec::new(),
            takes: Taken::Nothing,
            example: None,
            status: StatusCode::NO_CONTENT,
            gives: Given::Nothing,
            versioned: false,
            creates: false,
            refusals: Vec::new(),
            also_as: Vec::new(),
        }
    }

    /// Query parameters; filters, if it is a list.
    #[must_use]
    pub fn query(mut self, parameters: &[Parameter]) -> Self {
        self.query.extend_from_slice(parameters);
        self
    }

    #[must_use]
    pub fn takes<T: JsonSchema>(mut self) -> Self {
        self.takes = Taken::Json(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// A valid body, as the example in the OpenAPI document.
    #[must_use]
    pub fn example(mut self, body: Value) -> Self {
        self.example = Some(body);
        self
    }

    /// Takes a merge patch of `T`, the changeable part of the resource.
    #[must_use]
    pub fn patches<T: JsonSchema>(mut self) -> Self {
        self.takes = Taken::MergePatch(T::json_schema);
        self
    }

    /// Takes a file of one of these media types.
    #[must_use]
    pub const fn takes_media(mut self, types: &'static [&'static str]) -> Self {
        self.takes = Taken::Media(types);
        self
    }

    /// Answers 200 with one `T`.
    #[must_use]
    pub fn gives<T: JsonSchema>(mut self) -> Self {
        self.status = StatusCode::OK;
        self.gives = Given::Json(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// Answers 200 with a file of one of these media types.
    #[must_use]
    pub const fn gives_media(mut self, types: &'static [&'static str]) -> Self {
        self.status = StatusCode::OK;
        self.gives = Given::Media(types);
        self
    }

    /// Answers with this status instead of 200.
    #[must_use]
    pub const fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Answers 200 with a page of `T`.
    #[must_use]
    pub fn lists<T: JsonSchema>(mut self) -> Self {
        self.status = StatusCode::OK;
        self.gives = Given::List(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// Creates a `T`: answers 201 with it, once per `Idempotency-Key`.
    #[must_use]
    pub fn creates<T: JsonSchema>(mut self) -> Self {
        self.status = StatusCode::CREATED;
        self.gives = Given::Json(SchemaGenerator::subschema_for::<T>);
        self.creates = true;
        self
    }

    #[must_use]
    pub const fn versioned(mut self) -> Self {
        self.versioned = true;
        self
    }

    /// Problems of its own.
    #[must_use]
    pub fn refuses(mut self, codes: &[ProblemCode]) -> Self {
        self.refusals.extend_from_slice(codes);
        self
    }

    /// The same response in another media type, if `Accept` names it.
    #[must_use]
    pub fn also_as(mut self, media_type: &'static str) -> Self {
        self.also_as.push(media_type);
        self
    }

    /// Whether a call must name the version it has seen.
    pub fn needs_version(&self, method: &Method) -> bool {
        self.versioned && matches!(*method, Method::PUT | Method::PATCH | Method::DELETE)
    }

    pub const fn is_list(&self) -> bool {
        matches!(self.gives, Given::List(_))
    }
}
