//! Actions: what a client can do in a flow. Each has a path, the fields of its form, and its limits.

use std::{cmp::Ordering, hash::Hash, pin::Pin};

use serde_json::Value;

use super::{Effect, Step, Stopped};
use crate::limits::Rule;

/// One field of an action's form.
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

/// Identifies the account, if it is not known yet.
pub const IDENTIFIER: Field = field("identifier", "email", "username webauthn");
pub const CODE: Field = field("code", "one_time_code", "one-time-code");

#[derive(Debug)]
pub struct Definition {
    /// `module/verb`, as in the path of the step.
    pub path: &'static str,
    /// Its position among the actions that are offered together.
    pub rank: u8,
    pub fields: &'static [Field],
    /// The limits. The network comes first: a network that is already refused must not go on to empty other people's
    /// buckets.
    pub limits: &'static [Rule],
}

/// Compared by its path.
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

    /// Whether the request identifies the account.
    pub fn names_account(self) -> bool {
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

/// The future of an action's handler.
pub type Looking<'a> = Pin<Box<dyn Future<Output = Result<Effect, Stopped>> + Send + 'a>>;

/// The handler of an action.
pub type Run = for<'a> fn(&'a Step<'a>, &'a Value) -> Looking<'a>;
