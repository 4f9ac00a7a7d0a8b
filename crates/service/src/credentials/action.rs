//! Actions: what a client can do in a flow. Each has an address, the fields a form would draw, and the limits it takes
//! from.

use std::{cmp::Ordering, hash::Hash, pin::Pin};

use serde_json::Value;

use super::{Effect, Step, Stopped};
use crate::limits::Rule;

/// One input of an action, as a form would draw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Field {
    pub name: &'static str,
    pub r#type: &'static str,
    pub autocomplete: &'static str,
    pub required: bool,
}

pub const fn field(name: &'static str, r#type: &'static str, autocomplete: &'static str) -> Field {
    Field { name, r#type, autocomplete, required: true }
}

/// Whom it is about, asked of whoever is not known yet.
pub const IDENTIFIER: Field = field("identifier", "email", "username webauthn");
pub const CODE: Field = field("code", "one_time_code", "one-time-code");

#[derive(Debug)]
pub struct Definition {
    /// `module/verb`, as in the address of the step.
    pub path: &'static str,
    /// Where it stands among those that are offered together.
    pub rank: u8,
    pub fields: &'static [Field],
    /// What limits it. The address first: a network that is refused already must not go on emptying other people's
    /// buckets.
    pub limits: &'static [Rule],
}

/// Known by its address.
#[derive(Clone, Copy)]
pub struct Action(&'static Definition);

impl Action {
    pub const fn new(definition: &'static Definition) -> Self {
        Self(definition)
    }

    pub const fn path(self) -> &'static str {
        self.0.path
    }

    pub const fn fields(self) -> &'static [Field] {
        self.0.fields
    }

    pub const fn limits(self) -> &'static [Rule] {
        self.0.limits
    }

    /// Whether the caller says whom it is about.
    pub fn names_somebody(self) -> bool {
        self.fields().contains(&IDENTIFIER)
    }
}

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.path())
    }
}

impl PartialEq for Action {
    fn eq(&self, other: &Self) -> bool {
        self.path() == other.path()
    }
}

impl Eq for Action {}

impl Hash for Action {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.path().hash(state);
    }
}

impl PartialOrd for Action {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Action {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0.rank, self.path()).cmp(&(other.0.rank, other.path()))
    }
}

/// A step that is being looked at.
pub type Looking<'a> = Pin<Box<dyn Future<Output = Result<Effect, Stopped>> + Send + 'a>>;

/// What looks at a step.
pub type Run = for<'a> fn(&'a Step<'a>, &'a Value) -> Looking<'a>;
