//! The parameters of a request object whose signature was verified (RFC 9101 §4 and §6.3).

use serde_json::{Map, Value};

use super::{RawRequest, Refused, raw::NAMES};
use crate::error::ErrorCode;

/// Parameters that are only read from inside an object: those it replaces, and extensions that determine the
/// authority, its API or its key, which must be signed.
const ONLY_INSIDE: [&str; 6] =
    ["request", "request_uri", "authorization_details", "resource", "organization", "dpop_jkt"];

fn refused(description: &str) -> Refused {
    Refused::new(ErrorCode::InvalidRequestObject, description)
}

impl RawRequest {
    /// Only parameters of the object are used (RFC 9101 §6.3). `outer` is the request that carried it. The service
    /// checks the JWT's own claims (`iss`, `aud`, `exp`, ...).
    ///
    /// # Errors
    /// When the object carries or references another one, a parameter has the wrong type, or it names another client.
    pub fn from_object(claims: &Map<String, Value>, outer: &Self) -> Result<Self, Refused> {
        if claims.contains_key("request") || claims.contains_key("request_uri") {
            return Err(refused("a request object must not contain request or request_uri"));
        }
        let mut inner = Self::default();
        for name in NAMES {
            let text = match claims.get(*name) {
                None => continue,
                Some(Value::String(text)) => text.clone(),
                Some(Value::Number(number)) if *name == "max_age" => number.to_string(),
                Some(value @ Value::Object(_)) if *name == "claims" => value.to_string(),
                Some(value @ Value::Array(_)) if *name == "authorization_details" => value.to_string(),
                Some(_) => return Err(refused("a parameter in the request object has the wrong type")),
            };
            if !text.is_empty() {
                inner.values.insert((*name).to_owned(), text);
            }
        }
        // RFC 9101 §5 and OpenID Connect Core §6.1: these two must be equal where both are sent.
        for name in ["client_id", "response_type"] {
            if let (Some(inside), Some(outside)) = (inner.get(name), outer.get(name))
                && inside != outside
            {
                return Err(refused(
                    "client_id and response_type must be the same inside and outside the request object",
                ));
            }
        }
        Ok(inner)
    }

    /// OpenID Connect Core §6.1: parameters beside the object supply what it omits. Only for OpenID requests, which
    /// have `openid` outside the object too; RFC 9101 §6.3 ignores parameters beside it.
    #[must_use]
    pub fn completed_by(mut self, outer: &Self) -> Self {
        if !outer.get("scope").unwrap_or_default().split(' ').any(|word| word == "openid") {
            return self;
        }
        for (name, value) in &outer.values {
            if !ONLY_INSIDE.contains(&name.as_str()) {
                self.values.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        self
    }
}
