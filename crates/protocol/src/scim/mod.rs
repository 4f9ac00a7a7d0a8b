//! SCIM 2.0: the schema (RFC 7643) and the parts of the protocol (RFC 7644) that are the same for every server: filters,
//! paths, the normal form of resources, and PATCH.
//!
//! Directories do not keep to one spelling: names differ in case, booleans arrive as text, single values as arrays. What
//! is understood is documented in [`resource`] and [`patch`]; whatever is not is refused and never ignored where it may
//! concern `active`, or the members of a group ([`names`]).

pub mod apply;
pub mod filter;
mod lexer;
pub mod matching;
pub mod names;
pub mod patch;
pub mod path;
pub mod resource;
pub mod schema;
#[cfg(test)]
mod shapes;

pub use filter::{Comparison, Filter, Literal, Operator};
pub use patch::{Op, Operation};
pub use path::{Attr, Path};
pub use schema::{Attribute, Kind, Schema};

macro_rules! kinds {
    ($($variant:ident = $name:literal;)+) => {
        /// `scimType` of an error (RFC 7644 §3.12, RFC 9865 §2.1).
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ErrorKind { $($variant),+ }

        impl ErrorKind {
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

kinds! {
    InvalidFilter = "invalidFilter";
    TooMany = "tooMany";
    Uniqueness = "uniqueness";
    Mutability = "mutability";
    InvalidSyntax = "invalidSyntax";
    InvalidPath = "invalidPath";
    NoTarget = "noTarget";
    InvalidValue = "invalidValue";
    InvalidCursor = "invalidCursor";
}

/// Why a request is not a valid SCIM request. The detail never quotes a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Invalid {
    pub kind: ErrorKind,
    pub detail: String,
}

impl Invalid {
    pub fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    pub(crate) fn value(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidValue, detail)
    }

    pub(crate) fn path(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidPath, detail)
    }
}
