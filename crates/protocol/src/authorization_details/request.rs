//! The parameter `authorization_details` (RFC 9396 §2). The cost of validation grows with the number of values, so
//! their number is bounded first.

use serde_json::Value;

use super::MAX_DETAILS;
use crate::{json::parse_strict, plain_text::is_plain_json};

/// Maximum size of the parameter, in bytes.
pub const MAX_TEXT: usize = 16 * 1024;
/// Maximum number of JSON values in all details together.
pub const MAX_VALUES: usize = 1_000;
const MAX_DEPTH: usize = 16;

/// Why the parameter cannot be read. The texts are suitable for `error_description`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DetailsError {
    #[error("authorization_details must not be longer than {MAX_TEXT} bytes")]
    TooLong,
    #[error("authorization_details must be JSON, nested at most {MAX_DEPTH} levels, without duplicate names")]
    Json,
    #[error("authorization_details must be an array of at most {MAX_DETAILS} objects, each with a type")]
    Shape,
    #[error("authorization_details must not have more than {MAX_VALUES} values")]
    TooMany,
    #[error("authorization_details must not contain control characters")]
    Characters,
}

/// The details of a request, each an object with a `type`. Their other members are validated by type.
///
/// # Errors
/// When the text is not such a list, or exceeds a bound.
pub fn read(text: &str) -> Result<Vec<Value>, DetailsError> {
    if text.len() > MAX_TEXT {
        return Err(DetailsError::TooLong);
    }
    let value = parse_strict(text.as_bytes(), MAX_DEPTH).map_err(|_| DetailsError::Json)?;
    let Value::Array(details) = value else { return Err(DetailsError::Shape) };
    let typed =
        |detail: &Value| detail.get("type").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    if details.len() > MAX_DETAILS || !details.iter().all(typed) {
        return Err(DetailsError::Shape);
    }
    if details.iter().map(values).sum::<usize>() > MAX_VALUES {
        return Err(DetailsError::TooMany);
    }
    if details.iter().all(is_plain_json) { Ok(details) } else { Err(DetailsError::Characters) }
}

fn values(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(values).sum::<usize>(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_request_may_carry_is_bounded() {
        let list = |count: usize| json!(vec![json!({"type": "payment"}); count]).to_string();
        assert_eq!(read(&list(MAX_DETAILS)).map(|details| details.len()), Ok(MAX_DETAILS));
        assert_eq!(read("[]"), Ok(Vec::new()));
        assert_eq!(read(&list(MAX_DETAILS + 1)), Err(DetailsError::Shape));
        let items = |count: usize| json!([{"type": "payment", "items": vec![1; count]}]).to_string();
        assert!(read(&items(MAX_VALUES - 3)).is_ok());
        assert_eq!(read(&items(MAX_VALUES - 2)), Err(DetailsError::TooMany));
        let long = json!([{"type": "payment", "to": "a".repeat(MAX_TEXT)}]).to_string();
        assert_eq!(read(&long), Err(DetailsError::TooLong));
        let deep = (0..MAX_DEPTH).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(read(&json!([{"type": "payment", "deep": deep}]).to_string()), Err(DetailsError::Json));
        for shape in ["{}", "1", "[1]", "[{}]", r#"[{"type":""}]"#, r#"[{"type":1}]"#] {
            assert_eq!(read(shape), Err(DetailsError::Shape), "{shape}");
        }
        assert_eq!(read(r#"[{"type":"a","b":"\u0000"}]"#), Err(DetailsError::Json));
    }
}
