//! Whether one detail grants no more than another. A partial order: reflexive and transitive, so a chain of
//! delegations never widens.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::{Date, OffsetDateTime, format_description::well_known::Rfc3339, macros::format_description};

use super::{DetailType, decimal::Decimal};

pub const MAX_DETAILS: usize = 32;
/// Items are searched linearly; longer arrays must stay equal.
const MAX_SET: usize = 100;

/// How a member may change. Values that the rule cannot order must stay equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    Equal,
    /// Arrays, as sets.
    Subset,
    /// Numbers, or decimals as text. Negative values must stay equal: a negative amount goes the other way.
    AtMost,
    /// Numbers, RFC 3339 timestamps, or days.
    Earlier,
}

impl Rule {
    pub(super) fn allows(self, parent: &Value, child: &Value) -> bool {
        let narrower = match self {
            Self::Equal => Some(false),
            Self::Subset => is_subset(parent, child),
            Self::AtMost => is_at_most(parent, child),
            Self::Earlier => is_earlier(parent, child),
        };
        parent == child || narrower.unwrap_or(false)
    }
}

fn is_subset(parent: &Value, child: &Value) -> Option<bool> {
    let (parent, child) = (parent.as_array()?, child.as_array()?);
    Some(parent.len().max(child.len()) <= MAX_SET && child.iter().all(|item| parent.contains(item)))
}

fn is_at_most(parent: &Value, child: &Value) -> Option<bool> {
    let (parent, child) = match (parent, child) {
        (Value::Number(parent), Value::Number(child)) => {
            (Decimal::from_number(parent)?, Decimal::from_number(child)?)
        }
        (Value::String(parent), Value::String(child)) => (Decimal::parse(parent)?, Decimal::parse(child)?),
        // The server does not compare 10 with "10": one may be in cents.
        _ => return None,
    };
    Some((child <= parent && !child.is_negative()) || child == parent)
}

/// A point in time. A day and a timestamp are not ordered.
#[derive(PartialEq, PartialOrd)]
enum Moment {
    Number(Decimal),
    Instant(OffsetDateTime),
    Day(Date),
}

fn is_earlier(parent: &Value, child: &Value) -> Option<bool> {
    let (parent, child) = (Moment::read(parent)?, Moment::read(child)?);
    let comparable = std::mem::discriminant(&parent) == std::mem::discriminant(&child);
    Some(comparable && child <= parent)
}

impl Moment {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Decimal::from_number(number).map(Self::Number),
            Value::String(text) => {
                OffsetDateTime::parse(text, &Rfc3339).map(Self::Instant).ok().or_else(|| {
                    Date::parse(text, format_description!("[year]-[month]-[day]")).map(Self::Day).ok()
                })
            }
            _ => None,
        }
    }
}

/// Both have the same members: an additional one could be a permission, a missing one a removed limit.
pub(super) fn narrows(kind: &DetailType, parent: &Value, child: &Value) -> bool {
    let (Some(parent), Some(child)) = (parent.as_object(), child.as_object()) else { return false };
    let is_of_kind = child.get("type").and_then(Value::as_str) == Some(&kind.name);
    let allows = |(name, new): (&String, &Value)| {
        let rule = match name.as_str() {
            "type" => Rule::Equal,
            other => kind.narrowing.get(other).copied().unwrap_or(Rule::Equal),
        };
        parent.get(name).is_some_and(|old| rule.allows(old, new))
    };
    is_of_kind && parent.len() == child.len() && child.iter().all(allows)
}

/// Whether a list of details grants no more than another: each detail narrows one of the parent's, and no two narrow
/// the same one, since its amount could then be spent twice. Lists beyond [`MAX_DETAILS`] and unknown types do not
/// narrow.
#[must_use]
pub fn list_narrows(types: &[DetailType], parent: &[Value], child: &[Value]) -> bool {
    if parent.len() > MAX_DETAILS || child.len() > parent.len() {
        return false;
    }
    let fits = |child: &Value, parent: &Value| {
        let name = child.get("type").and_then(Value::as_str);
        let kind = types.iter().find(|kind| Some(kind.name.as_str()) == name);
        kind.is_some_and(|kind| kind.narrows(parent, child))
    };
    let mut pairing = Pairing {
        fits: child.iter().map(|child| parent.iter().map(|parent| fits(child, parent)).collect()).collect(),
        taken: vec![None; parent.len()],
    };
    (0..child.len()).all(|child| pairing.place(child, &mut vec![false; parent.len()]))
}

/// A matching between children and parents, grown along augmenting paths.
struct Pairing {
    /// By child, then by parent.
    fits: Vec<Vec<bool>>,
    /// By parent: the child assigned to it.
    taken: Vec<Option<usize>>,
}

impl Pairing {
    /// Assigns a parent to the child, reassigning others if necessary.
    fn place(&mut self, child: usize, tried: &mut [bool]) -> bool {
        for parent in 0..self.taken.len() {
            if !self.fits[child][parent] || tried[parent] {
                continue;
            }
            tried[parent] = true;
            let free = self.taken[parent].is_none_or(|other| self.place(other, tried));
            if free {
                self.taken[parent] = Some(child);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests;
