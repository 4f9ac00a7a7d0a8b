//! The `claims` parameter (OpenID Connect Core §5.5).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Refused;
use crate::{json::parse_strict, plain_text::is_plain_json};

const MAX_DEPTH: usize = 8;
const MAX_CLAIMS: usize = 64;

/// Claims requested by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClaimsRequest {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub userinfo: BTreeMap<String, ClaimRequest>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub id_token: BTreeMap<String, ClaimRequest>,
}

/// OpenID Connect Core §5.5.1. All members empty: requested without constraints, as with `null`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClaimRequest {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub essential: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
}

impl ClaimsRequest {
    /// Unknown members are ignored (§5.5).
    ///
    /// # Errors
    /// When the text is not such an object, or exceeds a bound.
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let value = parse_strict(text.as_bytes(), MAX_DEPTH).map_err(|_| {
            Refused::invalid("claims must be JSON, nested at most 8 levels, without duplicate names")
        })?;
        let Value::Object(request) = &value else {
            return Err(Refused::invalid("claims must be a JSON object"));
        };
        if !is_plain_json(&value) {
            return Err(Refused::invalid("claims must not contain control characters"));
        }
        Ok(Self { userinfo: section(request, "userinfo")?, id_token: section(request, "id_token")? })
    }
}

fn section(request: &Map<String, Value>, name: &str) -> Result<BTreeMap<String, ClaimRequest>, Refused> {
    match request.get(name) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(claims)) if claims.len() <= MAX_CLAIMS => {
            claims.iter().map(|(name, value)| Ok((name.clone(), claim(value)?))).collect()
        }
        Some(_) => {
            Err(Refused::invalid("claims: userinfo and id_token must be objects of at most 64 claims"))
        }
    }
}

fn claim(value: &Value) -> Result<ClaimRequest, Refused> {
    let request = match value {
        Value::Null => return Ok(ClaimRequest::default()),
        Value::Object(request) => request,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(Refused::invalid("claims: each claim must be null or an object"));
        }
    };
    let essential = match request.get("essential") {
        None => false,
        Some(Value::Bool(essential)) => *essential,
        Some(_) => return Err(Refused::invalid("claims: essential must be true or false")),
    };
    let values = match request.get("values") {
        None => None,
        Some(Value::Array(values)) => Some(values.clone()),
        Some(_) => return Err(Refused::invalid("claims: values must be an array")),
    };
    Ok(ClaimRequest { essential, value: request.get("value").cloned(), values })
}
