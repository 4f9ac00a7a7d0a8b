//! The query of a request, checked against its operation: a misspelt parameter is an error, not ignored.

use std::{str::FromStr, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts};
use porteiro_protocol::{form::Parameters, time::OffsetDateTime};
use time::format_description::well_known::Rfc3339;

use crate::http::{Operation, Problem, ProblemCode, Shape};

/// Only [`super::contract`] creates one.
#[derive(Debug, Clone)]
pub struct Query(Arc<Parameters>);

fn malformed(text: String) -> Problem {
    Problem::new(ProblemCode::Malformed, text)
}

impl Query {
    pub(super) fn read(operation: &Operation, query: Option<&str>) -> Result<Self, Problem> {
        let sent = Parameters::parse(query.unwrap_or_default().as_bytes())
            .map_err(|error| malformed(error.to_string()))?;
        for name in sent.names() {
            let paging = operation.is_list() && (name == "limit" || name == "cursor");
            let known = operation.query.iter().find(|parameter| parameter.name == name);
            let Some(value) = sent.get(name) else {
                if paging || known.is_some() {
                    // At an OAuth endpoint it would count as omitted (RFC 6749 §3.1). Here `dry_run=` would make the
                    // change, and an empty filter would list everything.
                    return Err(malformed(format!("{name} is empty; omit it or give it a value")));
                }
                return Err(unknown(operation, name));
            };
            if value.contains('\0') {
                return Err(malformed(format!("{name} contains the character U+0000")));
            }
            match known.map(|parameter| parameter.shape) {
                Some(Shape::Text) => {}
                Some(Shape::Flag) if value == "true" || value == "false" => {}
                Some(Shape::Flag) => return Err(malformed(format!("{name} must be true or false"))),
                Some(Shape::Time) if OffsetDateTime::parse(value, &Rfc3339).is_ok() => {}
                Some(Shape::Time) => return Err(malformed(format!("{name} must be an RFC 3339 time"))),
                Some(Shape::Choice(values)) if values.contains(&value) => {}
                Some(Shape::Choice(values)) => {
                    return Err(malformed(format!("{name} must be one of {}", values.join(", "))));
                }
                None if paging => {}
                None => return Err(unknown(operation, name)),
            }
        }
        Ok(Self(Arc::new(sent)))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)
    }

    pub fn flag(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    pub fn time(&self, name: &str) -> Option<OffsetDateTime> {
        self.get(name).and_then(|text| OffsetDateTime::parse(text, &Rfc3339).ok())
    }

    /// Parsed as `T`.
    ///
    /// # Errors
    /// When the text is malformed: 400.
    pub fn parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>, Problem> {
        let parse = |text: &str| text.parse().map_err(|_| malformed(format!("{name} is not valid")));
        self.get(name).map(parse).transpose()
    }

    /// All parameters but those of paging, in a fixed order.
    pub(super) fn filters(&self) -> Vec<(&str, &str)> {
        let mut filters: Vec<(&str, &str)> = self
            .0
            .names()
            .filter(|name| *name != "limit" && *name != "cursor")
            .filter_map(|name| Some((name, self.get(name)?)))
            .collect();
        filters.sort_unstable();
        filters
    }
}

fn unknown(operation: &Operation, name: &str) -> Problem {
    let mut names: Vec<&str> = operation.query.iter().map(|parameter| parameter.name).collect();
    if operation.is_list() {
        names.extend(["limit", "cursor"]);
    }
    let short: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
    malformed(match names.as_slice() {
        [] => format!("unknown query parameter {short}; this operation takes none"),
        names => format!("unknown query parameter {short}; this operation takes {}", names.join(", ")),
    })
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(no_operation)
    }
}

/// The handler needs what only the layer of an operation provides.
pub(super) fn no_operation() -> Problem {
    Problem::new(ProblemCode::Internal, "a route has no operation")
}
