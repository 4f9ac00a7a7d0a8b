//! JSON Merge Patch (RFC 7396): members that are sent replace the present ones, `null` removes, the others stay.

use std::marker::PhantomData;

use axum::extract::{FromRequest, Request};
use porteiro_protocol::merge_patch::merge;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::http::{Problem, ProblemCode, json_value, typed};

const LIMIT: usize = 32_768;
const DEPTH: usize = 16;

/// A change of a resource's changeable part `T`, which refuses unknown members.
#[derive(Debug)]
pub struct Patch<T> {
    members: Map<String, Value>,
    of: PhantomData<fn() -> T>,
}

impl<T> Patch<T> {
    /// The change of one member, if it is an object.
    pub fn object(&self, member: &str) -> Option<&Map<String, Value>> {
        self.members.get(member).and_then(Value::as_object)
    }
}

impl<T: Serialize + DeserializeOwned> Patch<T> {
    /// The resource after the patch.
    ///
    /// # Errors
    /// When a member is unknown or of another type, or a required one is removed: 400.
    pub fn apply(&self, current: &T) -> Result<T, Problem> {
        let now = serde_json::to_value(current).map_err(|_| Problem::from(ProblemCode::Internal))?;
        let mut target = now.clone();
        merge(&mut target, &Value::Object(self.members.clone()));
        // Removing an absent member changes nothing (RFC 7396). A member that the resource cannot have is refused all the
        // same: a caller who misspells one would take the answer for a change.
        for (name, _) in
            self.members.iter().filter(|(name, change)| change.is_null() && now.get(name).is_none())
        {
            target[name] = Value::Null;
        }
        typed(target)
    }
}

impl<T, S: Sync> FromRequest<S> for Patch<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let types = ["application/merge-patch+json", "application/json"];
        match json_value(request, &types, LIMIT, DEPTH).await? {
            Value::Object(members) => Ok(Self { members, of: PhantomData }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(Problem::new(ProblemCode::Malformed, "a merge patch must be an object"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Thing {
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        color: Option<String>,
    }

    #[test]
    fn null_takes_away_what_may_be_absent_and_nothing_else() {
        let thing = |color: Option<&str>| Thing { name: "it".into(), color: color.map(str::to_owned) };
        let apply = |members: Value, now: &Thing| {
            let members = members.as_object().unwrap().clone();
            Patch::<Thing> { members, of: PhantomData }.apply(now).map_err(|problem| problem.code)
        };
        assert_eq!(apply(json!({"color": null}), &thing(Some("red"))).unwrap(), thing(None));
        assert_eq!(apply(json!({"color": null}), &thing(None)).unwrap(), thing(None));
        for wrong in [json!({"name": null}), json!({"metadata": null}), json!({"color": null, "size": null})]
        {
            assert_eq!(apply(wrong.clone(), &thing(None)).unwrap_err(), ProblemCode::Malformed, "{wrong}");
        }
    }
}
