//! The parameters of a request (CIBA Core §7.1), and what they must be. Pure.

use porteiro_protocol::{
    assurance::Level, authorization_details, error::ErrorCode, form::Parameters, scope::Scope,
};
use serde_json::{Map, Value};

use crate::{
    approvals::{EXPIRES_SECONDS, MAX_EXPIRES_SECONDS, MIN_EXPIRES_SECONDS, is_binding_message},
    http::OAuthError,
};

/// CIBA Core §7.1, RFC 8707, RFC 9396, and `organization`, which is Porteiro's own.
const PARAMETERS: &[&str] = &[
    "scope",
    "client_notification_token",
    "acr_values",
    "login_hint_token",
    "id_token_hint",
    "login_hint",
    "binding_message",
    "user_code",
    "requested_expiry",
    "authorization_details",
    "resource",
    "organization",
];

/// Who is meant.
#[derive(Debug, PartialEq, Eq)]
pub enum Hint {
    /// The subject of the person's tokens.
    Subject(String),
    IdToken(String),
}

#[derive(Debug)]
pub struct Request {
    pub scope: String,
    pub hint: Hint,
    pub organization: Option<String>,
    pub resource: Option<String>,
    pub details: Vec<Value>,
    pub binding_message: Option<String>,
    pub level: Option<Level>,
    pub seconds: i32,
    pub notification_token: Option<String>,
}

pub(super) fn invalid(text: &str) -> OAuthError {
    OAuthError::new(ErrorCode::InvalidRequest, text)
}

/// The values of a plain request.
pub fn of_form(form: &Parameters) -> Map<String, Value> {
    let value = |name: &&str| form.get(name).map(|text| ((*name).to_owned(), Value::from(text)));
    PARAMETERS.iter().filter_map(value).collect()
}

/// Whether a request beside a signed one says anything else (CIBA Core §7.1.1).
pub fn is_alone(form: &Parameters) -> bool {
    PARAMETERS.iter().all(|name| form.get(name).is_none())
}

/// Reads the request.
///
/// # Errors
/// For the client, by CIBA Core §13.
pub fn read(values: &Map<String, Value>, default_levels: &[String]) -> Result<Request, OAuthError> {
    let scope = text(values, "scope")?.ok_or_else(|| invalid("scope is missing"))?;
    let openid = scope.parse::<Scope>().is_ok_and(|scope| scope.contains("openid"));
    if !openid {
        return Err(OAuthError::new(ErrorCode::InvalidScope, "scope must contain openid"));
    }
    let message = text(values, "binding_message")?;
    if message.as_deref().is_some_and(|message| !is_binding_message(message)) {
        let rule = "binding_message must have 1 to 64 characters: letters, digits, space and -._+/!?#";
        return Err(OAuthError::new(ErrorCode::InvalidBindingMessage, rule));
    }
    Ok(Request {
        scope,
        hint: hint(values)?,
        organization: text(values, "organization")?,
        resource: text(values, "resource")?,
        details: details(values)?,
        binding_message: message,
        level: level(text(values, "acr_values")?.as_deref(), default_levels)?,
        seconds: seconds(values)?,
        notification_token: text(values, "client_notification_token")?,
    })
}

/// Any of the listed values will do, so the least that is known is required (docs/decisions/0026).
fn level(asked: Option<&str>, registered: &[String]) -> Result<Option<Level>, OAuthError> {
    let values: Vec<&str> = match asked {
        Some(asked) => asked.split_ascii_whitespace().collect(),
        None if registered.is_empty() => return Ok(None),
        None => registered.iter().map(String::as_str).collect(),
    };
    let least = values.into_iter().filter_map(Level::parse_acr).min();
    let text = "none of the requested acr_values is supported";
    least.map(Some).ok_or_else(|| OAuthError::new(ErrorCode::UnmetAuthenticationRequirements, text))
}

/// Numbers count as text, since forms have no numbers; a signed request may have either.
fn text(values: &Map<String, Value>, name: &str) -> Result<Option<String>, OAuthError> {
    match values.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            Err(invalid(&format!("{name} must be a string")))
        }
    }
}

/// CIBA Core §7.1: exactly one.
fn hint(values: &Map<String, Value>) -> Result<Hint, OAuthError> {
    let hints =
        (text(values, "login_hint")?, text(values, "id_token_hint")?, text(values, "login_hint_token")?);
    match hints {
        (Some(subject), None, None) => Ok(Hint::Subject(subject)),
        (None, Some(token), None) => Ok(Hint::IdToken(token)),
        (None, None, Some(_)) => {
            Err(invalid("login_hint_token is not supported; send login_hint or id_token_hint"))
        }
        (None, None, None) => Err(invalid("send login_hint or id_token_hint")),
        (_, _, _) => Err(invalid("send exactly one hint")),
    }
}

fn details(values: &Map<String, Value>) -> Result<Vec<Value>, OAuthError> {
    let written = match values.get("authorization_details") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    authorization_details::read(&written)
        .map_err(|error| OAuthError::new(ErrorCode::InvalidAuthorizationDetails, error.to_string()))
}

/// The server decides within its bounds what `expires_in` becomes.
fn seconds(values: &Map<String, Value>) -> Result<i32, OAuthError> {
    let Some(text) = text(values, "requested_expiry")? else { return Ok(EXPIRES_SECONDS) };
    let asked: u64 = text
        .parse()
        .ok()
        .filter(|asked| *asked > 0)
        .ok_or_else(|| invalid("requested_expiry must be a positive number of seconds"))?;
    let asked = i32::try_from(asked).unwrap_or(i32::MAX);
    Ok(asked.clamp(MIN_EXPIRES_SECONDS, MAX_EXPIRES_SECONDS))
}

/// RFC 6750 §2.1 syntax, and CIBA Core §7.1: at most 1024 characters.
pub fn is_notification_token(token: &str) -> bool {
    let body = token.trim_end_matches('=');
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    (1..=1_024).contains(&token.len()) && !body.is_empty() && body.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn code(more: &Value) -> Result<Request, &'static str> {
        let mut values = json!({"scope": "openid pay", "login_hint": "someone"});
        for (name, value) in more.as_object().unwrap() {
            values[name] = value.clone();
        }
        read(values.as_object().unwrap(), &[]).map_err(|error| error.code.as_str())
    }

    #[test]
    fn exactly_one_hint_is_required() {
        assert_eq!(code(&json!({})).unwrap().hint, Hint::Subject("someone".into()));
        let by_token = code(&json!({"login_hint": null, "id_token_hint": "x"}));
        assert_eq!(by_token.unwrap().hint, Hint::IdToken("x".into()));
        for wrong in [
            json!({"login_hint": null}),
            json!({"id_token_hint": "x"}),
            json!({"login_hint_token": "x"}),
            json!({"login_hint": null, "login_hint_token": "x"}),
        ] {
            assert_eq!(code(&wrong).unwrap_err(), "invalid_request");
        }
    }

    #[test]
    fn an_expiry_is_a_number_or_its_text_and_stays_within_bounds() {
        for (asked, given) in [
            (json!("120"), 120),
            (json!(120), 120),
            (json!(1), 10),
            (json!("99999999999"), 3_600),
            (json!(null), 300),
        ] {
            assert_eq!(code(&json!({"requested_expiry": asked})).unwrap().seconds, given);
        }
        for wrong in [json!("0"), json!("-1"), json!("soon"), json!(1.5), json!([1])] {
            assert_eq!(code(&json!({"requested_expiry": wrong})).unwrap_err(), "invalid_request");
        }
    }

    #[test]
    fn every_wrong_parameter_has_the_error_of_the_standard() {
        for (more, expected) in [
            (json!({"scope": null}), "invalid_request"),
            (json!({"scope": "pay"}), "invalid_scope"),
            (json!({"binding_message": "<b>"}), "invalid_binding_message"),
            (json!({"authorization_details": "{"}), "invalid_authorization_details"),
            (json!({"acr_values": "gold silver"}), "unmet_authentication_requirements"),
        ] {
            assert_eq!(code(&more).unwrap_err(), expected);
        }
        let signed = code(&json!({"authorization_details": [{"type": "payment"}]})).unwrap();
        assert_eq!(signed.details, [json!({"type": "payment"})]);
    }

    #[test]
    fn the_least_known_level_is_required() {
        let required = |asked: Option<&str>, registered: &[&str]| {
            let registered: Vec<String> = registered.iter().map(ToString::to_string).collect();
            level(asked, &registered).ok().flatten()
        };
        assert_eq!(required(Some("gold aal2 aal1"), &[]), Some(Level::Aal1));
        assert_eq!(required(Some("aal2 gold"), &["aal1"]), Some(Level::Aal2));
        assert_eq!((required(None, &["aal2"]), required(None, &[])), (Some(Level::Aal2), None));
        assert!(level(Some("gold"), &["aal1".into()]).is_err());
    }

    #[test]
    fn a_notification_token_is_a_bearer_token() {
        assert!(is_notification_token("a-b._~+/0==") && is_notification_token(&"a".repeat(1_024)));
        for wrong in ["", "=", "a b", "a=b", "é", &"a".repeat(1_025)] {
            assert!(!is_notification_token(wrong), "{wrong}");
        }
    }
}
